// The controllers of a fake cluster: the Job controller, the kubelets, and the garbage collection of pods
// whose owner or node was deleted. They act on a FakeStore, at virtual times.
//
// A Job that is not suspended gets pods according to its parallelism and completions. Suspending it
// deletes them, which does not count as a failure. A pod that fails on its own counts, and its Job waits
// 10 s, 20 s, ... for the next. A pod deleted under condition DisruptionTarget does not count, but the
// Job waits all the same. Indexed Jobs have indices.
//
// A kubelet admits a pod bound to its node if the pod fits; otherwise the pod fails with reason
// OutOfnvidia.com/gpu (or cpu, memory). An admitted pod starts to run after a while. It runs for its
// annotation `fake.fairlead.dev/run-ms`, minus the runs of earlier pods of the same owner, because it
// resumes from a checkpoint; without the annotation it does not end. It succeeds, or exits with
// `fake.fairlead.dev/exit-code`. A deleted pod ends within its grace period, becomes Failed, and is
// removed. On a node that is not ready nothing happens until it is ready again; after 300 s its pods are
// marked DisruptionTarget and deleted. The pods of a deleted node are removed after 40 s.
// A pod does not start before its node reaches its bound volumes (fake_volumes.h).
#pragma once

#include "fairlead/base/rng.h"
#include "fairlead/kube/fake_agenda.h"
#include "fairlead/kube/fake_operator.h"
#include "fairlead/kube/fake_store.h"
#include "fairlead/kube/fake_volumes.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace fairlead {

// The least and the largest delay; each delay is drawn uniformly between them.
struct FakeDelay {
  Duration least;
  Duration most;
};

struct FakeDelays {
  FakeDelay call = {milliseconds(1), milliseconds(10)};  // each way
  FakeDelay watch = {milliseconds(1), milliseconds(20)};
  FakeDelay controller = {milliseconds(5), milliseconds(50)};
  FakeDelay admit = {milliseconds(10), milliseconds(100)};
  FakeDelay start = {milliseconds(300), milliseconds(1500)};
  FakeDelay stop = {milliseconds(20), milliseconds(300)};
  FakeDelay provision = {seconds(1), seconds(3)};
};

constexpr std::string_view kFakeRun = "fake.fairlead.dev/run-ms";
constexpr std::string_view kFakeExitCode = "fake.fairlead.dev/exit-code";

class FakeCluster {
 public:
  FakeCluster(FakeStore& store, FakeAgenda& agenda, const FakeDelays& delays, std::uint64_t seed);
  FakeCluster(const FakeCluster&) = delete;
  FakeCluster& operator=(const FakeCluster&) = delete;

  // Serves the operator's resource, and acts as the operator.
  void add(FakeOperator played);
  // Called after a write to the store.
  void changed(const FakeChange& change);
  // Keeps controllers and kubelets from reaching the server until `t`.
  void stand_still_until(Time t) { away_until_ = t; }
  // Freezes or thaws the processes of a pod, by its uid. A frozen pod makes no progress and does not end.
  void freeze(const std::string& uid, bool is_frozen);
  bool is_frozen(const std::string& uid) const { return frozen_since_.contains(uid); }
  // Returns how much of their run the pods of an owner have completed.
  Duration progress(const std::string& owner_uid) const;
  const FakeVolumes& volumes() const { return volumes_; }

 private:
  struct JobState {
    std::int64_t succeeded = 0;
    std::int64_t failed = 0;
    std::set<std::int64_t> done;  // indices
    std::int64_t in_a_row = 0;    // failures and disruptions in a row
    Time not_before;              // earliest time of the next pod
    bool is_planned = false;
  };

  void plan(Duration delay, std::function<void()> act);
  Duration draw(FakeDelay delay);
  std::int64_t unix_ms() const;

  // The Job controller (fake_job_controller.cc).
  void pod_of_job_changed(const FakeChange& change);
  void plan_job(const FakeKey& key, Duration delay);
  void reconcile(const FakeKey& key);
  void scale(const FakeKey& key, const Json& job, JobState& state);
  void make_pod(const FakeKey& key, const Json& job, std::int64_t index);
  void delete_pod(const Json& pod);
  Json job_status(const Json& job, const JobState& state) const;
  std::vector<FakeObject> pods_of(const std::string& owner_uid) const;
  void collect(const std::string& owner_uid);

  // The quotas. A pod that exceeds one is not created, and its Job tries again after 10 s.
  std::map<std::string, double> quota_used(const std::string& name_space) const;
  bool exceeds_quota(const std::string& name_space, const Json& pod) const;
  void count_quotas(const std::string& name_space);

  // The operators (fake_operator.cc).
  void plan_operators(const FakeChange& change);
  void operate(const FakeKey& key);
  void rest(const FakeKey& key, const Json& child, bool is_to_rest);

  // The kubelets.
  void admit(const FakeKey& key, const std::string& uid);
  void start(const FakeKey& key, const std::string& uid);
  void finish(const FakeKey& key, const std::string& uid);
  void stop(const FakeKey& key, const std::string& uid);
  std::string shortage(const Json& pod, const Json& node) const;
  void node_changed(const FakeChange& change);
  void evict(const std::string& node, Time unready_since);
  std::vector<FakeObject> pods_on(const std::string& node) const;
  bool is_node_ready(const std::string& name) const;
  // Returns the pod if it still has that uid and has not ended; otherwise null.
  FakeObject at_work(const FakeKey& key, const std::string& uid) const;
  void set_status(const FakeKey& key, const FakeObject& pod, const Json& status);
  void settle(const Json& pod);
  // Returns the time that a running pod has run so far.
  Duration run_of(const std::string& uid) const;

  FakeStore& store_;
  FakeAgenda& agenda_;
  const FakeDelays& delays_;
  Rng rng_;
  FakeVolumes volumes_;
  Time away_until_;
  std::map<std::string, FakeOperator> operators_;  // by resource
  std::map<std::string, Time> unready_since_;      // nodes
  std::map<std::string, JobState> jobs_;           // by uid
  std::set<std::string> own_deletes_;              // uids of pods that the Job controller deleted
  std::set<std::string> admitted_;                 // uids of pods
  std::map<std::string, Time> running_since_;      // by uid of the pod
  std::map<std::string, Duration> run_before_;     // by uid of the pod: its owner's progress then
  std::map<std::string, Duration> progress_;       // by uid of the owner
  std::map<std::string, Time> frozen_since_;       // by uid of the pod
  std::map<std::string, Duration> frozen_for_;     // by uid of the pod: before that
};

// 2026-01-01, the calendar's time 0 of fake worlds.
constexpr std::int64_t kFakeEpochMs = 1'767'225'600'000;

}  // namespace fairlead
