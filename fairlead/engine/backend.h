// The seam between the scheduler and the world it schedules.
//
// No code above a backend knows whether the world is simulated, one machine or a cluster. A backend's events
// may be late, repeated, out of order, or about a run that has ended: the engine ignores and counts such events.
// The engine's steps count once: a repeated step (same job and run) has no effect.
#pragma once

#include "fairlead/model/event.h"
#include "fairlead/model/job_spec.h"
#include "fairlead/model/step.h"
#include "fairlead/policy/policy.h"

#include <span>

namespace fairlead {

class ExactWork;  // model/known_work.h

struct NodeJoin {
  NodeId node;  // the next free row
  Cluster::NodeRow row;
};

// The news of one instant. Valid until the next wait().
struct Batch {
  Time now;
  // The world's own clock if it is ahead of `now`: a timer may be noticed late, but is reported at its own
  // instant.
  Time present{};
  std::span<const GroupSpec> groups{};  // new ones, in order of their rows
  std::span<const UserSpec> users{};    // new ones, in order of their rows
  std::span<const NodeJoin> nodes{};  // new ones, in order of their rows; Cluster::can_add is true
  std::span<const JobSpec> jobs{};    // jobs of the arrivals among the events, in order
  // Ordered by EventKind, then by id; but kHeld of a job that comes held follows its kArrived.
  std::span<const Event> events{};
  bool ended = false;  // nothing will ever happen again
};

// The new speed of a job that keeps its gang.
struct SpeedChange {
  JobId job;
  Rate rate;
};

class Backend {
 public:
  virtual ~Backend() = default;
  // Waits for the next instant with news, at most until `until`, and returns all news of that instant. If
  // nothing happens before `until`: an empty batch, now <= until. If no event can occur any more: ended = true
  // at once, unless something is `awaited` at `until` that may start a job. Instants never decrease.
  virtual Batch wait(Time until, bool awaited) = 0;
  // Called once per instant with a decision, with its steps, if any. Fills in the expected Step::rate,
  // overhead and locality of each place step. A rate that the backend cannot know beforehand stays 0; it is
  // reported by kProgress after it was measured. Returns the jobs that keep running and whose speed the
  // instant's events and steps change, by id. carry_out() follows at the same instant; the spans of the steps
  // and the returned span are valid until then.
  virtual std::span<const SpeedChange> expect(Time now, std::span<Step> steps) = 0;
  // Starts carrying the steps out, stops before places: a gang starts once the GPUs that it was granted are
  // really free. The steps are already in the journal.
  virtual void carry_out(Time now, std::span<const Step> steps) = 0;
  // Returns true if the backend reports the outcome of each step: kStarted or kStartFailed, kStopped or
  // kStopFailed. If false, a start takes exactly Step::overhead, to the millisecond, and a stop takes no time.
  virtual bool reports_steps() const { return false; }
  // Returns the GPUs of a node that a start of the job gets only if the others are too few (bit i for GPU i).
  virtual std::uint64_t last_choice(JobId, NodeId) const { return 0; }
  // Returns the resources other than GPUs that limit the tasks on a node, which must outlive the backend's engine; null:
  // there are none. The backend changes them between two calls of expect() and wait() alone, and reports kRoomUp if a
  // node then offers more.
  virtual const TaskLimits* task_limits() const { return nullptr; }
  // Returns null if the future is not known.
  virtual const ExactWork* exact_work() const { return nullptr; }
};

}  // namespace fairlead
