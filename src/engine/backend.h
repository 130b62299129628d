// The seam between the scheduler and the world it schedules: two methods.
//
// Nothing above a backend knows whether the world is simulated, one machine or a cluster.
#pragma once

#include "fairlead/model/event.h"
#include "fairlead/model/step.h"
#include "fairlead/policy/policy.h"

#include <span>

namespace fairlead {

// The events of one instant, in the order of EventKind, then by id. Valid until the next wait().
struct Batch {
  Time now;
  std::span<const Event> events;
  bool ended = false;  // nothing will ever happen again
};

// The speed of a job that holds its gang already.
struct SpeedChange {
  JobId job;
  Rate rate;
};

class Backend {
 public:
  virtual ~Backend() = default;
  // Waits for the next event time, at most `until`, and returns all its events. Without an event up
  // to `until`, returns no events at now == until; if nothing that matters can happen of itself,
  // ended at once, unless something is `awaited` at `until` that may start a job.
  virtual Batch wait(Time until, bool awaited) = 0;
  // Starts carrying the steps out, stops before places; fills in what it expects of each place step
  // (Step::rate, overhead, locality). Returns the jobs that run on and whose speed the steps
  // changed, by id; valid until the next call.
  virtual std::span<const SpeedChange> apply(Time now, std::span<Step> steps) = 0;
  // Null where the future is not known.
  virtual const ExactWork* exact_work() const { return nullptr; }
};

}  // namespace fairlead
