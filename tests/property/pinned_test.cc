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

// Jobs of three users on four V100 and four K80, of which one node loses one to three GPUs for ever.
World without_some_gpus(std::uint64_t seed) {
  Rng rng(seed);
  World world{.cluster = "1xV100:4,1xK80:4", .seed = seed, .until = Time{30'000'000}};
  for (std::uint64_t job = 6 + rng.below(15); job > 0; --job) {
    world.jobs.push_back({.submit = {static_cast<std::int64_t>(rng.below(300)) * 1000},
                          .gpus = 1 + static_cast<std::uint32_t>(rng.below(3)),
                          .pinned = rng.below(5) < 3 ? kPinnedAlways : kMayMove,
                          .work = seconds(60 + static_cast<std::int64_t>(rng.below(840))),
                          .user = "u" + std::to_string(rng.below(3))});
  }
  const Time down{static_cast<std::int64_t>(100 + rng.below(500)) * 1000};
  world.settings.faults.outages = {{.node = NodeId(static_cast<std::uint32_t>(rng.below(2))),
                                    .down = down,
                                    .up = Time::never(),
                                    .gpus = 1 + rng.below(14)}};
  return world;
}

TEST(Pinned, KeepNoOtherJobFromRunningWhileTheirGpusAreDown) {
  for (const char* policy : {"gandiva-fair:resident=true,quantum_s=5", "gandiva-fair",
                             "gandiva-fair:turns=stride", "fairlead", "las"}) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      const World world = without_some_gpus(seed);
      const Outcome outcome = run(world, policy);
      EXPECT_TRUE(outcome.problems.empty()) << policy << ", world " << seed;
      for (std::size_t job = 0; job < world.jobs.size(); ++job) {
        if (world.jobs[job].pinned == kPinnedAlways) continue;
        EXPECT_NE(outcome.jobs[job].finish, Time::never())
            << policy << ", world " << seed << ", job " << job;
      }
    }
  }
}

// The first job leaves the V100 after 100 s. If the other one moves there from a K80 of about half the speed, it loses
// 100 s of training: the move would gain 50 s in the one case, and 820 s in the other.
TEST(LostWork, AMoveMustGainMoreThanItLoses) {
  for (const char* policy : {"fairlead:round_s=60", "hadar:round_s=60"}) {
    const auto moves = [&](std::int64_t work_s, std::uint32_t checkpoint_every_s) {
      World world{.cluster = "1xV100:1,1xK80:1"};
      world.settings.models = "slides";
      world.jobs = {{.work = seconds(100), .model = "SuperResolution"},
                    {.checkpoint_every_s = checkpoint_every_s,
                     .work = seconds(work_s),
                     .model = "SuperResolution"}};
      return run(world, policy).jobs[1].preemptions > 0;
    };
    EXPECT_TRUE(moves(110, 0)) << policy;
    EXPECT_FALSE(moves(110, 3600)) << policy;
    EXPECT_TRUE(moves(1000, 3600)) << policy;
    EXPECT_TRUE(moves(110, 99)) << policy;
  }
}

}  // namespace
}  // namespace fairlead
