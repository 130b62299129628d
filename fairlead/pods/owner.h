// What a gang is, and how it is stopped: what its owner says, or its pods where that is of no kind
// that is known (pods/kinds.h).
//
// An owner is Fairlead's where its pods name Fairlead as their scheduler. Its pods that ask for GPUs,
// which are all alike, are the gang, each with its GPUs on one node; those that ask for none ride
// along. Suspending an owner deletes its pods, and counts no failure; a suspension that is marked as
// Fairlead's (kSuspendedBy) waits for a turn, any other is its user's wish that it be held. Pods
// without such an owner are evicted instead, and what controls them makes them again.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/base/units.h"
#include "fairlead/kube/json.h"
#include "fairlead/pods/kinds.h"
#include "fairlead/pods/members.h"
#include "fairlead/pods/pod_needs.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

constexpr std::string_view kSchedulerName = "fairlead";
// Annotations of an owner.
constexpr std::string_view kSuspendedBy = "fairlead.dev/suspended-by";  // "fairlead"
// Annotations of an owner, or of pods that have none that is known; labels do as well there.
constexpr std::string_view kModelOf = "fairlead.dev/model";  // what it trains; else its name
constexpr std::string_view kTimeOf = "fairlead.dev/time-s";  // how long its user thinks it runs
constexpr std::string_view kHold = "fairlead.dev/hold";      // "true": it is not to run
// "false": once it runs, it is not stopped; "true": so it is, though its pods have no controller
// that makes them again.
constexpr std::string_view kPreemptible = "fairlead.dev/preemptible";
// Pods that name their gang, and of how many pods it is.
constexpr std::string_view kGangOf = "fairlead.dev/gang";
constexpr std::string_view kGangSize = "fairlead.dev/gang-size";
constexpr std::string_view kKueueGroup = "kueue.x-k8s.io/pod-group-name";
constexpr std::string_view kKueueTotal = "kueue.x-k8s.io/pod-group-total-count";
// Of condition DisruptionTarget.
constexpr std::string_view kPreemptionReason = "PreemptionByScheduler";

struct Owner {
  std::string key;  // what the gang goes by: the owner's uid, or what Lineage::gang_key says
  std::string uid;  // of what events are about: the owner, or one of the pods
  std::string name_space;
  std::string name;                 // of the owner, the gang or the pod
  std::string about;                // the pod that events are about; empty: the owner
  const OwnerKind* kind = nullptr;  // null: it is made of its pods, and stopped by eviction
  std::string version;              // resourceVersion
  std::uint32_t pods = 1;           // that ask for GPUs
  std::uint32_t pod_gpus = 1;       // of each; at least 1
  bool has_slots = false;           // they share them, by turns in place (pods/slots.h)
  std::uint32_t succeeded = 0;      // pods, as the owner counts them: they may be there no longer
  std::uint32_t spare = 0;          // pods that are to succeed beside those of the last gang
  PodNeeds needs;                   // of each of those with GPUs
  std::string model;
  Duration time;  // 0: not said
  bool is_suspended = false;
  bool is_ours = false;        // the suspension
  bool is_held = false;        // its user wants it not to run, by annotation
  bool is_preemptible = true;  // it may be stopped once it runs
  bool is_complete = true;     // all pods are there, as far as that can be known beforehand
  bool is_bare = false;        // pods of it have no controller: one that is gone stays gone
  enum class State : std::uint8_t { kHere, kFinished, kFailed } state = State::kHere;
  std::string reason;  // of kFailed

  bool is_held_by_user() const { return is_held || (is_suspended && !is_ours); }
};

// Whether its pods are Fairlead's to place, and it makes the gang: no owner above it does, and the pods
// name none.
bool is_fairleads(const OwnerKind& kind, const Json& object);
// Of the pods of that scheduler. Error: why it cannot be run as a gang, in words for its user.
// REQUIRES: is_fairleads(kind, object), or the scheduler is another.
Result<Owner> parse_owner(const OwnerKind& kind, const Json& object,
                          std::string_view scheduler = kSchedulerName);
// Of pods that go by `key` and have no known owner. Error: likewise. REQUIRES: pods is not empty.
Result<Owner> owner_of_pods(const std::string& key, const std::vector<const Pod*>& pods);

}  // namespace fairlead
