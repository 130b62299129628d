// The steps of a plan: the engine checks a policy's plan, journals its steps, and lets the backend carry them out.
//
// A policy cannot break the engine: a plan against the rules of policy/plan.h is an error. A plan that ends where
// it began changes nothing. Every step is in the journal before it is carried out, stops before places.
//
// O(edits of the plan x slices). No allocation once warm.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/engine/engine_state.h"
#include "fairlead/engine/gpu_grants.h"
#include "fairlead/model/step.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace fairlead {

class PlanSteps {
 public:
  // The state must outlive this object. `jobs`: preallocated room.
  PlanSteps(EngineState& state, std::size_t jobs);

  // One decision is begin(), the policy's edits of the returned plan, check(), and commit() if there is no error.
  Plan& begin();
  // Ends the edits, and reduces them to one change per job. Error (Error::Kind::kRun): the plan breaks a rule; it names
  // the policy and the job.
  Status check(const Policy& policy);
  // Journals the changes and carries them out, after `stops`, which no policy decided and which are journalled. Starts
  // the waiting jobs that need no GPU as well.
  void commit(std::span<const Step> stops);
  // The wake-ups that the plan asks for. Valid until the next begin().
  std::span<const Time> wakes() const { return plan_.wakes(); }

 private:
  struct Change {
    JobId job;
    GangRef before;
    StopCause cause;          // cause of the stop, if `before` is not empty
    bool keeps_gpus = false;  // it is placed where it was
  };
  // The storage of the gangs of steps_, which are spans of it, one after another.
  struct StepGangs {
    std::vector<Slice> slices;
    std::vector<std::uint64_t> masks;  // beside slices
  };

  void collect_changes();
  void drop_unchanged();
  Status check_gang(JobId job, const Policy& policy) const;
  tl::unexpected<Error> misuse(const Policy& policy, JobId job, std::string_view what) const;
  void log_stops();
  void grant_gpus();
  void add_place_steps(JobId job);
  void add_starts_without_gpus();
  void keep_gangs_of_steps();
  void log_place(const Step& step);

  EngineState& state_;
  EnginePlan& plan_;  // the plan of state_
  Jobs& jobs_;        // the jobs of state_
  GpuGrants grants_;
  std::vector<Change> changes_;
  std::vector<Step> steps_;  // stops, then places
  StepGangs step_gangs_;
  IdVector<JobId, std::int64_t> changed_at_;  // the decision that last edited the job
};

}  // namespace fairlead
