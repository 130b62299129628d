#include "fairlead/policy/hadar/gangs.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace fairlead {
namespace {

constexpr std::uint32_t kBits = 64;

std::size_t words_for(std::size_t nodes) { return (nodes + kBits - 1) / kBits; }

// Sets the place of each node.
void number(HadarOrder& order) {
  for (const std::vector<NodeId>& nodes : order.nodes) {
    for (std::uint32_t place = 0; place < nodes.size(); ++place) order.place[nodes[place]] = place;
  }
}

}  // namespace

void HadarFree::sum(const Cluster& cluster) {
  of_type.clear();
  of_type.resize(cluster.type_names.size());
  nodes_with.clear();
  nodes_with.resize(of_type.size());
  for (NodeId node : ids<NodeId>(on.size())) {
    const GpuTypeId type = cluster.node_type[node];
    of_type[type] += on[node];
    ++nodes_with[type][on[node]];
  }
}

void HadarFree::index(const Cluster& cluster, const HadarOrder& order) {
  order_ = &order;
  first_word_.resize(order.nodes.size());
  std::size_t words = 0;
  for (GpuTypeId type : ids<GpuTypeId>(order.nodes.size())) {
    first_word_[type] = words;
    words += words_for(order.nodes[type].size()) * (std::size_t{cluster.node_gpus_max} + 1);
  }
  words_.assign(words, 0);
  for (NodeId node : ids<NodeId>(on.size())) {
    const std::uint32_t place = order.place[node];
    word(cluster.node_type[node], on[node], place) |= std::uint64_t{1} << place % kBits;
  }
}

std::uint64_t& HadarFree::word(GpuTypeId type, std::size_t gpus, std::uint32_t place) {
  return words_[first_word_[type] + gpus * words_for(order_->nodes[type].size()) + place / kBits];
}

NodeId HadarFree::first_with(GpuTypeId type, std::size_t gpus) const {
  const std::vector<NodeId>& nodes = order_->nodes[type];
  std::size_t at = first_word_[type] + gpus * words_for(nodes.size());
  const std::size_t begin = at;
  while (words_[at] == 0) ++at;
  return nodes[(at - begin) * kBits + static_cast<std::size_t>(std::countr_zero(words_[at]))];
}

void HadarFree::set(const Cluster& cluster, NodeId node, std::uint32_t gpus) {
  const GpuTypeId type = cluster.node_type[node];
  --nodes_with[type][on[node]];
  ++nodes_with[type][gpus];
  if (order_ != nullptr) {
    const std::uint32_t place = order_->place[node];
    const std::uint64_t bit = std::uint64_t{1} << place % kBits;
    word(type, on[node], place) &= ~bit;
    word(type, gpus, place) |= bit;
  }
  of_type[type] += gpus - on[node];
  on[node] = static_cast<std::uint16_t>(gpus);
}

void HadarFree::take(const Cluster& cluster, Gang gang) {
  for (Slice slice : gang) {
    FL_DCHECK(on[slice.node] >= slice.gpus);
    set(cluster, slice.node, std::uint32_t{on[slice.node]} - slice.gpus);
  }
}

void HadarFree::give(const Cluster& cluster, Gang gang) {
  for (Slice slice : gang) set(cluster, slice.node, std::uint32_t{on[slice.node]} + slice.gpus);
}

bool HadarFree::has(Gang gang, std::span<const std::uint64_t> gpu_masks) const {
  for (std::size_t i = 0; i < gang.size(); ++i) {
    if (on[gang[i].node] < gang[i].gpus) return false;
    if (!gpu_masks.empty() && (kept[gang[i].node] & gpu_masks[i]) != 0) return false;
  }
  return true;
}

void HadarFree::keep(Gang gang, std::span<const std::uint64_t> gpu_masks) {
  for (std::size_t i = 0; i < gpu_masks.size(); ++i) kept[gang[i].node] |= gpu_masks[i];
}

std::uint32_t HadarFree::usable(JobId job, std::uint32_t task_gpus, NodeId node) const {
  const std::uint32_t gpus = whole_tasks(on[node], task_gpus);
  if (!room.is_limited() || gpus == 0) return gpus;
  return std::min(gpus / task_gpus, room.tasks(job, node)) * task_gpus;
}

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

std::span<const HadarGang> HadarGangs::find(const HadarFree& free, const HadarPrices& prices,
                                            Wanted wanted) {
  const HadarBid& bid = *bid_;
  const Ask ask{free, bid, prices};
  found_.clear();
  slices_.clear();
  const auto has_room = [&](Slice slice) { return ask.usable(slice.node) >= slice.gpus; };
  if (wanted.present && !bid.present.empty() && free.has(bid.present, bid.present_masks) &&
      (!free.room.is_limited() || std::ranges::all_of(bid.present, has_room))) {
    slices_.insert(slices_.end(), bid.present.begin(), bid.present.end());
    close(ask, 0);
    found_.back().payoff += bid.present_worth - found_.back().worth;
    found_.back().worth = bid.present_worth;
  }
  free_types_.clear();
  for (GpuTypeId type : types_) {
    if (free.of_type[type] > 0) free_types_.push_back(type);
  }
  if (wanted.types != 0) offer_nodes(ask, wanted.types);
  if (mixed_ || must_mix(ask)) {
    offer_host_mix(ask);
    offer_spread_mix(ask);
  }
  return found_;
}

// Returns true if no type has room for the whole gang, not even an idle one.
bool HadarGangs::must_mix(const Ask& ask) const {
  const HadarBid& bid = ask.bid;
  if (ask.free.room.limits(bid.job)) return must_mix_limited(ask);
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
    return std::min(tasks, ask.free.room.most_tasks(bid.job, node)) * bid.task_gpus;
  };
  return std::ranges::none_of(types_, [&](GpuTypeId type) {
    return tightest_section(cluster_, bid.closeness.required, type_bit(type), bid.gpus, usable)
        .has_value();
  });
}

// Returns the GPUs of the type that the job's tasks can use.
std::uint32_t HadarGangs::room(const Ask& ask, GpuTypeId type) const {
  if (ask.bid.task_gpus == 1 && !ask.free.room.is_limited()) return ask.free.of_type[type];
  std::uint32_t gpus = 0;
  for (NodeId node : ids<NodeId>(cluster_.nodes())) {
    if (cluster_.node_type[node] == type) gpus += ask.usable(node);
  }
  return gpus;
}

NodeId HadarGangs::tightest(const Ask& ask, GpuTypeId type) const {
  if (ask.free.room.limits(ask.bid.job)) return tightest_limited(ask, type);
  const auto& nodes_with = ask.free.nodes_with[type];
  std::size_t gpus = ask.bid.gpus;
  while (gpus < nodes_with.size() && nodes_with[gpus] == 0) ++gpus;
  if (gpus >= nodes_with.size()) return {};
  return ask.free.first_with(type, gpus);
}

NodeId HadarGangs::tightest_limited(const Ask& ask, GpuTypeId type) const {
  NodeId best;
  for (NodeId node : order_.nodes[type]) {
    const std::uint32_t free = ask.free.on[node];
    if (free < ask.bid.gpus || (!best.is_none() && free >= ask.free.on[best])) continue;
    if (ask.usable(node) >= ask.bid.gpus) best = node;
  }
  return best;
}

void HadarGangs::offer_nodes(const Ask& ask, TypeMask wanted) {
  for (GpuTypeId type : free_types_) {
    if ((wanted & type_bit(type)) == 0) continue;
    const std::size_t first = slices_.size();
    if (const NodeId node = tightest(ask, type); !node.is_none()) {
      slices_.push_back({node, static_cast<std::uint16_t>(ask.bid.gpus)});
    } else if (room(ask, type) >= ask.bid.gpus) {
      const std::optional<NodeRange> range = narrowest(ask, type_bit(type));
      if (!range) continue;
      gather(ask, type, *range, ask.bid.gpus);
    } else {
      continue;
    }
    close(ask, first);
  }
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
    gpus += room(ask, free_types_[count++]);
    if (gpus < ask.bid.gpus) continue;
    if (count == 1 && ask.bid.closeness.required == kAnywhere) return;
    range = narrowest(ask, mask);
  }
  if (count < 2 || !range) return;
  // A faster member is of no use to the others, so the cheapest types come first.
  const auto set_end = free_types_.begin() + static_cast<std::ptrdiff_t>(count);
  const auto price = [&](GpuTypeId type) { return ask.prices.price(type, ask.free.of_type[type]); };
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
      const std::uint32_t free = ask.free.on[node];
      const bool is_taken = free > last_free || (free == last_free && row <= last_row);
      if (is_taken || cluster_.node_type[node] != type || ask.usable(node) == 0) continue;
      if (freest.is_none() || free > ask.free.on[freest]) freest = node;
      if (ask.usable(node) < gpus) continue;
      if (tightest.is_none() || free < ask.free.on[tightest]) tightest = node;
    }
    if (freest.is_none()) return gpus;
    const NodeId node = tightest.is_none() ? freest : tightest;
    last_free = ask.free.on[node];
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
    cost += slice.gpus * ask.prices.price(type, ask.free.of_type[type]);
  }
  gang.payoff = gang.worth - cost;
  found_.push_back(gang);
}

}  // namespace fairlead
