// Gandiva: jobs of one gang size share nodes, and take turns if not all of them fit.
//
// Every job has a home, the slices of nodes that it runs on. A node's affinity is the gang size of
// the first job that came to it when it was empty. Homes may promise more GPUs than a node has: the
// jobs of such a crowded node take turns. When a job leaves, others move into its room.
//
// Invariant: a job with a home has its GPUs or waits for a turn. It waits in the queue of its node,
// or in the queue of jobs with homes on several nodes. Between decisions the homes of waiting jobs
// are crowded.
//
// Cost of a decision: O(nodes) while a job waits for a turn; O(types x log nodes) for each job that gets another home,
// and O(nodes) if it is spread or nodes lack other resources for its tasks; O(log nodes) for each turn given. The end of a turn
// also O(running); a departure that leaves room also O(nodes) for each job that is spread over more nodes than it needs.
#include "fairlead/model/levels.h"
#include "fairlead/model/step.h"
#include "fairlead/model/task_limits.h"
#include "fairlead/policy/gandiva/home_nodes.h"
#include "fairlead/policy/gandiva/turns.h"
#include "fairlead/policy/kit/class_queue.h"
#include "fairlead/policy/kit/rounds.h"
#include "fairlead/policy/policies.h"

#include <algorithm>
#include <optional>

namespace fairlead {
namespace {

struct GandivaOptions {
  Duration quantum;
  bool migrate;
};

class Gandiva : public Policy {
 public:
  explicit Gandiva(GandivaOptions options) : options_(options), rounds_(options.quantum) {}

  std::string_view name() const override { return kGandiva.name; }
  void decide(const View& view, Plan& plan) override;
  void fields(Archive& archive) override;

 private:
  using Home = std::vector<Slice>;
  enum class Among : std::uint8_t { kEmptyNodes, kAllNodes };

  // Homes of jobs.
  void begin(const View& view);
  bool apply_news(const View& view, Plan& plan);
  void size_nodes(const View& view, const Plan& plan);
  void resize_node(const View& view, Plan& plan, NodeId node);
  void wait_for_home(const View& view, JobId job);
  void leave_node(const View& view, Plan& plan, NodeId node);
  void move_in(JobId job);
  void move_out(JobId job);
  void leave_home(JobId job);
  void set_affinity(const Home& home, std::uint32_t gpus);

  // Homes.
  void give_homes(const View& view, Plan& plan);
  Home find_room(const View& view, JobId job) const;
  Home find_node(const View& view, JobId job) const;
  Home find_nodes(const View& view, JobId job, Among among, TypeMask types, NodeRange range) const;
  Home find_shared(const View& view, JobId sharing, GangAsked asked, TypeMask types) const;
  bool is_crowded(const Home& home) const;
  void migrate(const View& view, Plan& plan);
  void consider_moving(const View& view, Plan& plan, JobId job);

  // Turns.
  static constexpr std::size_t kSpreadQueue = 0;  // the queue of jobs with homes on several nodes
  static std::size_t queue_of(NodeId node) { return node.row() + std::size_t{1}; }
  static std::size_t queue_of(const Home& home) {
    return home.size() == 1 ? queue_of(home[0].node) : kSpreadQueue;
  }
  void end_turn(const View& view, const Plan& plan);
  void give_turns(Plan& plan);
  bool take_spare(const Home& home);

  const GandivaOptions options_;
  Rounds rounds_;
  ClassQueue waiting_;           // jobs without a home
  IdVector<JobId, Home> homes_;  // empty: none
  TurnOrder turns_;              // turns of jobs with a home
  HomeNodes nodes_;

  // These follow from the fields above.
  bool is_ready_ = false;      // they are set up
  std::uint32_t largest_ = 0;  // GPUs of a node
  std::vector<JobId> spread_;  // jobs with homes on several nodes, in no order

  // State of the present decision.
  std::vector<JobId> ending_;  // jobs on crowded homes at the end of their turn
  std::vector<JobId> starts_;
  std::vector<JobId> sorted_;
  IdVector<NodeId, std::uint32_t> spare_;  // GPUs that no job has claimed yet
};

void Gandiva::decide(const View& view, Plan& plan) {
  if (!is_ready_) begin(view);
  size_nodes(view, plan);
  const bool has_more_room = apply_news(view, plan);
  if (plan.continues()) waiting_.unblock();
  give_homes(view, plan);
  if (has_more_room && options_.migrate) {
    migrate(view, plan);
    waiting_.unblock();
    give_homes(view, plan);
  }
  ending_.clear();
  if (rounds_.due(view.now)) end_turn(view, plan);
  if (turns_.waiting() == 0) return;
  give_turns(plan);
  if (turns_.waiting() > 0) rounds_.wake(view.now, plan);
}

// ---- homes ----

// Sets up the state that follows from the homes; there are homes only after load().
void Gandiva::begin(const View& view) {
  is_ready_ = true;
  nodes_.enter_loaded(view.cluster);
  for (JobId job : ids<JobId>(homes_.size())) {
    if (!homes_[job].empty()) move_in(job);
  }
}

// Enters new nodes.
void Gandiva::size_nodes(const View& view, const Plan& plan) {
  while (nodes_.size() < view.cluster.nodes()) {
    const NodeId node(nodes_.size());
    const std::uint32_t gpus = plan.free().capacity(node);
    nodes_.add({.type = view.cluster.node_type[node],
                .gpus = gpus > 0 ? gpus : view.cluster.node_gpus[node],
                .is_down = gpus == 0});
  }
  largest_ = view.cluster.node_gpus_max;
  turns_.reserve(nodes_.size() + 1, view.jobs.size());
  spare_.resize(nodes_.size());
}

// Returns true if there may be more room than before.
bool Gandiva::apply_news(const View& view, Plan& plan) {
  waiting_.reserve(view.jobs.size());
  if (homes_.size() < view.jobs.size()) homes_.resize(view.jobs.size());
  bool has_more_room = false;
  for (const Event& event : view.news) {
    if (event.kind != EventKind::kWoke) waiting_.unblock();
    has_more_room |= frees_gpus(event.kind);
    if (loses_gang(event.kind) || ends_job(event.kind)) leave_home(event.job);
    const bool waits = waiting_.contains(event.job);  // because its node was emptied just now
    if (begins_to_wait(event.kind) && !waits) wait_for_home(view, event.job);
    if (ends_job(event.kind)) waiting_.erase(event.job);
    if (event.kind == EventKind::kGpusDown || event.kind == EventKind::kGpusUp) {
      resize_node(view, plan, event.node);
    }
  }
  return has_more_room;
}

// Starts a node with other GPUs than before again, without jobs.
void Gandiva::resize_node(const View& view, Plan& plan, NodeId node) {
  const HomeNode& state = nodes_[node];
  const std::uint32_t gpus = plan.free().capacity(node);
  if (gpus == (state.is_down ? 0 : state.gpus)) return;
  leave_node(view, plan, node);
  nodes_.change(node, [&](HomeNode& now) {
    now.is_down = gpus == 0;
    if (gpus > 0) now.gpus = gpus;
  });
}

void Gandiva::wait_for_home(const View& view, JobId job) {
  waiting_.add(0, gang_asked(view.jobs, job), view.jobs.types[job],
               {.major = view.jobs.arrival[job].ms, .job = job});
}

// Stops the jobs that live there and run on its other GPUs, or while it is cordoned. All of its
// jobs but the pinned ones must find another home.
void Gandiva::leave_node(const View& view, Plan& plan, NodeId node) {
  std::vector<JobId> leaving;
  for (JobId job : turns_.queue(queue_of(node))) leaving.push_back(job);
  for (JobId job : view.running) {
    if (homes_[job].size() == 1 && homes_[job][0].node == node) leaving.push_back(job);
  }
  std::ranges::copy_if(spread_, std::back_inserter(leaving), [&](JobId job) {
    return std::ranges::count(homes_[job], node, &Slice::node) > 0;
  });
  std::ranges::sort(leaving);
  for (JobId job : leaving) {
    if (plan.is_pinned(job)) continue;
    if (plan.has_gang(job)) plan.stop(job, StopCause::kDrain);
    leave_home(job);
    wait_for_home(view, job);
  }
}

// Enters a job that has a home into the state that follows from homes.
void Gandiva::move_in(JobId job) {
  const Home& home = homes_[job];
  for (Slice slice : home)
    nodes_.change(slice.node, [&](HomeNode& state) { state.promised += slice.gpus; });
  if (home.size() > 1) {
    spread_.push_back(job);
  } else if (nodes_[home[0].node].affinity == home[0].gpus) {
    nodes_.change(home[0].node, [](HomeNode& state) { ++state.suited; });
  }
}

void Gandiva::move_out(JobId job) {
  const Home& home = homes_[job];
  for (Slice slice : home)
    nodes_.change(slice.node, [&](HomeNode& state) { state.promised -= slice.gpus; });
  if (home.size() > 1) {
    std::erase(spread_, job);
  } else if (nodes_[home[0].node].affinity == home[0].gpus) {
    nodes_.change(home[0].node, [](HomeNode& state) { --state.suited; });
  }
}

// Does nothing if the job has no home.
void Gandiva::leave_home(JobId job) {
  if (homes_[job].empty()) return;
  turns_.remove(job);
  move_out(job);
  homes_[job].clear();
}

void Gandiva::set_affinity(const Home& home, std::uint32_t gpus) {
  for (Slice slice : home) {
    if (nodes_[slice.node].promised > 0) continue;
    nodes_.change(slice.node, [&](HomeNode& node) { node.affinity = gpus; });
  }
}

// ---- homes ----

// A class that found none stays blocked until there is news.
void Gandiva::give_homes(const View& view, Plan& plan) {
  while (ClassQueue::Class* const next = waiting_.first_open()) {
    const JobId job = next->head().job;
    if (!plan.examine(job)) {
      next->block();
      continue;
    }
    Home home = find_room(view, job);
    const bool may_share = home.empty() && next->gang().pinned.is_none();
    if (may_share) home = find_shared(view, job, next->gang(), next->types());
    if (home.empty()) {
      next->block();
      continue;
    }
    waiting_.pop(*next);
    set_affinity(home, view.jobs.gpus[job]);
    turns_.add(job);
    turns_.wait(job, queue_of(home));
    homes_[job] = std::move(home);
    move_in(job);
  }
}

// Returns the GPUs of a node that the job's tasks could use if it had the CPU and memory of the node to itself.
std::uint32_t most_gpus(const View& view, JobId job, NodeId node) {
  const TaskLimits* const limits = view.jobs.limits;
  if (limits == nullptr) return kNodeGpusMax;
  const std::uint32_t task = view.jobs.task_gpus[job];
  return std::min(limits->most_tasks(job, node), kNodeGpusMax / task) * task;
}

// Returns a home that crowds no job, or none. There is one whenever there is enough room for its
// tasks. A pinned job has one home.
Gandiva::Home Gandiva::find_room(const View& view, JobId job) const {
  const GangAsked gang = gang_asked(view.jobs, job);
  if (!gang.pinned.is_none()) {
    const Gang last = view.jobs.last_gang(job);
    return {last.begin(), last.end()};
  }
  const TypeMask types = view.jobs.types[job];
  if (nodes_.room(types) < gang.gpus) return {};
  Home home = find_node(view, job);
  any_section(view.cluster, gang.closeness, [&](NodeRange section) {
    for (Among among : {Among::kEmptyNodes, Among::kAllNodes}) {
      for (GpuTypeId type : ids<GpuTypeId>(view.cluster.type_names.size())) {
        if (home.empty()) home = find_nodes(view, job, among, types & type_bit(type), section);
      }
    }
    if (home.empty()) home = find_nodes(view, job, Among::kAllNodes, types, section);
    return !home.empty();
  });
  return home;
}

// Returns one node for the whole gang: the least loaded of the same affinity; else an empty one,
// the smallest that will do; else the one with the least room.
Gandiva::Home Gandiva::find_node(const View& view, JobId job) const {
  const std::uint32_t gpus = view.jobs.gpus[job];
  const auto accepts = [&](NodeId node) { return most_gpus(view, job, node) >= gpus; };
  const auto first = [&](auto query) {
    std::optional<HomeNodes::ByRoom> best;
    for (GpuTypeId type : ids<GpuTypeId>(view.cluster.type_names.size())) {
      if ((view.jobs.types[job] & type_bit(type)) == 0) continue;
      const std::optional<HomeNodes::ByRoom> found = query(type);
      if (found && (!best || *found < *best)) best = found;
    }
    return best;
  };
  auto best = first([&](GpuTypeId type) { return nodes_.roomiest_alike(type, gpus, accepts); });
  if (!best)
    best = first([&](GpuTypeId type) { return nodes_.tightest_empty(type, gpus, accepts); });
  if (!best)
    best = first([&](GpuTypeId type) { return nodes_.tightest_used(type, gpus, accepts); });
  if (!best) return {};
  return {Slice{.node = best->node, .gpus = static_cast<std::uint16_t>(gpus)}};
}

// Returns several nodes, in order of falling room; none if they have too little together.
Gandiva::Home Gandiva::find_nodes(const View& view, JobId job, Among among, TypeMask types,
                                  NodeRange range) const {
  std::uint32_t gpus = view.jobs.gpus[job];
  if (nodes_.room(types) < gpus) return {};
  Home home;
  std::uint32_t together = 0;
  for (std::uint32_t row = range.begin; row < range.end; ++row) {
    const NodeId node(row);
    const HomeNode& state = nodes_[node];
    if ((types & type_bit(state.type)) == 0) continue;
    if (among == Among::kEmptyNodes && state.promised > 0) continue;
    const std::uint32_t left =
        std::min(whole_tasks(state.room(), view.jobs.task_gpus[job]), most_gpus(view, job, node));
    if (left == 0) continue;
    home.push_back({.node = node, .gpus = static_cast<std::uint16_t>(left)});
    together += left;
  }
  if (together < gpus) return {};
  std::ranges::stable_sort(home, std::ranges::greater(), &Slice::gpus);
  for (std::size_t used = 0; used < home.size(); ++used) {
    if (home[used].gpus >= gpus) {
      home[used].gpus = static_cast<std::uint16_t>(gpus);
      home.resize(used + 1);
      break;
    }
    gpus -= home[used].gpus;
  }
  std::ranges::sort(home, {}, &Slice::node);
  return home;
}

// Returns the least crowded home of a job of the same gang size, on nodes of that affinity; then
// the first one, then one on a single node. A spread home must have room for whole tasks on each of
// its nodes.
Gandiva::Home Gandiva::find_shared(const View& view, JobId sharing, GangAsked asked,
                                   TypeMask types) const {
  const std::uint32_t gpus = asked.gpus;
  const auto suits = [&](const HomeNode& state) {
    return state.affinity == gpus && (types & type_bit(state.type)) != 0;
  };
  std::pair<double, NodeId> best;
  Home home;
  const auto accepts = [&](NodeId node) { return most_gpus(view, sharing, node) >= gpus; };
  for (GpuTypeId type : ids<GpuTypeId>(view.cluster.type_names.size())) {
    if ((types & type_bit(type)) == 0) continue;
    const auto found = nodes_.least_loaded(type, gpus, accepts);
    if (!found || (!home.empty() && best <= std::pair(found->value, found->node))) continue;
    home = {Slice{.node = found->node, .gpus = static_cast<std::uint16_t>(gpus)}};
    best = {found->value, found->node};
  }
  JobId shared;  // the job of this home, if it is spread
  for (JobId job : spread_) {
    std::uint32_t gang = 0;
    std::pair at(0.0, homes_[job][0].node);
    bool all_suit = within(view.cluster, asked.closeness.required, homes_[job]);
    for (Slice slice : homes_[job]) {
      gang += slice.gpus;
      at.first = std::max(at.first, nodes_[slice.node].load());
      all_suit = all_suit && suits(nodes_[slice.node]) && slice.gpus % asked.task_gpus == 0 &&
                 most_gpus(view, sharing, slice.node) >= slice.gpus;
    }
    if (gang != gpus || !all_suit) continue;
    const bool is_better =
        at < best || (at == best && !shared.is_none() && turns_.precedes(job, shared));
    if (!home.empty() && !is_better) continue;
    home = homes_[job];
    best = at;
    shared = job;
  }
  return home;
}

bool Gandiva::is_crowded(const Home& home) const {
  return std::ranges::any_of(
      home, [&](Slice slice) { return nodes_[slice.node].promised > nodes_[slice.node].gpus; });
}

// Moves jobs between turns to homes without turns, and spread jobs onto fewer nodes, in the
// order of turns. If there is no room at all, none can move: a job's old room is too small for it,
// or as spread as before.
void Gandiva::migrate(const View& view, Plan& plan) {
  const auto has_room = [&] { return nodes_.room(~TypeMask{0}) > 0; };
  if (!has_room()) return;
  sorted_ = spread_;
  turns_.sort(sorted_);
  auto spread = sorted_.begin();
  turns_.visit_waiting([&](std::size_t queue) { return queue != kSpreadQueue && has_room(); },
                       [&](JobId job) {
                         for (; spread != sorted_.end() && turns_.precedes(*spread, job);
                              ++spread) {
                           consider_moving(view, plan, *spread);
                         }
                         consider_moving(view, plan, job);
                       });
  for (; spread != sorted_.end() && has_room(); ++spread) consider_moving(view, plan, *spread);
}

void Gandiva::consider_moving(const View& view, Plan& plan, JobId job) {
  if (plan.is_pinned(job)) return;
  const std::size_t nodes = homes_[job].size();
  const std::uint32_t gpus = view.jobs.gpus[job];
  const bool waits = turns_.waits(job) && is_crowded(homes_[job]);
  if (!waits && (nodes - 1) * largest_ < gpus) return;  // no home has fewer nodes
  move_out(job);
  Home home = find_room(view, job);
  if (!home.empty() && (waits || home.size() < nodes)) {
    if (turns_.waits(job)) turns_.end_wait(job);
    if (plan.has_gang(job)) plan.stop(job, StopCause::kMove);
    turns_.wait(job, queue_of(home));
    set_affinity(home, gpus);
    homes_[job] = std::move(home);
  }
  move_in(job);
}

// ---- turns ----

// Puts waiting jobs ahead of running ones. Lists the jobs at the end of their turn, in the new
// order.
void Gandiva::end_turn(const View& view, const Plan& plan) {
  sorted_.clear();
  std::ranges::copy_if(view.running, std::back_inserter(sorted_),
                       [&](JobId job) { return plan.has_gang(job); });
  turns_.end_turn(sorted_);
  std::ranges::copy_if(sorted_, std::back_inserter(ending_),
                       [&](JobId job) { return is_crowded(homes_[job]); });
  turns_.sort(ending_);
}

// Gives turns in order to all jobs with free homes; jobs at the end of their turn come last.
void Gandiva::give_turns(Plan& plan) {
  for (NodeId node : ids<NodeId>(spare_.size())) spare_[node] = plan.free().on(node);
  for (JobId job : ending_) {
    for (Slice slice : homes_[job]) spare_[slice.node] += slice.gpus;
  }
  starts_.clear();
  turns_.visit_waiting(
      [&](std::size_t queue) { return queue == kSpreadQueue || spare_[NodeId(queue - 1)] > 0; },
      [&](JobId job) {
        if (take_spare(homes_[job])) starts_.push_back(job);
      });
  for (JobId job : ending_) {
    if (take_spare(homes_[job])) continue;
    plan.stop(job, StopCause::kTurn);
    turns_.wait(job, queue_of(homes_[job]));
  }
  for (JobId job : starts_) {
    turns_.end_wait(job);
    for (Slice slice : homes_[job]) plan.take(slice.node, slice.gpus);
    if (!plan.place(job)) turns_.wait(job, queue_of(homes_[job]));
  }
}

// Returns false, and takes nothing, if there is too little.
bool Gandiva::take_spare(const Home& home) {
  const bool is_spare =
      std::ranges::all_of(home, [&](Slice slice) { return spare_[slice.node] >= slice.gpus; });
  if (!is_spare) return false;
  for (Slice slice : home) spare_[slice.node] -= slice.gpus;
  return true;
}

// ---- state ----

void Gandiva::fields(Archive& archive) {
  archive(rounds_, nodes_);
  std::vector<JobId> at_home;
  for (JobId job : ids<JobId>(homes_.size())) {
    if (!homes_[job].empty()) at_home.push_back(job);
  }
  archive.ids(at_home, [&](JobId job) {
    Home& home = homes_.grow_to(job);
    archive(home);
    for (Slice slice : home) archive.expect(nodes_.has(slice.node));
  });
  archive(turns_, waiting_);
}

// begin() does the rest.

constexpr OptionSpec kOptions[] = {
    integer_option("quantum_s", "60", "seconds", 1, 86400,
                   "Time slice on a node with jobs that take turns; the default is the paper's."),
    flag_option("migrate", "true",
                "When a job leaves, migrate spread jobs onto fewer nodes, and jobs that wait for "
                "their turn onto idle GPUs."),
};

}  // namespace

const PolicyEntry kGandiva = {
    .name = "gandiva",
    .summary = "Jobs of one gang size share nodes and take turns; migration when jobs leave.",
    .paper = "Xiao et al., Gandiva, OSDI 2018",
    .options = kOptions,
    .make = [](const PolicyOptions& options) -> Result<std::unique_ptr<Policy>> {
      return std::make_unique<Gandiva>(GandivaOptions{.quantum = options.duration("quantum_s"),
                                                      .migrate = options.flag("migrate")});
    },
    .traits =
        [](const PolicyOptions& options) {
          return PlacementTraits{.placement = Placement::kBestFit,
                                 .one_node = true,
                                 .one_type = true,
                                 .goes_home = true,
                                 .round = options.duration("quantum_s")};
        }};

}  // namespace fairlead
