// The world of a finished run, rebuilt from its journal: cluster, users, jobs and outages.
//
// The journal has all inputs of a run but its settings (costs, speeds, network), the links of its
// cluster, and the GPU types on which the durations of single jobs were measured. That is enough only
// if the world was exact. A world that reports starts and stops or repeats events, or in which users
// and operators take part, cannot be rebuilt from the recorded events.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/journal/journal.h"
#include "fairlead/model/cluster_build.h"
#include "fairlead/model/workload.h"
#include "fairlead/sim/faults.h"

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

struct RecordedWorld {
  std::string policy;  // "NAME:opt=value,...", as --policy takes it
  std::uint64_t seed = 0;
  Cluster cluster;  // with default links
  Workload workload;
  std::vector<NodeOutage> outages;
  Time until = Time::never();  // where the run was cut off, if it was
};

class WorldRecorder : public RecordSink {
 public:
  // REQUIRES: what a CheckedJournal lets through.
  void on(const Record& record) override;
  // Errors: the world was not exact; no cluster can have these nodes. REQUIRES: End was passed;
  // called once.
  Result<RecordedWorld> world();

 private:
  void on_job(const JobSpec& asked, Time arrival);
  void on_gpus_up(const record::GpusUp& up, Time t);
  void on_late(Time t);
  void not_exact(Time t, std::string_view why);

  RecordedWorld world_;
  std::string cluster_name_;
  std::vector<std::string> types_;
  std::vector<NodeSpec> nodes_;
  IdVector<JobId, JobSpec> jobs_;
  std::deque<std::string> texts_;                   // texts of jobs
  IdVector<NodeId, std::vector<NodeOutage>> down_;  // that are not over
  bool jobs_come_ = false;                          // the first was named
  std::string not_exact_;                           // empty: the world was exact
};

}  // namespace fairlead
