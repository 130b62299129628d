// Jobs that keep their work only in the memory of their GPUs never leave them: under every policy, in random
// worlds in which every second job is pinned. The audit of each run checks the GPUs of each placement.

#include "fairlead/base/rng.h"
#include "testing/property.h"
#include "testing/world.h"

#include <gtest/gtest.h>

#include <string>

namespace fairlead {
namespace {

World with_pinned_jobs(World world) {
  Rng rng(world.seed);
  for (WorldJob& job : world.jobs) {
    if (rng.below(2) == 0) job.pinned = kPinnedAlways;
  }
  return world;
}

std::string job_moved_or_lost(const World& of, const std::string& policy) {
  const World world = with_pinned_jobs(of);
  const Outcome outcome = run(world, policy);
  if (!outcome.problems.empty()) return outcome.problems.front();
  if (outcome.counts.pending == 0 || may_deadlock(policy)) return "";
  return fmt::format("{} jobs never finish", outcome.counts.pending);
}

TEST(Pinned, NeverLeaveTheirGpus) {
  EXPECT_EQ(broken("Pinned", policy_variants(), {}, job_moved_or_lost), "");
}

TEST(Pinned, NeverLeaveTheirGpusWhateverTheWorldDoes) {
  EXPECT_EQ(broken("PinnedOpen", policy_variants(), {.unreliable = true}, job_moved_or_lost), "");
}

TEST(Pinned, SavingAndLoadingAtRandomMomentsChangesNothing) {
  const auto property = [](const World& of, const std::string& policy) -> std::string {
    const World world = with_pinned_jobs(of);
    const MakePolicy make = policy_named(policy, world.seed);
    Rng rng(world.sim_seed);
    const Outcome reloaded = run(world, make, [&](Simulation& simulation) {
      if (rng.below(3) == 0) simulation.reload_policy(make());
    });
    return run(world, policy).hash == reloaded.hash ? "" : "saving and loading changes something";
  };
  EXPECT_EQ(broken("PinnedSaved", policy_variants(), {}, property), "");
}

}  // namespace
}  // namespace fairlead
