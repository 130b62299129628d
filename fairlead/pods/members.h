// Pods, with the fields that a scheduler of GPUs needs.
#pragma once

#include "fairlead/pods/claims.h"
#include "fairlead/pods/label_selector.h"
#include "fairlead/pods/pod_needs.h"
#include "fairlead/pods/pod_progress.h"
#include "fairlead/pods/slots.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

struct Pod {
  std::string uid;
  std::string name_space;
  std::string name;
  std::string version;  // resourceVersion
  std::string owner;    // uid of its controller; empty: it has none
  std::string node;     // node that it is bound to; empty: none yet
  std::uint32_t gpus = 0;
  bool has_slots =
      false;  // it has the GPUs of `mask`, and takes turns there in place (pods/slots.h)
  std::uint64_t mask = 0;
  std::string wish;  // kWish and kReport; empty: none
  std::string report;
  std::optional<PodProgress> progress{};  // as its agent reports it
  Resources requests;                     // node resources, including GPUs
  std::vector<UsedClaim> claims{};
  std::vector<std::string> device_claims{};  // claims of its GPUs; empty name: not made yet
  std::int64_t index = -1;                   // index in its Job; -1: it has none
  enum class State : std::uint8_t {
    kPending,
    kRunning,
    kSucceeded,
    kFailed
  } state = State::kPending;
  std::string reason;       // reason of kFailed: "OutOfnvidia.com/gpu"
  bool is_ours = false;     // Fairlead is its scheduler
  bool is_gated = false;    // it must not be bound yet
  bool is_leaving = false;  // it is being deleted
  bool is_marked = false;   // preempted by Fairlead: condition DisruptionTarget
  Labels labels;
  bool comes_again = false;  // its controller is known to create it again once it is evicted
  // Sources of its gang, if its owner is not of a kind in pods/kinds.h.
  bool is_of_known_kind = false;  // the kind of its controller is in pods/kinds.h
  std::string gang;               // key of its gang (pods/lineage.h); only if is_ours
  std::string group;              // group_of() the pod; empty: it names none
  std::uint32_t gang_size = 0;    // pods of its gang, by annotation or label; 0: unknown
  // Node requirements, if the gang is defined by pods; `unknown_need`: why they cannot be read.
  PodNeeds needs;
  std::string unknown_need;
  std::string model, time;    // texts of its annotations or labels, not parsed
  std::string command_model;  // model_of_spec()
  std::string priority_class;
  std::string required_level, preferred_level;  // labels of nodes
  enum class Preemptible : std::uint8_t { kNotSaid, kYes, kNo } preemptible = Preemptible::kNotSaid;
  bool is_held = false;
  // Returns true if its owner defines its gang; false if the pods do.
  bool has_known_owner() const { return group.empty() && is_of_known_kind; }
  bool is_over() const { return state == State::kSucceeded || state == State::kFailed; }
  // Returns true if it takes its GPUs on its node.
  bool takes_gpus() const { return !node.empty() && !is_over(); }
  // Each returns true if its agent reported that; a pod that was never frozen is thawed.
  bool is_frozen() const { return wishes_rest(wish) && report == wish; }
  bool is_thawed() const { return wishes_run(wish) && (report.empty() || report == wish); }
};
Pod parse_pod(const Json& pod);

// Returns the gang that a pod or a template names, with the name's field; empty: it names none.
// Example: "fairlead.dev/gang:pair".
std::string group_of(const Json& shape);
// Returns the annotation with the number of pods of such a gang.
std::string_view size_mark_of(std::string_view group);
// Returns the GPUs of all containers of a pod. Reads the limits: for extended resources, requests equal limits.
std::uint32_t gpus_of_spec(const Json& spec);
// Returns how many of these GPUs are slots (pods/slots.h).
std::uint32_t slots_of_spec(const Json& spec);

}  // namespace fairlead
