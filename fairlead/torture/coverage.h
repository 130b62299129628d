// Coverage of torture: the triples that worlds met of a call of the Io, the state of the engine at that
// call, and the fault that struck there.
//
// A fault strikes at some calls only (calls_of_fault), and some calls never come in some states. So a
// triple counts as possible if its call came in its state, and its fault strikes at such calls.
//
// Costs: note() O(1); the others O(triples), some 2,000.
#pragma once

#include "fairlead/engine/tables.h"
#include "fairlead/io/sim_io.h"
#include "fairlead/torture/world_plan.h"

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

class Coverage {
 public:
  // State of the daemon: the last of the list that fits.
  enum class State : std::uint8_t {
    kBeginning,  // it opens an empty folder
    kGoingOn,    // it opens a folder with a journal
    kIdle,       // there are no jobs
    kWaiting,    // jobs wait, and none has GPUs
    kRunning,
    kStarting,  // a job has GPUs, and its task does not run on them yet
    kStopping,  // a run has ended, and its task has not left yet
  };
  static constexpr std::size_t kStates = 7;
  static State state_of(const Tables& tables);

  void note(State state, IoCall call) { came_.set(pair(state, call)); }
  // Has no effect for a fault that strikes beside a call, such as a late notice of an end.
  void note(State state, IoCall call, std::size_t fault);
  void add(const Coverage& other);

  std::size_t met() const { return met_.count(); }
  std::size_t possible() const;
  // Returns the possible triples that were not met, such as "power at freeze, stopping"; sorted.
  std::vector<std::string> missed() const;

  std::string text() const { return came_.to_string() + met_.to_string(); }
  // Returns nothing if the text is not one of text().
  static std::optional<Coverage> parse(std::string_view text);

 private:
  static constexpr std::size_t kPairs = kStates * kIoCalls;
  static std::size_t pair(State state, IoCall call) {
    return static_cast<std::size_t>(state) * kIoCalls + static_cast<std::size_t>(call);
  }
  static bool can_strike(std::size_t fault, std::size_t pair);

  std::bitset<kPairs> came_;
  std::bitset<kPairs * kCoveredFaults> met_;  // by pair, then by fault
};

}  // namespace fairlead
