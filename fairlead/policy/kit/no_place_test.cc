#include "fairlead/policy/kit/no_place.h"

#include "fairlead/model/cluster_build.h"

#include <gtest/gtest.h>

#include <vector>

namespace fairlead {
namespace {

// Two racks of two nodes with 4 V100, and a node with 2 P100 in the second rack.
class Why : public ::testing::Test {
 protected:
  // `taken`: GPUs by node.
  NoPlace why(Placement placement, std::uint32_t gpus, const std::vector<std::uint32_t>& taken,
              TypeMask types = type_bit(GpuTypeId(0))) {
    FreeIndex free(cluster_);
    for (std::size_t node = 0; node < taken.size(); ++node) {
      if (taken[node] > 0) free.take(NodeId(node), taken[node]);
    }
    const GangAsked gang{.gpus = gpus, .task_gpus = task_, .closeness = closeness_};
    return why_no_place(placement, cluster_, free, gang, types);
  }

  static Cluster small_cluster() {
    std::vector<NodeSpec> specs;
    for (int i = 0; i < 5; ++i) {
      NodeSpec spec;
      spec.gpu_type = i == 4 ? "P100" : "V100";
      spec.gpus = i == 4 ? 2 : 4;
      spec.rack = i < 2 ? "a" : "b";
      specs.push_back(spec);
    }
    return build_cluster("test", {}, specs).value();
  }

  const Cluster cluster_ = small_cluster();
  std::uint32_t task_ = 1;
  Closeness closeness_{};
  static constexpr TypeMask kBoth = kAllTypes;
};

TEST_F(Why, NothingIsWrongWithAGangThatFits) {
  const NoPlace fits = why(Placement::kYarn, 4, {1, 0, 0, 0, 0});
  EXPECT_EQ(fits.why, Misfit::kNone);
  EXPECT_FALSE(fits.never);
  EXPECT_EQ(fits.text, "it fits");
}

TEST_F(Why, TooFewGpusAreFree) {
  const NoPlace few = why(Placement::kCount, 4, {4, 4, 4, 3, 0}, kBoth);
  EXPECT_EQ(few.why, Misfit::kTooFew);
  EXPECT_FALSE(few.never);
  EXPECT_EQ(few.text, "needs 4 GPUs; 3 are free");
}

TEST_F(Why, GpusOfANodeThatIsDownAreNotFree) {
  FreeIndex free(cluster_);
  for (NodeId node : ids<NodeId>(3)) free.set_gpus(node, 0);
  const NoPlace few =
      why_no_place(Placement::kBestFit, cluster_, free, {7}, type_bit(GpuTypeId(0)));
  EXPECT_EQ(few.why, Misfit::kTooFew);
  EXPECT_FALSE(few.never) << "it fits once they are up";
  EXPECT_EQ(few.text, "needs 7 GPUs; 6 are free");
}

TEST_F(Why, EnoughAreFreeButNotOfItsTypes) {
  const NoPlace other = why(Placement::kCount, 3, {4, 4, 4, 2, 0});
  EXPECT_EQ(other.why, Misfit::kOtherTypes);
  EXPECT_EQ(other.text, "needs 3 GPUs; 4 are free, but only 2 of its types");
}

TEST_F(Why, EnoughOfItsTypesButNotOfOne) {
  const NoPlace mixed = why(Placement::kRack, 4, {4, 4, 4, 2, 0}, kBoth);
  EXPECT_EQ(mixed.why, Misfit::kManyTypes);
  EXPECT_EQ(mixed.text, "needs 4 GPUs; 4 are free, but at most 2 of one type");
  EXPECT_EQ(why(Placement::kCount, 4, {4, 4, 4, 2, 0}, kBoth).why, Misfit::kManyTypes);
  EXPECT_EQ(why(Placement::kCount.mixing(), 4, {4, 4, 4, 2, 0}, kBoth).why, Misfit::kNone);
}

TEST_F(Why, EnoughButScatteredOverNodes) {
  for (Placement placement : {Placement::kYarn, Placement::kConsolidate}) {
    const NoPlace scattered = why(placement, 3, {2, 3, 2, 2, 2});
    EXPECT_EQ(scattered.why, Misfit::kManyNodes);
    EXPECT_FALSE(scattered.never);
    EXPECT_EQ(scattered.text, "needs 3 GPUs; 7 are free, but at most 2 on one node");
  }
  EXPECT_EQ(why(Placement::kRack, 3, {2, 3, 2, 2, 2}).why, Misfit::kNone);
}

TEST_F(Why, EnoughButNotOnWholeNodes) {
  const NoPlace yarn = why(Placement::kYarn, 6, {1, 1, 4, 4, 2});
  EXPECT_EQ(yarn.why, Misfit::kManyNodes);
  EXPECT_EQ(yarn.text, "needs 6 GPUs; 6 are free, but not on whole nodes");
  EXPECT_EQ(why(Placement::kConsolidate, 8, {0, 1, 1, 1, 2}).why, Misfit::kManyNodes);
}

TEST_F(Why, EnoughButScatteredOverRacks) {
  for (Placement placement : {Placement::kYarn, Placement::kRack}) {
    const NoPlace scattered = why(placement, 6, {0, 3, 0, 3, 2});
    EXPECT_EQ(scattered.why, Misfit::kManyRacks);
    EXPECT_FALSE(scattered.never);
    EXPECT_EQ(scattered.text, "needs 6 GPUs; 10 are free, but at most 5 in one rack");
  }
}

TEST_F(Why, AGangLargerThanEveryRackNeverFits) {
  const NoPlace never = why(Placement::kRack, 9, {4, 0, 0, 0, 0});
  EXPECT_TRUE(never.never);
  EXPECT_EQ(never.why, Misfit::kManyRacks);
  EXPECT_EQ(never.text, "needs 9 GPUs; the idle cluster has 18, but at most 8 in one rack");
}

TEST_F(Why, AGangLargerThanTheClusterOrItsTypesNeverFits) {
  const NoPlace cluster = why(Placement::kCount, 19, {}, kBoth);
  EXPECT_TRUE(cluster.never);
  EXPECT_EQ(cluster.why, Misfit::kTooFew);
  const NoPlace type = why(Placement::kCount, 3, {}, type_bit(GpuTypeId(1)));
  EXPECT_TRUE(type.never);
  EXPECT_EQ(type.text, "needs 3 GPUs; the idle cluster has 18, but only 2 of its types");
}

TEST_F(Why, WhatNeverFitsDependsOnThePlacement) {
  const NoPlace never = why(Placement::kYarn, 12, {});
  EXPECT_TRUE(never.never);
  EXPECT_EQ(never.why, Misfit::kManyRacks);
  EXPECT_EQ(why(Placement::kConsolidate, 12, {}).why, Misfit::kNone);
}

TEST_F(Why, EnoughButNoRoomForWholeTasks) {
  task_ = 4;
  const NoPlace split = why(Placement::kCount, 8, {0, 1, 1, 2, 2});
  EXPECT_EQ(split.why, Misfit::kFewTasks);
  EXPECT_FALSE(split.never);
  EXPECT_EQ(split.text, "needs 2 tasks of 4 GPUs; 12 are free, but only one node has 4");
  EXPECT_EQ(why(Placement::kBestFit, 12, {0, 0, 1, 1, 2}).text,
            "needs 3 tasks of 4 GPUs; 14 are free, but only 2 nodes have 4");
  EXPECT_EQ(why(Placement::kBestFit, 4, {1, 1, 1, 1, 2}).text,
            "needs 1 task of 4 GPUs; 12 are free, but no node has 4");
  task_ = 2;
  EXPECT_EQ(why(Placement::kSpread, 8, {0, 3, 3, 1, 0}).text,
            "needs 4 tasks of 2 GPUs; 11 are free, but nodes have room for only 3 of its tasks");
  EXPECT_EQ(why(Placement::kCount, 6, {0, 3, 3, 1, 0}).why, Misfit::kNone);
}

TEST_F(Why, ATaskLargerThanEveryNodeNeverFits) {
  task_ = 6;
  const NoPlace never = why(Placement::kCount, 6, {}, kBoth);
  EXPECT_TRUE(never.never);
  EXPECT_EQ(never.text, "needs 1 task of 6 GPUs; the idle cluster has 18, but no node has 6");
}

TEST_F(Why, RacksCountWithTheTasksTheyHaveRoomFor) {
  task_ = 3;
  const NoPlace scattered = why(Placement::kRack, 9, {0, 0, 0, 0, 0});
  EXPECT_EQ(scattered.why, Misfit::kManyRacks);
  EXPECT_EQ(scattered.text,
            "needs 3 tasks of 3 GPUs; the idle cluster has 18, but at most 6 in one rack");
}

TEST_F(Why, ALevelThatIsRequiredHasTooFew) {
  closeness_ = {.required = kRackLevel};
  const NoPlace scattered = why(Placement::kCount, 9, {0, 0, 0, 0, 0});
  EXPECT_EQ(scattered.why, Misfit::kManySections);
  EXPECT_TRUE(scattered.never);
  EXPECT_EQ(scattered.text, "needs 9 GPUs; the idle cluster has 18, but at most 8 in one rack");
}

}  // namespace
}  // namespace fairlead
