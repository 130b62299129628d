#include "fairlead/compare/run_flags.h"

#include "fairlead/base/parse.h"

#include <fmt/format.h>

#include <utility>

namespace fairlead {

Result<RunConfig> run_config(const RunFlags& flags, std::string policy) {
  RunConfig config;
  config.cluster = flags.cluster;
  config.trace = flags.trace;
  config.policy = std::move(policy);
  config.seed = flags.seed;
  config.audit = flags.audit;
  config.only_summary = flags.only_summary;
  config.out = flags.out;
  if (flags.out.empty()) return input_error("--out takes the name of a folder");
  FL_TRY_ASSIGN(read, read_options(flags.read));
  config.read = std::move(read);
  if (!flags.until.empty()) {
    const auto until_ms = parse_seconds(flags.until);
    if (!until_ms) return input_error("--until {}: {}", until_ms.error(), flags.until);
    config.until = {*until_ms};
  }
  FL_TRY_ASSIGN(settings, parse_settings(flags.settings));
  config.settings = std::move(settings);
  return config;
}

std::vector<std::string> simulate_arguments(const RunFlags& flags, const std::string& policy,
                                            std::uint64_t seed, const std::string& out) {
  std::vector<std::string> arguments = {
      "simulate",           "--cluster=" + flags.cluster,   "--trace=" + flags.trace,
      "--policy=" + policy, fmt::format("--seed={}", seed), "--out=" + out};
  for (std::string& argument : arguments_of(flags.read)) arguments.push_back(std::move(argument));
  if (!flags.until.empty()) arguments.push_back("--until=" + flags.until);
  for (const std::string& setting : flags.settings) arguments.push_back("--set=" + setting);
  if (flags.audit) arguments.emplace_back("--audit");
  if (flags.only_summary) arguments.emplace_back("--only-summary");
  return arguments;
}

}  // namespace fairlead
