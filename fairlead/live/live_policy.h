// Creates the policy of a daemon and the options of its engine.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/engine/engine.h"
#include "fairlead/policy/policy.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace fairlead {

struct LivePolicy {
  std::unique_ptr<Policy> policy;
  std::string options;  // in the canonical form of a Run record
};

// The evaluations of a decision of a daemon, unless the text of the policy has a number (policy/decision_budget.h):
// about 100 ms of the slowest common policy. docs/performance.md has the measurement.
constexpr std::int64_t kLiveBudget = 2'000;

// Creates the policy for "NAME:option=value,...", with a budget. Errors: as for parse_policy and for the policy itself;
// also that it needs the exact remaining work of jobs.
Result<LivePolicy> make_live_policy(std::string_view text, std::uint64_t seed);

// A speed is known for 30 days after its last measurement. Chosen: scripts, data and drivers have changed by then,
// and a model in use is measured each time it runs.
constexpr Duration kSpeedAge = hours(720);

// Returns the options of an engine in a real world: speeds are measured, and jobs report their work.
EngineOptions live_engine_options(std::uint64_t seed);

}  // namespace fairlead
