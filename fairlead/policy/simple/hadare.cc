// HadarE: jobs forked into copies that train on several nodes at once (arXiv 2503.10918; only its
// abstract and accounts by others were available, the rest is reconstructed).
//
// A job may have a copy on every node. Copies add their speeds: the steps of a round are split in
// proportion to them, so that all copies end together, and the parameters are averaged. So no node
// need idle while there is a job (its theorem: as many copies as nodes are enough). The only
// question is the job of each node.
//
// Every round the jobs bid for nodes:
//   makespan  each node's time is divided so that all present work would be done soonest (a linear
//             program); a round gives it in whole nodes, and the next one makes up for it
//   jct       each node goes to the job that it brings nearest to its end
// Then every job that still fits gets copies until nothing more fits. GPUs that become free within
// a round are given away at once, and no job loses any then.
//
// A gang larger than every node is not forked; such jobs choose first, in order of arrival.
//
// Cost of a round: the linear program's, and O(copies x log jobs + copies x nodes) at most.
#include "fairlead/base/archive.h"
#include "fairlead/model/known_speed.h"
#include "fairlead/model/known_work.h"
#include "fairlead/model/step.h"
#include "fairlead/policy/kit/placement.h"
#include "fairlead/policy/policies.h"
#include "fairlead/solve/time_shares.h"

#include <algorithm>
#include <numeric>
#include <queue>

namespace fairlead {
namespace {

struct HadarEOptions {
  bool shortest_first;  // the utility is jct, not makespan
  Duration round;
  Duration switch_cost;       // expected of a new copy
  std::uint32_t copies_most;  // 0: no limit
  Placement placement;
};

class HadarE : public Policy {
 public:
  explicit HadarE(const HadarEOptions& options) : options_(options) {}

  std::string_view name() const override { return kHadarE.name; }
  Needs needs() const override {
    return {.rates = RatesNeeded::kTable, .work = kAnyWork, .copies = true};
  }
  void decide(const View& view, Plan& plan) override;
  void fields(Archive& archive) override { archive(round_end_); }

 private:
  // A running or waiting job.
  struct Fork {
    JobId job;
    std::uint32_t gpus = 1;
    std::uint32_t copies_most = 1;
    double remaining_s = 0;     // at speed 1
    TypeMask fitting = 0;       // types that it can run on and that have a node large enough
    bool is_wide = false;       // larger than every node that it can run on
    std::uint32_t present = 0;  // copies in the world
    double rate = 0;            // rate of its gang in the draft
    std::uint32_t copies = 0;
  };
  struct Bid {
    double score;
    std::uint32_t fork;
    friend bool operator<(const Bid& a, const Bid& b) {
      return a.score != b.score ? a.score < b.score : a.fork > b.fork;
    }
  };

  std::size_t types(const View& view) const { return view.cluster.type_names.size(); }
  double& rate(const View& view, std::size_t fork, GpuTypeId type) {
    return rates_[fork * types(view) + type.row()];
  }
  void collect(const View& view, Plan& plan);
  void find_scores(const View& view, const Plan& plan);
  void share_for_makespan(const View& view, std::vector<double> gpus);
  TypeMask types_that_fit(const View& view, const Plan& plan, JobId job) const;
  void place_wide(const View& view, Plan& plan);
  void fill(const View& view, Plan& plan, GpuTypeId type);
  bool add_copy(const View& view, Plan& plan, Fork& fork, GpuTypeId type);
  NodeId node_for(const View& view, const Plan& plan, const Fork& fork, GpuTypeId type) const;

  const HadarEOptions options_;
  Time round_end_;

  // State of the present decision.
  std::vector<Fork> forks_;     // by JobId
  std::vector<double> rates_;   // forks x types: of one copy
  std::vector<double> scores_;  // forks x types: the highest gets the next node of the type
  std::vector<double> steps_;   // forks x types: decrease of the score for each node given
};

Tier tier_on_node(std::uint32_t gpus) { return gpus <= 2 ? Tier::kPair : Tier::kNode; }

bool has_copy_on(Gang present, NodeId node) {
  return std::ranges::find(present, node, &Slice::node) != present.end();
}

void HadarE::decide(const View& view, Plan& plan) {
  collect(view, plan);
  const bool is_round = view.now >= round_end_ || view.running.empty();
  if (is_round) {
    for (Fork& fork : forks_) {
      if (plan.has_gang(fork.job)) plan.stop(fork.job, StopCause::kRound);
      fork.rate = 0;
      fork.copies = 0;
    }
    round_end_ = view.now + options_.round;
  }
  if (plan.free().total() > 0 && !forks_.empty()) {
    find_scores(view, plan);
    place_wide(view, plan);
    for (GpuTypeId type : ids<GpuTypeId>(types(view))) fill(view, plan, type);
  }
  if (is_round && !plan.free().all_free()) plan.wake_at(round_end_);
}

// Returns the types that the job can run on, and of which a node is large enough for it.
TypeMask HadarE::types_that_fit(const View& view, const Plan& plan, JobId job) const {
  TypeMask fitting = 0;
  const std::uint32_t gpus = view.jobs.gpus[job];
  for (GpuTypeId type : ids<GpuTypeId>(types(view))) {
    if (gpus <= view.cluster.type_node_gpus_max[type]) fitting |= type_bit(type);
  }
  if (plan.room().limits(job)) {
    TypeMask with_room = 0;
    for (NodeId node : ids<NodeId>(view.cluster.nodes())) {
      if (plan.usable_when_idle(job, node) >= gpus)
        with_room |= type_bit(view.cluster.node_type[node]);
    }
    fitting &= with_room;
  }
  return fitting & view.jobs.types[job];
}

void HadarE::collect(const View& view, Plan& plan) {
  forks_.clear();
  for (std::span<const JobId> jobs : {view.waiting, view.running}) {
    for (JobId job : jobs) {
      Fork fork{.job = job, .gpus = view.jobs.gpus[job]};
      fork.copies_most = view.jobs.extras_of(job).most_copies(view.cluster.nodes());
      if (options_.copies_most > 0)
        fork.copies_most = std::min(fork.copies_most, options_.copies_most);
      fork.remaining_s = to_seconds(view.work.remaining(job));
      fork.fitting = types_that_fit(view, plan, job);
      fork.is_wide = fork.fitting == 0;
      fork.present = fork.copies = copies_of(plan.gang(job));
      forks_.push_back(fork);
    }
  }
  std::ranges::sort(forks_, {}, &Fork::job);
  std::erase_if(forks_, [&](const Fork& fork) { return !plan.examine(fork.job); });
  rates_.assign(forks_.size() * types(view), 0);
  for (std::size_t i = 0; i < forks_.size(); ++i) {
    Fork& fork = forks_[i];
    const Tier tier = fork.is_wide ? view.cluster.best_tier(fork.gpus) : tier_on_node(fork.gpus);
    const TypeMask allowed = fork.is_wide ? view.jobs.types[fork.job] : fork.fitting;
    for (GpuTypeId type : ids<GpuTypeId>(types(view))) {
      if ((allowed & type_bit(type)) == 0) continue;
      rate(view, i, type) = view.speed.rate(fork.job, type, fork.gpus, tier)->value();
    }
    for (Gang left = plan.gang(fork.job); !left.empty();) {
      const Gang copy = first_copy(left);
      left = left.subspan(copy.size());
      fork.rate += rate(view, i, view.cluster.node_type[copy[0].node]);
    }
  }
}

void HadarE::find_scores(const View& view, const Plan& plan) {
  steps_.assign(rates_.size(), 0);
  if (!options_.shortest_first) {
    std::vector<double> gpus(types(view));
    for (GpuTypeId type : ids<GpuTypeId>(types(view))) gpus[type.row()] = plan.free().of(type);
    return share_for_makespan(view, std::move(gpus));
  }
  scores_ = rates_;
  for (std::size_t i = 0; i < rates_.size(); ++i) {
    scores_[i] /= forks_[i / types(view)].remaining_s;
  }
}

// The score is the number of copies that the job should have on the type and does not have yet.
// Hysteresis: a job with copies there is half a copy ahead, so that none moves for a small
// difference.
void HadarE::share_for_makespan(const View& view, std::vector<double> gpus) {
  const std::size_t columns = types(view);
  ShareProblem problem;
  problem.gpus = std::move(gpus);
  // With n copies a job can have n times the time of a type; the row's bound of 1 stands for n.
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < forks_.size(); ++i) {
    const std::span own = std::span(rates_).subspan(i * columns, columns);
    if (std::ranges::max(own) <= 0) continue;
    const Fork& fork = forks_[i];
    const double copies = fork.is_wide ? 1 : fork.copies_most;
    rows.push_back(i);
    problem.gang.push_back(forks_[i].gpus * copies);
    problem.count.push_back(1);
    problem.floor.push_back(0);
    problem.part.push_back(forks_[i].remaining_s);
    for (double rate : own) problem.rate.push_back(rate * copies);
  }
  scores_.assign(rates_.size(), 0);
  if (rows.empty()) return;
  const Result<Shares> shares = raise_level(problem);
  FL_CHECK(shares.has_value(), "{}", shares.error().message);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const double copies = problem.gang[row] / forks_[rows[row]].gpus;
    for (std::size_t type = 0; type < columns; ++type) {
      const std::size_t cell = rows[row] * columns + type;
      scores_[cell] = shares->share[row * columns + type] * copies;
      steps_[cell] = 1;
    }
  }
  for (std::size_t i = 0; i < forks_.size(); ++i) {
    const JobId job = forks_[i].job;
    if (view.jobs.state[job] != JobState::kRunning) continue;
    for (Slice slice : view.jobs.last_gang(job)) {
      scores_[i * columns + view.cluster.node_type[slice.node].row()] += 0.5;
    }
  }
}

void HadarE::place_wide(const View& view, Plan& plan) {
  for (Fork& fork : forks_) {
    if (!fork.is_wide || plan.has_gang(fork.job)) continue;
    if (place(options_.placement, view.cluster, plan, fork.job, fork.gpus,
              view.jobs.types[fork.job])) {
      fork.copies = 1;
    }
  }
}

// Gives nodes of the type to the job of the highest score until nothing more fits.
void HadarE::fill(const View& view, Plan& plan, GpuTypeId type) {
  std::priority_queue<Bid> bids;
  for (std::uint32_t i = 0; i < forks_.size(); ++i) {
    if (forks_[i].is_wide || rate(view, i, type) <= 0) continue;
    bids.push({scores_[i * types(view) + type.row()], i});
  }
  while (!bids.empty() && plan.free().of(type) > 0) {
    Bid bid = bids.top();
    bids.pop();
    if (!add_copy(view, plan, forks_[bid.fork], type)) continue;
    forks_[bid.fork].rate += rate(view, bid.fork, type);
    bid.score -= steps_[bid.fork * types(view) + type.row()];
    bids.push(bid);
  }
}

// Returns false if the job has no use for another copy, or there is no node for it.
bool HadarE::add_copy(const View& view, Plan& plan, Fork& fork, GpuTypeId type) {
  if (fork.copies >= fork.copies_most) return false;
  // A copy more than it has in the world delays them all by the time it takes to start.
  const double added =
      rates_[static_cast<std::size_t>(&fork - forks_.data()) * types(view) + type.row()];
  const double switch_s = to_seconds(options_.switch_cost);
  const bool is_new =
      fork.copies >= fork.present && view.jobs.state[fork.job] == JobState::kRunning;
  if (is_new && switch_s + fork.remaining_s / (fork.rate + added) >= fork.remaining_s / fork.rate) {
    return false;
  }
  const NodeId node = node_for(view, plan, fork, type);
  if (node.is_none()) return false;
  plan.take(node, fork.gpus);
  if (fork.copies == 0) {
    if (!plan.place(fork.job)) return false;
  } else {
    plan.place_copy(fork.job);
  }
  ++fork.copies;
  return true;
}

// Returns a node on which the job has a copy in the world; else the tightest that has room.
NodeId HadarE::node_for(const View& view, const Plan& plan, const Fork& fork,
                        GpuTypeId type) const {
  const Gang present = plan.gang(fork.job);
  const auto is_open = [&](NodeId node) {
    return view.cluster.node_type[node] == type && plan.usable(fork.job, node) >= fork.gpus &&
           !has_copy_on(present, node);
  };
  if (view.jobs.state[fork.job] == JobState::kRunning) {
    for (Slice slice : view.jobs.last_gang(fork.job)) {
      if (is_open(slice.node)) return slice.node;
    }
  }
  const NodeId tightest = plan.free().tightest(type, fork.gpus, plan.free().everywhere());
  if (tightest.is_none() || is_open(tightest)) return tightest;
  NodeId best;
  for (NodeId node : ids<NodeId>(view.cluster.nodes())) {
    if (!is_open(node)) continue;
    if (best.is_none() || plan.free().on(node) < plan.free().on(best)) best = node;
  }
  return best;
}

constexpr OptionSpec kOptions[] = {
    choice_option("utility", "makespan", "makespan/jct",
                  "Objective: makespan (the paper's total time duration), or completion times, by "
                  "joining a node to the job that it brings nearest to its end (jct)."),
    integer_option("round_s", "360", "seconds", 1, 86400,
                   "Maximum length of a round; the default is Gavel's."),
    integer_option(
        "copies", "0", "", 0, 65535,
        "Maximum number of copies of a job; 0: as many as there are nodes, which is enough."),
    integer_option("switch_s", "14", "seconds", 0, 86400,
                   "Expected overhead of one more copy, which is not made if it saves less; the "
                   "default is a migration and an exchange of the simulated world."),
    placement_option("best-fit", "Placement of gangs larger than every node (ours)."),
    kMixedOption,
};

}  // namespace

const PolicyEntry kHadarE = {
    .name = "hadare",
    .summary = "Jobs forked into copies on several nodes, which add their speeds.",
    .paper = "Sultana et al., HadarE, arXiv 2503.10918",
    .options = kOptions,
    .make = [](const PolicyOptions& options) -> Result<std::unique_ptr<Policy>> {
      return std::make_unique<HadarE>(
          HadarEOptions{.shortest_first = options.is("utility", "jct"),
                        .round = options.duration("round_s"),
                        .switch_cost = options.duration("switch_s"),
                        .copies_most = static_cast<std::uint32_t>(options.integer("copies")),
                        .placement = options.placement()});
    },
    .traits =
        [](const PolicyOptions& options) {
          PlacementTraits traits = placement_traits(options, "round_s");
          traits.one_node = true;
          return traits;
        }};

}  // namespace fairlead
