// The monitor of running jobs: their speed and progress, whether they can save their work, and the load of their GPUs.
//
// Jobs are measured by several sensors (measure/sensors.h). A user's speeds of a model are relative to the first speed
// measured, per GPU (local/references.h). The speed of a job of which no sensor reports is unknown, and nothing is
// assumed.
//
// A job that has no handler for SIGTERM would lose its work, so its processes are watched: until all of its workers
// have one, the job is pinned, and the engine gives it no other GPUs. A job with a handler is pinned, too, once its
// progress has fallen after a move; its file records the loss. Source: ours.
#pragma once

#include "fairlead/engine/inbox.h"
#include "fairlead/engine/tables.h"
#include "fairlead/local/gpu_watch.h"
#include "fairlead/local/local_jobs.h"
#include "fairlead/local/machine.h"
#include "fairlead/local/references.h"

#include <span>

namespace fairlead {

class JobMonitor {
 public:
  // Reads the file of the references. REQUIRES: the arguments outlive this.
  JobMonitor(Io& io, const Tables& tables, const Machine& machine, LocalJobs& jobs, GpuWatch& gpus,
             Inbox& inbox)
      : io_(io),
        tables_(tables),
        jobs_(jobs),
        gpus_(gpus),
        inbox_(inbox),
        first_(first_gpus(machine.cluster)),
        references_(io) {}

  // Reads the reports of a job's task. REQUIRES: the job has one, and is in the tables.
  void look_at(Time now, LocalJob& job);
  // Adds the load of GPUs that the driver has reported now, and looks at the running jobs when it is time.
  void on_time(Time now);
  // Returns the time of the next look at the jobs; never if no job runs.
  Time deadline() const;

  // Returns the time for which a running job has left all of its GPUs idle. Zero: less than ten minutes, or unknown.
  Duration idle(JobId job, Time now) const;
  // Fills in the speeds of gangs that were measured before.
  void expect(std::span<Step> steps) const;

 private:
  void note_load(Time now);

  Io& io_;
  const Tables& tables_;
  LocalJobs& jobs_;
  GpuWatch& gpus_;
  Inbox& inbox_;
  const FirstGpus first_;
  References references_;
  Time next_look_;
};

}  // namespace fairlead
