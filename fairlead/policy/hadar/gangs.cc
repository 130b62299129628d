#include "fairlead/policy/hadar/gangs.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace fairlead {
namespace {

// Sets the place of each node.
void number(HadarOrder& order) {
  for (const std::vector<NodeId>& nodes : order.nodes) {
    for (std::uint32_t place = 0; place < nodes.size(); ++place) order.place[nodes[place]] = place;
  }
}

}  // namespace

double HadarBid::best_on(GpuTypeId type) const {
  const auto row = worth.subspan(type.row() * kTiers, kTiers);
  return *std::ranges::max_element(row);
}

double HadarBid::best() const { return std::max(present_worth, *std::ranges::max_element(worth)); }

HadarGangs::HadarGangs(const Cluster& cluster, bool mixed)
    : cluster_(cluster), mixed_(mixed), present_worth_(cluster.nodes()) {
  order_.nodes.resize(cluster.type_names.size());
  order_.place.resize(cluster.nodes());
  for (std::uint32_t gpus : cluster.type_gpus) type_gpus_max_ = std::max(type_gpus_max_, gpus);
  std::vector<std::vector<NodeId>> hosts(cluster.hosts);
  for (NodeId node : ids<NodeId>(cluster.nodes())) {
    hosts[cluster.node_host[node].row()].push_back(node);
    order_.nodes[cluster.node_type[node]].push_back(node);
  }
  number(order_);
  for (std::vector<NodeId>& host : hosts) {
    if (host.size() > 1) hosts_.push_back(std::move(host));
  }
}

void HadarGangs::begin(std::span<const HadarBid> bids) {
  present_worth_.clear();
  present_worth_.resize(cluster_.nodes());
  bool has_present = false;
  for (const HadarBid& bid : bids) {
    has_present |= !bid.present.empty();
    for (Slice slice : bid.present) {
      present_worth_[slice.node] += bid.present_worth * slice.gpus / bid.gpus;
    }
  }
  // Between rounds most bids are of new jobs: the nodes then stay in the order of their rows.
  const bool was_by_row = std::exchange(is_by_row_, !has_present);
  if (was_by_row && is_by_row_) return;
  for (std::vector<NodeId>& nodes : order_.nodes) {
    std::ranges::sort(nodes, {},
                      [&](NodeId node) { return std::pair(present_worth_[node], node); });
  }
  number(order_);
}

void HadarGangs::ask(const HadarBid& bid) {
  bid_ = &bid;
  ++asked_;
  types_.clear();
  for (GpuTypeId type : ids<GpuTypeId>(cluster_.type_names.size())) {
    if (bid.best_on(type) > 0) types_.push_back(type);
  }
  const auto is_before = [&](GpuTypeId a, GpuTypeId b) {
    const double worth_a = bid.best_on(a);
    const double worth_b = bid.best_on(b);
    return worth_a != worth_b ? worth_a > worth_b : a < b;
  };
  // A handful of types; a sort that moves equal ones about is not needed.
  std::sort(types_.begin(), types_.end(), is_before);
}

HadarGangs::Ask HadarGangs::begin_find(HadarRest rest) {
  found_.clear();
  slices_.clear();
  return {*this, rest, *bid_};
}

std::span<const HadarGang> HadarGangs::find_present(HadarRest rest) {
  offer_present(begin_find(rest));
  return found_;
}

std::span<const HadarGang> HadarGangs::find_on(HadarRest rest, GpuTypeId type) {
  offer_on(begin_find(rest), type);
  return found_;
}

std::span<const HadarGang> HadarGangs::find_mixes(HadarRest rest) {
  const Ask ask = begin_find(rest);
  if (may_mix()) offer_mixes(ask);
  return found_;
}

std::span<const HadarGang> HadarGangs::find(HadarRest rest) {
  const Ask ask = begin_find(rest);
  offer_present(ask);
  for (GpuTypeId type : types_) offer_on(ask, type);
  offer_mixes(ask);
  return found_;
}

std::uint32_t HadarGangs::Ask::usable(NodeId node) const {
  const HadarPart& there = part(node);
  const std::uint32_t gpus = whole_tasks(there.on[gangs.order_.place[node]], bid.task_gpus);
  if (!there.room.is_limited() || gpus == 0) return gpus;
  return std::min(gpus / bid.task_gpus, there.room.tasks(bid.job, node)) * bid.task_gpus;
}

std::uint32_t HadarGangs::Ask::room(GpuTypeId type) const {
  HadarPart& there = part(type);
  if (bid.task_gpus == 1 && !there.room.is_limited()) return there.gpus;
  if (there.usable.ask != gangs.asked_) {
    there.usable = {.ask = gangs.asked_, .gpus = 0};
    for (NodeId node : gangs.order_.nodes[type]) there.usable.gpus += usable(node);
  }
  return there.usable.gpus;
}

void HadarGangs::offer_present(const Ask& ask) {
  const Gang present = ask.bid.present;
  if (present.empty()) return;
  const std::span<const std::uint64_t> masks = ask.bid.present_masks;
  for (std::size_t i = 0; i < present.size(); ++i) {
    const NodeId node = present[i].node;
    const HadarPart& part = ask.part(node);
    if (ask.on(node) < present[i].gpus) return;
    if (part.room.is_limited() && ask.usable(node) < present[i].gpus) return;
    const bool has_kept = !masks.empty() && !part.kept.empty();
    if (has_kept && (part.kept[order_.place[node]] & masks[i]) != 0) return;
  }
  const std::size_t first = slices_.size();
  slices_.insert(slices_.end(), present.begin(), present.end());
  close(ask, first);
  found_.back().payoff += ask.bid.present_worth - found_.back().worth;
  found_.back().worth = ask.bid.present_worth;
}

// Returns true if the best type that is free at all has room for the whole gang.
bool HadarGangs::has_room_on_best(const Ask& ask) const {
  const auto is_free = [&](GpuTypeId type) { return ask.part(type).gpus > 0; };
  const auto best = std::ranges::find_if(types_, is_free);
  return best != types_.end() && ask.room(*best) >= ask.bid.gpus;
}

void HadarGangs::offer_mixes(const Ask& ask) {
  const bool may_spread = ask.bid.closeness.required != kAnywhere || !has_room_on_best(ask);
  if (hosts_.empty() && !may_spread) return;
  if (!mixed_ && !must_mix(ask)) return;
  free_types_.clear();
  for (GpuTypeId type : types_) {
    if (ask.part(type).gpus > 0) free_types_.push_back(type);
  }
  offer_host_mix(ask);
  offer_spread_mix(ask);
}

// Returns true if no type has room for the whole gang, not even an idle one.
bool HadarGangs::must_mix(const Ask& ask) const {
  const HadarBid& bid = ask.bid;
  if (ask.is_limited()) return must_mix_limited(ask);
  const Level required = bid.closeness.required;
  if (required != kAnywhere) {
    return std::ranges::none_of(types_, [&](GpuTypeId type) {
      return has_room_within(cluster_, required, type_bit(type), bid.gpus, bid.task_gpus);
    });
  }
  if (bid.task_gpus == 1) return bid.gpus > type_gpus_max_;
  return std::ranges::all_of(
      types_, [&](GpuTypeId type) { return bid.gpus > cluster_.room(type, bid.task_gpus); });
}

// The same if other resources limit the job's tasks.
bool HadarGangs::must_mix_limited(const Ask& ask) const {
  const HadarBid& bid = ask.bid;
  const auto usable = [&](NodeId node) {
    const std::uint32_t tasks = cluster_.node_gpus[node] / bid.task_gpus;
    return std::min(tasks, ask.rest.front()->room.most_tasks(bid.job, node)) * bid.task_gpus;
  };
  return std::ranges::none_of(types_, [&](GpuTypeId type) {
    return tightest_section(cluster_, bid.closeness.required, type_bit(type), bid.gpus, usable)
        .has_value();
  });
}

NodeId HadarGangs::tightest(const Ask& ask, GpuTypeId type) const {
  if (ask.is_limited()) return tightest_limited(ask, type);
  const std::uint32_t place = ask.part(type).tightest(ask.bid.gpus);
  return place == HadarPart::kNone ? NodeId() : order_.nodes[type][place];
}

NodeId HadarGangs::tightest_limited(const Ask& ask, GpuTypeId type) const {
  NodeId best;
  std::uint32_t least = 0;
  for (NodeId node : order_.nodes[type]) {
    const std::uint32_t free = ask.on(node);
    if (free < ask.bid.gpus || (!best.is_none() && free >= least)) continue;
    if (ask.usable(node) < ask.bid.gpus) continue;
    best = node;
    least = free;
  }
  return best;
}

void HadarGangs::offer_on(const Ask& ask, GpuTypeId type) {
  const std::size_t first = slices_.size();
  if (const NodeId node = tightest(ask, type); !node.is_none()) {
    slices_.push_back({node, static_cast<std::uint16_t>(ask.bid.gpus)});
  } else if (ask.room(type) >= ask.bid.gpus) {
    const std::optional<NodeRange> range = narrowest(ask, type_bit(type));
    if (!range) return;
    gather(ask, type, *range, ask.bid.gpus);
  } else {
    return;
  }
  close(ask, first);
}

void HadarGangs::offer_host_mix(const Ask& ask) {
  std::size_t best = found_.size();
  for (const std::vector<NodeId>& host : hosts_) {
    std::uint32_t gpus = 0;
    bool fits_one = false;
    for (NodeId node : host) {
      if (ask.bid.best_on(cluster_.node_type[node]) == 0) continue;
      gpus += ask.usable(node);
      fits_one = fits_one || ask.usable(node) >= ask.bid.gpus;
    }
    if (gpus < ask.bid.gpus || fits_one) continue;
    const std::size_t first = slices_.size();
    gather_host(ask, host);
    close(ask, first);
    if (best + 1 == found_.size()) continue;
    // The better of two hosts stays; its slices may lie behind a gap.
    if (found_.back().worth > found_[best].worth) found_[best] = found_.back();
    found_.pop_back();
  }
}

void HadarGangs::gather_host(const Ask& ask, std::span<const NodeId> host) {
  std::uint32_t missing = ask.bid.gpus;
  for (GpuTypeId type : free_types_) {
    for (NodeId node : host) {
      const std::uint32_t taken = std::min(missing, ask.usable(node));
      if (cluster_.node_type[node] != type || taken == 0) continue;
      slices_.push_back({node, static_cast<std::uint16_t>(taken)});
      missing -= taken;
    }
  }
}

void HadarGangs::offer_spread_mix(const Ask& ask) {
  // The fewest of the best types that have enough together: no other mix has a faster slowest
  // member.
  TypeMask mask = 0;
  std::uint32_t gpus = 0;
  std::size_t count = 0;
  std::optional<NodeRange> range;
  while (!range && count < free_types_.size()) {
    mask |= type_bit(free_types_[count]);
    gpus += ask.room(free_types_[count++]);
    if (gpus < ask.bid.gpus) continue;
    if (count == 1 && ask.bid.closeness.required == kAnywhere) return;
    range = narrowest(ask, mask);
  }
  if (count < 2 || !range) return;
  // A faster member is of no use to the others, so the cheapest types come first.
  const auto set_end = free_types_.begin() + static_cast<std::ptrdiff_t>(count);
  const auto price = [&](GpuTypeId type) { return ask.part(type).price; };
  std::sort(free_types_.begin(), set_end, [&](GpuTypeId a, GpuTypeId b) {
    if (price(a) != price(b)) return price(a) < price(b);
    const double worth_a = ask.bid.best_on(a);
    const double worth_b = ask.bid.best_on(b);
    return worth_a != worth_b ? worth_a > worth_b : a < b;
  });
  const std::size_t first = slices_.size();
  std::uint32_t missing = ask.bid.gpus;
  for (auto type = free_types_.begin(); type != set_end && missing > 0; ++type) {
    missing = gather(ask, *type, *range, missing);
  }
  FL_CHECK(missing == 0);
  close(ask, first);
}

std::optional<NodeRange> HadarGangs::narrowest(const Ask& ask, TypeMask types) const {
  const Closeness closeness = ask.bid.closeness;
  const bool is_required = closeness.required != kAnywhere;
  const Level widest = is_required ? closeness.required : widest_level(cluster_);
  Level level = closeness.preferred != kAnywhere ? closeness.preferred : kRackLevel;
  const NodeRange everywhere = level_section(cluster_, kAnywhere, 0);
  if (!is_required && level == kRackLevel && cluster_.rack_nodes.size() == 1) return everywhere;
  const auto free_on = [&](NodeId node) { return ask.usable(node); };
  for (level = std::min(level, widest); level <= widest; ++level) {
    const auto section = tightest_section(cluster_, level, types, ask.bid.gpus, free_on);
    if (section) return section;
  }
  if (is_required) return std::nullopt;
  return everywhere;
}

std::uint32_t HadarGangs::gather(const Ask& ask, GpuTypeId type, NodeRange range,
                                 std::uint32_t gpus) {
  // Nodes are taken by falling free GPUs, then by number, until one can take the rest.
  std::uint32_t last_free = kNodeGpusMax + 1;
  std::uint32_t last_row = 0;
  while (gpus > 0) {
    NodeId freest;
    NodeId tightest;  // with room for the rest
    for (std::uint32_t row = range.begin; row < range.end; ++row) {
      const NodeId node(row);
      const std::uint32_t free = ask.on(node);
      const bool is_taken = free > last_free || (free == last_free && row <= last_row);
      if (is_taken || cluster_.node_type[node] != type || ask.usable(node) == 0) continue;
      if (freest.is_none() || free > ask.on(freest)) freest = node;
      if (ask.usable(node) < gpus) continue;
      if (tightest.is_none() || free < ask.on(tightest)) tightest = node;
    }
    if (freest.is_none()) return gpus;
    const NodeId node = tightest.is_none() ? freest : tightest;
    last_free = ask.on(node);
    last_row = node.row();
    const std::uint32_t taken = std::min(gpus, ask.usable(node));
    slices_.push_back({node, static_cast<std::uint16_t>(taken)});
    gpus -= taken;
  }
  return 0;
}

void HadarGangs::close(const Ask& ask, std::size_t first) {
  const auto begin = slices_.begin() + static_cast<std::ptrdiff_t>(first);
  std::sort(begin, slices_.end(), [](Slice a, Slice b) { return a.node < b.node; });
  HadarGang gang;
  gang.first = static_cast<std::uint32_t>(first);
  gang.slices = static_cast<std::uint32_t>(slices_.size() - first);
  const Tier tier = cluster_.tier_of(slices(gang));
  gang.worth = std::numeric_limits<double>::infinity();
  double cost = 0;
  for (Slice slice : slices(gang)) {
    const GpuTypeId type = cluster_.node_type[slice.node];
    gang.worth = std::min(gang.worth, ask.bid.worth_on(type, tier));
    cost += slice.gpus * ask.part(type).price;
  }
  gang.payoff = gang.worth - cost;
  found_.push_back(gang);
}

}  // namespace fairlead
