// The flags of one run as texts, as simulate and compare take them, and as child processes receive them.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/base/time_text.h"
#include "fairlead/run/settings.h"
#include "fairlead/trace/read_flags.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fairlead {

struct RunFlags {
  std::string cluster;
  std::string trace;
  ReadFlags read;  // options for reading the trace
  std::string out;
  std::uint64_t seed = 0;
  std::string until;  // empty: to the end
  std::vector<std::string> settings;
  std::int64_t decision_budget = 0;  // default of the option of every policy; 0: no limit
  bool audit = false;
  bool only_summary = false;  // write summary.json and run.json alone
  bool json = false;
  TimeUnits units = TimeUnits::kHuman;  // time units of printed tables
};

struct RunConfig {
  std::string cluster;  // a preset, a shorthand or a file
  std::string trace;
  ReadOptions read;    // except the options in settings
  std::string policy;  // "NAME:opt=value,..."
  std::uint64_t seed = 0;
  Time until = Time::never();
  Settings settings;
  bool audit = false;
  bool only_summary = false;
  std::filesystem::path out;
  std::string inputs_hash;   // for run.json; see compare/run_inputs.h
  std::string command = {};  // the same; for a shell
};

// The run that the flags ask for. Errors name the flag.
Result<RunConfig> run_config(const RunFlags& flags, std::string policy);

// Returns the arguments of `fairlead` for one run of `flags` with another policy, seed and folder.
std::vector<std::string> simulate_arguments(const RunFlags& flags, const std::string& policy,
                                            std::uint64_t seed, const std::string& out);

}  // namespace fairlead
