// Facts of a run that its journal does not have: the rows of the trace, the assumptions, bounds and costs. They are
// known before or after the run, and a summary needs them.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"
#include "fairlead/metrics/summary.h"
#include "fairlead/model/assumptions.h"
#include "fairlead/model/rack_texts.h"
#include "fairlead/model/workload.h"

#include <cstdint>
#include <map>
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

}  // namespace fairlead
