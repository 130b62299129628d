#include "fairlead/model/task_limits.h"

#include "fairlead/input/cluster_file.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

constexpr NodeId kA{0};
constexpr NodeId kB{1};
constexpr JobId kSmall{0};
constexpr JobId kLarge{1};
constexpr JobId kOther{2};

TaskLimits limits_of_two_nodes() {
  TaskLimits limits;
  limits.set_offer(kA, {96, 10});
  limits.set_offer(kB, {10});
  limits.set_needs(kSmall, 1, {{.resource = 0, .amount = 4}});
  limits.set_needs(kLarge, 2, {{.resource = 0, .amount = 16}, {.resource = 1, .amount = 5}});
  return limits;
}

TEST(TaskLimits, TheScarcestResourceLimitsTheTasksOfANode) {
  const TaskLimits limits = limits_of_two_nodes();
  EXPECT_EQ(limits.most_tasks(kSmall, kA), 24U);
  EXPECT_EQ(limits.most_tasks(kLarge, kA), 2U);
  EXPECT_EQ(limits.most_tasks(kLarge, kB), 0U) << "b offers none of the second resource";
  EXPECT_EQ(limits.most_tasks(kOther, kA), kAnyTasks);
}

TEST(TaskLimits, AClosedNodeHasRoomForNoTaskOfThatJobAlone) {
  TaskLimits limits = limits_of_two_nodes();
  const std::uint32_t kind = limits.kind_of(kSmall);
  limits.set_closed(kA, {kSmall, kOther});
  EXPECT_EQ(limits.most_tasks(kSmall, kA), 0U);
  EXPECT_EQ(limits.most_tasks(kOther, kA), 0U);
  EXPECT_EQ(limits.most_tasks(kLarge, kA), 2U);
  EXPECT_EQ(limits.most_tasks(kSmall, kB), 2U);
  EXPECT_NE(limits.kind_of(kSmall), kind) << "jobs of one kind have the same limits";
  EXPECT_NE(limits.kind_of(kOther), 0U);
  limits.set_closed(kA, {});
  EXPECT_EQ(limits.most_tasks(kSmall, kA), 24U);
  EXPECT_EQ(limits.kind_of(kSmall), kind);
  EXPECT_EQ(limits.kind_of(kOther), 0U);
}

TEST(TaskLimits, AJobWithPlacesHasThemAlone) {
  TaskLimits limits = limits_of_two_nodes();
  const std::uint32_t kind = limits.kind_of(kSmall);
  EXPECT_TRUE(limits.set_places(kSmall, {{kA, 1}}).empty()) << "before, it had all nodes";
  limits.set_places(kOther, {});
  EXPECT_EQ(limits.most_tasks(kSmall, kA), 1U);
  EXPECT_EQ(limits.most_tasks(kSmall, kB), 0U);
  EXPECT_EQ(limits.most_tasks(kOther, kA), 0U);
  EXPECT_EQ(limits.most_tasks(kLarge, kA), 2U);
  EXPECT_NE(limits.kind_of(kSmall), kind);
  EXPECT_TRUE(limits.has(kOther));
  TaskRoom room;
  room.begin(&limits, 2);
  EXPECT_EQ(room.tasks(kSmall, kA), 1U);
  EXPECT_EQ(room.tasks(kOther, kA), 0U);
  room.take(kLarge, kA, 2);
  EXPECT_EQ(room.tasks(kLarge, kA), 0U);
  EXPECT_EQ(limits.set_places(kSmall, {{kA, 2}, {kB, 1}}), (std::vector<NodeId>{kA, kB}));
  EXPECT_EQ(limits.most_tasks(kSmall, kB), 1U);
  limits.forget(kSmall);
  limits.forget(kOther);
  EXPECT_EQ(limits.most_tasks(kSmall, kA), kAnyTasks);
  EXPECT_EQ(limits.kind_of(kOther), 0U);
}

TEST(TaskRoom, TasksTakeRoomFromAllJobs) {
  const TaskLimits limits = limits_of_two_nodes();
  TaskRoom room;
  room.begin(&limits, 3);
  EXPECT_EQ(room.tasks(kSmall, kA), 24U);
  EXPECT_EQ(room.tasks(kSmall, NodeId(2)), 0U) << "nothing is known of it";
  room.take(kLarge, kA, 2);
  EXPECT_EQ(room.tasks(kSmall, kA), 16U);
  EXPECT_EQ(room.tasks(kLarge, kA), 0U);
  room.take(kOther, kA, 5);
  room.give(kLarge, kA, 1);
  EXPECT_EQ(room.tasks(kLarge, kA), 1U);
  EXPECT_EQ(room.tasks(kOther, kA), kAnyTasks);
}

// Takes and gives between two decisions keep the room up to date, unless the limits change.
TEST(TaskRoom, TheSameLimitsNeedNoNewStart) {
  TaskLimits limits = limits_of_two_nodes();
  TaskRoom room;
  EXPECT_TRUE(room.begin(&limits, 2));
  const std::uint32_t before = room.tasks(JobId(0), NodeId(0));
  room.take(JobId(0), NodeId(0), 1);
  EXPECT_FALSE(room.begin(&limits, 2));
  EXPECT_EQ(room.tasks(JobId(0), NodeId(0)), before - 1);
  limits.set_offer(NodeId(1), {1});
  room.give(JobId(0), NodeId(0), 1);  // counts for nothing: the room is out of date
  EXPECT_TRUE(room.begin(&limits, 2));
  EXPECT_EQ(room.tasks(JobId(0), NodeId(0)), before);
  EXPECT_TRUE(room.begin(&limits, 1)) << "other nodes";
  EXPECT_TRUE(room.begin(nullptr, 1));
}

TEST(TaskRoom, TheScarcestResourceKeepsMostTasksOffFreeGpus) {
  const Cluster cluster = load_cluster("2xV100:4").value();
  TaskLimits limits;
  limits.set_needs(JobId(0), 1, {{0, 2}, {1, 1}});
  limits.set_name(0, TaskResource::kCpu);
  limits.set_name(1, TaskResource::kMemory);
  for (NodeId node : {NodeId(0), NodeId(1)}) limits.set_offer(node, {100, 3});
  const FreeIndex free(cluster);
  TaskRoom room;
  room.begin(&limits, 2);
  EXPECT_EQ(room.scarcest(JobId(0), free, 1), TaskResource::kMemory);
  limits.set_offer(NodeId(1), {2, 3});
  room.begin(&limits, 2);
  EXPECT_EQ(room.scarcest(JobId(0), free, 1), TaskResource::kCpu);
  limits.set_needs(JobId(0), 2, {{2, 1}});
  room.begin(&limits, 2);
  EXPECT_EQ(room.scarcest(JobId(0), free, 1), TaskResource::kOther);
  EXPECT_EQ(room.scarcest(JobId(1), free, 1), TaskResource::kOther) << "needs nothing";
}

TEST(TaskRoom, NothingIsLimitedWithoutLimits) {
  TaskRoom room;
  room.begin(nullptr, 2);
  EXPECT_FALSE(room.is_limited());
  const TaskLimits none;
  room.begin(&none, 2);
  EXPECT_FALSE(room.is_limited());
  EXPECT_EQ(room.tasks(kSmall, kA), kAnyTasks);
}

}  // namespace
}  // namespace fairlead
