// One simulated run from its inputs to its result files.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/metrics/summary.h"
#include "fairlead/model/speed.h"
#include "fairlead/model/workload.h"
#include "fairlead/run/settings.h"
#include "fairlead/trace/format.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace fairlead {

struct RunConfig {
  std::string cluster;  // a preset, a shorthand or a file
  std::string trace;
  std::optional<TraceFormat> format{};
  std::string policy;  // "NAME:opt=value,..."
  std::uint64_t seed = 0;
  Time until = Time::never();
  Settings settings;
  bool audit = false;
  std::filesystem::path out;
  std::string inputs_hash;  // for run.json; see cli/run_inputs.h
};

struct RunOutcome {
  Summary summary;
  double wall_s = 0;
};

// The speeds that the settings ask for. Jobs without a model get one where the settings name models
// with weights, drawn from the seed.
Result<SpeedTable> speed_table(const Settings& settings, std::uint64_t seed, Workload& workload);

// Reads the inputs, runs, and writes the result files and journal.flj to config.out. After an error
// nothing new is left there. Shows a progress bar where standard error is a terminal.
Result<RunOutcome> run_simulation(const RunConfig& config);

}  // namespace fairlead
