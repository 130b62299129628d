#include "fairlead/policy/dally/victims.h"

#include "fairlead/policy/kit/domains.h"

#include <algorithm>
#include <utility>

namespace fairlead {
namespace {

// A victim's possible loss by being sent elsewhere counts twice. If each of two jobs would gain at
// the other's cost, they exchange places only while one has more than twice as much to gain. Their
// remaining work falls, so they do so a few times at most, and not in every round (ours).
constexpr double kLossWeight = 2;

bool is_in(const View& view, const DallyPlace& place, NodeId node) {
  const bool is_there = node.row() >= place.range.begin && node.row() < place.range.end;
  return is_there && view.cluster.node_type[node] == place.type;
}

// Returns true if part of the gang is in the place.
bool is_in(const View& view, const DallyPlace& place, Gang gang) {
  return std::ranges::any_of(gang, [&](Slice slice) { return is_in(view, place, slice.node); });
}

}  // namespace

// --- The runners ------------------------------------------------------------------------------

void DallyVictims::begin(const View& view, const Plan& plan, std::vector<Runner> runners) {
  runners_ = std::move(runners);
  std::ranges::sort(runners_, {}, &Runner::key);
  first_ = 0;
  end_ = runners_.size();
  runner_of_.clear();
  runner_of_.resize(view.jobs.size());
  holders_.resize(view.cluster.nodes());
  for (auto& holders : holders_) holders.clear();
  for (std::size_t i = 0; i < runners_.size(); ++i) {
    const JobId job = runners_[i].key.job;
    runner_of_[job] = i + 1;
    for (Slice slice : plan.gang(job)) holders_[slice.node].push_back(i);
  }
  changed_.clear();
  rankings_.clear();
  room_ = {};
  room_.gone.resize(view.cluster.nodes());
}

// A lower place in input order or by arrival does not justify stopping a job.
void DallyVictims::begin_seeker(const Plan& plan, const Seeker& seeker) {
  seeker_ = seeker;
  for (; first_ < runners_.size(); ++first_) {
    const Runner& runner = runners_[first_];
    const bool is_behind = std::pair(seeker.key.major, seeker.key.minor) <
                           std::pair(runner.key.major, runner.key.minor);
    if (is_behind) break;
    if (!runner.is_settled) changed(plan.gang(runner.key.job));
  }
  while (end_ > first_ && runners_[end_ - 1].is_settled) --end_;
}

void DallyVictims::changed(Gang gang) {
  for (Slice slice : gang) changed_.push_back(slice.node);
}

void DallyVictims::settle(const Plan& plan, JobId job) {
  runners_[runner_of_[job] - 1].is_settled = true;
  changed(plan.gang(job));
}

bool DallyVictims::is_settled(JobId job) const {
  const std::size_t runner = runner_of_[job];
  return runner != 0 && runners_[runner - 1].is_settled;
}

bool DallyVictims::has_later_class() const {
  return end_ > first_ && runners_[end_ - 1].key.major > seeker_.key.major;
}

// --- Room in one place ------------------------------------------------------------------------

// Sets the room to the GPUs of the domain that the seeker's tasks could use now.
void DallyVictims::begin_room(const View& view, const Plan& plan, const DallyPlace& place) {
  for (NodeId node : room_.touched) room_.gone[node] = 0;
  room_.touched.clear();
  const std::uint32_t task = seeker_.gang.task_gpus;
  if (place.range.end - place.range.begin == view.cluster.nodes()) {
    room_.gpus = plan.free().room(place.type, task);
    return;
  }
  room_.gpus = gpus_in(view.cluster, place.range, type_bit(place.type),
                       [&](NodeId node) { return whole_tasks(plan.free().on(node), task); });
}

// Updates the room for a runner that is gone or that is there again.
void DallyVictims::change_room(const View& view, const Plan& plan, const DallyPlace& place,
                               std::size_t runner, bool is_gone) {
  const std::uint32_t task = seeker_.gang.task_gpus;
  for (Slice slice : plan.gang(runners_[runner].key.job)) {
    if (!is_in(view, place, slice.node)) continue;
    std::uint32_t& gone = room_.gone[slice.node];
    const std::uint32_t free = plan.free().on(slice.node);
    room_.gpus -= whole_tasks(free + gone, task);
    gone = is_gone ? gone + slice.gpus : gone - slice.gpus;
    room_.gpus += whole_tasks(free + gone, task);
    room_.touched.push_back(slice.node);
  }
}

// Takes the last runners of the place, until there is room or the seeker may stop no more.
void DallyVictims::take_last(const View& view, const Plan& plan, const DallyPlace& place) {
  taken_.clear();
  const auto take = [&](std::size_t runner) {
    if (runners_[runner].is_settled) return;
    taken_.push_back(runner);
    change_room(view, plan, place, runner, true);
  };
  if (place.range.end - place.range.begin == 1) {
    const std::vector<std::size_t>& holders = holders_[NodeId(place.range.begin)];
    for (auto runner = holders.rbegin(); runner != holders.rend(); ++runner) {
      if (*runner < first_ || room_.gpus >= seeker_.gang.gpus) return;
      take(*runner);
    }
    return;
  }
  for (std::size_t runner = end_; runner-- > first_ && room_.gpus < seeker_.gang.gpus;) {
    if (is_in(view, place, plan.gang(runners_[runner].key.job))) take(runner);
  }
}

void DallyVictims::count(const Runner& victim) {
  const bool is_of_later_class = victim.key.major > seeker_.key.major;
  chosen_.push_back(victim.key.job);
  cost_.by_class &= is_of_later_class;
  cost_.gpu_s += victim.gpus * to_seconds(options_.switch_cost);
  if (seeker_.is_running || !is_of_later_class) cost_.gpu_s += kLossWeight * victim.loss;
}

bool DallyVictims::choose(const View& view, const Plan& plan, const DallyPlace& place) {
  chosen_.clear();
  begin_room(view, plan, place);
  take_last(view, plan, place);
  if (room_.gpus < seeker_.gang.gpus) return false;
  cost_ = {.by_class = true};
  for (auto runner = taken_.rbegin(); runner != taken_.rend(); ++runner) {
    change_room(view, plan, place, *runner, false);
    if (room_.gpus >= seeker_.gang.gpus) continue;
    count(runners_[*runner]);
    change_room(view, plan, place, *runner, true);
  }
  cost_.by_class &= !chosen_.empty();
  return true;
}

// --- The cheapest node ------------------------------------------------------------------------

std::array<NodeId, 2> DallyVictims::cheapest_nodes(const View& view, const Plan& plan,
                                                   GpuTypeId type) {
  Ranking& order = ranking(view, plan, type);
  for (; order.seen < changed_.size(); ++order.seen) {
    rank(view, plan, order, changed_[order.seen]);
  }
  const auto cheapest = [](const auto& nodes) {
    return nodes.empty() ? NodeId::none() : nodes.top().id;
  };
  const auto [low, high] = std::minmax({cheapest(order.by_class), cheapest(order.others)});
  return {low, high};
}

// Returns the ranking for gangs as the seeker's; a new one ranks the nodes as they are now.
DallyVictims::Ranking& DallyVictims::ranking(const View& view, const Plan& plan, GpuTypeId type) {
  const auto found = std::ranges::find_if(rankings_, [&](const Ranking& one) {
    return one.type == type && one.gang == seeker_.gang && one.major == seeker_.key.major &&
           one.is_running == seeker_.is_running;
  });
  if (found != rankings_.end()) return *found;
  Ranking& made = rankings_.emplace_back(
      Ranking{type, seeker_.gang, seeker_.key.major, seeker_.is_running, changed_.size()});
  for (NodeId node : ids<NodeId>(view.cluster.nodes())) {
    if (view.cluster.node_type[node] == type) rank(view, plan, made, node);
  }
  return made;
}

void DallyVictims::rank(const View& view, const Plan& plan, Ranking& ranking, NodeId node) {
  ranking.by_class.erase(node);
  ranking.others.erase(node);
  const std::uint32_t row = node.row();
  if (!choose(view, plan, {DallyTier::kNode, ranking.type, {row, row + 1}})) return;
  (cost_.by_class ? ranking.by_class : ranking.others).set(node, cost_.gpu_s);
}

}  // namespace fairlead
