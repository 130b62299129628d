// The GPUs that jobs can have, node by node: neither failed nor closed. O(1) per record.
//
// REQUIRES: the records of one run in journal order.
#pragma once

#include "fairlead/base/overloaded.h"
#include "fairlead/journal/record.h"

#include <bit>
#include <cstdint>

namespace fairlead {

class UsableGpus {
 public:
  void on(const record::Node& node) {
    installed_ += node.gpus;
    nodes_.push_back({.has = ~std::uint64_t{0} >> (kNodeGpusMax - node.gpus)});
    total_ += of(node.node);
  }
  void on(const record::GpusDown& down) {
    change(down.node, [&](Node& node) { node.down |= down.gpus; });
  }
  void on(const record::GpusUp& up) {
    change(up.node, [&](Node& node) { node.down &= ~up.gpus; });
  }
  void on(const record::Closed& closed) {
    change(closed.node, [&](Node& node) { node.closed |= closed.gpus; });
  }
  void on(const record::Uncordoned& uncordoned) {
    change(uncordoned.node, [&](Node& node) { node.closed = 0; });
  }

  std::int64_t installed() const { return installed_; }
  std::int64_t total() const { return total_; }
  std::int64_t of(NodeId id) const {
    const Node& node = nodes_[id];
    return std::popcount(node.has & ~node.down & ~node.closed);
  }

 private:
  struct Node {
    std::uint64_t has = 0;
    std::uint64_t down = 0;
    std::uint64_t closed = 0;
  };

  void change(NodeId id, auto apply) {
    total_ -= of(id);
    apply(nodes_[id]);
    total_ += of(id);
  }

  IdVector<NodeId, Node> nodes_;
  std::int64_t installed_ = 0;
  std::int64_t total_ = 0;
};

// The records that change it, once a node is there.
template <class What>
concept ChangesUsableGpus =
    OneOf<What, record::GpusDown, record::GpusUp, record::Closed, record::Uncordoned>;

}  // namespace fairlead
