#include "fairlead/sim/link_sharing.h"

#include <algorithm>
#include <cmath>

namespace fairlead {

LinkSharing::LinkSharing(const IdVector<LinkId, double>& capacities, bool contenders)
    : contenders_(contenders), links_(capacities.size()) {
  double largest = 1e-300;
  for (LinkId link : ids<LinkId>(capacities.size())) {
    FL_CHECK(capacities[link] > 0, "link {} has no capacity", link.row());
    largest = std::max(largest, capacities[link]);
  }
  units_ = std::exp2(61 - std::ceil(std::log2(largest)));
  for (LinkId link : ids<LinkId>(capacities.size())) {
    links_[link].capacity = std::max<Units>(1, std::llround(capacities[link] * units_));
  }
  queue_.reserve(capacities.size());
}

FlowId LinkSharing::add(std::span<const LinkId> links, double demand) {
  FL_CHECK(!links.empty() && demand > 0, "{} links, {} Gbit/s", links.size(), demand);
  for (std::size_t i = 0; i < links.size(); ++i) {
    FL_CHECK(links_.has(links[i]), "link {} of {}", links[i].row(), links_.size());
    FL_DCHECK(std::ranges::count(links, links[i]) == 1, "link {} twice", links[i].row());
  }
  FlowId id;
  if (unused_.empty()) {
    id = flows_.push_back({});
    bandwidth_.push_back(0);
  } else {
    id = unused_.back();
    unused_.pop_back();
  }
  Flow& flow = flows_[id];
  flow.links.assign(links.begin(), links.end());
  // A demand above the narrowest link's bandwidth is the same as no limit.
  flow.demand_units = kUnlimited;
  for (LinkId link : links) flow.demand_units = std::min(flow.demand_units, links_[link].capacity);
  flow.demand = static_cast<double>(flow.demand_units) / units_;
  if (demand < 2 * flow.demand) {
    const Units wanted = std::max<Units>(1, std::llround(demand * units_));
    if (wanted <= flow.demand_units) flow.demand = demand;
    flow.demand_units = std::min(flow.demand_units, wanted);
  }
  flow.present = true;
  for (LinkId link : links) {
    links_[link].flows.push_back(id);
    touch(link);
  }
  bandwidth_[id] = 0;
  set_bandwidth(id, flow.demand_units);
  flow.before = 0;
  return id;
}

void LinkSharing::remove(FlowId id) {
  Flow& flow = flows_[id];
  FL_CHECK(flow.present, "flow {} is not here", id.row());
  flow.present = false;
  set_bandwidth(id, 0);
  for (LinkId link : flow.links) {
    auto& flows = links_[link].flows;
    FL_DCHECK(std::ranges::count(flows, id) == 1);
    *std::ranges::find(flows, id) = flows.back();
    flows.pop_back();
    touch(link);
  }
  unused_.push_back(id);
}

double LinkSharing::bandwidth(FlowId id) const {
  const Flow& flow = flows_[id];
  FL_DCHECK(flow.present, "flow {} is not here", id.row());
  if (bandwidth_[id] == flow.demand_units) return flow.demand;
  return static_cast<double>(bandwidth_[id]) / units_;
}

std::size_t LinkSharing::contenders(FlowId flow) const {
  FL_DCHECK(flows_[flow].present, "flow {} is not here", flow.row());
  std::size_t most = 0;
  for (LinkId link : flows_[flow].links) most = std::max(most, links_[link].flows.size());
  return most;
}

void LinkSharing::touch(LinkId link) {
  if (links_[link].touched) return;
  links_[link].touched = true;
  touched_.push_back(link);
}

void LinkSharing::set_bandwidth(FlowId id, Units units) {
  Flow& flow = flows_[id];
  if (!flow.edited) {
    flow.edited = true;
    flow.before = bandwidth_[id];
    edited_.push_back(id);
  }
  FL_DCHECK(units >= 0 && units <= flow.demand_units, "flow {}", id.row());
  for (LinkId link : flow.links) links_[link].load += units - bandwidth_[id];
  bandwidth_[id] = units;
}

std::span<const FlowId> LinkSharing::update() {
  for (LinkId link : touched_) queue(link, 0);
  while (!queue_.empty()) settle_level();
  collect_changes();
  return changed_;
}

// Returns true if each of its flows can have one more unit.
bool LinkSharing::has_room(const Link& link) {
  return link.load + static_cast<Units>(link.flows.size()) <= link.capacity;
}

// Returns the bandwidth of each flow that has at least `level` so far, if the others keep theirs.
LinkSharing::Units LinkSharing::share_at(const Link& link, Units level) {
  ++link_updates_;
  Units left = link.capacity;
  Units growing = 0;
  for (FlowId flow : link.flows) {
    const Units has = bandwidth_[flow];
    has < level ? left -= has : ++growing;
  }
  return growing == 0 ? kUnlimited : left / growing;
}

// Returns the lowest level from `level` up at which the link is full, by its flows' bandwidths so far.
LinkSharing::Units LinkSharing::level_from(const Link& link, Units level) {
  for (;;) {
    const Units share = share_at(link, level);
    if (share <= level || share == kUnlimited) return share;
    level = share;
  }
}

// A link is due where it becomes full, or where it was and may be no more.
void LinkSharing::queue(LinkId id, Units from) {
  const Link& link = links_[id];
  Units due = link.level;
  if (!has_room(link)) due = std::min(due, level_from(link, from));
  due == kUnlimited ? queue_.erase(id) : queue_.set(id, due);
}

void LinkSharing::requeue(LinkId link) {
  if (links_[link].requeued) return;
  links_[link].requeued = true;
  requeued_.push_back(link);
}

// Settles the links that are due lowest. Bandwidths below their level are final by now, so it is also final whether
// they are full there. All of these links are checked before any flow is released.
void LinkSharing::settle_level() {
  const Units level = queue_.top().key;
  while (!queue_.empty() && queue_.top().key == level) {
    const LinkId id = queue_.pop().id;
    Link& link = links_[id];
    if (!has_room(link) && share_at(link, level) <= level) {
      link.level = level;
      limit_flows(link, level);
      continue;
    }
    if (link.level == level) {
      link.level = kUnlimited;
      released_.push_back(id);
    }
    requeue(id);
  }
  for (LinkId id : released_) release_flows(links_[id], level);
  released_.clear();
  for (LinkId id : requeued_) {
    links_[id].requeued = false;
    queue(id, level);
  }
  requeued_.clear();
}

// Limits the link's flows to its level. Other full links of these flows may then no longer be full.
void LinkSharing::limit_flows(const Link& link, Units level) {
  for (FlowId flow : link.flows) {
    if (bandwidth_[flow] <= level) continue;
    set_bandwidth(flow, level);
    for (LinkId other : flows_[flow].links) {
      const Units was_full = links_[other].level;
      if (was_full > level && was_full != kUnlimited && !queue_.contains(other)) {
        queue_.set(other, was_full);
      }
    }
  }
}

bool LinkSharing::is_limited(FlowId id, Units level) const {
  const Flow& flow = flows_[id];
  return flow.demand_units == level ||
         std::ranges::any_of(flow.links, [&](LinkId link) { return links_[link].level == level; });
}

// Called when the link is no longer full at `level`. Raises the bandwidth of its flows at this level, unless another
// link or their demand limits them: they fill the link if no other flow changes. Queues the links of these flows again.
void LinkSharing::release_flows(Link& link, Units level) {
  growing_.clear();
  for (FlowId flow : link.flows) {
    if (bandwidth_[flow] == level && !is_limited(flow, level)) growing_.push_back(flow);
  }
  for (FlowId flow : growing_) bandwidth_[flow] = flows_[flow].demand_units;
  const Units full_at = level_from(link, level);
  for (FlowId flow : growing_) {
    bandwidth_[flow] = level;
    const Flow& row = flows_[flow];
    set_bandwidth(flow, std::min(row.demand_units, full_at));
    if (row.demand_units > full_at) link.level = full_at;
    for (LinkId crossed : row.links) requeue(crossed);
  }
}

void LinkSharing::collect_changes() {
  changed_.clear();
  if (contenders_) {
    for (LinkId link : touched_) {
      for (FlowId flow : links_[link].flows) set_bandwidth(flow, bandwidth_[flow]);
    }
  }
  for (FlowId id : edited_) {
    Flow& flow = flows_[id];
    flow.edited = false;
    FL_DCHECK(!flow.present || bandwidth_[id] > 0, "flow {} gets nothing", id.row());
    if (flow.present && (contenders_ || bandwidth_[id] != flow.before)) changed_.push_back(id);
  }
  edited_.clear();
  for (LinkId link : touched_) {
    FL_DCHECK(links_[link].load <= links_[link].capacity, "link {} carries more than it can",
              link.row());
    links_[link].touched = false;
  }
  touched_.clear();
}

}  // namespace fairlead
