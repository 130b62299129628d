#include "fairlead/iteration/transfers.h"

#include "fairlead/base/units.h"

#include <algorithm>

namespace fairlead {

Transfers::Transfers(TransferRule rule, const TransferCost& cost, std::size_t nodes,
                     std::size_t jobs)
    : rule_(rule),
      cost_(cost),
      parts_per_kb_(cost.alone_ns * cost.shared_ns()),
      nodes_(nodes),
      rows_(jobs) {}

std::int64_t Transfers::left(JobId job, std::int64_t now_ns) const {
  const Row& row = rows_[job];
  return row.left - row.speed * (now_ns - row.since_ns);
}

// AdaDUAL. Two all-reduces have r and m <= r kB left. The sum of their completion times is (2 r + m) b one after the
// other, or r (b) + m (3 b + 2 eta) if they start together and the longer one continues alone. So starting pays if r /
// m >= 2 (b + eta) / b. Ours: if the nodes of a job have different all-reduces, it must pay beside each.
bool Transfers::gains_beside(std::int64_t now_ns, std::int64_t kb, const Node& node) const {
  if (node.count == kMost) return false;
  if (node.count == 0) return true;
  const Int128 other = left(node.jobs[0], now_ns);
  const Int128 own = Int128{kb} * parts_per_kb_;
  return other * cost_.alone_ns >= own * 2 * (cost_.alone_ns + cost_.penalty_ns);
}

// The first of several.
const Transfers::Node& Transfers::busiest(std::span<const NodeId> nodes) const {
  return nodes_[*std::ranges::max_element(nodes, {},
                                          [this](NodeId node) { return nodes_[node].count; })];
}

bool Transfers::may_start(std::int64_t now_ns, std::int64_t kb,
                          std::span<const NodeId> nodes) const {
  if (rule_ == TransferRule::kAdaSrsfReleased) return gains_beside(now_ns, kb, busiest(nodes));
  return std::ranges::all_of(nodes, [&](NodeId id) {
    const Node& node = nodes_[id];
    switch (rule_) {
      case TransferRule::kSrsf1:
        return node.count == 0;
      case TransferRule::kSrsf2:
        return node.count < kMost;
      case TransferRule::kAdaSrsf:
      case TransferRule::kAdaSrsfReleased:
        return gains_beside(now_ns, kb, node);
    }
    return false;
  });
}

void Transfers::change_count(Node& node, std::size_t count, std::int64_t now_ns) {
  const std::int64_t passed_ns = now_ns - node.since_ns;
  if (node.count > 0) busy_ns_ += passed_ns;
  if (node.count == kMost) shared_ns_ += passed_ns;
  node.count = count;
  node.since_ns = now_ns;
}

void Transfers::update_speed(JobId job, std::int64_t now_ns) {
  Row& row = rows_[job];
  const bool shares =
      std::ranges::any_of(row.nodes, [&](NodeId node) { return nodes_[node].count == kMost; });
  // A kB has alone_ns x shared_ns parts.
  const std::int64_t speed = (shares ? cost_.alone_ns : cost_.shared_ns()) * (1 + row.asking);
  if (speed == row.speed) return;
  row.left = left(job, now_ns);
  row.since_ns = now_ns;
  row.speed = speed;
  // If its end was rounded up to this very moment, the remainder may be negative.
  ends_.set(job, now_ns + std::max<std::int64_t>(0, (row.left + speed - 1) / speed));
}

void Transfers::update_met(std::span<const NodeId> nodes, std::int64_t now_ns) {
  for (NodeId id : nodes) {
    const Node& node = nodes_[id];
    for (std::size_t i = 0; i < node.count; ++i) update_speed(node.jobs[i], now_ns);
  }
}

void Transfers::set_waiting(std::int64_t now_ns, std::span<const std::span<const NodeId>> waiting) {
  if (rule_ != TransferRule::kAdaSrsfReleased) return;
  for (const auto& entry : ends_.entries()) rows_[entry.id].asking = 0;
  for (std::span<const NodeId> nodes : waiting) {
    const Node& node = busiest(nodes);
    if (node.count == 1) ++rows_[node.jobs[0]].asking;
  }
  for (Node& node : nodes_) {
    for (std::size_t i = 0; i < node.count; ++i) update_speed(node.jobs[i], now_ns);
  }
}

void Transfers::start(std::int64_t now_ns, JobId job, std::int64_t kb,
                      std::span<const NodeId> nodes) {
  FL_CHECK(kb > 0 && now_ns <= next_end_ns(), "{} kB at {} ns", kb, now_ns);
  rows_[job] = {.nodes = nodes, .left = kb * parts_per_kb_, .since_ns = now_ns, .speed = 0};
  for (NodeId id : nodes) {
    Node& node = nodes_[id];
    FL_CHECK(node.count < kMost, "node {} has two all-reduces", id.row());
    node.jobs[node.count] = job;
    change_count(node, node.count + 1, now_ns);
  }
  update_met(nodes, now_ns);
}

JobId Transfers::end_next() {
  const auto [now_ns, job] = ends_.pop();
  const std::span<const NodeId> nodes = rows_[job].nodes;
  for (NodeId id : nodes) {
    Node& node = nodes_[id];
    if (node.jobs[0] == job) node.jobs[0] = node.jobs[1];
    change_count(node, node.count - 1, now_ns);
  }
  update_met(nodes, now_ns);
  return job;
}

}  // namespace fairlead
