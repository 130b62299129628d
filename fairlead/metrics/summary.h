// The summary of a run, the content of summary.json. figures.h has the names and formulas of its figures.
//
// Figures that need at least one job or user to mean anything are empty without one.
#pragma once

#include "fairlead/model/assumptions.h"
#include "fairlead/model/cluster.h"
#include "fairlead/model/rack_texts.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fairlead {

struct UserSummary {
  std::string user;
  std::string group;  // empty: it has none
  std::int64_t tickets = 1;
  std::int64_t jobs = 0;
  double gpu_hours = 0;
  double work_gpu_hours = 0;
  double entitled_gpu_hours = 0;
  double throughput_share = 0;
  double contended_entitled_gpu_hours = 0;
  double contended_useful_gpu_hours = 0;
  double contended_effective_gpu_hours = 0;
  double contended_work_gpu_hours = 0;
  std::optional<double> jct_avg_s;
  std::optional<double> queue_avg_s;
  std::optional<double> bounded_ftf_max;
  std::optional<double> energy_kwh;  // both: of its jobs; none: not known
  std::optional<double> cost;
  friend bool operator==(const UserSummary&, const UserSummary&) = default;
};

// The users of a group together.
struct GroupSummary {
  std::string group;
  std::int64_t tickets = 1;
  std::int64_t quota = 0;  // 0: none
  std::int64_t users = 0;
  std::int64_t jobs = 0;
  double gpu_hours = 0;
  double entitled_gpu_hours = 0;
  friend bool operator==(const GroupSummary&, const GroupSummary&) = default;
};

struct FairnessSummary {
  std::optional<double> jain;
  std::optional<double> share_error_max;
  std::optional<double> share_error_avg;
  std::optional<double> ftf_max;
  std::optional<double> ftf_avg;
  std::optional<double> bounded_ftf_max;
  std::optional<double> bounded_ftf_p50;
  std::optional<double> bounded_ftf_p99;
  std::optional<double> useful_shortfall_max;
  std::optional<double> effective_shortfall_max;
  std::optional<double> effective_shortfall_avg;
  friend bool operator==(const FairnessSummary&, const FairnessSummary&) = default;
};

struct BoundsSummary {
  std::optional<double> makespan_lower_s;
  std::optional<double> jct_avg_lower_s;
  std::optional<double> comm_time_share_lower;
  friend bool operator==(const BoundsSummary&, const BoundsSummary&) = default;
};

// Events that occur only in worlds that are not exact.
struct OpenWorldSummary {
  std::int64_t events_ignored = 0;
  std::int64_t starts_failed = 0;
  std::int64_t stops_failed = 0;
  std::int64_t skips = 0;
  std::int64_t held = 0;  // jobs that users or a retry hold, at the end
  friend bool operator==(const OpenWorldSummary&, const OpenWorldSummary&) = default;
};

// Figures from the log of the original scheduler, over finished jobs with a start in it.
struct LoggedSummary {
  std::int64_t starts = 0;
  std::int64_t kept = 0;   // started at that very time here
  std::int64_t later = 0;  // started later here
  std::optional<double> queue_avg_s;
  std::optional<double> queue_avg_here_s;
  friend bool operator==(const LoggedSummary&, const LoggedSummary&) = default;
};

// The energy and the price of GPU time: of jobs, and of GPUs that no job had. None: not known for all GPU types.
struct CostSummary {
  std::optional<double> energy_jobs_kwh;
  std::optional<double> energy_idle_kwh;
  std::optional<double> jobs;
  std::optional<double> idle;
  friend bool operator==(const CostSummary&, const CostSummary&) = default;
};

using CountByReason = std::map<std::string, std::int64_t, std::less<>>;

struct Summary {
  std::string policy;
  std::string options;
  std::string cluster;
  std::string trace;
  std::uint64_t seed = 0;
  std::string journal_hash;
  std::map<std::string, std::string> settings;  // the given settings, as text
  std::vector<RackText> racks;                  // racks of a cluster with links of its own

  std::int64_t rows_read = 0;
  CountByReason rows_rejected;
  CountByReason rows_repaired;
  std::int64_t rows_skipped = 0;  // rows of rows_rejected that are not meant to be jobs
  Assumptions assumed;
  std::int64_t jobs_read = 0;
  std::int64_t finished = 0;
  std::int64_t failed = 0;
  std::int64_t rejected = 0;
  std::int64_t pending = 0;
  CountByReason jobs_rejected;
  std::int64_t models_unknown = 0;
  std::int64_t models_communicating = 0;

  std::optional<double> makespan_s;
  std::optional<double> jct_avg_s;
  std::optional<double> jct_p50_s;
  std::optional<double> jct_p90_s;
  std::optional<double> jct_p99_s;
  std::optional<double> queue_avg_s;
  std::optional<double> gpu_utilization;
  double gpu_hours = 0;
  std::int64_t preemptions = 0;
  std::int64_t migrations = 0;
  std::array<std::int64_t, kTiers> placements = {};  // by Tier
  std::optional<double> comm_time_share;

  std::vector<UserSummary> users;
  std::vector<GroupSummary> groups;  // empty: no user has one
  FairnessSummary fairness;
  BoundsSummary bounds;
  OpenWorldSummary open_world;
  LoggedSummary logged;
  CostSummary cost;
  friend bool operator==(const Summary&, const Summary&) = default;
};

}  // namespace fairlead
