// Fairness over sliding windows of time: a journal sink that compares, in every window, the GPU time that each user
// received with its entitlement by tickets and demand (ShareMeter). Ours.
//
// Windows end at multiples of `step` and start at or after the first arrival. The error of a user in a window is max(0,
// |received - entitled| - allowance) / entitled. The allowance is the shift that one quantum of the user's largest job
// can cause: quantum x the largest gang among its jobs that were unfinished at any time in the window.
//
// A user's shortfall is max(0, entitled - received - allowance) / entitled, in windows in which its demand exceeded its
// share all the time: in other windows it may have left GPUs unused.
//
// A held job asks for no GPUs, as if it did not exist.
//
// It also measures how much capacity is idle while there is demand for all of it, and migrations.
//
// O(1) per record (O(log users) where demand changes, O(gang sizes of the user) where a job comes
// or goes) and O(users x windows) per step. Memory: two numbers per user and step of the longest
// window.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"
#include "fairlead/journal/journal.h"
#include "fairlead/metrics/error_quantiles.h"
#include "fairlead/metrics/idle_meter.h"
#include "fairlead/metrics/received.h"
#include "fairlead/metrics/usable_gpus.h"
#include "fairlead/solve/share_meter.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fairlead {

struct WindowFairnessOptions {
  std::vector<Duration> windows = {hours(1), hours(8)};  // multiples of `step`
  Duration step = seconds(60);                           // at least 1 ms
  Duration quantum;                                      // zero: no allowance
  Received received = Received::kAllocated;
  IdVector<JobId, double> mix_speeds;  // speeds for ReceivedMeter
};

// Errors or shortfalls, over users and windows.
struct WindowErrors {
  double largest = 0;      // fraction of the user's entitlement in the window
  double mean = 0;         // the same
  std::int64_t count = 0;  // number of users' windows
  UserId user;             // user of the first largest one; none if every one is 0
  Time window_end;         // end of the window of the largest
  ErrorQuantiles quantiles;
};

struct WindowFigures {
  Duration window;
  WindowErrors steady;  // windows in which the user was entitled to something all the time
  WindowErrors all;     // windows in which it was entitled to something at any time
  WindowErrors shortfalls;
};

class WindowFairness : public RecordSink {
 public:
  // REQUIRES: every window is a positive multiple of the step.
  explicit WindowFairness(WindowFairnessOptions options = {});

  // REQUIRES: the records of one run in journal order, up to End.
  void on(const Record& record) override;

  // REQUIRES of all below: End was passed. The run ends there, or with its last job if none is
  // left. By window, in the order of the options.
  const std::vector<WindowFigures>& windows() const { return figures_; }
  // Returns the GPU time idle while unfinished jobs asked for at least all GPUs that were up: a fraction of the
  // capacity at those times, 0 if there were none.
  double idle_when_wanted() const { return idle_.idle_when_wanted(); }
  // Migrations per hour of the run, and per GPU-hour used; 0 if there is none.
  double migrations_per_hour() const;
  double migrations_per_gpu_hour() const;

 private:
  // A user's received and entitled GPU time up to a multiple of the step.
  struct Sample {
    double received_gpu_ms = 0;
    double entitled_gpu_ms = 0;
  };
  // How many of a user's unfinished jobs have gangs of one size.
  struct GangCount {
    std::uint32_t gpus = 0;
    std::int64_t jobs = 0;
    Time gone;  // the last time at which `jobs` became 0
  };
  struct User {
    std::int64_t jobs = 0;         // unfinished
    Time first_job;                // when `jobs` last became positive
    Time last_job = {-1};          // when `jobs` last became 0
    std::vector<GangCount> gangs;  // from the largest
    std::vector<Sample> ring;      // the last ring_steps_ samples
  };
  struct Job {
    UserId user;
    std::uint32_t gpus = 0;  // asked for
    std::int64_t allocated_gpus = 0;
    bool asks = false;  // it is in the system, and not held by its user
  };

  void advance(Time t);
  void sample(Time t);
  void compare(WindowFigures& figures, Time t, UserId user, const Sample& before,
               const Sample& now);
  void on_gpus(Time t, const auto& what);
  void on_arrived(Time t, const JobSpec& asked);
  void on_leave(Time t, JobId id);
  void ask(Time t, JobId id);
  void ask_no_more(Time t, JobId id);
  void on_place(Time t, const record::Place& place);
  void end_run(Time t, JobId job);
  void on_end(Time t, const JobCounts& counts);
  static GangCount& gang_count(User& user, std::uint32_t gpus);
  static std::uint32_t largest_gang(const User& user, Time since);
  Sample& sample_of(std::int64_t number, User& user) const;

  WindowFairnessOptions options_;
  std::vector<WindowFigures> figures_;  // `mean` is the sum up to the end
  IdVector<UserId, User> users_;
  IdVector<JobId, Job> jobs_;
  UsableGpus gpus_;
  ShareMeter shares_;
  ReceivedMeter received_;
  IdleMeter idle_;

  std::int64_t ring_steps_ = 1;
  std::int64_t samples_ = 0;  // taken so far
  Time next_sample_ = Time::never();

  Time now_;
  Time first_arrival_ = Time::never();
  Time last_leave_;
  Duration length_;  // length of the run
  Time up_since_;    // when there were last no GPUs before
  std::int64_t migrations_ = 0;
};

}  // namespace fairlead
