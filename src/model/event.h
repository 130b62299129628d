// Events: what the world reports to the engine.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"

#include <compare>
#include <cstdint>

namespace fairlead {

// The order of the enumerators is the order of events at equal times: what frees GPUs comes before
// what wants them.
enum class EventKind : std::uint8_t {
  kFinished,
  kFailed,       // the job ended by itself without finishing
  kStopped,      // a stop step was carried out (live backends)
  kCancelled,    // by its user
  kEvicted,      // its gang was lost with a node
  kStartFailed,  // a place step could not be carried out
  kNodeDown,
  kNodeUp,
  kStarted,   // a place step was carried out (live backends)
  kProgress,  // the job's rate changed
  kArrived,
  kWoke,  // a wake-up that the policy asked for
};

// Events after which a job is still here without its gang, which was lost or never came about.
constexpr bool loses_gang(EventKind kind) {
  return kind == EventKind::kEvicted || kind == EventKind::kStartFailed;
}
// Events after which a job wants a gang: it is new, or lost the one it had.
constexpr bool begins_to_wait(EventKind kind) {
  return kind == EventKind::kArrived || loses_gang(kind);
}
// Events after which a job never wants one again.
constexpr bool ends_job(EventKind kind) {
  return kind == EventKind::kFinished || kind == EventKind::kFailed ||
         kind == EventKind::kCancelled;
}

// Events after which GPUs may be free that were not.
constexpr bool frees_gpus(EventKind kind) {
  return ends_job(kind) || loses_gang(kind) || kind == EventKind::kNodeUp;
}

struct Event {
  EventKind kind;
  JobId job;      // of job events
  NodeId node;    // of node events
  Rate rate;      // of kProgress: the new rate
  Duration lost;  // of kEvicted: running time whose work was lost
};

}  // namespace fairlead
