#include "fairlead/forecast/forecast.h"

#include "fairlead/metrics/quantile.h"
#include "fairlead/model/cluster_build.h"
#include "fairlead/model/workload.h"
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

// Returns the durations of jobs with GPUs, or the declared ones if they did not finish.
std::vector<double> times_of(const std::vector<JobAnswer>& jobs,
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
  return times;
}

// Returns the time left of a job that takes as long as these times. Its range has no times that it has outlasted.
TimeLeft left_by(const JobAnswer& job, std::vector<double> times, std::string source) {
  if (times.empty()) return {job.id, -served_s(job), std::move(source)};
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  TimeLeft left{job.id, *middle - served_s(job), std::move(source)};
  std::erase_if(times, [&](double s) { return s <= served_s(job); });
  if (times.empty()) return left;
  const SecondsRange range{std::min(left.s, quantile(times, 10) - served_s(job)),
                           std::max(left.s, quantile(times, 90) - served_s(job))};
  if (range.least_s < range.most_s) left.range = range;
  return left;
}

TimeLeft typical_left(const JobAnswer& job, const std::vector<JobAnswer>& jobs) {
  std::vector<double> of_model = times_of(
      jobs, [&](const JobAnswer& other) { return !job.model.empty() && other.model == job.model; });
  if (!of_model.empty())
    return left_by(job, std::move(of_model), fmt::format("as jobs of {} take", job.model));
  std::vector<double> of_user =
      times_of(jobs, [&](const JobAnswer& other) { return other.user == job.user; });
  if (!of_user.empty())
    return left_by(job, std::move(of_user), fmt::format("as jobs of {} take", job.user));
  return left_by(job, times_of(jobs, [](const JobAnswer&) { return true; }), "as jobs here take");
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

Duration duration_of(double s) {
  return {std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(s * 1000)), 1, kMsMax)};
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
    rows.push_back({.id = ids[i],
                    .user = job.user,
                    .model = job.model,
                    .gpus = job.gpus,
                    .extras = job.extras,
                    .duration = duration_of(left[i].s),
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
  if (!job.limit_s) return left;
  const double limit_s = *job.limit_s - served_s(job);
  if (limit_s >= left.s) {
    if (left.range) left.range->most_s = std::min(left.range->most_s, limit_s);
    return left;
  }
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

namespace {

struct Times {
  std::optional<double> start_s{};
  std::optional<double> end_s{};
};

// Returns the times of a row of the queue's trace.
Result<Times> simulated(const QueueNow& queue, std::size_t row) {
  FL_TRY_ASSIGN(inputs, inputs_of(queue, queue.policy));
  FL_TRY_ASSIGN(simulation, Simulation::make(std::move(inputs)));
  FL_TRY(simulation.run());
  const JobResult result = simulation.result().jobs[row];
  Times times;
  if (result.start) times.start_s = to_seconds(*result.start);
  if (queue.jobs[row].runs()) times.start_s = 0;
  if (result.finish) times.end_s = to_seconds(*result.finish);
  return times;
}

// Returns the queue with the least or the most time of each job that has a range.
QueueNow at_bound(QueueNow queue, double SecondsRange::*bound) {
  Workload workload = queue.trace.workload();
  for (std::size_t row = 0; row < queue.left.size(); ++row) {
    const auto& range = queue.left[row].range;
    if (range)
      workload.durations[JobId(static_cast<std::uint32_t>(row))] = duration_of((*range).*bound);
  }
  queue.trace = Trace(std::move(workload));
  return queue;
}

void widen(std::optional<SecondsRange>& range, const std::optional<double>& s) {
  if (!s) range.reset();
  if (!range) return;
  *range = {std::min(range->least_s, *s), std::max(range->most_s, *s)};
}

// Adds the ranges to the forecast of a row.
Status add_ranges(const QueueNow& queue, std::size_t row, Forecast& forecast) {
  const auto has_range = [](const TimeLeft& left) { return left.range.has_value(); };
  if (!forecast.start_s || !forecast.end_s || std::ranges::none_of(queue.left, has_range))
    return {};
  forecast.start_range = {*forecast.start_s, *forecast.start_s};
  forecast.end_range = {*forecast.end_s, *forecast.end_s};
  for (const auto bound : {&SecondsRange::least_s, &SecondsRange::most_s}) {
    FL_TRY_ASSIGN(times, simulated(at_bound(queue, bound), row));
    widen(forecast.start_range, times.start_s);
    widen(forecast.end_range, times.end_s);
  }
  return {};
}

}  // namespace

Result<Forecast> forecast(const QueueNow& queue, std::int64_t job) {
  const auto at = std::ranges::find(queue.jobs, job, &JobAnswer::id) - queue.jobs.begin();
  const auto row = static_cast<std::size_t>(at);
  FL_TRY_ASSIGN(times, simulated(queue, row));
  Forecast forecast{.runs = queue.jobs[row].runs(),
                    .start_s = times.start_s,
                    .end_s = times.end_s,
                    .guesses = queue.left};
  std::rotate(forecast.guesses.begin() + at, forecast.guesses.begin() + at + 1,
              forecast.guesses.end());
  FL_TRY(add_ranges(queue, row, forecast));
  return forecast;
}

}  // namespace fairlead
