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
#include "fairlead/metrics/contended_time.h"
#include "fairlead/metrics/job_table.h"
#include "fairlead/metrics/summary.h"
#include "fairlead/metrics/timeline.h"
#include "fairlead/metrics/usable_gpus.h"
#include "fairlead/model/rack_texts.h"
#include "fairlead/model/workload.h"
#include "fairlead/solve/share_meter.h"

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace fairlead {

// The needs of a job on this cluster under any policy (metrics/bounds.h).
struct JobBound {
  Duration time;          // at least: at its best speed
  double cluster_ms = 0;  // at least: of the whole cluster's time, at prices per GPU type
  double mix_speed = 1;   // speed of the requested gang, if it had its part of each GPU type; > 0
  // GPU time at the place with the least loss to communication, and the part of it that computes; 0: not known.
  double allocated_gpu_ms = 0;
  double computing_gpu_ms = 0;
};

// The energy and the price of a run's GPU time (metrics/weighted_gpu_time.h), by job and in total.
struct GpuCosts {
  CostSummary total;
  IdVector<JobId, double> energy_kwh;  // empty: not known
  IdVector<JobId, double> price;       // the same
};

// Facts that the journal does not have.
struct RunFacts {
  RowCounts rows;
  Assumptions assumed{};
  std::int64_t models_unknown = 0;
  std::int64_t models_communicating = 0;
  std::map<std::string, std::string> settings;
  std::string journal_hash;
  std::vector<RackText> racks;
  IdVector<JobId, JobBound> bounds;  // empty: every job's best speed is 1, with the gang asked for
  GpuCosts costs{};
};

class Metrics : public RecordSink {
 public:
  explicit Metrics(TimelineOptions timeline = {});

  // REQUIRES: the records of one run in journal order, up to End.
  void on(const Record& record) override;

  // REQUIRES of all below: End was passed.
  Summary summary(const RunFacts& facts) const;
  const JobTable& jobs() const { return jobs_; }
  const Timeline& timeline() const { return timeline_; }
  const std::vector<std::string>& user_names() const { return user_names_; }
  const std::vector<std::string>& gpu_types() const { return gpu_types_; }

 private:
  struct UserTotals {
    std::int64_t tickets = 1;
    GroupId group{};
    std::int64_t jobs = 0;
    GpuTime allocated;
    double contended_useful_ms = 0;
    // Entitlement in all other time: the user's demand. Up to its last change.
    std::int64_t demand = 0;
    double uncontended_entitled_ms = 0;
    Duration uncontended_before;
    double bounded_ftf_max = 0;  // 0: of no job
  };

  struct GroupTotals {
    std::string name;
    std::int64_t tickets = 1;
    std::int64_t quota = 0;
  };

  void on_run(const record::Run& run);
  void on_group(const record::Group& group);
  void on_user(const record::User& user);
  void on_node(const record::Node& node);
  void on_arrived(const JobSpec& asked);
  void on_place(const record::Place& place);
  void on_job_run_end(JobId job, Duration lost);
  void on_stop(const record::Stop& stop);
  void on_start_failed(JobId job);
  void on_leave(JobId job, JobStatus as);
  void on_end(const JobCounts& counts);
  void on_tickets(const record::Tickets& tickets);
  void hold_back(JobId job);
  void release(JobId job);
  void ask(JobId job);
  void ask_no_more(JobId job);
  void add_service(JobId job, const Service& service, Duration lost = {});
  double contended_part(Duration time) const;
  void count_demand(UserId user, std::int64_t gpus);
  Duration uncontended() const { return now_ - Time{} - contended_.up_to(now_); }
  double uncontended_entitled_ms(const UserTotals& user) const;
  void advance(Time t);
  void count_ftf(JobId job);
  void count_logged(JobId job);

  double entitled_gpu_ms(UserId user) const { return shares_.entitled_gpu_ms(user, now_); }
  void sum_times(Summary& summary) const;
  void sum_users(Summary& summary, const RunFacts& facts) const;
  void sum_groups(Summary& summary) const;
  void sum_shares(Summary& summary) const;
  void sum_shortfalls(Summary& summary) const;
  void sum_ftf(Summary& summary) const;
  void sum_logged(Summary& summary) const;
  void sum_bounds(Summary& summary, const RunFacts& facts) const;
  std::optional<double> least_communication(const RunFacts& facts) const;

  std::uint64_t seed_ = 0;
  std::string policy_, options_, cluster_, trace_;
  std::vector<std::string> gpu_types_;
  std::vector<std::string> user_names_;
  IdVector<UserId, UserTotals> users_;
  IdVector<GroupId, GroupTotals> groups_;
  IdVector<NodeId, GpuTypeId> node_type_;
  IdVector<NodeId, HostId> node_host_;
  IdVector<NodeId, RackId> node_rack_;
  UsableGpus gpus_;
  JobTable jobs_;
  Timeline timeline_;
  ShareMeter shares_;
  ContendedTime contended_;
  IdVector<JobId, double> contended_work_ms_;  // work of the gang asked for, at speed 1
  JobCounts counts_;
  std::set<JobId> held_back_;
  OpenWorldSummary open_world_;
  LoggedSummary logged_;                   // without its means
  IdVector<JobId, Time> logged_start_;     // never: unknown; the rows end with the last known one
  Duration logged_wait_, wait_of_logged_;  // sums over the jobs that logged_ counts

  Time now_;
  Time first_arrival_ = Time::never();
  Time last_leave_;   // the latest finish or failure
  GpuTime capacity_;  // GPU time of usable GPUs, from the first arrival to now
  GpuTime capacity_at_leave_;
  GpuTime allocated_;
  GpuTime busy_;
  double lost_gpu_ms_ = 0;
  bool any_work_is_lost_ = false;  // with a node
  std::int64_t preemptions_ = 0;
  std::array<std::int64_t, kTiers> placements_ = {};

  // Finish-time fairness: the integral of the number of unfinished jobs, and each job's value of it
  // at its submission.
  std::int64_t unfinished_ = 0;
  Int128 unfinished_ms_ = 0;
  IdVector<JobId, Int128> unfinished_ms_at_submit_;
  std::int64_t ftf_jobs_ = 0;
  double ftf_sum_ = 0;
  double ftf_max_ = 0;
  std::vector<double> bounded_ftf_;  // values of the jobs that it is defined for
};

}  // namespace fairlead
