// An index of free GPUs for placement.
//
// The index has a bitset of nodes for each GPU type and number of free GPUs. Queries such as "the lowest node with at
// least 4 free V100" or "the tightest node that fits" scan a few words: 1,250 nodes are 20 words per row. Ties always
// go to the lowest node id.
//
// The index counts only GPUs that may be used now (NodeState::usable of engine/tables.h), with or without a job.
//
// take, give: O(1). Queries: O(rows x words in the range). Only add_node allocates.
#pragma once

#include "fairlead/model/cluster.h"

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace fairlead {

class TaskLimits;  // model/task_limits.h

constexpr std::uint32_t kAnyTasks = std::numeric_limits<std::uint32_t>::max();

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
  using Row = std::span<std::uint64_t>;
  using ConstRow = std::span<const std::uint64_t>;

  // The nodes of a type with that number of free GPUs, and those with every GPU free.
  Row row(GpuTypeId type, std::uint32_t free) { return row_at(type.row() * row_count_ + free); }
  ConstRow row(GpuTypeId type, std::uint32_t free) const {
    return ConstRow(rows_).subspan((type.row() * row_count_ + free) * row_words_, row_words_);
  }
  Row idle(GpuTypeId type) { return row_at(of_type_.size() * row_count_ + type.row()); }
  ConstRow idle(GpuTypeId type) const {
    return ConstRow(rows_).subspan((of_type_.size() * row_count_ + type.row()) * row_words_,
                                   row_words_);
  }
  Row row_at(std::size_t number) { return Row(rows_).subspan(number * row_words_, row_words_); }
  void set_free(NodeId node, std::uint32_t free);
  void lay_out();
  void link(NodeId node);
  void unlink(NodeId node);

  const Cluster* cluster_;
  std::size_t row_count_ = 0;
  std::size_t row_words_ = 0;
  // The rows of each type by the number of free GPUs, then an idle row of each type. They are one vector, because
  // policies copy indexes often.
  std::vector<std::uint64_t> rows_;
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
