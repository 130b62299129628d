// The rounds of Gavel (OSDI 2020, section 5): turn shares of time on GPU types into the choice of
// jobs for each type in the next round. The rule alone, without time, placement or engine.
//
// An allocation sets the share of time that each job is due on each type. A job's priority on a
// type is its share over the fraction it received: the job that got the least of its due is first.
// From one reset (a new allocation) to the next, the caller adds up the time that the jobs
// received:
//
//   newcomer:    share 0, received = head start, deficit 0
//   round:       select(...) -> the running jobs; then received_s[row, type] and handed_out_s[type] both
//                grow by the time that the job ran
//   reset:       settle(books, time since the last reset, head start), then the new shares
//
// The head start, half a round in Gavel, keeps the first fractions after a reset from being 0.
//
// If the paper is silent we follow the authors' simulator: deficits and shares settle equal
// priorities, and a job that is due nothing may run on GPUs that would stay idle. The order of the
// arithmetic is part of the contract, since equal priorities are common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fairlead {

// The state of the jobs. The tables are row-major: the cell of a job and a type is at row * types +
// type. Earlier rows win ties, so rows are in order of JobId.
struct RoundBooks {
  std::size_t types = 0;
  std::span<const std::uint32_t> gangs;  // by row; at least 1
  std::span<const double> throughputs;   // table, any unit; a job never runs on a type with <= 0
  std::span<const double> shares;        // table, of time; 0 of a newcomer without an allocation
  std::span<double> received_s;          // table, since the last reset, with the head start
  std::span<double> deficits_s;          // table, due but not received, over all resets before
  std::span<double> handed_out_s;        // by type, the received seconds of all jobs
};

// A job that runs in the next round.
struct RoundPick {
  std::uint32_t row = 0;
  std::uint32_t type = 0;
  friend bool operator==(const RoundPick&, const RoundPick&) = default;
};

// Returns the share over the fraction of the type's time that the job received; 1e9 shares if it
// received nothing; 0 if it is due nothing or cannot run.
double round_priority(double share, double throughput, double received_s, double handed_out_s);

// Ends an allocation that was valid for `elapsed_s`. Adds the due but not received time of each job
// to its deficits. Then starts received_s and handed_out_s again, with a head start for every job.
// Uses the old shares: call it before they are replaced. O(rows x types).
void settle(const RoundBooks& books, double elapsed_s, double head_start_s);

// Contains the workspace: nothing is allocated once it has reached its largest size.
class RoundSelection {
 public:
  // Returns the jobs that run in the next round, in the order chosen, each on one type. Takes the
  // types in `type_order` (which may leave some out) and, on each, the jobs by priority, deficit,
  // share (largest first) and row. Skips jobs that do not fit into the rest of gpus[type]. Jobs of
  // priority 0 come last; without `fill_idle` they do not run at all. Valid until the next call.
  // REQUIRES: the tables have equal sizes; no type twice. O(types x rows x log rows).
  std::span<const RoundPick> select(const RoundBooks& books, std::span<const std::uint32_t> gpus,
                                    std::span<const std::uint32_t> type_order,
                                    bool fill_idle = true);

 private:
  // A job that may run on the present type.
  struct RankedRow {
    double priority;
    double deficit;
    double share;
    std::uint32_t row;
  };

  void rank_rows(const RoundBooks& books, std::uint32_t type, std::uint32_t gpus, bool fill_idle);

  std::vector<bool> taken_;  // by row
  std::vector<RankedRow> ranking_;
  std::vector<RoundPick> picks_;
};

}  // namespace fairlead
