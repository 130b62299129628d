// One simulated run from its inputs to its result files.
#pragma once

#include "base/result.h"
#include "cli/settings.h"
#include "metrics/summary.h"
#include "trace/format.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

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
};

struct RunOutcome {
  Summary summary;
  double wall_s = 0;
};

// Reads the inputs, runs, and writes the result files and journal.flj to config.out. After an error
// nothing new is left there. Shows a progress bar where standard error is a terminal.
Result<RunOutcome> run_simulation(const RunConfig& config);

}  // namespace fairlead
