// Limits on the tasks of nodes by resources other than GPUs: CPU, memory, ports of the host.
//
// A world with such resources keeps TaskLimits (Jobs::limits): the needs of each task of a job, and the amounts that each
// node offers to gangs. They are in no journal. The draft of a decision subtracts the needs of its gangs (TaskRoom), and
// places no more tasks of a job on a node than fit there (policy/plan.h).
#pragma once

#include "fairlead/model/free_index.h"

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace fairlead {

// An amount that each task of a job takes of a resource. The world numbers its resources from 0, and chooses units.
struct TaskNeed {
  std::uint32_t resource = 0;
  std::int64_t amount = 1;  // at least 1
};

class TaskLimits {
 public:
  // Sets the needs of each task of the job. `kind`: a number, not 0, that jobs with other needs do not have.
  void set_needs(JobId job, std::uint32_t kind, std::vector<TaskNeed> needs);
  // Removes the limits of the job.
  void forget(JobId job);
  // Sets the amounts that the node offers to gangs, by resource; a missing one is 0.
  void set_offer(NodeId node, std::vector<std::int64_t> amounts);
  // Sets the meaning of a resource; kOther without a call.
  void set_name(std::uint32_t resource, TaskResource name);
  // Called if the offers are the whole amounts of nodes and never change: a job that does not fit into them never will.
  void set_lasting() { is_lasting_ = true; }
  bool is_lasting() const { return is_lasting_; }
  // Sets the jobs that must not use the node. Returns true if one may use it now that must not before.
  bool set_closed(NodeId node, const std::set<JobId>& jobs);
  // Sets the only nodes that the job may use, with the most tasks of it on each, for example by its volumes. Returns the
  // nodes that may have more tasks than before. O(nodes that may have some).
  std::vector<NodeId> set_places(JobId job, std::map<NodeId, std::uint32_t> most);

  // Returns true if no job is limited. O(1).
  bool empty() const { return limited_ == 0 && closed_.empty() && places_.empty(); }
  // Returns true if the job is limited.
  bool has(JobId job) const;
  // Returns 0 if the job is not limited. Jobs of one kind have the same limits. O(closed nodes + places).
  std::uint32_t kind_of(JobId job) const;
  // Returns how many tasks of the job fit on the node if no gang has any of it; kAnyTasks: it is not limited.
  // O(needs).
  std::uint32_t most_tasks(JobId job, NodeId node) const;

 private:
  friend class TaskRoom;
  struct Needs {
    std::uint32_t kind = 0;  // 0: the job has none
    std::vector<TaskNeed> each;
  };
  const std::vector<TaskNeed>* needs_of(JobId job) const;
  // Returns the most tasks of the job on the node, regardless of its needs; kAnyTasks: any number.
  std::uint32_t most_by_place(JobId job, NodeId node) const;

  IdVector<JobId, Needs> needs_;  // ends with the last job that had needs
  std::size_t limited_ = 0;       // number of jobs with needs
  std::set<std::pair<JobId, NodeId>> closed_;
  std::map<JobId, std::map<NodeId, std::uint32_t>> places_;  // most tasks; no entry: every node
  IdVector<NodeId, std::vector<std::int64_t>> offers_;
  std::size_t resources_ = 0;        // the longest offer
  std::uint64_t version_ = 1;        // another number after each change of needs or offers
  std::vector<TaskResource> names_;  // by resource
  bool is_lasting_ = false;
};

}  // namespace fairlead
