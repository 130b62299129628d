// Metrics: a journal sink that measures a run: the summary, the table of jobs and the timeline.
//
// All figures come from the records, so a run can be measured live or from its journal file, with the same result; only
// facts from before the run (rows of the trace, bounds) are passed in.
//
// A held job asks for no GPUs: until it is released it adds nothing to its user's entitlement.
//
// O(1) per record, O(log users) per arrival and end of a job, O(log changes) between contended and other time when a
// run ends or changes its speed.
#pragma once

#include "fairlead/journal/journal.h"
#include "fairlead/metrics/finish_time_fairness.h"
#include "fairlead/metrics/job_table.h"
#include "fairlead/metrics/logged_starts.h"
#include "fairlead/metrics/run_facts.h"
#include "fairlead/metrics/summary.h"
#include "fairlead/metrics/timeline.h"
#include "fairlead/metrics/usable_gpus.h"
#include "fairlead/metrics/user_meter.h"
#include "fairlead/model/cluster.h"

#include <set>
#include <string>
#include <vector>

namespace fairlead {

class Metrics : public RecordSink {
 public:
  explicit Metrics(TimelineOptions timeline = {});

  // REQUIRES: the records of one run in journal order, up to End.
  void on(const Record& record) override;

  // REQUIRES of all below: End was passed.
  Summary summary(const RunFacts& facts) const;
  const JobTable& jobs() const { return jobs_; }
  const Timeline& timeline() const { return timeline_; }
  const std::vector<std::string>& user_names() const { return users_.names(); }
  const std::vector<std::string>& gpu_types() const { return gpu_types_; }

 private:
  // The place of each GPU.
  struct Nodes {
    IdVector<NodeId, GpuTypeId> type;
    IdVector<NodeId, HostId> host;
    IdVector<NodeId, RackId> rack;
    UsableGpus gpus;
  };

  void on_run(const record::Run& run);
  void on_node(const record::Node& node);
  void on_arrived(const JobSpec& asked);
  void on_place(const record::Place& place);
  void on_job_run_end(JobId job, Duration lost);
  void on_stop(const record::Stop& stop);
  void on_start_failed(JobId job);
  void on_leave(JobId job, JobStatus as);
  void on_end(const JobCounts& counts);
  void hold_back(JobId job);
  void release(JobId job);
  // Notes that a job waits and wants its gang, or no longer does.
  void ask(JobId job);
  void ask_no_more(JobId job);
  void add_service(JobId job, const Service& service, Duration lost = {});
  void advance(Time t);

  void sum_times(Summary& summary) const;
  void sum_bounds(Summary& summary, const RunFacts& facts) const;

  Summary counted_;  // the figures that records state, or that are numbers of records
  std::vector<std::string> gpu_types_;
  Nodes nodes_;
  JobTable jobs_;
  Timeline timeline_;
  UserMeter users_;
  FinishTimeFairness ftf_;
  LoggedStarts logged_;
  std::set<JobId> held_back_;

  Time now_;
  Time first_arrival_ = Time::never();
  Time last_leave_;   // the latest finish or failure
  GpuTime capacity_;  // GPU time of usable GPUs, from the first arrival to now
  GpuTime capacity_at_leave_;
  GpuTime allocated_;
  GpuTime busy_;
  double lost_gpu_ms_ = 0;
  bool any_work_is_lost_ = false;  // with a node
};

}  // namespace fairlead
