// The Job controller of a fake cluster. It acts on a FakeStore, at virtual times.
//
// A Job that is not suspended gets pods according to its parallelism and completions. Suspending it
// deletes them, which does not count as a failure. A pod that fails on its own counts, and its Job waits
// 10 s, 20 s, ... for the next. A pod deleted under condition DisruptionTarget does not count, but the
// Job waits all the same. Indexed Jobs have indices. A pod that exceeds a quota is not created, and its Job tries
// again after 10 s.
#pragma once

#include "fairlead/kube/fake_planner.h"
#include "fairlead/kube/fake_quotas.h"
#include "fairlead/kube/fake_store.h"
#include "fairlead/kube/json.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace fairlead {

class FakeJobController {
 public:
  // REQUIRES: the arguments outlive this.
  FakeJobController(FakeStore& store, FakePlanner& planner, const FakeQuotas& quotas)
      : store_(store), planner_(planner), quotas_(quotas) {}

  // Called after a Job, or any pod, was written.
  void job_changed(const FakeKey& key);
  void pod_changed(const FakeChange& change);
  // Deletes a pod, which does not count as a failure. A pod without a node is removed at once; for others, their kubelet
  // removes it.
  void delete_pod(const Json& pod);

 private:
  struct JobState {
    std::int64_t succeeded = 0;
    std::int64_t failed = 0;
    std::set<std::int64_t> done;  // indices
    std::int64_t in_a_row = 0;    // failures and disruptions in a row
    Time not_before;              // earliest time of the next pod
    bool is_planned = false;
  };

  void plan_job(const FakeKey& key, Duration delay);
  void reconcile(const FakeKey& key);
  void scale(const FakeKey& key, const Json& job, JobState& state);
  void make_pod(const FakeKey& key, const Json& job, std::int64_t index);
  Json job_status(const Json& job, const JobState& state) const;

  FakeStore& store_;
  FakePlanner& planner_;
  const FakeQuotas& quotas_;
  std::map<std::string, JobState> jobs_;  // by uid
  std::set<std::string> own_deletes_;     // uids of pods that it deleted
};

}  // namespace fairlead
