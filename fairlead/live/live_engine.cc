#include "fairlead/live/live_engine.h"

#include <utility>

namespace fairlead {

LiveEngine::LiveEngine(std::string policy, const EngineOptions& options)
    : choice_(std::move(policy)), options_(options) {}

Status LiveEngine::make_policy() {
  destroy_engine();
  FL_TRY_ASSIGN(made, make_live_policy(choice_, options_.profiles.seed));
  policy_ = std::move(made);
  return {};
}

Status LiveEngine::make(const Cluster& cluster, Backend& world, RecordSink& journal) {
  FL_TRY(make_policy());
  engine_.emplace(cluster, nullptr, *policy_.policy, world, journal, options_);
  return {};
}

Result<Recovery> LiveEngine::recover(const Cluster& cluster, const RecordedRun& run, Backend& world,
                                     RecordSink& journal, PolicyRecovery from) {
  FL_TRY(make(cluster, world, journal));
  return fairlead::recover(*engine_, run, policy_.options, *policy_.policy, world, false,
                           from == PolicyRecovery::kReplayed);
}

}  // namespace fairlead
