// Eligibility: which jobs can never run here, and why; and which GPU types the others may have.
//
// A job never runs if its gang has no place, or none that its policy would use, even with every node up
// and idle. Nodes that are down or cordoned today count; nodes that join later do not. Under a policy
// of strict order one such job would block all jobs behind it for ever.
//
// Answers are cached by class of job, that is by their inputs, until a node joins. O(1) for a cached
// class; else O(nodes x types) and one placement.
#pragma once

#include "fairlead/model/job_spec.h"
#include "fairlead/model/jobs.h"
#include "fairlead/policy/policy.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>

namespace fairlead {

class Eligibility {
 public:
  struct Answer {
    std::string_view refusal{};  // why it can never run here, as long as the program; empty: it may
    TypeMask types = 0;  // that it may have: those of which a node has room for a task of it
  };
  // REQUIRES: the cluster is the same at each call, except for nodes that joined; the policy has the
  // same options.
  // `limits`: of the world; null: there are none. They count if they are lasting.
  Answer answer(const JobSpec& job, const Policy& policy, const Cluster& cluster,
                const Users& users, const TaskLimits* limits = nullptr);

 private:
  struct Class {
    std::uint32_t gpus;  // the smallest gang that the policy may give it
    std::uint32_t task_gpus;
    Closeness closeness;
    TypeMask types;
    std::uint32_t limited;  // TaskLimits::kind_of() the job; 0: GPUs alone limit its tasks
    friend bool operator==(const Class&, const Class&) = default;
  };
  struct Hash {
    std::size_t operator()(const Class& asked) const;
  };
  static Answer answer_for(const Class& asked, const Policy& policy, const Cluster& cluster);
  static Answer limited_answer(Answer answer, const Class& asked, const Policy& policy,
                               const Cluster& cluster, const TaskLimits& limits, JobId job);

  std::unordered_map<Class, Answer, Hash> answers_;
  std::size_t nodes_ = 0;  // nodes of the cluster that the answers are about
};

}  // namespace fairlead
