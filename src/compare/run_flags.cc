#include "fairlead/compare/run_flags.h"

#include <fmt/format.h>

namespace fairlead {

std::vector<std::string> simulate_arguments(const RunFlags& flags, const std::string& policy,
                                            std::uint64_t seed, const std::string& out) {
  std::vector<std::string> arguments = {
      "simulate",           "--cluster=" + flags.cluster,   "--trace=" + flags.trace,
      "--policy=" + policy, fmt::format("--seed={}", seed), "--out=" + out};
  if (!flags.format.empty()) arguments.push_back("--format=" + flags.format);
  if (!flags.until.empty()) arguments.push_back("--until=" + flags.until);
  for (const std::string& setting : flags.settings) arguments.push_back("--set=" + setting);
  if (flags.audit) arguments.emplace_back("--audit");
  return arguments;
}

}  // namespace fairlead
