// GPU time weighted by GPU type: energy by the power of a type, or money by its price per hour. Ours.
//
// O(slices) per placement, O(1) for other records.
#pragma once

#include "fairlead/journal/journal.h"
#include "fairlead/metrics/usable_gpus.h"

namespace fairlead {

class WeightedGpuTime : public RecordSink {
 public:
  // The weight of an hour of one GPU, by type of the run's cluster.
  explicit WeightedGpuTime(IdVector<GpuTypeId, double> weights) : weights_(std::move(weights)) {}

  // REQUIRES: the records of one run in journal order, up to End.
  void on(const Record& record) override;

  // REQUIRES of all below: End was passed.
  // Returns the sum over the time in which the job had GPUs. 0 for a job that never had any.
  double of(JobId job) const { return jobs_.has(job) ? jobs_[job].sum : 0; }
  // Returns the sum over all jobs.
  double of_jobs() const { return of_jobs_; }
  // Returns the sum over the GPUs that jobs could have, in the time of the figure gpu_utilization.
  double of_usable() const { return usable_.sum; }

 private:
  struct Sum {
    double rate = 0;  // per hour, since `since`
    Time since;
    double sum = 0;  // up to `since`
    void settle(Time t) {
      constexpr double kHourMs = 3'600'000;
      sum += rate * static_cast<double>((t - since).ms) / kHourMs;
      since = t;
    }
  };

  void on_place(Time t, const record::Place& place);
  void end_run(Time t, JobId job);
  void leave(Time t, JobId job);
  void on_end(Time t, const record::End& end);
  double weight_of(NodeId node) const { return weights_[node_type_[node]]; }
  // Returns the job's sum, settled up to `t`.
  Sum& settled(Time t, JobId job);

  IdVector<GpuTypeId, double> weights_;
  IdVector<NodeId, GpuTypeId> node_type_;
  UsableGpus gpus_;
  IdVector<JobId, Sum> jobs_;
  double of_jobs_ = 0;
  bool has_begun_ = false;  // a job has arrived
  Sum usable_;
  double usable_at_leave_ = 0;  // at the latest finish or failure
};

}  // namespace fairlead
