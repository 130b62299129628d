// Tasks of gangs with pods of different sizes.
#include "fairlead/pods/gang_tasks.h"

#include "fairlead/base/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace fairlead {
namespace {

AlikePods of(std::uint32_t pods, std::uint32_t gpus, std::int64_t cpu = 0) {
  AlikePods alike{.pods = pods, .gpus = gpus, .needs = {}};
  if (cpu > 0) alike.needs.requests["cpu"] = cpu;
  return alike;
}

TEST(GangTasks, EqualPodsAreATaskEach) {
  const GangTasks found = tasks_of({of(3, 2, 7), of(2, 2, 9)});
  EXPECT_EQ(found.tasks, 5U);
  EXPECT_EQ(found.task_gpus, 2U);
  EXPECT_EQ(found.needs.requests.at("cpu"), 9);
}

TEST(GangTasks, SmallPodsShareATaskWithTheSumOfTheirNeeds) {
  const GangTasks found = tasks_of({of(3, 1, 10), of(2, 4, 12)});
  EXPECT_EQ(found.tasks, 3U);
  EXPECT_EQ(found.task_gpus, 4U);
  EXPECT_EQ(found.needs.requests.at("cpu"), 30);
}

TEST(GangTasks, APodTakesHalvesOfATask) {
  EXPECT_EQ(share_of_task(1, 8), 1U);
  EXPECT_EQ(share_of_task(3, 8), 4U);
  EXPECT_EQ(share_of_task(5, 8), 8U);
  EXPECT_EQ(share_of_task(2, 6), 3U);
  EXPECT_EQ(share_of_task(2, 3), 3U);
  EXPECT_EQ(share_of_task(1, 1), 1U);
}

// Whichever nodes have the tasks, large pods first leave room for all small ones.
TEST(GangTasks, PodsFitIntoTheTasksHoweverNodesHaveThem) {
  Rng random(1);
  const auto below = [&](std::uint32_t bound) {
    return static_cast<std::uint32_t>(random.below(bound));
  };
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<AlikePods> pods;
    for (std::uint32_t i = 1 + below(4); i > 0; --i) pods.push_back(of(1 + below(5), 1 + below(9)));
    const GangTasks found = tasks_of(pods);
    std::vector<std::uint32_t> room(1 + below(found.tasks));
    for (std::uint32_t task = 0; task < found.tasks; ++task)
      room[random.below(room.size())] += found.task_gpus;
    std::vector<std::uint32_t> shares;
    for (const AlikePods& alike : pods)
      shares.insert(shares.end(), alike.pods, share_of_task(alike.gpus, found.task_gpus));
    std::ranges::sort(shares, std::ranges::greater{});
    for (const std::uint32_t share : shares) {
      const auto place =
          std::ranges::find_if(room, [&](std::uint32_t gpus) { return gpus >= share; });
      ASSERT_NE(place, room.end());
      *place -= share;
    }
    const std::uint32_t all = std::accumulate(shares.begin(), shares.end(), 0U);
    EXPECT_LT((found.tasks - 1) * found.task_gpus, all);
  }
}

}  // namespace
}  // namespace fairlead
