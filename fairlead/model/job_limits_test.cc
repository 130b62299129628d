#include "fairlead/model/job_limits.h"

#include "fairlead/model/workload.h"

#include <gtest/gtest.h>

#include <array>

namespace fairlead {
namespace {

using Passing = LimitRoom::Passing;

constexpr std::array<std::size_t, 1> kFirst = {0};
constexpr std::array<std::size_t, 2> kBoth = {0, 1};

TEST(LimitRoom, TakesWhileEachLimitHasRoom) {
  const std::array<JobLimit, 2> limits = {JobLimit{"user", 4, 0}, JobLimit{"qos", 0, 2}};
  LimitRoom room(limits, Passing::kSmallOne);
  EXPECT_FALSE(room.take(2, kBoth));
  const auto refusal = room.take(3, kBoth);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->limit, 0U);
  EXPECT_FALSE(refusal->is_too_large);
  EXPECT_FALSE(room.take(1, kBoth));
  EXPECT_EQ(room.take(1, kBoth)->limit, 1U);
  EXPECT_TRUE(room.has_room(0));
  EXPECT_FALSE(room.has_room(1));
  room.give_back(2, kBoth);
  EXPECT_FALSE(room.take(3, kBoth));
}

TEST(LimitRoom, AJobThatAloneExceedsALimitTakesNothing) {
  const std::array<JobLimit, 2> limits = {JobLimit{"a", 4, 0}, JobLimit{"b", 2, 0}};
  LimitRoom room(limits, Passing::kNone);
  const auto refusal = room.take(3, kBoth);
  ASSERT_TRUE(refusal && refusal->is_too_large);
  EXPECT_EQ(refusal->limit, 1U);
  EXPECT_FALSE(room.take(2, kBoth));
}

TEST(LimitRoom, NonePassesAJobThatFoundNoRoomUnlessSmallOnesMay) {
  const std::array<JobLimit, 1> limits = {JobLimit{"user", 4, 0}};
  for (const Passing passing : {Passing::kNone, Passing::kSmallOne}) {
    LimitRoom room(limits, passing);
    EXPECT_FALSE(room.take(2, kFirst));
    EXPECT_TRUE(room.take(3, kFirst));
    EXPECT_EQ(room.take(1, kFirst).has_value(), passing == Passing::kNone);
  }
}

class LimitedJobsTest : public ::testing::Test {
 protected:
  void add(std::string_view user, std::string_view qos, std::string_view account,
           std::int64_t gpus) {
    const std::string id = std::to_string(gpus_of_.size());
    ASSERT_TRUE(builder_.add({.id = id,
                              .user = user,
                              .gpus = gpus,
                              .duration = seconds(1),
                              .qos = qos,
                              .account = account},
                             "w"));
    gpus_of_.push_back(static_cast<std::uint32_t>(gpus));
  }
  LimitedJobs of(std::vector<LimitRule> rules) {
    return limited_jobs(rules, builder_.finish(), gpus_of_);
  }
  WorkloadBuilder builder_{"w", Reading::kStrict};
  IdVector<JobId, std::uint32_t> gpus_of_;
};

TEST_F(LimitedJobsTest, EachUserOfAQosHasALimitOfItsOwn) {
  add("ann", "normal", "", 1);
  add("bob", "normal", "", 1);
  add("ann", "normal", "", 2);
  add("ann", "long", "", 2);
  const LimitedJobs jobs =
      of({{.limit = {"most", 2, 0}, .qos = {"normal"}, .per = LimitRule::Per::kUser}});
  ASSERT_EQ(jobs.limits.size(), 2U);
  EXPECT_EQ(jobs.limits[0], (JobLimit{"most of ann", 2, 0}));
  EXPECT_EQ(jobs.limits[1], (JobLimit{"most of bob", 2, 0}));
  EXPECT_EQ(jobs.of_job[JobId(0)], jobs.of_job[JobId(2)]);
  EXPECT_NE(jobs.of_job[JobId(0)], jobs.of_job[JobId(1)]);
  EXPECT_TRUE(jobs.of_job[JobId(3)].empty());
  EXPECT_EQ(jobs.limited, 3);
}

TEST_F(LimitedJobsTest, AJobMayHaveSeveralLimits) {
  add("ann", "normal", "physics", 1);
  const LimitedJobs jobs = of({{.limit = {"qos", 2, 0}, .qos = {"long", "normal"}},
                               {.limit = {"account", 8, 0}, .accounts = {"physics"}},
                               {.limit = {"user", 0, 3}, .users = {"ann"}},
                               {.limit = {"each", 4, 0}, .per = LimitRule::Per::kAccount}});
  EXPECT_EQ(jobs.of_job[JobId(0)].size(), 4U);
  EXPECT_EQ(jobs.limits[3].name, "each of physics");
}

TEST_F(LimitedJobsTest, ALimitDoesNotApplyToAJobThatAloneExceedsItOrThatNeverRuns) {
  add("ann", "normal", "", 4);
  add("ann", "normal", "", 2);
  gpus_of_[JobId(1)] = 0;
  const LimitedJobs jobs = of({{.limit = {"qos", 2, 0}, .qos = {"normal"}}});
  EXPECT_TRUE(jobs.of_job[JobId(0)].empty());
  EXPECT_TRUE(jobs.of_job[JobId(1)].empty());
  EXPECT_EQ(jobs.limited, 0);
  EXPECT_EQ(jobs.too_large, 1);
}

TEST_F(LimitedJobsTest, JobsWithoutTheNameThatARuleNeedsAreCounted) {
  add("ann", "", "physics", 1);
  add("ann", "normal", "", 1);
  const LimitedJobs jobs = of({{.limit = {"qos", 2, 0}, .qos = {"normal"}},
                               {.limit = {"each", 2, 0}, .per = LimitRule::Per::kAccount}});
  EXPECT_EQ(jobs.unknown, 2);
  EXPECT_EQ(jobs.limited, 2);
}

}  // namespace
}  // namespace fairlead
