// Events of jobs: arrivals, ends, holds, and reports of the world about runs.
//
// Runs of jobs have numbers, so a report about a run that is over, or that comes twice, is ignored.
//
// O(1) each, or O(slices) if a gang ends; announce_all: O(jobs log).
#pragma once

#include "fairlead/engine/eligibility.h"
#include "fairlead/engine/engine_options.h"
#include "fairlead/engine/engine_state.h"
#include "fairlead/engine/instant.h"
#include "fairlead/engine/node_events.h"
#include "fairlead/engine/timers.h"
#include "fairlead/model/step.h"

#include <span>
#include <string_view>

namespace fairlead {

class JobEvents {
 public:
  // All must outlive this object.
  JobEvents(EngineState& state, Instant& instant, NodeEvents& nodes, Timers& timers,
            const EngineOptions& options);

  // Admits a job, or rejects it if it can never run here under that policy. Returns false if the job is known or
  // its user is not.
  bool arrive(JobSpec spec, const Policy& policy);
  // Returns false if the event must be ignored. REQUIRES: the job exists.
  bool apply(const Event& event);
  // Releases the jobs whose hold after a failed start is over.
  void release_due();
  // Stops all running jobs and reports every job as an arrival, and nothing else, to a policy that does not know
  // them.
  void announce_all();

 private:
  void add_news(const Event& event);
  bool is_running(JobId job, RunId run) const;
  // Each of these returns false if the event must be ignored.
  bool finish(const Event& event);
  bool cancel(const Event& event);
  bool hold_back(JobId job);
  bool release(JobId job);
  bool evict(const Event& event);
  bool fail_start(const Event& event);
  bool confirm_stop(const Event& event);
  bool fail_stop(const Event& event);
  bool confirm_start(const Event& event);
  bool change_speed(const Event& event);
  bool report(const Event& event);
  bool see_profile(const Event& event);
  bool change_pinned(const Event& event);
  void cordon_failing(std::span<const NodeId> nodes, std::string_view reason);
  void stop_now(JobId job, StopCause cause);

  EngineState& state_;
  const Tables& tables_;
  const Jobs& jobs_;  // the jobs of tables_
  Instant& instant_;
  NodeEvents& nodes_;
  Timers& timers_;
  const EngineOptions& options_;
  Eligibility eligibility_;
};

}  // namespace fairlead
