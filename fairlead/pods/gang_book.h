// The gangs in the cluster, with their pods and the engine's job of each gang.
//
// Gangs form from objects of the API server: from an owner of a known kind (kinds.h), or from pods that name their
// gang or have another controller (docs/kubernetes.md). A gang without objects is marked as gone, and stays until
// forget(), because the engine may still know its job.
//
// A gang that is new or has changed goes to the work queue.
#pragma once

#include "fairlead/kube/reflector.h"
#include "fairlead/pods/cluster_view.h"
#include "fairlead/pods/engine_cluster.h"
#include "fairlead/pods/gang.h"
#include "fairlead/pods/lineage.h"
#include "fairlead/pods/refusals.h"
#include "fairlead/pods/work_queue.h"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fairlead {

// The last pod of a gang may be evicted. If the gang has no owner object and no new pod comes within this time, the
// gang is gone (chosen).
constexpr Duration kAbsentLimit = seconds(900);

class GangBook {
 public:
  struct Entry {
    PodGang gang;
    JobId job{};                  // none: the engine has no job for it
    bool is_here = true;          // its owner or its pods exist, or its pods will again
    Time absent = Time::never();  // start of a time without pods, until new pods come
    // Its owner came again after the gang was gone: another gang, with all pods since. It follows forget().
    std::optional<Owner> next{};

    // Returns true if it can have a job: it is there, complete and not finished.
    bool is_whole_and_here() const;
  };

  // REQUIRES: the arguments outlive the book.
  GangBook(const ClusterView& cluster, EngineCluster& engine_cluster, Refusals& refusals,
           WorkQueue& queue)
      : cluster_(cluster), engine_cluster_(engine_cluster), refusals_(refusals), queue_(queue) {}

  // -- Changes from the API server.

  // Returns the key of the pod's gang.
  std::string key_of(const Pod& pod) const { return lineage_.gang_key(pod); }
  // Sets the parent of an owner; empty: it has none. Removes and returns the pods (uids) whose gang changes by that;
  // add them again under their new keys.
  std::vector<std::string> set_parent(const std::string& owner, const std::string& parent);
  void remove_parent(const std::string& owner) { lineage_.remove(owner); }
  void set_owner(const OwnerKind& kind, const ReflectedChange& change, Time now);
  // Adds or replaces the gang of an owner.
  void put_owner(Owner owner, Time now);
  // Marks the gang of an owner as gone, if there is one.
  void remove_owner(const std::string& key);
  // Called with a PodGroup, which states the number of pods of a gang.
  void set_pod_group(const OwnerKind& kind, const ReflectedChange& change, Time now);
  // Called with the gang's owner from the answer to a call. REQUIRES: it is not Kueue's.
  void take_answer(const std::string& key, const Json& owner);
  // Adds or replaces a pod. REQUIRES: it is in the view of the cluster, with its key (Pod::gang).
  void set_pod(const Pod& pod, Time now);
  // Removes a pod. REQUIRES: it is no longer in that view.
  void remove_pod(const Pod& pod, Time now);
  // Marks a gang as gone if its pods were absent for kAbsentLimit.
  void end_absences(Time now);
  // Returns when the next absence ends; Time::never(): no gang is absent.
  Time due() const;

  // -- Jobs and tries.

  // Gives the gang the next job, and returns the job.
  JobId number(const std::string& key);
  // Gives the gang its job of an earlier scheduler.
  void adopt(const std::string& key, JobId job);
  // Sets the job that number() returns next.
  void number_from(JobId next) { next_job_ = next.row(); }
  // Ends the gang's tie to its job.
  void drop_job(const std::string& key);
  // Starts a try: from now on, failed pods of the gang count for earlier tries.
  void begin_try(const std::string& key) { entries_.at(key).gang.begin(); }
  // Forgets a gang that is gone. Its remaining pods, and pods made since, are another gang of the same key.
  void forget(const std::string& key, Time now);

  // -- Reads. Pointers are valid until the gang is forgotten.

  const std::map<std::string, Entry>& all() const { return entries_; }  // by key
  // Each returns null if there is none.
  const Entry* find(const std::string& key) const;
  const Entry* find(JobId job) const;
  const std::map<JobId, std::string>& keys() const { return keys_; }
  // Calls `sink` with each pod of Fairlead and the key of its gang, which may be refused. O(pods).
  void each_pod(const std::function<void(const std::string& key, const Pod& pod)>& sink) const;
  // Returns the node requirements of the gangs that can have a job.
  std::set<PodNeeds> needs() const;

 private:
  void form(const std::string& key, const Pod* gone, Time now);
  void add_members(Entry& entry);

  const ClusterView& cluster_;
  EngineCluster& engine_cluster_;
  Refusals& refusals_;
  WorkQueue& queue_;
  Lineage lineage_;
  std::map<std::string, std::set<std::string>> members_;  // uids of pods, by key
  std::map<std::string, std::uint32_t> group_sizes_;      // of PodGroups, by the key of their gang
  std::map<std::string, Entry> entries_;                  // by key
  std::map<JobId, std::string> keys_;
  std::size_t next_job_ = 0;
};

}  // namespace fairlead
