#include "fairlead/policy/gandiva_fair/holes.h"

#include "fairlead/policy/gandiva_fair/testing.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

const UserId kAnn(0);

TEST(Holes, TwoAreJoinedByTheMoveThatMakesTheLargest) {
  Town town("3xV100:4", {1});
  const CoolDown cool_down(seconds(600));
  const auto best = [&] { return join_holes(town.view(), town.homes, cool_down, GpuTypeId(0)); };
  const JobId three = town.keep(kAnn, 3, 0);
  town.keep(kAnn, 2, 1);
  const JobId four = town.keep(kAnn, 4, 2);
  EXPECT_TRUE(best().is_none())
      << "the pair does not fit beside the three, nor the other way round";
  town.homes.move_out(town.view(), four);
  const JobId pair = town.keep(kAnn, 2, 2);
  EXPECT_EQ(best().job, pair) << "it leaves a whole node";
  EXPECT_EQ(best().to.node, NodeId(1));
  town.homes.move_out(town.view(), three);
  EXPECT_EQ(best().job, pair) << "a node without jobs is no hole";
}

TEST(Holes, AJobThatRestsJoinsNone) {
  Town town("2xV100:4", {1});
  CoolDown cool_down(seconds(600));
  for (std::size_t node = 0; node < 2; ++node) {
    cool_down.on_move(town.keep(kAnn, 2, node), town.now);
  }
  EXPECT_TRUE(join_holes(town.view(), town.homes, cool_down, GpuTypeId(0)).is_none());
}

}  // namespace
}  // namespace fairlead
