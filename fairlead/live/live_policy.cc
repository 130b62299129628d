#include "fairlead/live/live_policy.h"

#include "fairlead/input/models_file.h"
#include "fairlead/policy/registry.h"

#include <limits>

namespace fairlead {

Result<LivePolicy> make_live_policy(std::string_view text, std::uint64_t seed) {
  FL_TRY_ASSIGN(choice, parse_policy(with_budget(text, kLiveBudget), seed));
  FL_TRY_ASSIGN(policy, choice.make());
  if (policy->needs().work.least == WorkSource::kExact) {
    return input_error("{} needs the exact remaining work of jobs, which only a simulation has",
                       policy->name());
  }
  return LivePolicy{.policy = std::move(policy), .options = choice.options.canonical()};
}

EngineOptions live_engine_options(std::uint64_t seed) {
  EngineOptions options{.slack = seconds(10)};
  options.profiles.source = SpeedSource::kMeasured;
  options.profiles.length = {};  // the speeds that jobs report are means over turns already
  options.profiles.age = kSpeedAge;
  options.profiles.factors = builtin_gpu_factors();
  options.profiles.seed = seed;
  options.work.source = WorkSource::kReported;
  // Only administrators cordon nodes: a submitted program that does not exist must not close a node.
  options.cordon_after = std::numeric_limits<std::uint32_t>::max();
  return options;
}

}  // namespace fairlead
