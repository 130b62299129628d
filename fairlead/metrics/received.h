// The GPU time that users receive, as integrals over time: all of it, or the useful part. Ours.
//
// Work that is lost with a node, and done again, counts twice: it is known too late.
//
// O(log running jobs) per placement, O(1) otherwise.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"
#include "fairlead/journal/record.h"

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace fairlead {

enum class Received : std::uint8_t {
  kAllocated,  // GPU time
  kUseful,     // GPU time after the overheads
  kEffective,  // work x gang asked for / the job's speed on its part of every GPU type
};

// REQUIRES of all: times never go back.
class ReceivedMeter {
 public:
  // `mix_speeds`: by job, above 0 (metrics/bounds.h); only kEffective needs them. The default for a job is 1.
  explicit ReceivedMeter(Received received, IdVector<JobId, double> mix_speeds = {});

  void add_user() { users_.push_back({}); }
  void add_job(JobId job, UserId user, std::uint32_t gpus);
  // Adds a gang beside the job's earlier copies.
  void place(Time t, const record::Place& place);
  // Starts the work of a gang whose start the world reports. REQUIRES: the job has GPUs.
  void start_work(Time t, JobId job);
  void change_rate(Time t, JobId job, Rate rate);
  // Does nothing if the job has no GPUs.
  void end_run(Time t, JobId job);

  // Up to `t`.
  double gpu_ms(UserId user, Time t);

 private:
  struct User {
    double gpus = 0;  // received now
    double gpu_ms = 0;
    Time since;
  };
  struct Job {
    UserId user;
    std::uint32_t asked = 0;
    std::uint32_t allocated = 0;
    std::uint32_t run = 0;  // its number
    Rate rate;
    Time works_from = Time::never();
    double gpus = 0;  // received now
  };
  struct OverheadEnd {
    Time t;
    JobId job;
    std::uint32_t run = 0;
    friend bool operator>(const OverheadEnd& a, const OverheadEnd& b) { return a.t > b.t; }
  };

  void end_overheads(Time t);
  void receive(Time t, JobId job);

  Received received_;
  IdVector<JobId, double> mix_speeds_;
  IdVector<UserId, User> users_;
  IdVector<JobId, Job> jobs_;
  std::priority_queue<OverheadEnd, std::vector<OverheadEnd>, std::greater<>> overheads_;
};

}  // namespace fairlead
