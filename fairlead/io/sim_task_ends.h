// The ends of a SimIo's tasks as time passes, and the notices of them to its daemons, which may be late or come twice.
//
// A notice to an earlier daemon is void, because a daemon finds the tasks that ended before it. Costs: SimTasks.
#pragma once

#include "fairlead/io/sim_agenda.h"
#include "fairlead/io/sim_calls.h"
#include "fairlead/io/sim_faults.h"
#include "fairlead/io/sim_tasks.h"

#include <vector>

namespace fairlead {

class SimTaskEnds {
 public:
  // REQUIRES: the arguments outlive this.
  SimTaskEnds(SimTasks& tasks, SimAgenda& agenda, FaultInjector& faults, const SimCalls& calls)
      : tasks_(tasks), agenda_(agenda), faults_(faults), calls_(calls) {}

  // Lets the time up to now pass for the tasks.
  void settle();
  // Ends a task now if it would end soon.
  void end_early(TaskId task);
  // Returns the ended task that a notice reports to this daemon; null: the notice is void.
  const SimTask* noticed(const SimAgenda::Event& notice) const;

 private:
  void plan_notices();

  SimTasks& tasks_;
  SimAgenda& agenda_;
  FaultInjector& faults_;
  const SimCalls& calls_;
  std::vector<TaskId> ended_;  // by the last call
};

}  // namespace fairlead
