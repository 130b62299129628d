// The flags that simulate and compare share.
#pragma once

#include "base/result.h"
#include "cli/run.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace fairlead {

struct RunFlags {
  std::string cluster;
  std::string trace;
  std::string format;  // empty: recognised by content
  std::string out;
  std::uint64_t seed = 0;
  std::string until;  // empty: to the end
  std::vector<std::string> settings;
  bool audit = false;
  bool json = false;
};

// Declares the flags on `app`, which writes to `flags`; `flags` must outlive it.
void add_run_flags(CLI::App& app, RunFlags& flags);

// The run that the flags ask for. Errors name the flag.
Result<RunConfig> run_config(const RunFlags& flags, std::string policy);

// The arguments of `fairlead` for one run of `flags` with another policy, seed and folder.
std::vector<std::string> simulate_arguments(const RunFlags& flags, const std::string& policy,
                                            std::uint64_t seed, const std::string& out);

}  // namespace fairlead
