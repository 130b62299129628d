// The engine of a daemon and its policy: they begin, recover and start again together.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/engine/engine.h"
#include "fairlead/engine/recovery.h"
#include "fairlead/live/live_policy.h"

#include <optional>
#include <string>

namespace fairlead {

class LiveEngine {
 public:
  // `policy`: "NAME:option=value,...". `options.profiles` has the seed of the policy.
  LiveEngine(std::string policy, const EngineOptions& options);

  // Creates the policy. The engine and the policy from before are destroyed. Errors: make_live_policy().
  Status make_policy();
  // Creates the policy and its engine, at the beginning of a run. Errors: make_live_policy().
  // REQUIRES: `world` and `journal` outlive the engine.
  Status make(const Cluster& cluster, Backend& world, RecordSink& journal);
  // As make(), and brings both to the end of `run` (engine/recovery.h). `from`: kRestarted if the policy must not use
  // its state there. Engine::replace_world() is next. Error: the policy cannot continue from its state; both
  // are unusable until the next make() or recover(). O(records).
  Result<Recovery> recover(const Cluster& cluster, const RecordedRun& run, Backend& world,
                           RecordSink& journal, PolicyRecovery from = PolicyRecovery::kReplayed);
  void destroy_engine() { engine_.reset(); }

  bool has_engine() const { return engine_.has_value(); }
  // REQUIRES: has_engine().
  Engine& engine() { return *engine_; }
  const Engine& engine() const { return *engine_; }
  // Return the policy, and its options in the canonical form of a Run record. REQUIRES: one was made.
  const Policy& policy() const { return *policy_.policy; }
  const std::string& policy_options() const { return policy_.options; }
  const EngineOptions& options() const { return options_; }

 private:
  const std::string choice_;
  const EngineOptions options_;
  LivePolicy policy_;
  std::optional<Engine> engine_;
};

}  // namespace fairlead
