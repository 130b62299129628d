// Pods as far as a scheduler of GPUs needs to know them.
#pragma once

#include "fairlead/pods/pod_needs.h"
#include "fairlead/pods/slots.h"

#include <cstdint>
#include <map>
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
  std::string node;     // that it is bound to; empty: none yet
  std::uint32_t gpus = 0;
  bool has_slots =
      false;  // its GPUs are those of `mask`, where it takes turns in place (pods/slots.h)
  std::uint64_t mask = 0;
  std::string wish;  // kWish and kReport; empty: none
  std::string report;
  Resources requests;       // of its node, GPUs among them
  std::int64_t index = -1;  // among the pods of its Job; -1: it has none
  enum class State : std::uint8_t {
    kPending,
    kRunning,
    kSucceeded,
    kFailed
  } state = State::kPending;
  std::string reason;       // of kFailed: "OutOfnvidia.com/gpu"
  bool is_ours = false;     // Fairlead is its scheduler
  bool is_gated = false;    // it is not to be bound yet
  bool is_leaving = false;  // it is being deleted
  bool is_marked = false;   // as preempted by Fairlead: condition DisruptionTarget
  std::map<std::string, std::string> labels;
  // What makes its gang, where its owner is none of pods/kinds.h.
  bool is_of_known_kind = false;  // its controller is
  std::string gang;               // what it goes by (pods/lineage.h); of ours
  std::string group;              // that it names, told from those of other ways to name one
  std::uint32_t gang_size = 0;    // that it says its gang has; 0: it does not
  // Of its node, where pods say what their gang is; where that cannot be read, why.
  PodNeeds needs;
  std::string unknown_need;
  std::string model, time;  // of its annotations, as they are
  enum class Preemptible : std::uint8_t { kNotSaid, kYes, kNo } preemptible = Preemptible::kNotSaid;
  bool is_held = false;
  // Its owner says what its gang is; else the pods do.
  bool has_known_owner() const { return group.empty() && is_of_known_kind; }
  bool is_over() const { return state == State::kSucceeded || state == State::kFailed; }
  // Its GPUs are taken on its node.
  bool takes_gpus() const { return !node.empty() && !is_over(); }
  // Its agent says that it was frozen, or that it was thawed, or it never was frozen.
  bool is_frozen() const { return wishes_rest(wish) && report == wish; }
  bool is_thawed() const { return wishes_run(wish) && (report.empty() || report == wish); }
};
Pod parse_pod(const Json& pod);

// Of a pod or of a template: the gang that it names, "fairlead.dev/gang:pair"; empty: it names none.
std::string group_of(const Json& shape);
// GPUs of a pod as the scheduler counts them: of its containers together. Extended resources are
// limited; what is requested is the same.
std::uint32_t gpus_of_spec(const Json& spec);
// How many of them are slots (pods/slots.h).
std::uint32_t slots_of_spec(const Json& spec);

}  // namespace fairlead
