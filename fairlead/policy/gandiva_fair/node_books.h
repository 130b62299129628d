// NodeBooks: the nodes, the jobs that each keeps, and the GPUs that these need (Gandiva_fair; ours).
//
// A node keeps jobs of its own, and slices of jobs of several nodes (spread_jobs.h). It is *contended* if its jobs need more
// GPUs than it has: then they take turns, and its own jobs are the clients of its stride. It is *touched* if its GPUs may go
// to other jobs, because a job arrived, left or moved.
//
// Amounts are GPUs. add, remove: O(jobs of the node + log nodes of its type). begin: O(new nodes x log nodes). spare:
// as FreeIndex::tightest. All else O(1), except as noted. Spans are valid until the next change.
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/base/indexed_heap.h"
#include "fairlead/model/cluster.h"
#include "fairlead/model/free_index.h"
#include "fairlead/policy/kit/gang_stride.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace fairlead {

class NodeBooks {
 public:
  struct Node {
    std::vector<StrideClient> queue;  // the jobs that this node alone keeps
    std::vector<JobId> spreads;       // the jobs that have a slice of it
    GpuTypeId type;                   // of the cluster
    std::uint32_t gpus = 0;           // GPUs of the node; if it is down, before that
    std::uint32_t wanted = 0;         // GPUs of all its jobs
    double load = 0;                  // GPUs that its jobs are due / gpus, at the last set_load()
    bool is_down = false;
    bool is_contended = false;  // wanted > gpus

    std::uint32_t usable() const { return is_down ? 0 : gpus; }
    // Returns its GPUs that no kept job needs.
    std::uint32_t spare() const { return usable() - std::min(usable(), wanted); }
    void fields(Archive& archive) { archive(is_down, gpus, wanted, load, queue, spreads); }
  };

  // `jobs_per_gpu_max`: limit of the GPUs of a node's kept jobs, per GPU.
  explicit NodeBooks(double jobs_per_gpu_max) : jobs_per_gpu_max_(jobs_per_gpu_max) {}

  // Enters the cluster's new nodes, with the capacities of `gpus`. Returns false if there are none. To be called before
  // all else, and again after loading; the cluster must outlive the books.
  bool begin(const Cluster& cluster, const FreeIndex& gpus);

  const Node& operator[](NodeId node) const { return nodes_[node]; }
  std::size_t size() const { return nodes_.size(); }
  std::size_t types() const { return nodes_of_type_.size(); }
  std::span<const NodeId> of_type(GpuTypeId type) const { return nodes_of_type_[type]; }
  // The nodes of the type by load.
  const IndexedHeap<double, NodeId>& by_load(GpuTypeId type) const { return by_load_[type]; }
  // GPUs of the type on nodes that are up.
  std::int64_t gpus_of_type(GpuTypeId type) const { return type_gpus_[type]; }
  // Returns a node with that many spare GPUs of the type, which no kept job needs, and as few more
  // as possible; or none.
  NodeId spare(GpuTypeId type, std::uint32_t gpus) const {
    return spare_->tightest(type, gpus, spare_->everywhere());
  }
  // Returns true if the node is up, large enough, and may keep `gpus` GPUs' worth of jobs more
  // after jobs of `less` GPUs leave.
  bool has_room(NodeId node, std::uint32_t gpus, std::uint32_t less = 0) const;
  std::span<const NodeId> contended() const { return contended_; }
  // The nodes touched since forget_touched().
  std::span<const NodeId> touched() const { return touched_; }
  void forget_touched();

  // Keeps a job that is not there. Returns true if the node is contended from now on.
  bool add(NodeId node, const StrideClient& client);
  // Keeps a slice of a job that is due GPUs for that fraction of the time. Returns as add().
  bool add_slice(Slice slice, JobId job, double time);
  // REQUIRES: the node keeps the job, or that slice of it.
  void remove(NodeId node, JobId job);
  void remove_slice(Slice slice, JobId job);
  // Sets the GPUs of the node from now on, 0 if it is down. REQUIRES: it keeps no job.
  void resize(NodeId node, std::uint32_t gpus);
  // O(log nodes of its type).
  void set_load(NodeId node, double load);
  // Returns the clients of the node, to be sorted, chosen, and given other passes and tickets.
  std::span<StrideClient> queue(NodeId node) { return nodes_[node].queue; }

  // REQUIRES: no function was called before.
  void fields(Archive& archive);

 private:
  void enter(const Cluster& cluster, NodeId node);
  bool want(NodeId node, std::int64_t gpus);
  void set_contended(NodeId node, bool is_contended);
  void touch(NodeId node);

  const double jobs_per_gpu_max_;
  IdVector<NodeId, Node> nodes_;
  IdVector<GpuTypeId, std::vector<NodeId>> nodes_of_type_;
  IdVector<GpuTypeId, IndexedHeap<double, NodeId>> by_load_;
  IdVector<GpuTypeId, std::int64_t> type_gpus_;  // on nodes that are up
  std::optional<FreeIndex> spare_;               // GPUs that no kept job needs
  std::vector<NodeId> contended_;
  IdVector<NodeId, std::uint32_t> slot_;  // in contended_
  std::vector<NodeId> touched_;
  IdVector<NodeId, char> is_touched_;
};

}  // namespace fairlead
