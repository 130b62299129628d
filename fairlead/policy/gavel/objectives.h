// Gavel's objectives (Narayanan et al., OSDI 2020, section 4): the fraction of its time that each
// job is due on each GPU type. The calculation alone; rounds turn it into gangs (rounds.h).
#pragma once

#include "fairlead/base/rng.h"
#include "fairlead/solve/allocations.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace fairlead {

enum class GavelObjective : std::uint8_t {
  kMaxMin,         // the least normalised throughput (LAS over time shares)
  kFtf,            // the worst finish time against an isolated share (Themis)
  kMakespan,       // the time at which all present work would be done
  kMaxThroughput,  // the sum of normalised throughputs
  kFifo,           // jobs in order of arrival, each wholly on one type
  kIsolated,       // an equal share of every type
};

// Jobs as rows, in order of arrival, and GPU types. Tables are row-major.
struct GavelJobs {
  std::vector<double> gpus;          // GPUs of each type
  std::vector<std::uint32_t> gangs;  // GPUs of one job, by row
  std::vector<double> weights;       // above 0
  std::vector<double> throughputs;   // table; 0 where the job cannot run
  std::vector<double> remaining_s;   // at throughput 1; of kFtf and kMakespan
  std::vector<double> age_s;         // since submission; of kFtf
  std::vector<double> isolated_s;    // time that an isolated share would have needed for the work
                                     // done; of kFtf
  std::vector<double> shares;        // table: the previous shares; of kFifo without `aware`

  std::size_t types() const { return gpus.size(); }
  std::size_t rows() const { return gangs.size(); }
};

struct GavelRule {
  GavelObjective objective;
  bool aware;                   // uses the speed of each job on each type
  bool water_filling;           // kMaxMin: raises also the jobs above the minimum
  Ties ties = Ties::kProgress;  // among the best divisions, except with water_filling
};

// Returns the shares, a table. A row that cannot run anywhere is due nothing. Only kFifo without
// `aware` draws from `rng`. A linear program without an answer is a bug, and aborts with its size.
std::vector<double> gavel_shares(const GavelRule& rule, const GavelJobs& jobs, Rng& rng);

// Returns the throughput of each row on an equal share of every type, at most its whole time.
std::vector<double> isolated_throughputs(const GavelJobs& jobs,
                                         const std::vector<double>& throughputs);

}  // namespace fairlead
