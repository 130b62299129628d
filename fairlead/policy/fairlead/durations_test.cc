#include "fairlead/policy/fairlead/durations.h"

#include <gtest/gtest.h>

#include <vector>

namespace fairlead {
namespace {

const UserId kAnn(0);
const UserId kBob(1);

// Ann and Bob each have a job that has just arrived.
struct Seen {
  Seen() { watch(); }
  void end(int jobs, UserId user, double s) {
    for (int i = 0; i < jobs; ++i) durations.end({user, s});
    watch();
  }
  void watch(std::vector<Durations::Ran> others = {}) {
    others.push_back({kAnn, 0});
    others.push_back({kBob, 0});
    durations.watch(others);
  }
  double left_s(double ran_s, UserId user = kAnn) const { return durations.left_s({user, ran_s}); }

  Durations durations;
};

TEST(Durations, WhileNoJobEndedOneHasAsMuchLeftAsItRan) {
  const Seen seen;
  // A fraction t / x of the jobs that live to t lives to x: 1 / t end per second.
  EXPECT_NEAR(seen.left_s(4000), 4000, 0.2 * 4000);
  EXPECT_NEAR(seen.left_s(8000) / seen.left_s(4000), 2, 0.01);
}

TEST(Durations, WhereAllTakeAnHourThoseThatBeganGoOn) {
  Seen seen;
  seen.end(1000, kAnn, 3600);
  EXPECT_LT(seen.left_s(1800), seen.left_s(0));
  EXPECT_LT(seen.left_s(3300), seen.left_s(1800));
  EXPECT_NEAR(seen.left_s(0), 3600, 400);
}

TEST(Durations, WhereHalfAreKilledInFiveMinutesYoungOnesComeFirst) {
  Seen seen;
  seen.end(500, kAnn, 300);
  seen.end(500, kAnn, 36'000);
  EXPECT_NEAR(seen.left_s(0), 2 * 300, 100);
  EXPECT_GT(seen.left_s(600), 20'000);
}

TEST(Durations, OnesOwnJobsTellMoreThanThoseOfOthers) {
  Seen seen;
  seen.end(100, kAnn, 600);
  seen.end(100, kBob, 36'000);
  EXPECT_LT(seen.left_s(0, kAnn), 1000);
  EXPECT_GT(seen.left_s(0, kBob), 20'000);
}

TEST(Durations, JobsThatStillRunTellThatOthersTakeLong) {
  Seen seen;
  seen.end(10, kAnn, 600);
  const double before = seen.left_s(0);
  seen.watch(std::vector<Durations::Ran>(90, {kAnn, 36'000}));
  EXPECT_GT(seen.left_s(0), 5 * before);
}

TEST(Durations, AJobThatRunsForYearsHasMoreToCome) {
  Seen seen;
  EXPECT_GT(seen.left_s(1e9), 86'400);
  seen.end(1, kAnn, 1e9);
  EXPECT_GT(seen.left_s(1e9), 86'400);
}

TEST(Durations, AreSavedAndLoaded) {
  Seen seen;
  seen.end(3, kAnn, 600);
  seen.end(2, kBob, 7200);
  Writer writer;
  save(seen.durations, writer);
  Seen other;
  Reader reader(writer.bytes());
  load(other.durations, reader);
  EXPECT_TRUE(reader.ok());
  other.watch();
  for (const double ran_s : {0.0, 100.0, 5000.0}) {
    EXPECT_EQ(other.left_s(ran_s, kAnn), seen.left_s(ran_s, kAnn));
    EXPECT_EQ(other.left_s(ran_s, kBob), seen.left_s(ran_s, kBob));
  }
}

}  // namespace
}  // namespace fairlead
