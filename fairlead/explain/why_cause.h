// The main cause of a job's wait at a moment, from a closed list.
//
// The cause follows from the policy's notes and from counts of its records. A moment counts as
// unexplained if the gang fitted into free GPUs and no record shows why it was not started.
#pragma once

#include "fairlead/base/units.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace fairlead {

enum class WhyCause : std::uint8_t {
  kFull,         // too few GPUs are free, even together with the GPUs of later jobs
  kPassed,       // it could run if jobs that arrived later had not got GPUs
  kShare,        // the same, and the policy notes that its user has its full share
  kScattered,    // enough are free, but not in a placement that its policy accepts
  kCpu,          // enough are free, but their nodes have too little CPU left for its tasks
  kMemory,       // the same of memory
  kReserved,     // the same of GPUs that are not reserved for other users
  kKept,         // it fits, but the next job to start is one that needs more GPUs
  kRound,        // it fits, and the policy starts nothing before its next round
  kTimer,        // it fits, but its policy still waits for GPUs nearer together
  kHome,         // it fits elsewhere, but waits for its turn on its former GPUs
  kTurn,         // it fits, but its policy runs one job at a time
  kQuota,        // it fits, but its group would exceed its quota
  kDown,         // it could run on GPUs that are down or closed
  kRetry,        // its start failed and is tried again later
  kHeld,         // its user, a condition or a limit holds it back
  kNever,        // the whole cluster has no placement for it that its policy accepts
  kUnexplained,  // it fits, and the journal does not show why it does not run
};
constexpr std::size_t kWhyCauses = 18;

struct WhyCauseInfo {
  std::string_view name;  // in files
  std::string_view text;  // of a past wait: "its user had its share, so others went first"
  std::string_view now;   // of a present one: "its user has its share, so others go first"
};
const WhyCauseInfo& why_cause_info(WhyCause cause);

// How much of a wait had which cause.
struct CauseTimes {
  std::array<Duration, kWhyCauses> times{};

  Duration& of(WhyCause cause) { return times[static_cast<std::size_t>(cause)]; }
  Duration of(WhyCause cause) const { return times[static_cast<std::size_t>(cause)]; }
  Duration total() const;
  // That with the most time; of equal ones the first.
  WhyCause main() const;
  // The part of it that is not kUnexplained; 1 of no time.
  double explained() const;
  CauseTimes& operator+=(const CauseTimes& more);
  friend bool operator==(const CauseTimes&, const CauseTimes&) = default;
};

}  // namespace fairlead
