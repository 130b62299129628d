// All-reduces between nodes: which of them may run side by side, and when each ends (Wang et al.,
// arXiv 2002.10105).
//
// An all-reduce uses every node of its job. While k of them are under way on the busiest of its nodes, a kB takes k b +
// (k - 1) eta. No rule lets more than two share a node, so there are two speeds. The remainder is counted in a
// fraction of a kB of which either speed moves a whole number per nanosecond. Everything is exact except the end, which
// is rounded up to a whole nanosecond.
//
// may_start: O(nodes of the job). start, end_next: O(nodes of its job and of the jobs that share them, + log of those
// under way).
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/indexed_heap.h"
#include "fairlead/iteration/jobs.h"

#include <array>
#include <cstdint>
#include <limits>
#include <span>

namespace fairlead {

// When an all-reduce that is ready may start.
enum class TransferRule : std::uint8_t {
  kSrsf1,    // no node of its job transfers
  kSrsf2,    // no node of its job has two already
  kAdaSrsf,  // AdaDUAL: beside others if that lowers the sum of both completion times
  // AdaDUAL as in the authors' code (commit 0055b6a), which asks about the all-reduce on the first of the busiest nodes
  // only. In each millisecond that one waits and asks, the code counts the bytes of that millisecond once more. To
  // explain the published figures.
  kAdaSrsfReleased,
};

class Transfers {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  Transfers(TransferRule rule, const TransferCost& cost, std::size_t nodes, std::size_t jobs);

  bool may_start(std::int64_t now_ns, std::int64_t kb, std::span<const NodeId> nodes) const;
  // The all-reduces that wait from now on, by their nodes. Matters to kAdaSrsfReleased only.
  // O(nodes of all + all-reduces under way).
  void set_waiting(std::int64_t now_ns, std::span<const std::span<const NodeId>> waiting);
  // `nodes` must live until the end. REQUIRES: no node has two; nothing ends before now_ns; kb > 0.
  void start(std::int64_t now_ns, JobId job, std::int64_t kb, std::span<const NodeId> nodes);

  // kNever if there are none.
  std::int64_t next_end_ns() const { return ends_.empty() ? kNever : ends_.top().key; }
  // Ends the next one; of several at one time, the one with the lowest job. REQUIRES: there is one.
  JobId end_next();

  // Time of nodes with one all-reduce or more, and with two, so far.
  std::int64_t busy_ns() const { return busy_ns_; }
  std::int64_t shared_ns() const { return shared_ns_; }

 private:
  static constexpr std::size_t kMost = 2;  // on one node
  struct Node {
    std::array<JobId, kMost> jobs;
    std::size_t count = 0;
    std::int64_t since_ns = 0;  // start of this count, ns
  };
  struct Row {
    std::span<const NodeId> nodes;
    std::int64_t left = 0;  // at since_ns, in parts of a kB
    std::int64_t since_ns = 0;
    std::int64_t speed = 0;   // parts per ns
    std::int64_t asking = 0;  // waiting all-reduces that ask about it, for kAdaSrsfReleased
  };

  std::int64_t left(JobId job, std::int64_t now_ns) const;
  const Node& busiest(std::span<const NodeId> nodes) const;
  bool gains_beside(std::int64_t now_ns, std::int64_t kb, const Node& node) const;
  void change_count(Node& node, std::size_t count, std::int64_t now_ns);
  void update_speed(JobId job, std::int64_t now_ns);
  void update_met(std::span<const NodeId> nodes, std::int64_t now_ns);

  const TransferRule rule_;
  const TransferCost cost_;
  const std::int64_t parts_per_kb_;
  IdVector<NodeId, Node> nodes_;
  IdVector<JobId, Row> rows_;
  IndexedHeap<std::int64_t, JobId> ends_;
  std::int64_t busy_ns_ = 0;
  std::int64_t shared_ns_ = 0;
};

}  // namespace fairlead
