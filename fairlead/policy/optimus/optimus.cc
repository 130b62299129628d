// Optimus (Peng et al., EuroSys 2018): GPUs go to the jobs that they bring forward most.
//
// Every round divides all GPUs again by marginal gain (shares.h). Each job's time left is its work
// left over its speed on that many GPUs. Changed gangs are stopped and placed again. In between no
// job is stopped, and waiting jobs are offered the GPUs that become free.
//
// Cost: between rounds O(news + classes per start), because a waiting job's smallest gang does not
// change; a round O(present jobs x (log + GPU types) + GPUs x log + sizes tried).
#include "fairlead/model/known_speed.h"
#include "fairlead/model/known_work.h"
#include "fairlead/model/levels.h"
#include "fairlead/model/step.h"
#include "fairlead/policy/kit/class_queue.h"
#include "fairlead/policy/kit/free_for.h"
#include "fairlead/policy/kit/rounds.h"
#include "fairlead/policy/optimus/estimates.h"
#include "fairlead/policy/optimus/shares.h"
#include "fairlead/policy/policies.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace fairlead {
namespace {

struct OptimusOptions {
  Duration round;
  double switch_s;    // expected cost of changing a gang
  bool equal_shares;  // not by gain
  bool fit_speed;
  bool fit_remaining;
  std::uint64_t seed;
};

class Optimus : public Policy {
 public:
  explicit Optimus(const OptimusOptions& options) : options_(options), rounds_(options.round) {}

  std::string_view name() const override { return kOptimus.name; }
  Needs needs() const override {
    return {.rates = RatesNeeded::kTable, .work = kAnyWork, .elastic = true};
  }
  void decide(const View& view, Plan& plan) override;
  void fields(Archive& archive) override;

 private:
  void apply_news(const View& view);
  void wait(const View& view, JobId job);
  void offer_idle(const View& view, Plan& plan);
  void divide(const View& view, Plan& plan);
  void fit(const View& view);
  double believed_work_s(const View& view, JobId job) const;
  double time_left_s(const View& view, std::size_t i, GpuTypeId type, std::uint32_t gpus) const;
  void carry_out(const View& view, Plan& plan);
  void keep_running(const View& view, Plan& plan) const;
  bool place_share(const View& view, Plan& plan, std::size_t i);

  const OptimusOptions options_;
  Rounds rounds_;
  ClassQueue waiting_;  // by smallest gang; without jobs that have none here

  // Columns of the present round, one row for each job.
  std::vector<JobId> jobs_;
  std::vector<ElasticJob> shares_;
  std::vector<double> work_left_s_;               // believed, at rate 1
  std::vector<std::optional<FittedSpeed>> fits_;  // by job and type; unless speed=fit, none
};

// Returns the smallest gang of the job that runs here, and the types that run it; no types if there
// is none. A pinned job has one gang.
ElasticJob smallest_gang(const View& view, JobId job) {
  const Jobs& jobs = view.jobs;
  if (jobs.is_pinned(job)) {
    const Gang last = jobs.last_gang(job);
    const std::uint32_t gpus = gpus_of(last);
    return {.gpus_min = gpus,
            .gpus_max = gpus,
            .task_gpus = jobs.task_gpus[job],
            .types = type_bit(view.cluster.node_type[last.front().node])};
  }
  ElasticJob gang{.gpus_min = jobs.gpus_min[job],
                  .gpus_max = jobs.gpus_max[job],
                  .task_gpus = jobs.task_gpus[job]};
  const std::uint32_t most = std::min(gang.gpus_max, view.cluster.gpus);
  const Level required = jobs.closeness[job].required;
  for (; gang.gpus_min <= most; gang.gpus_min += gang.task_gpus) {
    for (GpuTypeId type : ids<GpuTypeId>(view.cluster.type_gpus.size())) {
      const bool fits =
          (jobs.types[job] & type_bit(type)) != 0 &&
          gang.gpus_min <= view.cluster.room(type, gang.task_gpus) &&
          (required == kAnywhere ||
           has_room_within(view.cluster, required, type_bit(type), gang.gpus_min, gang.task_gpus));
      if (fits && can_run(view, job, type, gang.gpus_min)) gang.types |= type_bit(type);
    }
    if (gang.types != 0) break;
  }
  return gang;
}

// Takes the freest nodes of the type, one after the other. DEVIATION: section 4.2 spreads a job
// evenly over as few nodes as can take it; this is the rule of the implementation in Sia's artefact
// (SOSP 2023). Returns false, without a change, if they have too little room together for the job's
// tasks.
bool place_freest(const View& view, Plan& plan, JobId job, GpuTypeId type, std::uint32_t gpus) {
  if (plan.is_pinned(job)) return plan.place_pinned(job);
  if (!plan.examine(job)) return false;
  FreeFor free(view, plan, job);
  const auto take = [&](NodeRange range) {
    std::uint32_t left = gpus;
    while (left > 0) {
      const NodeId node = free.index().freest(type, range);
      const std::uint32_t usable =
          node.is_none() ? 0 : whole_tasks(free.index().on(node), plan.task_gpus(job));
      if (usable == 0) break;
      const std::uint32_t taken = std::min(left, usable);
      free.take(plan, node, taken);
      left -= taken;
    }
    if (left > 0) free.drop(view, plan, job);
    return left == 0;
  };
  return any_section(view.cluster, plan.closeness(job), take) && plan.place(job);
}

void Optimus::decide(const View& view, Plan& plan) {
  apply_news(view);
  if (rounds_.due(view.now, plan)) {
    divide(view, plan);
  } else {
    offer_idle(view, plan);
  }
  // If no job runs, everything is on offer already.
  if (!plan.free().all_free()) rounds_.wake(view.now, plan);
}

void Optimus::apply_news(const View& view) {
  for (const Event& event : view.news) {
    if (event.job.is_none()) continue;
    switch (view.jobs.state[event.job]) {
      case JobState::kWaiting:
        if (!waiting_.contains(event.job)) wait(view, event.job);
        break;
      case JobState::kRunning:
        break;
      default:
        waiting_.erase(event.job);
    }
  }
}

void Optimus::wait(const View& view, JobId job) {
  const ElasticJob gang = smallest_gang(view, job);
  if (gang.types == 0) return;
  GangAsked asked = gang_asked(view.jobs, job);
  asked.gpus = gang.gpus_min;
  asked.task_gpus = gang.task_gpus;
  asked.closeness = {};
  waiting_.add(0, asked, gang.types, {.major = gang.gpus_min, .job = job});
}

void Optimus::offer_idle(const View& view, Plan& plan) {
  waiting_.unblock();
  while (plan.free().total() > 0) {
    ClassQueue::Class* const next = waiting_.first_open();
    if (next == nullptr) return;
    const JobId job = next->head().job;
    GpuTypeId best;
    Rate fastest;
    for (GpuTypeId type : ids<GpuTypeId>(view.cluster.type_gpus.size())) {
      if ((next->types() & type_bit(type)) == 0) continue;
      if (plan.free().room(type, next->task_gpus()) < next->gpus()) continue;
      const Rate rate = view.speed.best_rate(job, type, next->gpus());
      if (rate <= fastest) continue;
      best = type;
      fastest = rate;
    }
    if (best.is_none() || !place_freest(view, plan, job, best, next->gpus())) {
      next->block();
      continue;
    }
    waiting_.pop(*next);
  }
}

void Optimus::divide(const View& view, Plan& plan) {
  jobs_.assign(view.waiting.begin(), view.waiting.end());
  jobs_.insert(jobs_.end(), view.running.begin(), view.running.end());
  std::ranges::sort(jobs_);
  std::erase_if(jobs_, [&](JobId job) { return !plan.examine(job); });

  std::vector<std::uint32_t> left;
  for (GpuTypeId type : ids<GpuTypeId>(view.cluster.type_gpus.size())) {
    left.push_back(plan.free().of(type));
  }
  shares_.clear();
  work_left_s_.clear();
  for (JobId job : jobs_) {
    ElasticJob share = smallest_gang(view, job);
    if (plan.has_gang(job)) {
      share.allocated = gpus_of(plan.gang(job));
      share.allocated_type = view.cluster.node_type[plan.gang(job).front().node];
      left[share.allocated_type.row()] += share.allocated;
    }
    shares_.push_back(share);
    work_left_s_.push_back(believed_work_s(view, job));
  }
  if (options_.fit_speed) fit(view);
  const auto time_left = [&](std::size_t i, GpuTypeId type, std::uint32_t gpus) {
    return time_left_s(view, i, type, gpus);
  };
  if (options_.equal_shares) {
    share_equally(shares_, left, time_left, options_.switch_s);
  } else {
    share_by_gain(shares_, left, time_left, options_.switch_s);
  }
  carry_out(view, plan);
}

void Optimus::fit(const View& view) {
  fits_.clear();
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    const ElasticJob& share = shares_[i];
    for (GpuTypeId type : ids<GpuTypeId>(view.cluster.type_gpus.size())) {
      fits_.emplace_back();
      if ((share.types & type_bit(type)) == 0) continue;
      const std::uint32_t room = view.cluster.room(type, share.task_gpus);
      const std::uint32_t largest = std::min(share.gpus_max, room);
      const std::uint32_t asked = std::clamp(view.jobs.gpus[jobs_[i]], share.gpus_min, largest);
      fits_.back().emplace(view, jobs_[i], type, share.gpus_min, asked, largest);
    }
  }
}

double Optimus::believed_work_s(const View& view, JobId job) const {
  const double left_s = to_seconds(view.work.remaining(job));
  if (!options_.fit_remaining) return left_s;
  const double all_s = to_seconds(view.work.total(job));
  const double progress = std::clamp(1 - left_s / all_s, 0.0, 1.0);
  return all_s * MadeUpTraining(options_.seed, job).believed_left(progress);
}

double Optimus::time_left_s(const View& view, std::size_t i, GpuTypeId type,
                            std::uint32_t gpus) const {
  const JobId job = jobs_[i];
  if (!can_run(view, job, type, gpus)) return std::numeric_limits<double>::infinity();
  if (options_.fit_speed) {
    const std::size_t at = i * view.cluster.type_gpus.size() + type.row();
    return work_left_s_[i] / fits_[at]->rate(gpus);
  }
  return work_left_s_[i] / view.speed.best_rate(job, type, gpus).value();
}

// Jobs with unchanged type and number keep their gangs; the others are placed in increasing size.
void Optimus::carry_out(const View& view, Plan& plan) {
  std::vector<std::size_t> moved;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    const ElasticJob& share = shares_[i];
    const bool keeps =
        share.gpus == share.allocated && (share.gpus == 0 || share.type == share.allocated_type);
    if (keeps) continue;
    if (share.allocated > 0) plan.stop(jobs_[i], StopCause::kRound);
    if (share.gpus > 0) moved.push_back(i);
  }
  std::ranges::stable_sort(moved, {}, [&](std::size_t i) { return shares_[i].gpus; });
  bool all_fit = true;
  for (std::size_t i : moved) all_fit = place_share(view, plan, i) && all_fit;
  if (plan.is_cut()) keep_running(view, plan);
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (plan.has_gang(jobs_[i])) {
      waiting_.erase(jobs_[i]);
    } else if (!waiting_.contains(jobs_[i])) {
      wait(view, jobs_[i]);
    }
  }
  if (!all_fit) offer_idle(view, plan);
}

// Gives jobs their gangs back that no job of a division which was cut has taken.
void Optimus::keep_running(const View& view, Plan& plan) const {
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (shares_[i].allocated > 0 && !plan.has_gang(jobs_[i])) place_back(view.jobs, plan, jobs_[i]);
  }
}

// Returns false if the free GPUs have no room for all tasks of the share, as near each other as the
// job requires. Then it gets its old gang back, or as many tasks as there is room for, or waits.
bool Optimus::place_share(const View& view, Plan& plan, std::size_t i) {
  const ElasticJob& share = shares_[i];
  const std::uint32_t room = plan.free().room(share.type, share.task_gpus);
  if (room >= share.gpus && place_freest(view, plan, jobs_[i], share.type, share.gpus)) {
    return true;
  }
  if (share.allocated > 0 && place_back(view.jobs, plan, jobs_[i])) return false;
  const std::uint32_t most = std::min(room, share.gpus);
  for (std::uint32_t gpus = most; gpus >= share.gpus_min; gpus -= share.task_gpus) {
    if (!can_run(view, jobs_[i], share.type, gpus)) continue;
    if (place_freest(view, plan, jobs_[i], share.type, gpus)) break;
  }
  return false;
}

void Optimus::fields(Archive& archive) { archive(rounds_, waiting_); }

constexpr OptionSpec kOptions[] = {
    integer_option("round_s", "600", "seconds", 1, 86400,
                   "Interval at which GPUs are divided again; the default is the paper's."),
    real_option("switch_s", "30", "seconds", 0, 86400,
                "Expected overhead of changing a gang; the default is the simulated cost of moving "
                "2 to 8 GPUs."),
    choice_option("speed", "table", "table/fit",
                  "Speeds are known (table), or fitted to the speeds of a few gang sizes, as in "
                  "the paper (fit)."),
    choice_option("shares", "gain", "gain/equal",
                  "A further GPU goes to the job that gains most by it (gain), or to the job "
                  "with the fewest GPUs among the jobs that gain (equal): equal shares of elastic "
                  "jobs (DRF), to "
                  "compare with; ours."),
    choice_option("remaining", "known", "known/fit",
                  "Remaining work is known, or estimated by fitting a curve to losses that are "
                  "generated from the seed (fit)."),
};

}  // namespace

const PolicyEntry kOptimus = {
    .name = "optimus",
    .summary = "Elastic gangs: GPUs go to the jobs that they bring forward most.",
    .paper = "Peng et al., Optimus, EuroSys 2018",
    .options = kOptions,
    .make = [](const PolicyOptions& options) -> Result<std::unique_ptr<Policy>> {
      return std::make_unique<Optimus>(
          OptimusOptions{.round = options.duration("round_s"),
                         .switch_s = options.real("switch_s"),
                         .equal_shares = options.is("shares", "equal"),
                         .fit_speed = options.is("speed", "fit"),
                         .fit_remaining = options.is("remaining", "fit"),
                         .seed = options.seed()});
    },
    .traits =
        [](const PolicyOptions& options) {
          return PlacementTraits{.placement = Placement::kBestFit,
                                 .one_type = true,
                                 .smallest = true,
                                 .round = options.duration("round_s")};
        }};

}  // namespace fairlead
