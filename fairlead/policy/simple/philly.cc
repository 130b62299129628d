// Philly: virtual clusters with quotas, gangs that first insist on locality and then relax.
//
// A user is a virtual cluster. Its jobs are in order of arrival, and within its quota it gets GPUs
// before any user gets more than its quota. Idle GPUs are then a bonus for waiting jobs. When the
// cluster is nearly full, a virtual cluster within its quota takes them back.
//
// A decision costs O(running), and O(c log c) while jobs of c virtual clusters x gang sizes wait. A
// job that looks for GPUs to take back costs in addition O(bonus jobs) placements.
#include "fairlead/model/step.h"
#include "fairlead/policy/kit/class_queue.h"
#include "fairlead/policy/policies.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <tuple>

namespace fairlead {
namespace {

// The distance allowed between the members of a gang, by level; each level adds to the ones before.
constexpr Placement kLevels[] = {Placement::kConsolidate, Placement::kRack, Placement::kBestFit};

struct PhillyOptions {
  bool quotas;
  Duration relax;
  double preempt_above;
  bool skip;
  bool mixes;  // GPU types in a gang
};

class Philly : public Policy {
 public:
  explicit Philly(PhillyOptions options) : options_(options) {}

  std::string_view name() const override { return kPhilly.name; }
  void decide(const View& view, Plan& plan) override;
  void fields(Archive& archive) override;

 private:
  enum class Share : std::uint8_t { kQuota, kBonus };
  struct Bonus {
    Time since;
    JobId job;
  };

  void apply_news(const View& view);
  void found(const View& view, UserId user);
  void enqueue(const View& view, JobId job);
  void count_allocated(const View& view);
  bool is_within_quota(const View& view, UserId user, std::int64_t gpus) const;

  void start(const View& view, Plan& plan, Share share);
  bool place_near(const View& view, Plan& plan, JobId job) const;
  bool take_back(const View& view, Plan& plan, JobId job);
  void collect_bonus(const View& view, const Plan& plan);
  void file_stopped(const View& view, const Plan& plan);
  void ask_to_be_woken(const View& view, Plan& plan) const;

  const PhillyOptions options_;

  ClassQueue waiting_;                      // its levels are the users
  IdVector<JobId, Time> since_;             // when a waiting job started to wait
  IdVector<UserId, std::uint8_t> founded_;  // virtual clusters that have submitted a job
  std::int64_t tickets_ = 0;                // tickets of all of those

  // State of the present decision.
  std::vector<JobId> newcomers_;  // jobs that started to wait in it
  IdVector<UserId, std::int64_t> allocated_;
  IdVector<UserId, bool> blocked_;  // the head of a virtual cluster found no room
  std::vector<JobId> running_;      // by user, then by start
  std::vector<Bonus> bonus_;        // youngest first
  std::size_t stopped_ = 0;         // number of them stopped for the job last placed
};

void Philly::decide(const View& view, Plan& plan) {
  newcomers_.clear();
  apply_news(view);
  if (waiting_.empty()) return;
  count_allocated(view);
  start(view, plan, Share::kQuota);
  start(view, plan, Share::kBonus);
  ask_to_be_woken(view, plan);
}

void Philly::apply_news(const View& view) {
  waiting_.reserve(view.jobs.size());
  if (since_.size() < view.jobs.size()) since_.resize(view.jobs.size());
  if (founded_.size() < view.users.size()) founded_.resize(view.users.size());
  for (const Event& event : view.news) {
    if (event.kind == EventKind::kArrived) found(view, view.jobs.user[event.job]);
    if (begins_to_wait(event.kind)) enqueue(view, event.job);
    if (ends_job(event.kind)) waiting_.erase(event.job);
  }
}

// A virtual cluster counts from its first job on, so that no decision depends on the future.
void Philly::found(const View& view, UserId user) {
  if (founded_[user] != 0) return;
  founded_[user] = 1;
  tickets_ += view.users.tickets[user];
}

void Philly::enqueue(const View& view, JobId job) {
  since_[job] = view.now;
  waiting_.add(view.jobs.user[job].row(), gang_asked(view.jobs, job), view.jobs.types[job],
               {.major = view.jobs.arrival[job].ms, .job = job});
  newcomers_.push_back(job);
}

void Philly::count_allocated(const View& view) {
  allocated_.resize(view.users.size());
  std::ranges::fill(allocated_, 0);
  for (JobId job : view.running) allocated_[view.jobs.user[job]] += view.jobs.allocated_gpus[job];
}

// Returns true if the user may have that many GPUs by right.
bool Philly::is_within_quota(const View& view, UserId user, std::int64_t gpus) const {
  if (!options_.quotas) return true;
  return Int128{gpus} * tickets_ <= Int128{view.users.tickets[user]} * view.cluster.gpus;
}

void Philly::start(const View& view, Plan& plan, Share share) {
  waiting_.unblock();
  blocked_.clear();
  blocked_.resize(view.users.size());
  // Without a free GPU only a job within its quota can start, by taking back.
  while (share == Share::kQuota || plan.free().total() > 0) {
    ClassQueue::Class* const next = waiting_.first_open();
    if (next == nullptr) return;
    const UserId user(next->level());
    const JobId job = next->head().job;
    const std::int64_t allocated = allocated_[user] + next->gpus();
    const bool is_bonus = share == Share::kBonus;
    const bool starts = !blocked_[user] && (is_bonus || is_within_quota(view, user, allocated)) &&
                        plan.may_examine(job) &&
                        (place_near(view, plan, job) || (!is_bonus && take_back(view, plan, job)));
    if (!starts) {
      next->block();
      const Placement last = kLevels[std::size(kLevels) - 1].mixing(options_.mixes);
      const bool waits = has_types_for(last, view.cluster, next->gang(), next->types());
      if (!options_.skip && waits) blocked_[user] = true;
      continue;
    }
    allocated_[user] = allocated;
    waiting_.pop(*next);
    file_stopped(view, plan);
  }
}

bool Philly::place_near(const View& view, Plan& plan, JobId job) const {
  constexpr std::int64_t kLast = std::size(kLevels) - 1;
  const Duration waited = view.now - since_[job];
  const std::int64_t level =
      options_.relax.ms == 0 ? kLast : std::min(waited.ms / options_.relax.ms, kLast);
  return std::any_of(kLevels, kLevels + level + 1, [&](Placement placement) {
    return place(placement.mixing(options_.mixes), view.cluster, plan, job, view.jobs.gpus[job],
                 view.jobs.types[job]);
  });
}

// Stops bonus jobs, youngest first, until there is a place; jobs that were not in the way go on.
bool Philly::take_back(const View& view, Plan& plan, JobId job) {
  const double capacity = plan.free().capacity();
  if (capacity - plan.free().total() <= options_.preempt_above * capacity) return false;
  collect_bonus(view, plan);
  const Plan::Mark mark = plan.mark();
  while (stopped_ < bonus_.size()) {
    plan.stop(bonus_[stopped_++].job, StopCause::kQuota);
    if (!place_near(view, plan, job)) continue;
    for (std::size_t i = stopped_; i-- > 0;) place_back(view.jobs, plan, bonus_[i].job);
    return true;
  }
  plan.rollback(mark);
  stopped_ = 0;
  return false;
}

// Bonus jobs are the jobs with which a virtual cluster, counting from the oldest, exceeds its
// quota.
void Philly::collect_bonus(const View& view, const Plan& plan) {
  const Jobs& jobs = view.jobs;
  running_.clear();
  std::ranges::copy_if(view.running, std::back_inserter(running_),
                       [&](JobId job) { return plan.has_gang(job); });
  std::ranges::sort(running_, {}, [&](JobId job) {
    return std::tuple(jobs.user[job], jobs.run_since[job], job);
  });
  bonus_.clear();
  UserId user;
  std::int64_t allocated = 0;
  for (JobId job : running_) {
    if (jobs.user[job] != user) allocated = 0;
    user = jobs.user[job];
    allocated += jobs.allocated_gpus[job];
    if (!is_within_quota(view, user, allocated)) bonus_.push_back({jobs.run_since[job], job});
  }
  std::ranges::sort(bonus_, std::greater(),
                    [](const Bonus& each) { return std::pair(each.since, each.job); });
}

void Philly::file_stopped(const View& view, const Plan& plan) {
  for (; stopped_ > 0; --stopped_) {
    const JobId job = bonus_[stopped_ - 1].job;
    if (plan.has_gang(job)) continue;
    allocated_[view.jobs.user[job]] -= view.jobs.gpus[job];
    enqueue(view, job);
  }
}

void Philly::ask_to_be_woken(const View& view, Plan& plan) const {
  if (options_.relax.ms == 0) return;
  for (JobId job : newcomers_) {
    if (!waiting_.contains(job)) continue;
    Time relaxed = view.now;
    for (std::size_t level = 1; level < std::size(kLevels); ++level) {
      relaxed = relaxed + options_.relax;
      plan.wake_at(relaxed);
    }
  }
}

void Philly::fields(Archive& archive) {
  archive(tickets_, founded_, waiting_);
  waiting_.for_each([&](const OrderKey& key) { archive(since_.grow_to(key.job)); });
}

constexpr OptionSpec kOptions[] = {
    choice_option("quota", "tickets", "tickets/none",
                  "Quota of a virtual cluster: GPUs in proportion to its user's tickets, or no "
                  "quotas, and so no bonus jobs and no preemption (none, ours)."),
    integer_option("relax_s", "120", "seconds", 0, 31'536'000,
                   "Waiting time after which a gang may span a rack, and after as long again any "
                   "nodes; 0: any nodes at once; chosen."),
    real_option(
        "preempt_above", "0.9", "", 0, 1,
        "Preempt bonus jobs only if more than this fraction of the GPUs is in use; 1: never."),
    flag_option("skip", "false",
                "Try the jobs behind one that finds no room in its virtual cluster; the default is "
                "a strict order (ours)."),
    kMixedOption,
};

}  // namespace

const PolicyEntry kPhilly = {
    .name = "philly",
    .summary = "Virtual clusters with quotas, locality that is relaxed, bonus that is taken back.",
    .paper = "Jeon et al., Analysis of Large-Scale Multi-Tenant GPU Clusters, USENIX ATC 2019",
    .options = kOptions,
    .make = [](const PolicyOptions& options) -> Result<std::unique_ptr<Policy>> {
      return std::make_unique<Philly>(PhillyOptions{.quotas = options.is("quota", "tickets"),
                                                    .relax = options.duration("relax_s"),
                                                    .preempt_above = options.real("preempt_above"),
                                                    .skip = options.flag("skip"),
                                                    .mixes = options.flag(kMixedOption.name)});
    },
    .traits =
        [](const PolicyOptions& options) {
          PlacementTraits traits = placement_traits(options);
          traits.near = options.duration("relax_s");
          return traits;
        }};

}  // namespace fairlead
