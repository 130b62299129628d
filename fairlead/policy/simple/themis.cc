// Themis (Mahajan et al., NSDI 2020): finish-time fairness under leases.
//
// rho of a job is its time to finish in the shared cluster, divided by its time to finish alone on
// an equal share of it (section 3.2). GPUs are leased. When leases end, the jobs with the largest
// rho, a fraction 1 - f of all, are offered the GPUs first (section 3.3). A large f keeps most jobs
// where they are, a small one makes rho more equal.
//
// DEVIATION: a job is an app, and there is no auction (section 3.3). A bid would list rho for every
// set of GPUs; for a gang of fixed size it has two lines, the gang or nothing. So the bidders are
// served in order of rho, the largest first, and ties go to the lower JobId.
//
// DEVIATION: all leases end together, at the multiples of lease_s. Published, each lasts that long
// from its start, and an app can use any few GPUs that become free. Here the GPUs of a large gang
// would hardly ever become free at once. A lease that starts in between is shorter.
//
// DEVIATION: GPUs that no served job took stay with their present jobs; idle ones go to the others
// in order of rho. Published, they go to others at random.
//
// DEVIATION: rho assumes that a job runs at its reference speed, on its share and here: neither GPU
// types nor placement count (section 4.3).
//
// Cost: O(jobs log jobs) when leases end, and a placement for each job and lease that changes;
// between, the same for the waiting jobs if a GPU is free.
#include "fairlead/model/known_work.h"
#include "fairlead/model/step.h"
#include "fairlead/policy/kit/placement.h"
#include "fairlead/policy/kit/rounds.h"
#include "fairlead/policy/policies.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace fairlead {
namespace {

class Themis : public Policy {
 public:
  struct Options {
    Placement placement;
    Duration lease;
    double filter;  // the paper's f
  };
  explicit Themis(const Options& options) : options_(options), leases_(options.lease) {}

  std::string_view name() const override { return "themis"; }
  Needs needs() const override { return {.work = kAnyWork}; }

  void decide(const View& view, Plan& plan) override {
    count_jobs(view);
    const bool leases_end = leases_.due(view.now, plan);
    if (view.waiting.empty()) return;
    bool all_run = false;
    if (leases_end || plan.free().total() > 0) {
      sort_by_rho(view, leases_end);
      no_place_.clear();
      if (leases_end) serve_worst_off(view, plan);
      all_run = give_rest(view, plan);
    }
    if (!all_run && !plan.free().all_free()) leases_.wake(view.now, plan);
  }

  void fields(Archive& archive) override {
    archive(leases_, counted_, jobs_here_, job_ms_, job_ms_at_arrival_);
    for (std::uint64_t job_ms : job_ms_at_arrival_) archive.expect(job_ms <= job_ms_);
  }

 private:
  struct Entry {
    double rho;
    JobId job;
  };

  // Adds up the number of present jobs over time.
  void count_jobs(const View& view) {
    job_ms_ += jobs_here_ * static_cast<std::uint64_t>((view.now - counted_).ms);
    counted_ = view.now;
    jobs_here_ = view.waiting.size() + view.running.size();
    for (const Event& event : view.news) {
      if (event.kind == EventKind::kArrived) job_ms_at_arrival_.grow_to(event.job) = job_ms_;
    }
  }

  // Returns N_avg of section 4.3.1: the mean number of present jobs during the job's life.
  double contention(const View& view, JobId job) const {
    const Duration age = view.now - view.jobs.arrival[job];
    if (age.ms == 0) return static_cast<double>(jobs_here_);
    return static_cast<double>(job_ms_ - job_ms_at_arrival_[job]) / static_cast<double>(age.ms);
  }

  // Sections 3.2 and 4.3.1. T_shared is the time so far plus the time left. T_alone is the time on
  // an equal share of the GPUs that the job can run on, of which it uses at most its gang.
  double rho(const View& view, JobId job) const {
    const Jobs& jobs = view.jobs;
    std::uint32_t gpus = 0;
    for (GpuTypeId type : ids<GpuTypeId>(view.cluster.type_gpus.size())) {
      if ((jobs.types[job] & type_bit(type)) != 0) gpus += view.cluster.type_gpus[type];
    }
    const double share = gpus / contention(view, job);
    const Duration shared = view.now - jobs.arrival[job] + view.work.remaining(job);
    const double alone =
        static_cast<double>(view.work.total(job).ms) * std::max(1.0, jobs.gpus[job] / share);
    return static_cast<double>(shared.ms) / alone;
  }

  // Sorts the jobs that could be given GPUs now: waiting ones and, if leases end, running ones.
  void sort_by_rho(const View& view, bool leases_end) {
    order_.clear();
    for (JobId job : view.waiting) order_.push_back({rho(view, job), job});
    if (leases_end) {
      for (JobId job : view.running) order_.push_back({rho(view, job), job});
    }
    std::ranges::sort(order_, {}, [](const Entry& e) { return std::pair(-e.rho, e.job); });
  }

  // Section 3.3: the fraction 1 - f with the largest rho, at least one job, are served in order. A
  // waiting job may take the GPUs of jobs behind it, the smallest rho first. All other leases are
  // renewed.
  void serve_worst_off(const View& view, Plan& plan) {
    const auto jobs = static_cast<double>(order_.size());
    const auto filtered = static_cast<std::size_t>(options_.filter * jobs);
    const std::size_t served = std::max(order_.size() - filtered, std::size_t{1});
    kept_ = order_.size();
    for (std::size_t at = 0; at < std::min(served, kept_); ++at) {
      const JobId job = order_[at].job;
      if (!plan.has_gang(job) && !has_no_place(view.jobs, job) && plan.may_examine(job))
        make_place(view, plan, at);
    }
  }

  void make_place(const View& view, Plan& plan, std::size_t at) {
    const JobId job = order_[at].job;
    const Plan::Mark before = plan.mark();
    const std::size_t kept_before = kept_;
    while (!try_place(view, plan, job)) {
      do {
        --kept_;
      } while (kept_ > at && !plan.has_gang(order_[kept_].job));
      if (kept_ == at) {
        plan.rollback(before);
        kept_ = kept_before;
        no_place_.push_back(shape(view.jobs, job));
        return;
      }
      plan.stop(order_[kept_].job, StopCause::kTurn);
    }
  }

  // Gives out the GPUs free then: first to leases that were taken back in vain, so that these jobs
  // stay where they are. Returns true if all jobs of the order have GPUs.
  bool give_rest(const View& view, Plan& plan) {
    const Jobs& jobs = view.jobs;
    for (const auto& [rho, job] : order_) {
      if (jobs.state[job] == JobState::kRunning && !plan.has_gang(job)) place_back(jobs, plan, job);
    }
    bool all_run = true;
    for (const auto& [rho, job] : order_) {
      if (plan.has_gang(job)) continue;
      const bool is_hopeless = has_no_place(jobs, job) || !plan.may_examine(job);
      if (!is_hopeless && try_place(view, plan, job)) continue;
      if (!is_hopeless) no_place_.push_back(shape(jobs, job));
      all_run = false;
    }
    return all_run;
  }

  bool try_place(const View& view, Plan& plan, JobId job) const {
    return place(options_.placement, view.cluster, plan, job, view.jobs.gpus[job],
                 view.jobs.types[job]);
  }
  bool has_no_place(const Jobs& jobs, JobId job) const {
    return std::ranges::find(no_place_, shape(jobs, job)) != no_place_.end();
  }

  // If any job of a shape fits, all fit.
  using Shape = std::pair<GangAsked, TypeMask>;
  static Shape shape(const Jobs& jobs, JobId job) {
    return {gang_asked(jobs, job), jobs.types[job]};
  }

  const Options options_;
  Rounds leases_;  // a round starts when leases end
  Time counted_;
  std::uint64_t jobs_here_ = 0;  // since counted_
  std::uint64_t job_ms_ = 0;     // number of present jobs x time, up to counted_
  IdVector<JobId, std::uint64_t> job_ms_at_arrival_;
  // State of the present decision.
  std::vector<Entry> order_;
  std::size_t kept_ = 0;         // the leases from here on were taken back
  std::vector<Shape> no_place_;  // shapes of gangs that found no place
};

constexpr OptionSpec kOptions[] = {
    placement_option("best-fit", "Placement of a gang; the default keeps gangs together (ours)."),
    kMixedOption,
    kUpgradeOption,
    integer_option("lease_s", "1200", "seconds", 1, 86'400,
                   "Time between two ends of all leases; the default is the paper's lease."),
    real_option("f", "0.8", "", 0, 1,
                "When leases end, the fraction 1 - f of the jobs with the largest rho may take the "
                "GPUs of others; the default is the paper's."),
};

}  // namespace

const PolicyEntry kThemis = {
    .name = "themis",
    .summary = "Leased GPUs go first to the jobs that are furthest from finish-time fairness.",
    .paper = "Mahajan et al., Themis, NSDI 2020",
    .options = kOptions,
    .make = [](const PolicyOptions& options) -> Result<std::unique_ptr<Policy>> {
      return std::make_unique<Themis>(Themis::Options{.placement = options.placement(),
                                                      .lease = options.duration("lease_s"),
                                                      .filter = options.real("f")});
    },
    .traits = [](const PolicyOptions& options) { return placement_traits(options, "lease_s"); }};

}  // namespace fairlead
