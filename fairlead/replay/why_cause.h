// Why a job waits at a moment: one main cause each, from a closed list.
//
// What is noted in a journal, and what can be counted in it, decides. A moment at which GPUs were free,
// the gang fitted, and nothing says why it was not started, is unexplained, and counted as such.
#pragma once

#include "fairlead/base/units.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace fairlead {

enum class WhyCause : std::uint8_t {
  kFull,         // too few GPUs are free; those with jobs that came later would not have sufficed
  kPassed,       // it could run, had jobs that came later not got GPUs
  kShare,        // the same, and the policy notes that its user has all it is due
  kScattered,    // enough are free, but not as its policy wants the gang to be
  kKept,         // it fits, but the next to start is another that waits for more GPUs
  kRound,        // it fits, and the policy starts nothing before its next round
  kTimer,        // it fits, but its policy still waits for GPUs nearer together
  kHome,         // it fits elsewhere, but waits for its turn on the GPUs that it had
  kTurn,         // it fits, but its policy runs one job at a time
  kQuota,        // it fits, but its group would exceed its quota
  kDown,         // it could run on GPUs that are down or closed
  kRetry,        // its start failed and is tried again later
  kHeld,         // its user holds it back
  kNever,        // as its policy wants the gang to be, the whole cluster has no room for it
  kUnexplained,  // it fits, and nothing says why it does not run
};
constexpr std::size_t kWhyCauses = 15;

struct WhyCauseInfo {
  std::string_view name;  // in files
  std::string_view text;  // "jobs that came later went first"
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
