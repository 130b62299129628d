// Slurm's scheduler: jobs by multifactor priority with Fair Tree, started strictly in that order at
// every event and, every bf_interval, backfilled.
//
// Sources: https://slurm.schedmd.com/priority_multifactor.html (the factors and their sum),
// fair_tree.html (fair_tree.h), sched_config.html (the main loop and backfilling), and
// slurm.conf.html, from which the options have their names.
//
// DEVIATION: priorities are current; Slurm's are up to PriorityCalcPeriod old. GPUs stand for
// Slurm's CPUs and billing units. No job is preempted, nor ended at its limit.
//
// A decision costs O(waiting + running), O(k log k) for the k jobs it looks at, and the cost of
// Backfill.
#include "fairlead/policy/kit/backfill.h"
#include "fairlead/policy/kit/rounds.h"
#include "fairlead/policy/policies.h"
#include "fairlead/policy/slurm/fair_tree.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace fairlead {
namespace {

struct SlurmOptions {
  bool backfills;
  double weight_age;
  double weight_fairshare;
  double weight_job_size;
  double weight_partition;
  Duration max_age;
  Duration decay_half_life;
  bool favor_small;
  std::vector<std::pair<std::string, double>> job_factors;  // factors of partitions
  Duration bf_interval;
  Backfill::Limits bf;
  std::int64_t jobs_max;  // that a pass looks at
  Duration default_time;
  Placement placement;
};

class Slurm : public Policy {
 public:
  explicit Slurm(SlurmOptions options)
      : options_(std::move(options)),
        rounds_(options_.bf_interval),
        backfill_(options_.bf, options_.placement) {
    for (const auto& [name, factor] : options_.job_factors)
      job_factor_max_ = std::max(job_factor_max_, factor);
  }

  std::string_view name() const override { return kSlurm.name; }
  void decide(const View& view, Plan& plan) override;
  void fields(Archive& archive) override;

 private:
  struct Candidate {
    std::int64_t priority = 0;
    Time arrival;
    JobId job;
  };

  void charge(const View& view);
  void note_allocated(const View& view, const Plan& plan);
  void rank(const View& view);
  double factor_of_partition(const View& view, JobId job) const;
  static double part_of_cluster(const View& view, JobId job);
  std::int64_t priority(const View& view, JobId job) const;
  void start_in_order(const View& view, Plan& plan);
  void backfill(const View& view, Plan& plan);
  Duration length(const View& view, JobId job) const {
    return expected_length(view, job, options_.default_time);
  }

  const SlurmOptions options_;
  double job_factor_max_ = 0;

  Rounds rounds_;
  bool has_changed_ = false;                  // since the last round
  Time charged_;                              // up to when
  IdVector<UserId, double> usage_;            // decayed GPU-seconds
  IdVector<UserId, std::int64_t> allocated_;  // GPUs since then

  // State of the present decision.
  Backfill backfill_;
  IdVector<UserId, double> fairshare_;
  std::vector<Candidate> candidates_;  // by priority
  std::vector<PartitionId> blocked_;   // partitions whose first job finds no room
};

void Slurm::decide(const View& view, Plan& plan) {
  if (options_.weight_fairshare > 0) charge(view);
  has_changed_ |= !view.news.empty();
  const bool is_round = rounds_.due(view.now, plan) && has_changed_ && options_.backfills;
  if (!view.waiting.empty() && (is_round || !view.news.empty()) && plan.free().total() > 0) {
    rank(view);
    start_in_order(view, plan);
    if (is_round) backfill(view, plan);
  }
  if (is_round) has_changed_ = false;
  if (options_.weight_fairshare > 0) note_allocated(view, plan);
  const bool any_waits =
      std::ranges::any_of(view.waiting, [&](JobId job) { return !plan.has_gang(job); });
  if (options_.backfills && has_changed_ && any_waits) rounds_.wake(view.now, plan);
}

// Updates the usage of each user to now: the old usage, decayed, plus the GPU time of its jobs
// since, and outside of them.
void Slurm::charge(const View& view) {
  usage_.resize(view.users.size());
  allocated_.resize(view.users.size());
  const double seconds = to_seconds(view.now - charged_);
  charged_ = view.now;
  const double half_life_s = to_seconds(options_.decay_half_life);
  const double decay = half_life_s > 0 ? std::exp2(-seconds / half_life_s) : 1;
  for (UserId user : ids<UserId>(usage_.size()))
    usage_[user] = usage_[user] * decay + seconds * static_cast<double>(allocated_[user]);
  for (const Event& event : view.news) {
    if (event.kind == EventKind::kCharged)
      usage_[event.user] += static_cast<double>(event.attained.gpu_ms) / 1000;
  }
}

void Slurm::note_allocated(const View& view, const Plan& plan) {
  std::ranges::fill(allocated_, 0);
  for (std::span<const JobId> jobs : {view.running, view.waiting}) {
    for (JobId job : jobs) {
      if (plan.has_gang(job)) allocated_[view.jobs.user[job]] += view.jobs.gpus[job];
    }
  }
}

// Puts the jobs with the highest priority first, as many as a pass looks at.
void Slurm::rank(const View& view) {
  if (options_.weight_fairshare > 0) fairshare_ = fair_tree(view.users, usage_);
  candidates_.clear();
  for (JobId job : view.waiting) {
    // If types are not mixed, a job larger than every type blocks no other.
    if (!has_types_for(options_.placement, view.cluster, gang_asked(view.jobs, job),
                       view.jobs.types[job])) {
      continue;
    }
    candidates_.push_back({priority(view, job), view.jobs.arrival[job], job});
  }
  const auto last =
      candidates_.begin() + std::min<std::int64_t>(options_.jobs_max, std::ssize(candidates_));
  std::ranges::partial_sort(candidates_, last, {}, [](const Candidate& one) {
    return std::tuple(-one.priority, one.arrival, one.job);
  });
  candidates_.erase(last, candidates_.end());
}

double Slurm::factor_of_partition(const View& view, JobId job) const {
  const std::string_view name = view.jobs.partition_name(job);
  const auto found =
      std::ranges::find(options_.job_factors, name, [](const auto& one) { return one.first; });
  if (found == options_.job_factors.end() || job_factor_max_ == 0) return 0;
  return found->second / job_factor_max_;
}

// Returns the mean of its part of the nodes, if it has no more of them than it needs, and of the
// GPUs.
double Slurm::part_of_cluster(const View& view, JobId job) {
  const double gpus = view.jobs.gpus[job];
  const double nodes = std::ceil(gpus / view.cluster.node_gpus_max);
  return (nodes / static_cast<double>(view.cluster.nodes()) + gpus / view.cluster.gpus) / 2;
}

// "Multifactor Job Priority": a sum of weighted factors from 0 to 1, without its fraction.
std::int64_t Slurm::priority(const View& view, JobId job) const {
  const double waited_s = to_seconds(view.now - view.jobs.arrival[job]);
  const double age = std::min(1.0, waited_s / to_seconds(options_.max_age));
  const double part = part_of_cluster(view, job);
  double sum = options_.weight_age * age;
  sum += options_.weight_job_size * (options_.favor_small ? 1 - part : part);
  sum += options_.weight_partition * factor_of_partition(view, job);
  if (options_.weight_fairshare > 0)
    sum += options_.weight_fairshare * fairshare_[view.jobs.user[job]];
  return static_cast<std::int64_t>(sum);
}

// The main loop: a job that finds no room blocks the later jobs of its partition.
void Slurm::start_in_order(const View& view, Plan& plan) {
  blocked_.clear();
  for (const Candidate& one : candidates_) {
    if (plan.free().total() == 0) return;
    const PartitionId partition = view.jobs.partition_of(one.job);
    if (std::ranges::count(blocked_, partition) > 0) continue;
    if (!place(options_.placement, view.cluster, plan, one.job, view.jobs.gpus[one.job],
               view.jobs.types[one.job])) {
      blocked_.push_back(partition);
    }
  }
}

void Slurm::backfill(const View& view, Plan& plan) {
  if (plan.free().total() == 0) return;
  backfill_.begin(view, plan,
                  [&](JobId job) { return expected_end(view, job, options_.default_time); });
  for (const Candidate& one : candidates_) {
    if (plan.free().total() == 0) return;
    if (!plan.has_gang(one.job)) backfill_.start(view, plan, one.job, length(view, one.job));
  }
}

void Slurm::fields(Archive& archive) {
  archive(rounds_, has_changed_, charged_);
  archive.rows(usage_, allocated_);
}

constexpr double kWeightMax = 4'294'967'295;  // limit of slurm.conf

constexpr OptionSpec kOptions[] = {
    placement_option("best-fit", "Placement of a gang (ours; select/cons_tres packs nodes too)."),
    kMixedOption,
    choice_option(
        "scheduler_type", "backfill", "backfill/builtin",
        "Slurm's SchedulerType, sched/backfill or sched/builtin; the default is Slurm's."),
    real_option("priority_weight_age", "0", "", 0, kWeightMax,
                "Slurm's PriorityWeightAge; the default is Slurm's, so that jobs start in order of "
                "submission."),
    real_option(
        "priority_weight_fairshare", "0", "", 0, kWeightMax,
        "Slurm's PriorityWeightFairshare, of the Fair Tree factor; the default is Slurm's."),
    real_option("priority_weight_job_size", "0", "", 0, kWeightMax,
                "Slurm's PriorityWeightJobSize; the default is Slurm's."),
    real_option("priority_weight_partition", "0", "", 0, kWeightMax,
                "Slurm's PriorityWeightPartition; the default is Slurm's."),
    integer_option("priority_max_age_h", "168", "hours", 1, 876'000,
                   "Slurm's PriorityMaxAge: the age at which the age factor is 1; the default is "
                   "Slurm's 7 days."),
    integer_option("priority_decay_half_life_h", "168", "hours", 0, 876'000,
                   "Slurm's PriorityDecayHalfLife of usage, 0 for no decay; the default is Slurm's "
                   "7 days."),
    flag_option(
        "priority_favor_small", "false",
        "Slurm's PriorityFavorSmall: small jobs have the higher size factor; the default is "
        "Slurm's."),
    named_option("priority_job_factors", "", 0, 65'533,
                 "Slurm's PriorityJobFactor of each partition of the trace, gpu:10/debug:1; the "
                 "others have 0."),
    integer_option("bf_interval_s", "30", "seconds", 1, 10'800,
                   "Slurm's bf_interval: time between backfill passes; the default is Slurm's."),
    integer_option("bf_window_s", "86400", "seconds", 60, 2'592'000,
                   "Slurm's bf_window, there in minutes: how far ahead backfilling plans; the "
                   "default is Slurm's day."),
    integer_option("bf_resolution_s", "60", "seconds", 1, 3'600,
                   "Slurm's bf_resolution: how finely backfilling plans; the default is Slurm's."),
    integer_option("bf_max_job_test", "500", "jobs", 1, 1'000'000,
                   "Slurm's bf_max_job_test: how many of the waiting jobs a pass looks at; the "
                   "default is Slurm's."),
    integer_option(
        "bf_job_part_count_reserve", "0", "jobs", 0, 100'000,
        "Slurm's bf_job_part_count_reserve, here of all partitions together: how many jobs "
        "are promised a time, 1 for EASY backfilling, 0 for all of them; the default is "
        "Slurm's."),
    integer_option("default_time_s", "86400", "seconds", 1, 31'622'400,
                   "Slurm's DefaultTime of partitions: the time limit of jobs without one in "
                   "the trace (ours; Slurm's own default is the partition's MaxTime)."),
};

SlurmOptions options_of(const PolicyOptions& options) {
  const std::int64_t reserved = options.integer("bf_job_part_count_reserve");
  SlurmOptions slurm{.backfills = options.is("scheduler_type", "backfill"),
                     .weight_age = options.real("priority_weight_age"),
                     .weight_fairshare = options.real("priority_weight_fairshare"),
                     .weight_job_size = options.real("priority_weight_job_size"),
                     .weight_partition = options.real("priority_weight_partition"),
                     .max_age = options.duration("priority_max_age_h"),
                     .decay_half_life = options.duration("priority_decay_half_life_h"),
                     .favor_small = options.flag("priority_favor_small"),
                     .job_factors = {},
                     .bf_interval = options.duration("bf_interval_s"),
                     .bf = {.reservations = reserved == 0 ? Backfill::kAll : reserved,
                            .window = options.duration("bf_window_s"),
                            .resolution = options.duration("bf_resolution_s")},
                     .jobs_max = options.integer("bf_max_job_test"),
                     .default_time = options.duration("default_time_s"),
                     .placement = options.placement()};
  for (const auto& [name, factor] : options.named("priority_job_factors"))
    slurm.job_factors.emplace_back(name, factor);
  return slurm;
}

}  // namespace

const PolicyEntry kSlurm = {
    .name = "slurm",
    .summary = "Slurm: multifactor priority with Fair Tree, and backfilling, without preemption.",
    .paper = "Yoo et al., SLURM, JSSPP 2003; slurm.schedmd.com",
    .options = kOptions,
    .make = [](const PolicyOptions& options) -> Result<std::unique_ptr<Policy>> {
      return std::make_unique<Slurm>(options_of(options));
    }};

}  // namespace fairlead
