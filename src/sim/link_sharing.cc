#include "sim/link_sharing.h"

#include <algorithm>
#include <limits>

namespace fairlead {

LinkSharing::LinkSharing(IdVector<LinkId, double> capacities) : links_(capacities.size()) {
  for (LinkId link : ids<LinkId>(capacities.size())) {
    FL_CHECK(capacities[link] > 0, "link {} has no capacity", link.row());
    links_[link].capacity = capacities[link];
  }
}

FlowId LinkSharing::add(std::span<const LinkId> links, double demand) {
  FL_CHECK(!links.empty() && demand > 0);
  FlowId id;
  if (unused_.empty()) {
    id = flows_.push_back({});
  } else {
    id = unused_.back();
    unused_.pop_back();
  }
  Flow& flow = flows_[id];
  flow.links.assign(links.begin(), links.end());
  flow.demand = demand;
  flow.bandwidth = 0;
  flow.contenders = 0;
  flow.present = true;
  for (LinkId link : links) {
    links_[link].flows.push_back(id);
    touch(link);
  }
  return id;
}

void LinkSharing::remove(FlowId id) {
  Flow& flow = flows_[id];
  FL_CHECK(flow.present, "flow {} is not here", id.row());
  flow.present = false;
  for (LinkId link : flow.links) {
    auto& flows = links_[link].flows;
    *std::ranges::find(flows, id) = flows.back();
    flows.pop_back();
    touch(link);
  }
  unused_.push_back(id);
}

void LinkSharing::touch(LinkId link) {
  if (links_[link].touched) return;
  links_[link].touched = true;
  touched_.push_back(link);
}

std::span<const FlowId> LinkSharing::update() {
  changed_.clear();
  if (touched_.empty()) return changed_;
  reach();
  fill();
  return changed_;
}

// Collects the links and flows that are connected to what was touched.
void LinkSharing::reach() {
  reached_links_.clear();
  reached_flows_.clear();
  const auto reach_link = [this](LinkId id) {
    if (links_[id].reached) return;
    links_[id].reached = true;
    reached_links_.push_back(id);
  };
  for (LinkId id : touched_) {
    links_[id].touched = false;
    reach_link(id);
  }
  touched_.clear();
  for (std::size_t i = 0; i < reached_links_.size(); ++i) {
    Link& link = links_[reached_links_[i]];
    link.left = link.capacity;
    link.growing = static_cast<std::uint32_t>(link.flows.size());
    for (FlowId id : link.flows) {
      Flow& flow = flows_[id];
      if (flow.reached) continue;
      flow.reached = true;
      flow.fixed = false;
      reached_flows_.push_back(id);
      for (LinkId crossed : flow.links) reach_link(crossed);
    }
  }
}

// Every flow fixed in a round gets the round's level, and a link loses that level as often: no sum
// depends on the order of flows or links.
void LinkSharing::fill() {
  std::ranges::sort(reached_flows_, {}, [this](FlowId id) { return flows_[id].demand; });
  std::size_t growing = 0;  // flows before it in the order of demands are fixed
  while (true) {
    while (growing < reached_flows_.size() && flows_[reached_flows_[growing]].fixed) ++growing;
    if (growing == reached_flows_.size()) break;
    const double level = next_level(growing);
    // Which links are full is decided before any flow is fixed, as fixing changes what is left.
    full_.clear();
    for (LinkId id : reached_links_) {
      const Link& link = links_[id];
      if (link.growing > 0 && link.left / link.growing <= level) full_.push_back(id);
    }
    for (LinkId id : full_) {
      for (FlowId flow : links_[id].flows) fix(flow, level);
    }
    for (std::size_t i = growing; i < reached_flows_.size(); ++i) {
      if (flows_[reached_flows_[i]].demand > level) break;
      fix(reached_flows_[i], level);
    }
  }
  for (LinkId id : reached_links_) links_[id].reached = false;
  for (FlowId id : reached_flows_) flows_[id].reached = false;
}

// The bandwidth at which the growing flows stop first: at a link's equal shares or at a demand.
double LinkSharing::next_level(std::size_t first_growing) const {
  double level = flows_[reached_flows_[first_growing]].demand;
  for (LinkId id : reached_links_) {
    const Link& link = links_[id];
    if (link.growing > 0) level = std::min(level, link.left / link.growing);
  }
  return level;
}

void LinkSharing::fix(FlowId id, double level) {
  Flow& flow = flows_[id];
  if (flow.fixed) return;
  flow.fixed = true;
  std::size_t contenders = 0;
  for (LinkId crossed : flow.links) {
    Link& link = links_[crossed];
    link.left -= level;
    --link.growing;
    contenders = std::max(contenders, link.flows.size());
  }
  if (flow.bandwidth == level && flow.contenders == contenders) return;
  flow.bandwidth = level;
  flow.contenders = static_cast<std::uint32_t>(contenders);
  changed_.push_back(id);
}

}  // namespace fairlead
