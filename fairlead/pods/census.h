// A census of a cluster, listed once: its nodes, and the gangs that run, wait or have ended, for Fairlead
// or for all schedulers.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/kube/door.h"
#include "fairlead/pods/inventory.h"
#include "fairlead/pods/owner.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fairlead {

struct CensusGang {
  enum class State : std::uint8_t { kWaiting, kRunning, kFinished, kFailed, kHeld };
  std::string name_space;
  std::string name;
  std::string model;
  std::uint32_t tasks = 1;  // each takes the GPUs of the largest pod
  std::uint32_t task_gpus = 1;
  PodNeeds needs{};     // needs that suffice for each task
  Duration declared{};  // run time expected by its user; 0: not given
  State state = State::kWaiting;
  std::int64_t created_unix_ms = 0;
  std::int64_t started_unix_ms = 0;  // start of its last run; set if it runs or has ended
  std::int64_t ended_unix_ms = 0;    // if it has ended
  std::string node{};                // one of its pods' nodes, now or last; empty: not known

  std::int64_t gpus() const { return std::int64_t{tasks} * task_gpus; }
  bool is_here() const { return state == State::kWaiting || state == State::kRunning; }
};

struct Census {
  std::int64_t unix_ms = 0;
  Inventory::Nodes nodes;
  std::map<std::string, std::uint32_t> others;  // GPUs in use by pods outside these gangs, by node
  std::vector<CensusGang> gangs;                // in the order of their creation
  std::map<std::string, std::int64_t> tickets;  // tickets of the configured namespaces
  std::vector<std::string> left_out;  // "namespace/name: why", Jobs that cannot run as a gang
};

struct CensusOptions {
  bool all_schedulers = false;          // include gangs of other schedulers
  std::string name_space = "fairlead";  // namespace of the ConfigMap `fairlead` with the tickets
};

// Returns the gang of an owner that is not submitted yet. `object`: the API server's answer to a dry run. Error: the owner would
// not wait as a gang of Fairlead, with the reason in words for its user.
Result<CensusGang> planned_gang(const OwnerKind& kind, const Json& object);

// Takes a census. Error: the API server did not report all objects until `until`, with the reason.
Result<Census> take_census(KubeDoor& door, Time until, const CensusOptions& options);

}  // namespace fairlead
