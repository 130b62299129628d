// The world of the Gavel simulator in its own arithmetic: seconds in double precision, whole steps,
// rounds that end with their last job. It runs our rule of rounds (policy/gavel/rounds.h) with
// allocations from outside, and so tests whether the rule is the simulator's. The order of
// operations is the simulator's, even if it is odd, because equal priorities must stay equal.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fairlead {

struct GavelJob {
  std::string model;  // with its batch size
  std::uint32_t gang = 1;
  std::int64_t steps = 0;
  double weight = 1;
  double arrival_s = 0;
  std::vector<double> throughputs{};  // steps/s, by type; 0 where it cannot run
};

// Types are columns, in alphabetical order; each has GPUs. Jobs are numbered as in the trace.
struct GavelWorld {
  std::vector<std::string> types;
  std::vector<std::uint32_t> gpus;
  std::vector<GavelJob> jobs;
};

// A moment at which the allocation is computed again.
struct GavelReset {
  struct Active {
    std::uint32_t job = 0;  // row of GavelWorld::jobs
    std::int64_t remaining_steps = 0;
  };
  std::size_t index = 0;  // 0 of the first reset
  double now_s = 0;
  std::span<const Active> active;  // every job that arrived and is not done
};

// The shares of time from now on: active.size() x types, row-major in the order of `active`.
using GavelAllocate = std::function<std::vector<double>(const GavelReset&)>;

struct GavelRules {
  double round_s = 360;
  double reset_min_s = 1920;  // between two resets
  bool fill_idle = true;      // false for the FIFO policies
  // The simulator shuffles the types every round for policies that ignore speeds.
  std::optional<std::uint32_t> shuffle_seed{};
  // Shockwave's cost of starting: a job that did not run in the round before loses 20 s.
  bool charge_starts = false;
};

struct GavelRun {
  std::uint32_t job = 0;
  std::uint32_t type = 0;
  std::vector<std::uint32_t> workers{};  // numbered through, type after type
  friend bool operator==(const GavelRun&, const GavelRun&) = default;
};

struct GavelRound {
  double start_s = 0;
  std::vector<GavelRun> runs{};  // by job
};

struct GavelOutcome {
  std::vector<std::optional<double>> finish_s;  // by job; nothing for a job that did not finish
  std::vector<GavelRound> rounds;               // those in which a job runs
};

// Runs all jobs to their end, or until the allocation lets none run any more. `world`, `rules` and
// `allocate` are used during the call only. REQUIRES: arrivals in order, one throughput per type.
GavelOutcome replay(const GavelWorld& world, const GavelRules& rules,
                    const GavelAllocate& allocate);

}  // namespace fairlead
