// What a cluster has and has had: nodes, and the gangs that run, wait and have ended, Fairlead's or those
// of any scheduler; listed once.
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
  std::uint32_t pods = 1;
  std::uint32_t pod_gpus = 1;
  PodNeeds needs{};
  Duration declared{};  // how long its user thinks that it runs; 0: not said
  State state = State::kWaiting;
  std::int64_t created_unix_ms = 0;
  std::int64_t started_unix_ms = 0;  // if it runs or has ended: its last stretch
  std::int64_t ended_unix_ms = 0;    // if it has ended
  std::string node{};                // one of those where its pods are or were; empty: not known

  std::int64_t gpus() const { return std::int64_t{pods} * pod_gpus; }
  bool is_here() const { return state == State::kWaiting || state == State::kRunning; }
};

struct Census {
  std::int64_t unix_ms = 0;
  Inventory::Nodes nodes;
  std::map<std::string, std::uint32_t>
      others;                     // GPUs of nodes that are held by what is no gang here
  std::vector<CensusGang> gangs;  // in the order in which they were made
  std::map<std::string, std::int64_t> tickets;  // by namespace; of those that are named
  std::vector<std::string> left_out;            // "namespace/name: why", Jobs that are no gangs
};

struct CensusOptions {
  bool all_schedulers = false;          // gangs that are not Fairlead's too
  std::string name_space = "fairlead";  // of the ConfigMap `fairlead`, with the tickets
};

// Error: the API server does not say what there is up to `until`, and why.
Result<Census> take_census(KubeDoor& door, Time until, const CensusOptions& options);

}  // namespace fairlead
