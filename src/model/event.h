// What the world tells the engine.
#pragma once

#include "base/ids.h"
#include "base/units.h"

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

struct Event {
  EventKind kind;
  JobId job;      // of job events
  NodeId node;    // of node events
  Rate rate;      // of kProgress: the new rate
  Duration lost;  // of kEvicted: running time whose work was lost
};

}  // namespace fairlead
