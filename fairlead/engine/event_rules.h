// The rules by which the events of a world count or are ignored.
//
// A world cannot break the engine: an event about a run that is over, one that came twice, a node that is down
// already is journalled as ignored, counted, and has no other effect. All others are applied to the engine's state
// and passed to the policy, by kind of subject: NodeEvents, JobEvents; users and groups here.
//
// apply: O(events of the instant); see the two classes.
#pragma once

#include "fairlead/engine/backend.h"
#include "fairlead/engine/engine_options.h"
#include "fairlead/engine/engine_state.h"
#include "fairlead/engine/instant.h"
#include "fairlead/engine/job_events.h"
#include "fairlead/engine/node_events.h"
#include "fairlead/engine/timers.h"

namespace fairlead {

class EventRules {
 public:
  // All must outlive this object.
  EventRules(EngineState& state, Timers& timers, const EngineOptions& options);

  // Applies all that happens at the state's instant: the batch, and the timers that are due. Returns true if the
  // policy must decide, even without news: for example after a rejection. `policy`: the present one, which arriving
  // jobs must suit. Ends the validity of instant().
  bool apply(const Batch& batch, const Policy& policy);
  // Stops all jobs for a policy that does not know them; instant() then has all jobs as arrivals.
  void announce_all_jobs() { jobs_.announce_all(); }

  const Instant& instant() const { return instant_; }

 private:
  void admit(const Batch& batch);
  bool apply_events(const Batch& batch, const Policy& policy);
  // Each of these returns false if the event must be ignored.
  bool apply(const Event& event);
  bool change_tickets(const Event& event);
  bool forget_speeds(const Event& event);
  bool charge(const Event& event);

  EngineState& state_;
  Timers& timers_;
  Instant instant_;
  NodeEvents nodes_;
  JobEvents jobs_;
};

}  // namespace fairlead
