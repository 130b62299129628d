#include "fairlead/trace/sessions.h"

#include "fairlead/base/rng.h"

#include <algorithm>
#include <cmath>

namespace fairlead {
namespace {

constexpr std::size_t kJobsMax = 1'000'000;
constexpr double kHourMs = 3'600'000;

struct DrawnJob {
  double submit_ms;
  double duration_ms;
  std::int64_t gpus;
  std::size_t user;  // counted from 0
};

template <class Share>
std::vector<double> weights_of(const std::vector<Share>& shares) {
  std::vector<double> weights;
  weights.reserve(shares.size());
  for (const Share& share : shares) weights.push_back(share.weight);
  return weights;
}

Status check(const SessionOptions& options) {
  if (options.capacity_gpus < 1)
    return input_error("capacity must be at least 1 GPU: {}", options.capacity_gpus);
  if (!(options.span_h > 0 && options.span_h * kHourMs <= static_cast<double>(kMsMax)))
    return input_error("hours must be above 0 and at most 100 years: {}", options.span_h);
  if (!(options.load > 0) || !std::isfinite(options.load))
    return input_error("load must be above 0: {}", options.load);
  if (options.users < 0) return input_error("users must not be negative: {}", options.users);
  if (options.jobs_min < 1 || options.jobs_max < options.jobs_min)
    return input_error("a session's jobs must be from 1 up: {} to {}", options.jobs_min,
                       options.jobs_max);
  if (options.burst.ms < 0)
    return input_error("a session's burst must not be negative: {} ms", options.burst.ms);
  if (options.duration_min.ms < 1 || options.duration_max < options.duration_min ||
      options.duration_max.ms > kMsMax)
    return input_error("durations must be from 1 ms to 100 years: {} to {} ms",
                       options.duration_min.ms, options.duration_max.ms);
  if (!weights_fit(options.gangs) || !weights_fit(options.models))
    return input_error("weights of gangs and models must not be negative or all zero");
  for (const GangShare& gang : options.gangs) {
    if (gang.gpus < 1 || gang.gpus > kJobGpusMax)
      return input_error("gang size must be from 1 to {}: {}", kJobGpusMax, gang.gpus);
  }
  if (options.tickets.empty()) return input_error("users need tickets");
  for (const std::int64_t tickets : options.tickets) {
    if (tickets < 1 || tickets > kTicketsMax)
      return input_error("tickets must be from 1 to {}: {}", kTicketsMax, tickets);
  }
  return {};
}

// The jobs of one session, and the GPU time they ask for.
double draw_session(const SessionOptions& options, const std::vector<double>& gang_weights,
                    std::size_t session, Rng& rng, std::vector<DrawnJob>& jobs) {
  // Points of a Poisson process are independent and uniform, given their number.
  const double begin_ms = options.span_h * kHourMs * rng.uniform();
  const std::size_t user =
      options.users == 0 ? session : rng.below(static_cast<std::uint64_t>(options.users));
  const std::int64_t count =
      options.jobs_min + static_cast<std::int64_t>(rng.below(
                             static_cast<std::uint64_t>(options.jobs_max - options.jobs_min + 1)));
  const auto shortest_ms = static_cast<double>(options.duration_min.ms);
  const double ratio = static_cast<double>(options.duration_max.ms) / shortest_ms;
  double gpu_ms = 0;
  for (std::int64_t i = 0; i < count && jobs.size() <= kJobsMax; ++i) {
    DrawnJob job{};
    job.user = user;
    job.submit_ms = begin_ms + static_cast<double>(options.burst.ms) * rng.uniform();
    job.duration_ms = shortest_ms * std::pow(ratio, rng.uniform());
    job.gpus = options.gangs[rng.weighted(gang_weights)].gpus;
    gpu_ms += job.duration_ms * static_cast<double>(job.gpus);
    jobs.push_back(job);
  }
  return gpu_ms;
}

Result<std::vector<DrawnJob>> draw_jobs(const SessionOptions& options, Rng rng) {
  const std::vector<double> gang_weights = weights_of(options.gangs);
  const double wanted_gpu_ms =
      options.load * static_cast<double>(options.capacity_gpus) * options.span_h * kHourMs;
  std::vector<DrawnJob> jobs;
  double gpu_ms = 0;
  for (std::size_t session = 0; gpu_ms < wanted_gpu_ms; ++session) {
    gpu_ms += draw_session(options, gang_weights, session, rng, jobs);
    if (jobs.size() > kJobsMax)
      return input_error("more than {} jobs; lower the load: {}", kJobsMax, options.load);
  }
  for (DrawnJob& job : jobs) job.duration_ms *= wanted_gpu_ms / gpu_ms;
  std::ranges::stable_sort(jobs, {}, &DrawnJob::submit_ms);
  return jobs;
}

}  // namespace

Result<Workload> generate_sessions(const SessionOptions& options) {
  FL_TRY(check(options));
  const Rng root(options.seed);
  FL_TRY_ASSIGN(jobs, draw_jobs(options, root.split(1)));
  const std::vector<double> model_weights = weights_of(options.models);
  const Rng models = root.split(2);
  WorkloadBuilder builder(fmt::format("sessions-{}", options.seed), Reading::kStrict);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const DrawnJob& job = jobs[i];
    const std::string id = fmt::format("job-{}", i + 1);
    const std::string user = fmt::format("user-{}", job.user + 1);
    Rng of_user = models.split(job.user);
    FL_TRY(builder.add({.id = id,
                        .user = user,
                        .model = options.models[of_user.weighted(model_weights)].name,
                        .gpus = job.gpus,
                        .submit = {std::llround(job.submit_ms)},
                        .duration = {std::max<std::int64_t>(1, std::llround(job.duration_ms))},
                        .tickets = options.tickets[job.user % options.tickets.size()]},
                       Where("sessions", static_cast<std::int64_t>(i) + 1)));
  }
  return builder.finish();
}

}  // namespace fairlead
