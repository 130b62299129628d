#include "fairlead/local/group_order.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

using Rows = std::vector<std::size_t>;
using State = OrderedJob::State;

OrderedJob job(std::size_t row, std::uint32_t gpus, State state = State::kHeld,
               std::int64_t priority = 0) {
  return {.job = JobId(row), .priority = priority, .gpus = gpus, .state = state};
}

Rows blocked(std::vector<GroupedUser> users, std::vector<JobLimit> limits) {
  Rows rows;
  for (const auto& [id, block] : group_order(std::move(users), limits)) rows.push_back(id.row());
  return rows;
}

TEST(GroupOrder, TheUsersOfAGroupHaveItsLimitTogether) {
  const GroupedUser ann{.jobs = {job(0, 1), job(1, 1), job(2, 1)}, .groups = {0}};
  const GroupedUser bob{.jobs = {job(3, 1), job(4, 1)}, .groups = {0}};
  EXPECT_EQ(blocked({ann, bob}, {{"lab", 3}}), (Rows{2, 4}));
  EXPECT_EQ(blocked({ann, bob}, {{"lab", 5}}), Rows());
}

TEST(GroupOrder, ReleasedJobsStayAndTheYoungestLeaveIfTheLimitIsLowered) {
  const GroupedUser ann{.jobs = {job(0, 1), job(5, 1, State::kRuns)}, .groups = {0}};
  const GroupedUser bob{.jobs = {job(3, 1, State::kWaits), job(4, 1, State::kRuns)}, .groups = {0}};
  EXPECT_EQ(blocked({ann, bob}, {{"lab", 3}}), Rows{0});
  EXPECT_EQ(blocked({ann, bob}, {{"lab", 2}}), (Rows{0, 5}));
}

TEST(GroupOrder, NonePassesAWideJobButOneThatIsTooLargeHoldsNothingBack) {
  const GroupedUser ann{.jobs = {job(0, 2, State::kRuns)}, .groups = {0}};
  const GroupedUser bob{.jobs = {job(1, 3), job(2, 1)}, .groups = {0}};
  const GroupedUser cid{.jobs = {job(3, 1)}, .groups = {0}};
  EXPECT_EQ(blocked({ann, bob, cid}, {{"lab", 4}}), (Rows{1, 2, 3}));
  const auto all = group_order({ann, bob, cid}, std::vector<JobLimit>{{"lab", 2}});
  EXPECT_EQ(all.at(JobId(1)).cause, StartBlock::Cause::kTooLarge);
  EXPECT_EQ(all.at(JobId(2)).cause, StartBlock::Cause::kLimit);
  EXPECT_EQ(all.at(JobId(2)).group, "lab");
  EXPECT_EQ(all.at(JobId(2)).gpus_max, 2U);
}

TEST(GroupOrder, AUserOfSeveralGroupsNeedsRoomInEach) {
  const GroupedUser ann{.jobs = {job(0, 1), job(1, 1)}, .groups = {0, 1}};
  const GroupedUser bob{.jobs = {job(2, 1), job(3, 1)}, .groups = {1}};
  EXPECT_EQ(blocked({ann, bob}, {{"few", 1}, {"many", 3}}), Rows{1});
  EXPECT_EQ(blocked({ann, bob}, {{"few", 1}, {"many", 2}}), (Rows{1, 3}));
}

TEST(GroupOrder, AUsersJobOfAHigherPriorityComesFirst) {
  const GroupedUser ann{.jobs = {job(0, 2, State::kRuns, -1), job(1, 2, State::kHeld, 1)},
                        .groups = {0}};
  EXPECT_EQ(blocked({ann}, {{"lab", 2}}), Rows{0});
}

}  // namespace
}  // namespace fairlead
