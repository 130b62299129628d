// Events: what the world reports to the engine.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"

#include <cstdint>
#include <string_view>

namespace fairlead {

// The order of the enumerators is the order of events at equal times: what frees GPUs comes before
// what wants them.
enum class EventKind : std::uint8_t {
  kFinished,
  kFailed,       // the job ended by itself without finishing
  kStopped,      // a stop step was carried out: the GPUs are really free
  kStopFailed,   // a stop step could not be carried out: its GPUs are not free
  kCancelled,    // its user wants it gone
  kHeld,         // its user wants it not to be placed for now
  kEvicted,      // its gang was lost, with a node or by an operator
  kStartFailed,  // a place step could not be carried out
  kCordoned,     // a node takes no further gangs; those that it has go on
  kGpusDown,     // GPUs of a node are gone: failed, or taken by something else
  kUncordoned,
  kGpusUp,
  kStarted,   // a place step was carried out
  kProgress,  // the job's rate changed
  kReported,  // the job says how much it has left
  kTickets,   // a user's tickets changed
  kReleased,  // a job that was held may be placed again
  kArrived,
  kWoke,  // a wake-up that the policy asked for
};
constexpr std::size_t kEventKinds = 19;
std::string_view event_name(EventKind kind);  // "start failed"

// Of what policies are told: all but the kinds that only the engine acts on, which are kStopped,
// kStopFailed, kHeld, kStartFailed, kCordoned, kUncordoned, kStarted, kProgress, kReported and kReleased.

// Events after which a job is still here without its gang.
constexpr bool loses_gang(EventKind kind) { return kind == EventKind::kEvicted; }
// Events after which a job wants a gang: it is new, or lost the one it had.
constexpr bool begins_to_wait(EventKind kind) {
  return kind == EventKind::kArrived || loses_gang(kind);
}
// Events after which a job never wants one again, or not until it arrives anew: a policy hears of a
// job that is held, by its user or as its start failed, as one that was cancelled, and of its release
// as an arrival.
constexpr bool ends_job(EventKind kind) {
  return kind == EventKind::kFinished || kind == EventKind::kFailed ||
         kind == EventKind::kCancelled;
}
// Events after which GPUs may be free that were not.
constexpr bool frees_gpus(EventKind kind) {
  return ends_job(kind) || loses_gang(kind) || kind == EventKind::kGpusUp;
}
// Events that a backend reports of one hold of a job (Event::hold).
constexpr bool is_about_hold(EventKind kind) {
  return kind == EventKind::kFinished || kind == EventKind::kFailed ||
         kind == EventKind::kStopped || kind == EventKind::kStopFailed ||
         kind == EventKind::kEvicted || kind == EventKind::kStartFailed ||
         kind == EventKind::kStarted || kind == EventKind::kProgress;
}

constexpr std::uint64_t kAllGpus = ~std::uint64_t{0};

struct Event {
  EventKind kind;
  JobId job;                      // of job events
  HoldId hold = 0;                // of those about a hold
  NodeId node;                    // of node events
  std::uint64_t gpus = kAllGpus;  // of kGpusDown, kGpusUp: bit i for GPU i of the node
  UserId user;                    // of kTickets
  std::int64_t tickets = 0;       // the same
  Rate rate;                      // of kProgress: the new rate
  Duration left;                  // of kReported: running time on the job's reference gang
  Duration overhead;              // of kStarted: measured, before the gang did any work
  Duration lost;                  // of kEvicted: running time whose work was lost
  std::string_view reason;        // of kFailed, kStopFailed, kStartFailed, kCordoned; may be empty
};

}  // namespace fairlead
