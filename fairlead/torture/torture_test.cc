#include "fairlead/torture/torture.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(Torture, NothingIsViolatedInSomeHundredWorlds) {
  std::uint64_t crashes = 0;
  std::uint64_t tasks = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const WorldOutcome outcome = torture(seed, {});
    ASSERT_EQ(outcome.problem, "") << torture_command(seed, {});
    crashes += outcome.crashes.size();
    tasks += outcome.tasks;
  }
  EXPECT_GT(crashes, 200U);
  EXPECT_GT(tasks, 3000U);
}

// A daemon that stood still had wake-ups without a decision before the one that skipped the rest.
TEST(Torture, APolicyRemembersWhatCameBeforeASkip) {
  for (const std::uint64_t seed : {101963U, 102293U}) EXPECT_EQ(torture(seed, {}).problem, "");
}

// By the daemon after it, as by the one that saw it.
TEST(Torture, ARunThatStartsAndStopsInOneInstantIsNotMeasured) {
  EXPECT_EQ(torture(6262237, {}).problem, "");
}

// It stays for a while after its last read if the disk is slow.
TEST(Torture, NoClientIsLateForADaemonThatLeaves) { EXPECT_EQ(torture(3521, {}).problem, ""); }

TEST(Torture, ASeedIsOneWorld) {
  const WorldOutcome one = torture(7, {});
  const WorldOutcome two = torture(7, {});
  EXPECT_EQ(one.calls, two.calls);
  EXPECT_EQ(one.at, two.at);
  EXPECT_NE(one.calls, torture(8, {}).calls);
}

TEST(Torture, TheCrashesOfAWorldCanBeListed) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const WorldOutcome drawn = torture(seed, {});
    const WorldOutcome listed = torture(seed, {.crashes = drawn.crashes});
    EXPECT_EQ(drawn.calls, listed.calls) << seed;
  }
}

TEST(Torture, LimitsAreWrittenAsTheyAreRead) {
  const auto faults = parse_faults("disk_full=0.01,stall=0.5");
  ASSERT_TRUE(faults);
  EXPECT_EQ(faults_text(*faults), "disk_full=0.01,stall=0.5");
  EXPECT_FALSE(parse_faults("earthquake=1"));
  EXPECT_FALSE(parse_faults("stall=2"));
  const auto crashes = parse_crashes("12,40p");
  ASSERT_TRUE(crashes);
  EXPECT_EQ(crashes_text(*crashes), "12,40p");
  EXPECT_EQ(crashes_text(*parse_crashes("none")), "none");
  EXPECT_FALSE(parse_crashes("soon"));
  EXPECT_EQ(torture_command(3, {.actions = 5, .faults = *faults, .crashes = *crashes}),
            "fairlead torture --seeds 1 --from 3 --events 5 --faults disk_full=0.01,stall=0.5 "
            "--crashes 12,40p");
}

}  // namespace
}  // namespace fairlead
