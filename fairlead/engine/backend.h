// The seam between the scheduler and the world it schedules.
//
// Nothing above a backend knows whether the world is simulated, one machine or a cluster. What a
// backend says is taken with care: events may be late, come twice or out of order, or be about what
// is over; the engine ignores those and counts them. What the engine says is meant once: a step that
// comes again, by its job and hold, has no further effect.
#pragma once

#include "fairlead/model/event.h"
#include "fairlead/model/job_spec.h"
#include "fairlead/model/step.h"
#include "fairlead/policy/policy.h"

#include <span>

namespace fairlead {

class ExactWork;  // model/known_work.h

struct NodeJoin {
  NodeId node;  // the row after the last
  Cluster::NodeRow row;
};

// What is new at one instant. Valid until the next wait().
struct Batch {
  Time now;
  // The world's own clock, if that is ahead of `now`: timers are noticed late, but at their own
  // instants.
  Time present{};
  std::span<const GroupSpec> groups{};  // that are new, in order of their rows
  std::span<const UserSpec> users{};    // that are new, in order of their rows
  std::span<const NodeJoin> nodes{};    // the same; as Cluster::can_add allows
  std::span<const JobSpec> jobs{};      // of the arrivals among the events, in order
  std::span<const Event> events{};      // in the order of EventKind, then by id
  bool ended = false;                   // nothing will ever happen again
};

// The speed of a job that holds its gang already.
struct SpeedChange {
  JobId job;
  Rate rate;
};

class Backend {
 public:
  virtual ~Backend() = default;
  // Waits for the next instant at which something is new, at most until `until`, and returns all of
  // it. Without anything up to `until`, returns no events at now == until, or sooner; if nothing that
  // matters can happen of itself, ended at once, unless something is `awaited` at `until` that may
  // start a job. Instants never decrease.
  virtual Batch wait(Time until, bool awaited) = 0;
  // Comes once for each instant that is decided, with its steps, if any. Fills in what it expects of
  // each place step (Step::rate, overhead, locality); a rate that it cannot know beforehand it leaves
  // at 0, and tells by kProgress once it was measured. Returns the jobs that run on and whose speed
  // the instant changes, by its events and its steps together, by id. The steps are carried out next,
  // at the same instant; their spans and what is returned are valid until then.
  virtual std::span<const SpeedChange> expect(Time now, std::span<Step> steps) = 0;
  // Starts carrying the steps out, stops before places: a gang starts once the GPUs that it was
  // granted are really free. The journal knows of the steps by now.
  virtual void carry_out(Time now, std::span<const Step> steps) = 0;
  // True if it says what became of each step, by kStarted or kStartFailed, kStopped or kStopFailed.
  // False: a start takes Step::overhead to the millisecond, and a stop no time at all.
  virtual bool reports_steps() const { return false; }
  // Null where the future is not known.
  virtual const ExactWork* exact_work() const { return nullptr; }
};

}  // namespace fairlead
