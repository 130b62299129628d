#include "fairlead/policy/hadar/tried.h"

#include "fairlead/input/cluster_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace fairlead {
namespace {

TEST(HadarTried, AGangHasATypeIfAllItsGpusAreOfIt) {
  const Cluster cluster = *parse_cluster_shorthand("2xV100:4,1xK80:4");
  const std::vector<Slice> of_type = {{NodeId(0), 4}, {NodeId(1), 2}};
  const std::vector<Slice> mixed = {{NodeId(1), 2}, {NodeId(2), 1}};
  HadarTried tried;
  EXPECT_EQ(tried.add(cluster, {.worth = 7, .slices = 2}, of_type, 11), 0U);
  EXPECT_EQ(tried.add(cluster, {.slices = 2}, mixed, 12), 1U);
  EXPECT_EQ(tried[0].type, GpuTypeId(0));
  EXPECT_EQ(tried[0].gpus, 6U);
  EXPECT_EQ(tried[0].gang.worth, 7);
  EXPECT_TRUE(tried[1].type.is_none());
  EXPECT_TRUE(std::ranges::equal(tried.slices(tried[0]), of_type));
  EXPECT_TRUE(std::ranges::equal(tried.slices(tried[1]), mixed));
  tried.clear();
  EXPECT_EQ(tried.add(cluster, {.slices = 2}, mixed, 12), 0U);
}

}  // namespace
}  // namespace fairlead
