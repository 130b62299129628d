// A gang's owner: the size, the needs and the state of the gang, read from the owner's object, or from
// the pods if the owner's kind is unknown (pods/kinds.h).
//
// An owner is Fairlead's if its pods name Fairlead as their scheduler. Its pods with GPUs are the gang:
// each has its GPUs on one node, and the engine places them in tasks (pods/gang_tasks.h). Pods without
// GPUs ride along. Suspending an owner deletes its pods without a failure. A suspension marked as
// Fairlead's (kSuspendedBy) waits for a turn; any other is a hold by its user. Pods without such an owner
// are evicted instead, and their controller creates them again.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/base/units.h"
#include "fairlead/kube/json.h"
#include "fairlead/pods/kinds.h"
#include "fairlead/pods/members.h"
#include "fairlead/pods/pod_needs.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

constexpr std::string_view kSchedulerName = "fairlead";
// Annotations of an owner.
constexpr std::string_view kSuspendedBy = "fairlead.dev/suspended-by";  // "fairlead"
// Annotations of an owner, or of pods without a known owner; such pods may also use labels.
constexpr std::string_view kModelOf =
    "fairlead.dev/model";  // the trained model; else model_of_spec()
constexpr std::string_view kTimeOf = "fairlead.dev/time-s";  // run time expected by its user, in s
constexpr std::string_view kHold = "fairlead.dev/hold";      // "true": it must not run
// Labels of nodes: the whole gang must be, or should be, on nodes with one value of it (pods/node_levels.h).
constexpr std::string_view kRequiredLevel = "fairlead.dev/required-level";
constexpr std::string_view kPreferredLevel = "fairlead.dev/preferred-level";
// The same as Kueue has it, on pods and their templates.
constexpr std::string_view kKueueRequired = "kueue.x-k8s.io/podset-required-topology";
constexpr std::string_view kKueuePreferred = "kueue.x-k8s.io/podset-preferred-topology";
// "false": once it runs, it is not stopped. "true": it may be stopped, even if its pods have no controller
// that is known to create them again.
constexpr std::string_view kPreemptible = "fairlead.dev/preemptible";
// A pod's gang, and the gang's number of pods.
constexpr std::string_view kGangOf = "fairlead.dev/gang";
constexpr std::string_view kGangSize = "fairlead.dev/gang-size";
constexpr std::string_view kKueueGroup = "kueue.x-k8s.io/pod-group-name";
constexpr std::string_view kKueueTotal = "kueue.x-k8s.io/pod-group-total-count";
// Label of an owner or a pod with its WorkloadPriorityClass.
constexpr std::string_view kKueuePriority = "kueue.x-k8s.io/priority-class";
constexpr std::string_view kSchedulingGroup = "schedulingGroup";  // field of a pod's spec
// Labels and the annotation of the pods of a LeaderWorkerSet, each group of which is a gang.
constexpr std::string_view kLeaderWorkerSet = "leaderworkerset.sigs.k8s.io/name";
constexpr std::string_view kLeaderWorkerGroup = "leaderworkerset.sigs.k8s.io/group-index";
constexpr std::string_view kLeaderWorkerSize = "leaderworkerset.sigs.k8s.io/size";
// Marks of other schedulers' gangs: Coscheduling (label), Volcano and KAI (annotations). Each names a PodGroup.
constexpr std::string_view kCoschedulingGroup = "scheduling.x-k8s.io/pod-group";
constexpr std::string_view kVolcanoGroup = "scheduling.k8s.io/group-name";
constexpr std::string_view kKaiGroup = "pod-group-name";
// The reason of condition DisruptionTarget.
constexpr std::string_view kPreemptionReason = "PreemptionByScheduler";

struct Owner {
  std::string key;  // the gang's key: the owner's uid, or Lineage::gang_key
  std::string uid;  // uid of the object of its events: the owner, or one of the pods
  std::string name_space;
  std::string name;                 // the name of the owner, the gang or the pod
  std::string object_name{};        // the name of its object, if that is another; else empty
  std::string about;                // the pod that is the object of its events; empty: the owner
  const OwnerKind* kind = nullptr;  // null: its pods make the gang, which is stopped by eviction
  std::string version;              // resourceVersion
  std::uint32_t pods = 1;           // number of pods with GPUs
  std::uint32_t tasks = 1;          // number of tasks that these pods need
  std::uint32_t task_gpus = 1;      // GPUs of each task: those of the largest pod; at least 1
  bool has_slots = false;           // they share GPUs, by turns in place (pods/slots.h)
  std::uint32_t succeeded = 0;      // succeeded pods by the owner's count; some may be deleted
  std::uint32_t spare = 0;          // number of pods that must succeed beside the last gang
  PodNeeds needs;                   // needs that suffice for each task
  Resources requests;               // of all pods with GPUs together
  std::vector<UsedClaim> claims;    // of each such pod that does not exist yet
  bool has_deadline = false;        // its pods have activeDeadlineSeconds
  std::string model;
  Duration time;                  // run time expected by its user; 0: not given
  std::string required_level{};   // a label of nodes; empty: none
  std::string preferred_level{};  // the same
  // Names of its classes (pods/priority_classes.h); empty: it names none.
  std::string priority_class{};
  std::string workload_class{};
  std::string queue{};                     // its ClusterQueue; empty: it is not Kueue's
  std::optional<std::int64_t> priority{};  // its priority within that queue
  bool preempts = false;                   // Kueue evicts lower priorities of the queue for it
  std::string pending{};                   // why Kueue has it wait; empty: not known
  bool is_staged = false;  // some pods are created only after others have started or ended
  bool is_suspended = false;
  bool is_ours = false;        // Fairlead made the suspension
  bool is_held = false;        // its user holds it by annotation
  bool is_preemptible = true;  // it may be stopped once it runs
  std::uint32_t absent = 0;    // pods that do not exist yet, as far as that can be known beforehand
  bool is_bare = false;        // its pods have no controller: a deleted pod is not created again
  bool comes_again = true;     // its pods are known to be created again once they are stopped
  enum class State : std::uint8_t {
    kHere,
    kFinished,
    kFailed,
    kLeft,  // it does not count as a gang any more, and Fairlead's suspension has to end
  } state = State::kHere;
  std::string reason;  // the reason of kFailed

  bool is_complete() const { return absent == 0; }
  const std::string& path_name() const { return object_name.empty() ? name : object_name; }
  bool is_of_kueue() const { return kind != nullptr && kind->is_of_kueue; }
  bool is_held_by_user() const { return is_held || (is_suspended && !is_ours); }
};

// Returns whether Fairlead places its pods and it makes the gang: no owner above it does, and the pods do
// not name a gang.
bool is_fairleads(const OwnerKind& kind, const Json& object);
// Parses an owner and its pods with that scheduler. Error: why it cannot run as a gang, in words for its
// user. REQUIRES: is_fairleads(kind, object), or another scheduler.
Result<Owner> parse_owner(const OwnerKind& kind, const Json& object,
                          std::string_view scheduler = kSchedulerName);
// Returns the owner of pods that have the key `key` and no known owner. Error: as in parse_owner.
// `group_size`: the number of pods by their PodGroup, for pods that state none; 0: not known.
// REQUIRES: pods is not empty.
Result<Owner> owner_of_pods(const std::string& key, const std::vector<const Pod*>& pods,
                            std::uint32_t group_size = 0);

}  // namespace fairlead
