// The reasons for which a job loses its gang to another decision than its own end. The journal keeps them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fairlead {

// In the order of their numbers in the journal. The table in stop_cause.cc has their names and meanings.
enum class StopCause : std::uint8_t {
  kPolicy,     // no nearer reason; all stops by policies in journals of older versions
  kCancelled,  // by its user: the record Cancelled follows
  kHeld,       // by its user: the record Held follows
  kTurn,
  kRound,
  kPriority,
  kMove,
  kShare,
  kQuota,
  kDrain,
  kRestart,
};
constexpr std::size_t kStopCauses = 11;

struct StopCauseInfo {
  std::string_view name;  // in files
  std::string_view text;  // the reason as a clause: "its turn was over"
};
const StopCauseInfo& stop_cause_info(StopCause cause);

inline std::string_view stop_cause_name(StopCause cause) { return stop_cause_info(cause).name; }

// Returns whether the job's user asked for the stop. All other stops are preemptions.
constexpr bool is_by_user(StopCause cause) {
  return cause == StopCause::kCancelled || cause == StopCause::kHeld;
}

}  // namespace fairlead
