#include "fairlead/forecast/forecast.h"

#include "fairlead/model/cluster_build.h"
#include "fairlead/run/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace fairlead {
namespace {

double served_s(const JobAnswer& job) {
  return job.gpu_s / static_cast<double>(std::max<std::int64_t>(job.gpus, 1));
}

// Returns the median of the durations of jobs with GPUs, or of the declared ones if they did not finish.
std::optional<double> typical_s(const std::vector<JobAnswer>& jobs,
                                const std::function<bool(const JobAnswer&)>& is_similar) {
  std::vector<double> times;
  for (const JobAnswer& job : jobs) {
    if (job.gpus == 0 || !is_similar(job)) continue;
    if (job.state == "finished") {
      times.push_back(served_s(job));
    } else if (job.declared_s) {
      times.push_back(*job.declared_s);
    }
  }
  if (times.empty()) return std::nullopt;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

TimeLeft typical_left(const JobAnswer& job, const std::vector<JobAnswer>& jobs) {
  const auto of_model = [&](const JobAnswer& other) {
    return !job.model.empty() && other.model == job.model;
  };
  const auto of_user = [&](const JobAnswer& other) { return other.user == job.user; };
  if (const auto s = typical_s(jobs, of_model))
    return {job.id, *s - served_s(job), fmt::format("as jobs of {} take", job.model)};
  if (const auto s = typical_s(jobs, of_user))
    return {job.id, *s - served_s(job), fmt::format("as jobs of {} take", job.user)};
  const auto s = typical_s(jobs, [](const JobAnswer&) { return true; });
  return {job.id, s.value_or(0) - served_s(job), "as jobs here take"};
}

// Returns the GPUs that jobs may get, a node for each node that has some.
Result<Cluster> cluster_of(const ClusterAnswer& answer) {
  std::vector<NodeSpec> nodes;
  for (const NodeAnswer& node : answer.nodes) {
    const auto usable = std::ranges::count_if(node.gpus, [](const GpuAnswer& gpu) {
      return gpu.state != "down" && gpu.state != "closed";
    });
    if (usable == 0) continue;
    // All nodes are on one machine.
    nodes.push_back({.name = node.name,
                     .gpu_type = node.type,
                     .gpus = static_cast<std::uint32_t>(usable),
                     .host = "host",
                     .rack = "rack"});
  }
  if (nodes.empty()) return run_error("no GPU can be used now; `fairlead gpus` shows them");
  return build_cluster("now", {}, nodes);
}

// Returns the jobs that want GPUs, in the order in which they have them or wait for them.
std::vector<JobAnswer> queue_of(std::vector<JobAnswer> jobs) {
  std::erase_if(jobs, [](const JobAnswer& job) {
    return job.is_done() || job.state == "held" || job.gpus == 0;
  });
  std::ranges::sort(jobs, {}, &JobAnswer::id);
  std::stable_partition(jobs.begin(), jobs.end(),
                        [](const JobAnswer& job) { return !job.on.empty(); });
  return jobs;
}

Result<Trace> trace_of(const std::vector<JobAnswer>& queue, const std::vector<TimeLeft>& left,
                       const std::vector<UserAnswer>& users) {
  std::vector<std::string> ids;  // the texts that the rows refer to
  ids.reserve(queue.size());
  for (const JobAnswer& job : queue) ids.push_back(fmt::format("{}", job.id));
  std::vector<JobRow> rows;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const JobAnswer& job = queue[i];
    const auto user = std::ranges::find(users, job.user, &UserAnswer::name);
    const auto ms = static_cast<std::int64_t>(std::ceil(left[i].s * 1000));
    rows.push_back({.id = ids[i],
                    .user = job.user,
                    .model = job.model,
                    .gpus = job.gpus,
                    .extras = job.extras,
                    .duration = {std::clamp<std::int64_t>(ms, 1, kMsMax)},
                    .tickets = user == users.end() ? 0 : user->tickets});
  }
  return Trace::of("now", rows);
}

TimeLeft unlimited_left(const JobAnswer& job, const std::vector<JobAnswer>& jobs) {
  if (job.progress && job.progress->unit_per_s > 0) {
    const double s = (job.progress->total - job.progress->done) / job.progress->unit_per_s;
    if (s > 0) return {job.id, s, "by its progress"};
  }
  if (job.declared_s && *job.declared_s > served_s(job))
    return {job.id, *job.declared_s - served_s(job), "as declared"};
  TimeLeft left = typical_left(job, jobs);
  if (left.s > 0) return left;
  if (served_s(job) > 0) return {job.id, served_s(job), "as long again as it has run"};
  return {job.id, 3600, "an hour, because nothing is known"};
}

}  // namespace

TimeLeft time_left(const JobAnswer& job, const std::vector<JobAnswer>& jobs) {
  TimeLeft left = unlimited_left(job, jobs);
  const double limit_s = job.limit_s.value_or(left.s + served_s(job)) - served_s(job);
  if (limit_s >= left.s) return left;
  return {job.id, std::max(limit_s, 0.0), "by its time limit"};
}

Result<QueueNow> queue_now(const ClusterAnswer& cluster, const std::vector<JobAnswer>& jobs,
                           const std::vector<UserAnswer>& users) {
  std::vector<JobAnswer> queue = queue_of(jobs);
  std::vector<TimeLeft> left;
  left.reserve(queue.size());
  for (const JobAnswer& job : queue) left.push_back(time_left(job, jobs));
  FL_TRY_ASSIGN(usable, cluster_of(cluster));
  FL_TRY_ASSIGN(trace, trace_of(queue, left, users));
  return QueueNow{std::move(usable), std::move(trace), std::move(queue), std::move(left),
                  policy_of(cluster)};
}

std::string policy_of(const ClusterAnswer& cluster) {
  return cluster.policy_options.empty() ? cluster.policy
                                        : cluster.policy + ":" + cluster.policy_options;
}

Result<SimulationInputs> inputs_of(const QueueNow& queue, const std::string& policy) {
  SimulationInputs inputs{.cluster = queue.cluster, .trace = queue.trace};
  if (queue.limits) inputs.settings.limit_rules = *queue.limits;
  FL_TRY(inputs.use_policy(policy));
  return inputs;
}

Result<Forecast> forecast(const QueueNow& queue, std::int64_t job) {
  FL_TRY_ASSIGN(inputs, inputs_of(queue, queue.policy));
  FL_TRY_ASSIGN(simulation, Simulation::make(std::move(inputs)));
  FL_TRY(simulation.run());
  const std::vector<JobResult> results = simulation.result().jobs;

  const auto at = std::ranges::find(queue.jobs, job, &JobAnswer::id) - queue.jobs.begin();
  const auto row = static_cast<std::size_t>(at);
  Forecast forecast;
  if (results[row].start) forecast.start_s = to_seconds(*results[row].start);
  const JobAnswer& asked = queue.jobs[row];
  if (asked.state == "running" || !asked.on.empty()) forecast.start_s = 0;
  if (results[row].finish) forecast.end_s = to_seconds(*results[row].finish);
  forecast.guesses = queue.left;
  std::rotate(forecast.guesses.begin() + at, forecast.guesses.begin() + at + 1,
              forecast.guesses.end());
  return forecast;
}

}  // namespace fairlead
