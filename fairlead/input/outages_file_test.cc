#include "fairlead/input/outages_file.h"

#include "fairlead/input/cluster_file.h"

#include <gtest/gtest.h>

#include <string_view>

namespace fairlead {
namespace {

Result<std::vector<NodeOutage>> read(std::string_view text) {
  const Cluster cluster = load_cluster("2xV100:4").value();
  Result<ByteSource> source = ByteSource::memory(text, "o.csv");
  return read_outages(*source, cluster);
}

std::string error(std::string_view text) {
  const auto outages = read(text);
  return outages ? "no error" : outages.error().message;
}

TEST(OutagesFile, ReadsNodesAndGpus) {
  const auto outages = read(
      "node,down_s,up_s,gpus\n"
      "n1,100,200.5,\n"
      "n0,3600,,0+3\n"
      "n0,3600,4000,1\n");
  ASSERT_TRUE(outages.has_value()) << outages.error().message;
  const std::vector<NodeOutage> expected = {{NodeId(1), {100'000}, {200'500}, kAllGpus},
                                            {NodeId(0), {3'600'000}, Time::never(), 0b1001},
                                            {NodeId(0), {3'600'000}, {4'000'000}, 0b0010}};
  EXPECT_EQ(*outages, expected);
}

TEST(OutagesFile, TheGpusMayBeLeftOut) {
  const auto outages = read("node,up_s,down_s\nn0,2,1\n");
  ASSERT_TRUE(outages.has_value()) << outages.error().message;
  EXPECT_EQ(*outages, (std::vector<NodeOutage>{{NodeId(0), {1'000}, {2'000}, kAllGpus}}));
}

TEST(OutagesFile, ErrorsNameThePlace) {
  constexpr std::string_view kHeader = "node,down_s,up_s,gpus\n";
  const auto error_of = [&](std::string_view row) {
    return error(std::string(kHeader) + row.data());
  };
  EXPECT_EQ(error_of("n7,1,2,\n"), "o.csv:2:1: node is not a node of the cluster: n7");
  EXPECT_TRUE(error_of("n0,1,2,\nn0,x,2,\n").starts_with("o.csv:3:4: down_s "));
  EXPECT_EQ(error_of("n0,5,5,\n"), "o.csv:2:6: up_s must be after down_s: 5");
  EXPECT_EQ(error_of("n0,5,6,4\n"), "o.csv:2:8: gpus must be GPUs of the node, as 0+3: 4");
  EXPECT_EQ(error_of("n0,5,6,1+1\n"), "o.csv:2:8: gpus must be GPUs of the node, as 0+3: 1+1");
  EXPECT_EQ(error_of("n0,5,6,\nn1,5,6,\nn0,4,7,2\n"),
            "o.csv:4:4: down_s overlaps with an earlier row of its node: 4");
  EXPECT_TRUE(error_of("n0,5\n").starts_with("o.csv:2")) << error_of("n0,5\n");
  EXPECT_NE(error("node,down_s\n").find("up_s"), std::string::npos);
  EXPECT_EQ(error("node,down_s,up_s,gpu\n"),
            "o.csv:1:18: no such column (there are: node, down_s, up_s, gpus): gpu");
  EXPECT_NE(error(""), "no error");
}

}  // namespace
}  // namespace fairlead
