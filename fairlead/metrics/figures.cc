#include "fairlead/metrics/figures.h"

#include <algorithm>
#include <type_traits>

namespace fairlead {
namespace {

using enum FigureUnit;

// The member of the summary at the end of the path.
template <auto... Path>
std::optional<double> at(const Summary& summary) {
  const auto& value = (summary.*....*Path);
  if constexpr (std::is_same_v<decltype(value), const std::optional<double>&>) {
    return value;
  } else {
    return static_cast<double>(value);
  }
}

template <auto Member>
constexpr auto kFairness = &at<&Summary::fairness, Member>;
template <auto Member>
constexpr auto kBounds = &at<&Summary::bounds, Member>;

// Figures of worlds that are not exact. They have no value 0, which every exact world has.
template <auto Member>
std::optional<double> open_world(const Summary& summary) {
  const std::int64_t value = summary.open_world.*Member;
  return value == 0 ? std::nullopt : std::optional(static_cast<double>(value));
}

template <auto Member>
constexpr auto kCost = &at<&Summary::cost, Member>;

// Figures of jobs with a start in the log.
template <auto Member>
std::optional<double> logged(const Summary& summary) {
  if (summary.logged.starts == 0) return std::nullopt;
  return at<&Summary::logged, Member>(summary);
}

template <Tier tier>
std::optional<double> placed_at(const Summary& summary) {
  return static_cast<double>(summary.placements[static_cast<std::size_t>(tier)]);
}

constexpr Figure kFigures[] = {
    {"rows_read", kCount, false, "", "rows of the trace = `jobs_read` + all of `rows_rejected`",
     &at<&Summary::rows_read>},
    {"jobs_read", kCount, false, "", "jobs = `finished` + `failed` + `rejected` + `pending`",
     &at<&Summary::jobs_read>},
    {"finished", kCount, true, "finished", "jobs whose work is done", &at<&Summary::finished>,
     Better::kMore},
    {"failed", kCount, false, "", "jobs that ended by themselves or were cancelled",
     &at<&Summary::failed>},
    {"rejected", kCount, false, "",
     "jobs that can never run on this cluster under the policy; `jobs_rejected` counts them by "
     "reason",
     &at<&Summary::rejected>},
    {"pending", kCount, false, "",
     "jobs that were unfinished, or not submitted yet, when the run ended", &at<&Summary::pending>},
    {"models_unknown", kCount, false, "",
     "jobs whose model is named but not in the table; they run at speed 1 everywhere",
     &at<&Summary::models_unknown>},
    {"models_communicating", kCount, false, "",
     "jobs with a model whose communication is known; only they see `network=analytic` and "
     "`contention`",
     &at<&Summary::models_communicating>},
    {"jct_avg_s", kSeconds, true, "JCT mean s",
     "mean over finished jobs of the job completion time (JCT) = finish - submission",
     &at<&Summary::jct_avg_s>, Better::kLess},
    {"jct_p50_s", kSeconds, true, "",
     "median JCT of finished jobs by nearest rank: the smallest that at least 50 % of them do not "
     "exceed",
     &at<&Summary::jct_p50_s>},
    {"jct_p90_s", kSeconds, true, "", "the smallest JCT that at least 90 % do not exceed",
     &at<&Summary::jct_p90_s>},
    {"jct_p99_s", kSeconds, true, "JCT p99 s", "the smallest JCT that at least 99 % do not exceed",
     &at<&Summary::jct_p99_s>, Better::kLess},
    {"queue_avg_s", kSeconds, true, "queue s",
     "mean over finished jobs of the time without GPUs between submission and finish: JCT - time "
     "with GPUs",
     &at<&Summary::queue_avg_s>, Better::kLess},
    {"makespan_s", kSeconds, true, "makespan s", "last finish or failure - first arrival",
     &at<&Summary::makespan_s>, Better::kLess},
    {"gpu_utilization", kFraction, true, "utilised",
     "allocated GPU time / GPU time of the nodes that are up, from first arrival to end of "
     "measuring",
     &at<&Summary::gpu_utilization>},
    {"gpu_hours", kGpuHours, true, "", "allocated GPU time of all jobs", &at<&Summary::gpu_hours>},
    {"energy/jobs_kwh", kKwh, true, "energy kWh",
     "energy of the GPUs of jobs: the sum over GPU types of allocated GPU time x power under load. "
     "With `power` only",
     kCost<&CostSummary::energy_jobs_kwh>, Better::kLess, true},
    {"energy/idle_kwh", kKwh, true, "",
     "energy of the GPUs that no job had and that were up, in the time of `gpu_utilization`: x "
     "power at idle. With `power` only, if that is known for all GPU types",
     kCost<&CostSummary::energy_idle_kwh>, Better::kLess, true},
    {"cost/jobs", kMoney, true, "cost",
     "price of the GPUs of jobs: the sum over GPU types of allocated GPU time x price. With "
     "`prices` only",
     kCost<&CostSummary::jobs>, Better::kLess, true},
    {"cost/idle", kMoney, true, "", "price of the GPUs that no job had and that were up",
     kCost<&CostSummary::idle>, Better::kLess, true},
    {"comm_time_share", kFraction, true, "communicating",
     "GPU time lost to communication / allocated GPU time after overhead. A gang of which "
     "communication leaves the fraction *f* of its rate loses 1 - *f* of its GPU time. With a "
     "[network](#settings-of-a-run) that is computed, *f* is the fraction of an iteration that "
     "computes; with measured factors, it is the factor of its tier, 1 at its best tier. When its "
     "speed changes, *f* changes in proportion",
     &at<&Summary::comm_time_share>, Better::kLess},
    {"fairness/jain", kRatio, true, "Jain",
     "with *x* = received / entitled: (sum of *x*)² / (users x sum of *x*²); 1 if all are equal "
     "(Jain, Chiu and Hawe 1984)",
     kFairness<&FairnessSummary::jain>, Better::kMore},
    {"fairness/share_error_max", kFraction, true, "share error max",
     "largest abs(received - entitled) / entitled", kFairness<&FairnessSummary::share_error_max>,
     Better::kLess},
    {"fairness/share_error_avg", kFraction, true, "", "mean of the same over users",
     kFairness<&FairnessSummary::share_error_avg>},
    {"fairness/ftf_max", kRatio, true, "",
     "largest finish-time fairness of finished jobs (after Themis, NSDI 2020): JCT / JCT alone on "
     "an equal share. The equal share is (GPUs of the cluster) / *n*, with *n* the time-average "
     "number of submitted, unfinished jobs, the job itself included, during the job's life; the "
     "JCT alone is work x max(1, gang asked for / equal share)",
     kFairness<&FairnessSummary::ftf_max>},
    {"fairness/ftf_avg", kRatio, true, "", "mean of the same over finished jobs",
     kFairness<&FairnessSummary::ftf_avg>},
    {"fairness/bounded_ftf_max", kRatio, true, "FTF max",
     "as `fairness/ftf_max`, of finished jobs with work of at least 60 s, without the overhead of "
     "a job's first run in its JCT: very short jobs and a start that no policy can avoid do not "
     "measure fairness",
     kFairness<&FairnessSummary::bounded_ftf_max>, Better::kLess},
    {"fairness/bounded_ftf_p99", kRatio, true, "FTF p99",
     "the smallest of these that at least 99 % of those jobs do not exceed",
     kFairness<&FairnessSummary::bounded_ftf_p99>, Better::kLess},
    {"fairness/bounded_ftf_p50", kRatio, true, "",
     "the smallest of these that at least 50 % do not exceed",
     kFairness<&FairnessSummary::bounded_ftf_p50>},
    {"fairness/useful_shortfall_max", kFraction, true, "",
     "largest max(0, entitled - useful) / entitled, all in contended time: the worst user "
     "against its fair share in GPU time that computes",
     kFairness<&FairnessSummary::useful_shortfall_max>},
    {"fairness/effective_shortfall_max", kFraction, true, "worst user short",
     "largest max(0, entitled - effective) / entitled, all in contended time: the shortfall of the "
     "worst user from its fair share of effective GPU time",
     kFairness<&FairnessSummary::effective_shortfall_max>, Better::kLess},
    {"fairness/effective_shortfall_avg", kFraction, true, "", "mean of the same over users",
     kFairness<&FairnessSummary::effective_shortfall_avg>},
    {"preemptions", kCount, true, "preemptions",
     "how often a policy took a gang away: every stop except a cancellation or a suspension by its "
     "user. Time slices and the stop that begins a migration count; a gang lost with its node does "
     "not",
     &at<&Summary::preemptions>, Better::kLess},
    {"migrations", kCount, true, "migrations",
     "placements of a job that ran before, on other slices than it had last",
     &at<&Summary::migrations>, Better::kLess},
    {"placements/pair", kCount, true, "",
     "placements within a pair: one GPU, or two of one node; in all "
     "`placements` each copy of a job counts",
     &placed_at<Tier::kPair>},
    {"placements/node", kCount, true, "", "placements on one host outside a pair",
     &placed_at<Tier::kNode>},
    {"placements/rack", kCount, true, "", "placements on several hosts of one rack",
     &placed_at<Tier::kRack>},
    {"placements/spine", kCount, true, "", "placements on several racks", &placed_at<Tier::kSpine>},
    {"bounds/jct_avg_lower_s", kSeconds, false, "",
     "over finished jobs, the largest of: mean best time; mean time in the system if one machine "
     "serves jobs of those sizes, shortest remaining first; mean busy time on that machine, "
     "smallest first, and half of the best time (Goemans et al. 2002)",
     kBounds<&BoundsSummary::jct_avg_lower_s>},
    {"bounds/makespan_lower_s", kSeconds, false, "",
     "over finished jobs, the larger of: the latest (submission + best time) - first arrival; the "
     "time at which that machine has served all",
     kBounds<&BoundsSummary::makespan_lower_s>},
    {"bounds/comm_time_share_lower", kFraction, false, "",
     "that of all jobs at their best places; where the cluster has one GPU type and each job one "
     "size "
     "of gang, and all work is done once",
     kBounds<&BoundsSummary::comm_time_share_lower>},
    {"open_world/events_ignored", kCount, false, "",
     "events that changed nothing: they came twice, or too late, or named something that does not "
     "exist",
     &open_world<&OpenWorldSummary::events_ignored>, Better::kNeither, true},
    {"open_world/starts_failed", kCount, false, "", "placements that the world could not carry out",
     &open_world<&OpenWorldSummary::starts_failed>, Better::kNeither, true},
    {"open_world/stops_failed", kCount, false, "",
     "stops that the world could not carry out at once; their GPUs were down until it could",
     &open_world<&OpenWorldSummary::stops_failed>, Better::kNeither, true},
    {"open_world/skips", kCount, false, "",
     "how often the world was so far ahead that wake-ups were skipped",
     &open_world<&OpenWorldSummary::skips>, Better::kNeither, true},
    {"open_world/held", kCount, false, "",
     "`pending` jobs that were held at the end: by their users, or until the next try to start "
     "them",
     &open_world<&OpenWorldSummary::held>, Better::kNeither, true},
    {"logged/starts", kCount, false, "", "`finished` jobs with a start in the trace",
     &logged<&LoggedSummary::starts>, Better::kNeither, true},
    {"logged/kept", kCount, false, "", "jobs of these that started at exactly that time here",
     &logged<&LoggedSummary::kept>, Better::kNeither, true},
    {"logged/later", kCount, false, "", "jobs of these that started later here",
     &logged<&LoggedSummary::later>, Better::kNeither, true},
    {"logged/queue_avg_s", kSeconds, false, "",
     "mean over these jobs of start - submission in the trace",
     &logged<&LoggedSummary::queue_avg_s>, Better::kNeither, true},
    {"logged/queue_avg_here_s", kSeconds, false, "", "`queue_avg_s` of these jobs",
     &logged<&LoggedSummary::queue_avg_here_s>, Better::kNeither, true},
};

}  // namespace

std::string_view unit_name(FigureUnit unit) {
  constexpr std::string_view kNames[] = {"count", "s",        "GPU-h", "kWh",
                                         "money", "fraction", "ratio"};
  return kNames[static_cast<std::size_t>(unit)];
}

std::span<const Figure> run_figures() { return kFigures; }

const Figure* find_figure(std::string_view key) {
  const auto* const found = std::ranges::find(kFigures, key, &Figure::key);
  return found == std::end(kFigures) ? nullptr : found;
}

}  // namespace fairlead
