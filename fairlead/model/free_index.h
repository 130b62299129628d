// An index of free GPUs for placement.
//
// The index has a set of nodes for each GPU type and number of free GPUs. Queries such as "the lowest node with at
// least 4 free V100" or "the tightest node that fits" read a few words of each set. Ties always
// go to the lowest node id.
//
// The index counts only GPUs that may be used now (NodeState::usable of engine/tables.h), with or without a job.
//
// take, give: O(1). Queries: O(GPUs of a node x (1 + nodes / 4096)). Only add_node allocates.
#pragma once

#include "fairlead/model/cluster.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace fairlead {

class TaskLimits;  // model/task_limits.h

constexpr std::uint32_t kAnyTasks = std::numeric_limits<std::uint32_t>::max();

// Sets of nodes, as bits in two levels: a bit for each node, and a bit for each word of 64 nodes that is not empty. The
// sets are numbered from 0 and lie in one vector, because policies copy indexes often.
//
// insert, erase, count: O(1). lowest: O(number of sets x (1 + nodes / 4096)).
class NodeSets {
 public:
  NodeSets() = default;
  // Starts with empty sets.
  NodeSets(std::size_t sets, std::size_t nodes);

  // REQUIRES: the node is not in the set. O(1).
  void insert(std::size_t set, NodeId node);
  // REQUIRES: the node is in the set. O(1).
  void erase(std::size_t set, NodeId node);
  // Returns the number of nodes in the set.
  std::uint32_t count(std::size_t set) const { return counts_[set]; }
  // Returns the lowest node in `range` that is in one of the sets from `first` to `last`, or none.
  NodeId lowest(std::size_t first, std::size_t last, NodeRange range) const;

 private:
  // Returns word `w` of the union of these sets.
  std::uint64_t word(std::size_t first, std::size_t last, std::size_t w) const;

  std::size_t words_ = 0;   // number of words of nodes in a set
  std::size_t stride_ = 0;  // words of a set: those of nodes, then a bit for each of them
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint32_t> counts_;
};

class FreeIndex {
 public:
  // Starts with all GPUs up and free. The cluster must outlive the index.
  explicit FreeIndex(const Cluster& cluster);

  // Return the number of free GPUs: in total, of one type, of a set of types, on one node.
  std::uint32_t total() const { return total_; }
  std::uint32_t of(GpuTypeId type) const { return of_type_[type]; }
  std::uint32_t of(TypeMask types) const;
  std::uint32_t on(NodeId node) const { return free_[node]; }
  // Returns the number of free GPUs that tasks of `task_gpus` GPUs can use, each task on one node. O(1) for one GPU.
  // REQUIRES: task_gpus > 0.
  std::uint32_t room(GpuTypeId type, std::uint32_t task_gpus) const;
  std::uint32_t room(TypeMask types, std::uint32_t task_gpus) const;
  bool has(NodeId node) const { return free_.has(node); }
  // Return the number of usable GPUs, free or not: on one node, in total, of one type.
  std::uint32_t capacity(NodeId node) const { return gpus_[node]; }
  std::uint32_t capacity() const { return capacity_; }
  std::uint32_t capacity(GpuTypeId type) const { return capacity_of_type_[type]; }
  // Returns true if no GPU is taken.
  bool all_free() const { return total_ == capacity_; }

  // Returns the lowest node of `type` in `range` with at least `gpus` free, or none.
  NodeId first(GpuTypeId type, std::uint32_t gpus, NodeRange range) const;
  // Returns the lowest node of `type` in `range` with every GPU free, or none.
  NodeId first_idle(GpuTypeId type, NodeRange range) const;
  // Returns the node of `type` in `range` with the fewest free GPUs, at least `gpus`, or none.
  NodeId tightest(GpuTypeId type, std::uint32_t gpus, NodeRange range) const;
  // Returns the node of `type` in `range` with the most free GPUs, at least one, or none.
  NodeId freest(GpuTypeId type, NodeRange range) const;
  NodeRange everywhere() const;

  // REQUIRES: on(node) >= gpus.
  void take(NodeId node, std::uint32_t gpus);
  // REQUIRES: that many GPUs of the node are taken.
  void give(NodeId node, std::uint32_t gpus);
  // Sets the number of usable GPUs of the node, including taken ones, after some went down or came up.
  // REQUIRES: taken GPUs <= `gpus` <= the node's GPUs in the cluster.
  void set_gpus(NodeId node, std::uint32_t gpus);
  bool is_down(NodeId node) const { return gpus_[node] == 0; }
  // Adds the cluster's newest node, with all GPUs free. O(nodes).
  void add_node();

 private:
  // The sets of the nodes of a type with that number of free GPUs, and of those with every GPU free.
  std::size_t set_of(GpuTypeId type, std::uint32_t free) const {
    return type.row() * sets_of_type_ + free;
  }
  std::size_t idle_set(GpuTypeId type) const {
    return set_of(GpuTypeId(of_type_.size()), 0) + type.row();
  }
  bool is_idle(NodeId node) const { return gpus_[node] > 0 && free_[node] == gpus_[node]; }
  void set_free(NodeId node, std::uint32_t free);
  void lay_out();
  void link(NodeId node);
  void unlink(NodeId node);

  const Cluster* cluster_;
  std::size_t sets_of_type_ = 0;  // number of sets of a type, by free GPUs
  NodeSets sets_;
  IdVector<NodeId, std::uint16_t> free_;
  IdVector<NodeId, std::uint16_t> gpus_;
  IdVector<GpuTypeId, std::uint32_t> of_type_;
  IdVector<GpuTypeId, std::uint32_t> capacity_of_type_;
  std::uint32_t total_ = 0;
  std::uint32_t capacity_ = 0;
};

// The resources that messages name.
enum class TaskResource : std::uint8_t { kOther, kCpu, kMemory, kReserved };

// The amounts of resources other than GPUs that the gangs of a draft leave on each node (model/task_limits.h).
class TaskRoom {
 public:
  // Starts with all that the nodes offer, and returns true. Returns false, without a change, if these limits and nodes
  // are the same as in the last call. Null, or empty limits: nothing is limited. O(nodes x resources), or O(1) if
  // nothing is limited. REQUIRES: the limits do not change until the next call.
  bool begin(const TaskLimits* limits, std::size_t nodes);
  bool is_limited() const { return limits_ != nullptr; }
  // Returns true if the tasks of the job are limited on some node.
  bool limits(JobId job) const;
  // Returns how many more tasks of the job fit on the node; kAnyTasks: it is not limited. O(needs).
  std::uint32_t tasks(JobId job, NodeId node) const;
  // Returns how many tasks of the job fit on the node if no gang has any of it; kAnyTasks: it is not limited. O(needs).
  std::uint32_t most_tasks(JobId job, NodeId node) const;
  // Returns the resource that keeps the most tasks of the job off free GPUs; kOther if none does. O(nodes x needs).
  TaskResource scarcest(JobId job, const FreeIndex& free, std::uint32_t task_gpus) const;
  // Takes or gives back the needs of that many tasks.
  void take(JobId job, NodeId node, std::uint32_t tasks) { add(job, node, -std::int64_t{tasks}); }
  void give(JobId job, NodeId node, std::uint32_t tasks) { add(job, node, std::int64_t{tasks}); }

 private:
  void add(JobId job, NodeId node, std::int64_t tasks);

  const TaskLimits* limits_ = nullptr;
  std::uint64_t version_ = 0;  // version of the limits at the last begin()
  std::size_t nodes_ = 0;
  std::vector<std::int64_t>
      left_;  // by node, then by resource; below 0 where gangs have more than is offered now
};

}  // namespace fairlead
