#include "training.h"

#include "fairlead/model/cluster_build.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

// Model M is four times as fast on A as on B, and half as fast over the network.
class TrainingTest : public testing::Test {
 protected:
  TrainingTest() {
    world_.cluster = *build_cluster("two", {}, {{"a0", "A", 4}, {"a1", "A", 4}, {"b0", "B", 4}});
    world_.models.models.push_back({.name = "M",
                                    .rates = {{"A", {{1, 4.0}}}, {"B", {{1, 1.0}}}},
                                    .locality = {1, 1, 0.5, 0.5}});
    world_.costs = Costs::none();
    world_.costs.start = seconds(10);
    world_.costs.resume = seconds(1);
    world_.costs.migrate = {seconds(30), seconds(30), seconds(30)};
    world_.checkpoint_interval = seconds(60);
  }
  Training train() {
    return *Training::make(world_, {.model = "M", .gpus = 4, .work = seconds(100)});
  }
  static std::vector<Slice> on(std::uint32_t node, std::uint16_t gpus = 4) {
    return {{.node = NodeId(node), .gpus = gpus}};
  }

  TrainingWorld world_;
};

TEST_F(TrainingTest, IsDoneAfterItsOverheadAndItsWorkAtTheSpeedOfItsGang) {
  Training fast = train();
  fast.begin({}, on(0));
  EXPECT_EQ(fast.done_at(), Time{110'000});
  Training slow = train();
  slow.begin({}, on(2));
  EXPECT_EQ(slow.done_at(), Time{410'000});
}

TEST_F(TrainingTest, IsSlowerOverTheNetwork) {
  Training wide = train();
  wide.begin({}, {{.node = NodeId(1), .gpus = 2}, {.node = NodeId(0), .gpus = 2}});
  EXPECT_EQ(wide.done_at(), Time{210'000});
}

TEST_F(TrainingTest, KeepsItsWorkWhenItIsAskedToLeave) {
  Training training = train();
  training.begin({}, on(0));
  training.end({60'000}, true);
  EXPECT_DOUBLE_EQ(training.progress({70'000}), 0.5);
  EXPECT_EQ(training.done_at(), Time::never());
}

TEST_F(TrainingTest, GoesOnAtTheCostOfAResumeOrOfAMigration) {
  Training training = train();
  training.begin({}, on(0));
  training.end({60'000}, true);
  training.begin({100'000}, on(0));
  EXPECT_EQ(training.place(), PlaceKind::kResume);
  EXPECT_EQ(training.done_at(), Time{151'000});
  training.end({100'500}, true);
  training.begin({200'000}, on(1));
  EXPECT_EQ(training.place(), PlaceKind::kMigrate);
  EXPECT_EQ(training.done_at(), Time{280'000});
}

TEST_F(TrainingTest, LosesWhatCameAfterTheLastCheckpointWhenItsNodeIsLost) {
  Training training = train();
  training.begin({}, on(0));
  training.end({85'000}, false);  // 75 s of work, the last checkpoint after 60
  EXPECT_DOUBLE_EQ(training.progress({85'000}), 0.6);
  training.begin({100'000}, on(0));
  EXPECT_EQ(training.place(), PlaceKind::kStart);
}

TEST_F(TrainingTest, LosesNothingDuringItsOverhead) {
  Training training = train();
  training.begin({}, on(0));
  training.end({5'000}, false);
  EXPECT_DOUBLE_EQ(training.progress({5'000}), 0);
}

}  // namespace
}  // namespace fairlead
