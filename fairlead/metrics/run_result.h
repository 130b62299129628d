// The results of a run as rows in memory: the rows of jobs.csv, users.csv (Summary::users) and timeline.csv.
// docs/formats.md describes each field.
#pragma once

#include "fairlead/base/units.h"
#include "fairlead/metrics/summary.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fairlead {

class Metrics;

struct JobResult {
  std::string job;  // the trace's own id
  std::string user;
  std::string model;  // empty: none
  std::uint32_t gpus = 0;
  Time submit;
  std::optional<Time> start;   // none: it never had a GPU
  std::optional<Time> finish;  // or failure; none: it was pending at the end, or rejected
  std::optional<Duration> jct;
  std::optional<Duration> queue;
  std::string gpu_types;  // the types it ran on: "K80+V100"
  std::uint32_t preemptions = 0;
  std::uint32_t migrations = 0;
  std::string status;  // "finished", "failed", "rejected", "pending"
};

// Means over one bin of time.
struct TimelinePoint {
  Time t;  // where the bin begins
  std::string user;
  double gpus_allocated = 0;
  double gpus_entitled = 0;
  double jobs_running = 0;
  double jobs_waiting = 0;
};

struct RunResult {
  Summary summary;
  std::vector<JobResult> jobs;  // in input order
  std::vector<TimelinePoint> timeline;
};

// REQUIRES for all: End was passed to `metrics`. Fills `result` and keeps the capacity of its texts, so that a million
// rows in turn allocate little. REQUIRES: a record named the job.
void get_job_result(const Metrics& metrics, JobId job, JobResult& result);
std::vector<JobResult> job_results(const Metrics& metrics);
std::vector<TimelinePoint> timeline_of(const Metrics& metrics);

}  // namespace fairlead
