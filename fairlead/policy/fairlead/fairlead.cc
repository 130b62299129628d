// fairlead: one policy for shares, early finishes and fast GPUs (ours): drift plus penalty (Neely 2010)
// on Hadar's auction.
//
// Jobs bid for GPUs in rounds, as under hadar (hadar/auction.h). The weight of a job is the
// value of a step of it for early finishes, plus the shortfall of its user:
//
//   weight = value + 2 (debt + kept + (due - ahead - gang / 2) x round) / (due x (window - round))
//
//   value   the value of a step for early finishes, in fractions of the largest (hadar/early_finishes.h).
//           Unknown work is estimated from the gang and from the durations of ended jobs (durations.h).
//   debt    GPU-seconds that its user is behind (debts.h).
//   kept    due x two switches, at most a round, on the GPUs that the job has or had last; elsewhere 0. A restart costs
//           all users. So users that are about equally far behind do not swap GPUs.
//   due     GPUs that its user is due
//   ahead   GPUs of its user's jobs that have less work left, so that a user does not get its due of
//           a whole window at once
//
// A step is counted on the mean GPU that the job can use, so that types go to jobs by comparative
// advantage: the prices of the auction do the work of trades under gandiva-fair. Elastic jobs bid
// for the size at which GPUs are worth most (sizes.h). Jobs that may have copies bid for each copy
// (copies.h).
//
// A user that is a window behind another comes first with all its jobs, whatever their ranks; within the
// window short jobs come first. docs/policies/fairlead.md has the bound on shortfalls.
//
// An arriving job interrupts a round only if it ends within one, or if its user has no GPUs and is due some. A user that
// waits so for longer than its patience has a job that goes first for a round (starving.h). A job that waits for longer
// than its own patience comes first among its user's jobs for a round (overdue.h).
//
// Time that a job needs to start again is not charged to its user, up to twice the expected switch: slower starts
// are the user's own. GPU time that a user takes outside of its jobs is charged like theirs.
//
// Cost: the auction's, and O(users log users) for each event; O(jobs) if the work of some is not known.
#include "fairlead/model/known_speed.h"
#include "fairlead/model/known_work.h"
#include "fairlead/model/levels.h"
#include "fairlead/model/task_limits.h"
#include "fairlead/policy/fairlead/copies.h"
#include "fairlead/policy/fairlead/debts.h"
#include "fairlead/policy/fairlead/durations.h"
#include "fairlead/policy/fairlead/notes.h"
#include "fairlead/policy/fairlead/overdue.h"
#include "fairlead/policy/fairlead/sizes.h"
#include "fairlead/policy/fairlead/starving.h"
#include "fairlead/policy/fairlead/user_sums.h"
#include "fairlead/policy/hadar/auction.h"
#include "fairlead/policy/hadar/early_finishes.h"
#include "fairlead/policy/kit/changed_jobs.h"
#include "fairlead/policy/policies.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace fairlead {
namespace {

struct FairleadOptions {
  double window_s;                       // infinity: no shares
  std::optional<Duration> patience;      // of a user; none: forever
  std::optional<Duration> job_patience;  // none: forever
  bool notes;
  std::uint32_t copies;  // per job, at most; 0: as many as there are nodes
  HadarAuction::Options auction;
};

// Returns true if the job's remaining work is unknown.
bool is_guess(const View& view, JobId job) {
  return !view.work.is_exact() && view.work.left(job).source == WorkSource::kNone;
}

// Returns none if the job's user is in no group, or its group has no quota.
GroupId group_with_quota(const View& view, JobId job) {
  const GroupId group = view.users.group_of(view.jobs.user[job]);
  return !group.is_none() && view.users.groups.quota[group] > 0 ? group : GroupId::none();
}

// Returns true if the idle cluster has a place for a gang of that size.
bool has_room_for(const View& view, JobId job, std::uint32_t gang) {
  const TypeMask types = view.jobs.types[job];
  const std::uint32_t task = view.jobs.task_gpus[job];
  const Level required = view.jobs.closeness[job].required;
  if (view.jobs.limits != nullptr && view.jobs.limits->is_lasting()) {
    const auto usable = [&](NodeId node) {
      const std::uint32_t tasks = view.cluster.node_gpus[node] / task;
      return std::min(tasks, view.jobs.limits->most_tasks(job, node)) * task;
    };
    return tightest_section(view.cluster, required, types, gang, usable).has_value();
  }
  if (required != kAnywhere) return has_room_within(view.cluster, required, types, gang, task);
  std::uint32_t room = 0;
  for (GpuTypeId type : ids<GpuTypeId>(view.cluster.type_names.size())) {
    if ((types & type_bit(type)) != 0) room += view.cluster.room(type, task);
  }
  return gang <= room;
}

// Keeps weights above 0 and in order: changes only small and negative ones. Weights too small for a
// double all become alike.
double positive(double weight) {
  constexpr double kSmall = 0.1;
  constexpr double kLeast = -500;  // exp of it is 7e-218
  return weight > kSmall ? weight : kSmall * std::exp(std::max(weight / kSmall - 1, kLeast));
}

class Fairlead : public Policy {
 public:
  explicit Fairlead(const FairleadOptions& options)
      : options_(options),
        keeping_(1 + to_seconds(options.auction.switch_cost) / round_s()),
        auction_(options.auction),
        copies_({.most = options.copies, .switch_cost = options.auction.switch_cost}),
        debts_(Duration{std::llround(1000 * std::min(options.window_s, kLongestS))},
               options.auction.round),
        starving_users_(options.patience, options.auction.round),
        overdue_(options.job_patience, options.auction.round) {}

  std::string_view name() const override { return kFairlead.name; }
  Needs needs() const override {
    return {
        .rates = RatesNeeded::kTable, .work = kAnyWork, .elastic = true, .copies = copies_.any()};
  }
  void decide(const View& view, Plan& plan) override;
  void fields(Archive& archive) override;

 private:
  // Two switches: another job takes the GPUs, and the job returns. The longest restart expected is as long: of gangs of
  // more than 8 GPUs (Helios). 1 and 3 were measured (decision 0082).
  static constexpr std::int64_t kSwitches = 2;
  static constexpr double kLongestS = 1e9;
  static constexpr double kRounding = 1e-9;  // dues are rounded

  void hear(const View& view);
  void forgive_restarts(const View& view, const Plan& plan);
  bool interrupts(const View& view, const Plan& plan, JobId job);
  void expect(const View& view, const Plan& plan);
  void watch(const View& view);
  void rank(const View& view, const Plan& plan, std::vector<HadarBidder>& bidders, bool all);
  void note_ranks(Plan& plan);
  void choose_sizes(const View& view, const Plan& plan, std::vector<HadarBidder>& bidders,
                    bool all);
  void add_urgency(const View& view, const Plan& plan, bool all);
  std::uint32_t wanted_copies(const View& view, JobId job, double alone_s);
  void keep_quotas(const View& view, const Plan& plan, bool all);
  double mean_speed(const View& view, const Plan& plan, JobId job, std::uint32_t kind);
  double left_s(const View& view, const HadarBidder& bidder) const;
  double urgency(UserId user, double gang);
  // Returns the urgency that a job has more on its own GPUs than elsewhere.
  double kept() const {
    return std::min(kSwitches * to_seconds(options_.auction.switch_cost), round_s()) / rank_s();
  }
  // Returns the debt, in seconds of the due, that a whole value outweighs.
  double rank_s() const { return (std::max(options_.window_s, 2 * round_s()) - round_s()) / 2; }
  double round_s() const { return to_seconds(options_.auction.round); }
  bool keeps_shares() const { return !std::isinf(options_.window_s); }
  bool starves(UserId user) const;
  double first(const View& view, const EarlyFinishes::Row& row);
  // Returns true if the user is a window ahead.
  bool is_early(UserId user) const {
    return debts_.behind_s(user) < -debts_.due(user) * options_.window_s;
  }
  // Returns true if the user is a window behind: its jobs take any GPUs they can get.
  bool is_late(UserId user) const {
    return debts_.behind_s(user) > debts_.due(user) * options_.window_s;
  }

  const FairleadOptions options_;
  const double keeping_;  // the value of a round in which a job keeps its gang, and saves a switch
  HadarAuction auction_;
  EarlyFinishes early_finishes_;  // from the view and the plan alone, so it is not saved
  Copies copies_;
  UserSums users_;  // from the view and the plan alone, so it is not saved
  // Jobs that may be starting, from the view alone, so they are not saved.
  std::vector<JobId> starting_;
  ChangedJobs changed_;
  Debts debts_;
  Starving starving_users_;
  Overdue overdue_;
  FairleadNotes notes_;
  Durations durations_;
  Sizes sizes_;

  // State of the present decision.
  std::span<EarlyFinishes::Row> ranking_;  // bidders in order of their work left
  std::vector<Debts::Ask> by_user_;
  std::vector<Durations::Ran> ran_;
  IdVector<UserId, double> ahead_;              // GPUs
  IdVector<GroupId, std::int64_t> quota_left_;  // GPUs
  std::vector<FairleadNotes::Ranked> ranks_;
};

void Fairlead::decide(const View& view, Plan& plan) {
  hear(view);
  forgive_restarts(view, plan);
  debts_.settle(view.now);
  const auto weigh = [&](std::vector<HadarBidder>& bidders, bool all) {
    expect(view, plan);  // newly arrived users are due GPUs, too
    rank(view, plan, bidders, all);
    if (all && options_.notes) note_ranks(plan);
    add_urgency(view, plan, all);
    choose_sizes(view, plan, bidders, all);
    keep_quotas(view, plan, all);
    if (all && copies_.any()) copies_.add(plan.free().capacity(), bidders);
  };
  const bool must_bid = starving_users_.begin(view);
  auction_.decide(
      view, plan, weigh, [&](JobId job) { return interrupts(view, plan, job); }, must_bid);
  expect(view, plan);
  starving_users_.end(view, plan, users_.sums().size(),
                      [&](UserId user) { return users_.sums()[user].gpus > 0 && starves(user); });
  if (options_.notes) notes_.note_users(view, debts_, plan);
}

void Fairlead::hear(const View& view) {
  for (const Event& event : view.news) {
    if (event.kind == EventKind::kCharged)
      debts_.charge(event.user, static_cast<double>(event.attained.gpu_ms) / 1000);
    // A job that failed ended, too; a job that was cancelled or held might have gone on.
    if (event.kind != EventKind::kFinished && event.kind != EventKind::kFailed) continue;
    durations_.end({view.jobs.user[event.job], to_seconds(view.work.done(event.job))});
  }
}

// Gives users back the time since the last decision in which jobs of theirs started again. A job's first start
// is its user's own.
void Fairlead::forgive_restarts(const View& view, const Plan& plan) {
  changed_.update(
      view, plan, auction_.edited(), [&] { starting_.clear(); },
      [&](JobId job) { starting_.push_back(job); });
  // Running jobs make way for a pinned job on other GPUs of their nodes, without an edit.
  if (std::ranges::any_of(auction_.edited(), [&](JobId job) { return plan.is_pinned(job); }))
    starting_.insert(starting_.end(), view.running.begin(), view.running.end());
  const Duration forgiven_most = milliseconds(kSwitches * options_.auction.switch_cost.ms);
  std::ranges::sort(starting_);
  starting_.erase(std::unique(starting_.begin(), starting_.end()), starting_.end());
  std::erase_if(starting_, [&](JobId job) {
    if (view.jobs.state[job] != JobState::kRunning) return true;
    const Time began = view.jobs.run_since[job];
    const Time ends = std::min(view.jobs.works_from[job], began + forgiven_most);
    const Time since = std::max(debts_.since(), began);
    const Time until = std::min(ends, view.now);
    if (until > since && view.jobs.attained_settled[job].gpu_ms > 0) {
      const double gpus = UserSums::allocated(view, plan, job);
      debts_.forgive(view.jobs.user[job], gpus * to_seconds(until - since));
    }
    return ends <= view.now;
  });
}

// Returns true if a new job does not wait for the next round: it would wait longer than it runs, or its user
// starves, or only early finishes count.
bool Fairlead::interrupts(const View& view, const Plan& plan, JobId job) {
  if (!keeps_shares()) return true;
  if (is_guess(view, job)) watch(view);
  const double left = left_s(view, {.job = job, .remaining = view.work.remaining(job)});
  const double speed = mean_speed(view, plan, job, auction_.kinds().row(view, job));
  if (left <= round_s() * speed) return true;
  expect(view, plan);
  return starves(view.jobs.user[job]);
}

// Returns true if the user has no GPUs, although it is due as many as its smallest gang. As of the last expect().
// REQUIRES: the user asks for GPUs.
bool Fairlead::starves(UserId user) const {
  const UserSums::Sums& sums = users_.sums()[user];
  return sums.allocated_units == 0 && sums.smallest_gang() <= debts_.due(user) * (1 + kRounding);
}

void Fairlead::watch(const View& view) {
  ran_.clear();
  for (std::span<const JobId> jobs : {view.running, view.waiting}) {
    for (JobId job : jobs) {
      ran_.push_back({view.jobs.user[job], to_seconds(view.work.done(job))});
    }
  }
  durations_.watch(ran_);
}

void Fairlead::expect(const View& view, const Plan& plan) {
  users_.update(view, plan, auction_.edited());
  by_user_.clear();
  for (UserId user : ids<UserId>(users_.sums().size())) {
    const UserSums::Sums& sums = users_.sums()[user];
    if (sums.gpus == 0) continue;
    by_user_.push_back({.user = user,
                        .gpus = static_cast<double>(sums.gpus),
                        .allocated = sums.allocated(),
                        .gang = static_cast<double>(sums.largest_gang())});
  }
  debts_.expect(view.users, plan.free().capacity(), by_user_);
}

// Returns 1 if a quota must be kept.
std::uint32_t Fairlead::wanted_copies(const View& view, JobId job, double alone_s) {
  if (!copies_.any() || !group_with_quota(view, job).is_none()) return 1;
  return copies_.wanted(view, job, alone_s, auction_.in_round());
}

// Sets the value of a step for early finishes.
void Fairlead::rank(const View& view, const Plan& plan, std::vector<HadarBidder>& bidders,
                    bool all) {
  if (std::ranges::any_of(bidders, [&](const HadarBidder& b) { return is_guess(view, b.job); })) {
    watch(view);
  }
  early_finishes_.clear();
  for (HadarBidder& bidder : bidders) {
    const std::uint32_t gang = view.jobs.gpus[bidder.job];
    const JobKinds::Speeds& speeds =
        auction_.kinds().speeds(view, plan, bidder.job, bidder.kind, gang);
    early_finishes_.add(bidder, gang, speeds, left_s(view, bidder));
  }
  ranking_ = early_finishes_.order(plan.free().capacity());
  if (!all) return;
  for (const EarlyFinishes::Row& row : ranking_) {
    row.bidder->copies = wanted_copies(view, row.bidder->job, row.left_s);
  }
}

void Fairlead::note_ranks(Plan& plan) {
  ranks_.clear();
  for (const EarlyFinishes::Row& row : ranking_) {
    ranks_.push_back({.job = row.bidder->job, .rank = row.value});
  }
  notes_.note_jobs(ranks_, plan);
}

void Fairlead::add_urgency(const View& view, const Plan& plan, bool all) {
  ahead_.clear();
  ahead_.resize(view.users.size());
  copies_.clear();
  if (all) overdue_.begin(view);
  const std::uint32_t gpus = plan.free().capacity();
  for (const EarlyFinishes::Row& row : ranking_) {
    HadarBidder& bidder = *row.bidder;
    const UserId user = view.jobs.user[bidder.job];
    const auto weigh = [&] { return row.value + urgency(user, row.gang); };
    const double added = first(view, row);
    const double weight = weigh();
    bidder.weight = (positive(weight) + added) / row.speed;
    bidder.kept_weight = (positive(weight + kept()) + added) / row.speed;
    if (options_.auction.resident) bidder.stays = all && !is_late(user);
    if (!all || !copies_.any()) continue;
    copies_.offer(bidder, 0, bidder.weight);
    // Copies beyond all GPUs would get none.
    for (std::uint32_t copy = 1; copy < bidder.copies && ahead_[user] < gpus; ++copy) {
      copies_.offer(bidder, copy, positive(weigh()) / row.speed);
    }
  }
}

// Returns the weight that a job has more because it comes before others, however much they gain. A job of a user that is a
// window behind or starves comes before all. An overdue job comes next. To be called in order of the
// work left.
double Fairlead::first(const View& view, const EarlyFinishes::Row& row) {
  constexpr double kBeforeAll = 1000;   // more than overdue gangs of one node are worth
  constexpr double kBeforeOthers = 10;  // more than others are worth
  if (!options_.patience && !options_.job_patience) return 0;
  const JobId job = row.bidder->job;
  const UserId user = view.jobs.user[job];
  const double due = debts_.due(user) * (1 + kRounding);
  const bool is_before_all = is_late(user)
                                 ? ahead_[user] < due
                                 : starving_users_.goes_first(view, user, job, row.gang, due);
  if (is_before_all) return kBeforeAll;
  const bool has_turn = overdue_.comes_first(view, job) &&
                        (view.jobs.state[job] == JobState::kRunning || !is_early(user));
  return has_turn ? kBeforeOthers : 0;
}

void Fairlead::choose_sizes(const View& view, const Plan& plan, std::vector<HadarBidder>& bidders,
                            bool all) {
  std::uint32_t gpus = plan.free().total();
  if (all) {
    for (JobId job : view.running) gpus += gpus_of(plan.gang(job));
  }
  JobKinds& kinds = auction_.kinds();
  const auto speed_of = [&](JobId job, std::uint32_t gang) {
    return has_room_for(view, job, gang) ? kinds.speeds(view, plan, job, gang).mean : 0;
  };
  sizes_.choose(view.jobs, gpus, {speed_of, kinds.revision()}, bidders);
}

// Returns the mean speed of the gang that the job asks for; 1 if that runs nowhere.
double Fairlead::mean_speed(const View& view, const Plan& plan, JobId job, std::uint32_t kind) {
  const double mean = auction_.kinds().speeds(view, plan, job, kind, view.jobs.gpus[job]).mean;
  return mean > 0 ? mean : 1;
}

// Returns the work left, in seconds at speed 1; if unknown, the seconds for which one job like it
// ends.
double Fairlead::left_s(const View& view, const HadarBidder& bidder) const {
  const JobId job = bidder.job;
  if (!is_guess(view, job)) return to_seconds(bidder.remaining);
  return durations_.left_s({view.jobs.user[job], to_seconds(view.work.done(job))});
}

// Returns how many windows the job's user is behind, with the jobs ahead of this one and half of
// this one. To be called in order of the work left.
double Fairlead::urgency(UserId user, double gang) {
  constexpr double kLeast = 1e-3;
  const double ahead = std::exchange(ahead_[user], ahead_[user] + gang);
  if (!keeps_shares()) return 0;
  const double due = std::max(kLeast, debts_.due(user));
  return (debts_.behind_s(user) + (due - ahead - gang / 2) * round_s()) / (due * rank_s());
}

// The first jobs of a group with a quota bid for as many GPUs as it has left, the others for none.
void Fairlead::keep_quotas(const View& view, const Plan& plan, bool all) {
  const Groups& groups = view.users.groups;
  if (std::ranges::all_of(groups.quota, [](std::int64_t quota) { return quota == 0; })) return;
  quota_left_ = groups.quota;
  if (!all) {
    for (JobId job : view.running) {
      const GroupId group = group_with_quota(view, job);
      if (!group.is_none() && plan.has_gang(job)) quota_left_[group] -= view.jobs.gpus[job];
    }
  }
  std::ranges::sort(ranking_, std::greater<>(), [&](const EarlyFinishes::Row& row) {
    const HadarBidder& bidder = *row.bidder;
    const double weight = plan.has_gang(bidder.job)
                              ? std::max(keeping_ * bidder.weight, bidder.kept_weight)
                              : bidder.weight;
    return std::pair(weight * row.speed, bidder.job);
  });
  for (const EarlyFinishes::Row& row : ranking_) {
    HadarBidder& bidder = *row.bidder;
    const GroupId group = group_with_quota(view, bidder.job);
    if (group.is_none()) continue;
    const std::int64_t gpus = bidder.gpus;
    if (gpus <= quota_left_[group]) {
      quota_left_[group] -= gpus;
    } else {
      bidder.weight = bidder.kept_weight = 0;
    }
  }
}

void Fairlead::fields(Archive& archive) {
  archive(auction_, debts_, durations_, notes_, starving_users_, overdue_);
}

// In a round a job loses at most one switch: with twelve switches a thirteenth of its time on GPUs, and longer rounds save
// little more. The debt that keeps a job on its GPUs is at most a round, so a round has the two switches of a swap. With fewer
// rounds in a window, debts change so much in each that users swap their GPUs every time.
Duration round_of(const PolicyOptions& options) {
  constexpr double kParts = 4;
  constexpr double kFewest = 2;
  constexpr double kMost = 12;
  constexpr double kLeastS = 60;  // for the cost of deciding
  const Duration asked = options.duration("round_s");
  if (asked.ms > 0) return asked;
  const double switch_s = to_seconds(options.duration("switch_s"));
  const double round_s =
      std::clamp(options.real("window_s") / kParts, kFewest * switch_s, kMost * switch_s);
  return milliseconds(std::llround(1000 * std::max(kLeastS, round_s)));
}

// Returns none if the option is infinite.
std::optional<Duration> patience_of(const PolicyOptions& options, std::string_view name) {
  const double patience_s = options.real(name);
  if (std::isinf(patience_s)) return std::nullopt;
  return milliseconds(std::llround(1000 * patience_s));
}

constexpr OptionSpec kOptions[] = {
    real_option("window_s", "600", "seconds", 1, std::numeric_limits<double>::infinity(),
                "Time over which shares are kept, at least two rounds; within it, early finishes "
                "decide; inf: only they decide. The default is chosen."),
    integer_option("round_s", "0", "seconds", 0, 86'400,
                   "Interval of decisions in which running jobs bid again; 0: a quarter of the "
                   "window, from 2 to 12 times switch_s, at least 60."),
    real_option(
        "patience_s", "inf", "seconds", 0, std::numeric_limits<double>::infinity(),
        "How long a user without GPUs that is due its smallest gang waits until a job of it "
        "goes first for a round, whatever others lose by that; inf: their worth decides."),
    real_option(
        "job_patience_s", "inf", "seconds", 0, std::numeric_limits<double>::infinity(),
        "How long a job waits until it comes first among its user's jobs for a round; before "
        "its first start only if none of the user's started jobs is as large; inf: their "
        "worth decides."),
    kHadarSwitchOption,
    kHadarBeamOption,
    integer_option("copies", "1", "", 0, 65535,
                   "Maximum number of copies of a job that may train as several; 0: as many as "
                   "there are nodes."),
    flag_option("resident", "false",
                "Suspended jobs keep their GPU memory: each resumes on those very GPUs, unless "
                "other GPUs are idle or its user is a window behind."),
    flag_option(
        "notes", "false",
        "Note in the journal the GPUs that users are due, the minutes of a GPU that they are "
        "behind and the ranks of jobs, for `fairlead why`."),
};

}  // namespace

const PolicyEntry kFairlead = {
    .name = "fairlead",
    .summary =
        "Shares by tickets over a window, early finishes within it, each GPU type for the jobs "
        "that gain most from it.",
    .paper = "ours; drift plus penalty of Neely, 2010, on the auction of Hadar, IPDPS 2024",
    .options = kOptions,
    .make = [](const PolicyOptions& options) -> Result<std::unique_ptr<Policy>> {
      return std::make_unique<Fairlead>(FairleadOptions{
          .window_s = options.real("window_s"),
          .patience = patience_of(options, "patience_s"),
          .job_patience = patience_of(options, "job_patience_s"),
          .notes = options.flag("notes"),
          .copies = static_cast<std::uint32_t>(options.integer("copies")),
          .auction = {.round = round_of(options),
                      .switch_cost = options.duration("switch_s"),
                      .search = {.beam = static_cast<std::uint32_t>(options.integer("beam")),
                                 .mixed = true,
                                 .work_conserving = true},
                      .prices = HadarAuction::Prices::kClearing,
                      .preempt = true,
                      .between = HadarAuction::Between::kBid,
                      .returns = true,
                      .resident = options.flag("resident"),
                      .skips = options.integer("copies") == 1 && !options.flag("notes")}});
    },
    .traits =
        [](const PolicyOptions& options) {
          PlacementTraits traits = placement_traits(options, "round_s");
          traits.job_patience = patience_of(options, "job_patience_s");
          return traits;
        }};

}  // namespace fairlead
