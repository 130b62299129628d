#include "fairlead/compare/capacity.h"

#include "fairlead/input/cluster_file.h"
#include "fairlead/model/cluster_build.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace fairlead {
namespace {

// Every five hours a burst of jobs comes that run for an hour: four for 8 H100 each, and two for any GPUs of the A100
// nodes. So A100 is never short, and the jobs of a burst start at once from four H100 nodes on.
Trace bursts() {
  std::vector<JobRow> rows;
  std::vector<std::string> names;
  names.reserve(120);
  for (std::int64_t burst = 0; burst < 20; ++burst) {
    for (int i = 0; i < 6; ++i) {
      names.push_back(fmt::format("j{}-{}", burst, i));
      rows.push_back({.id = names.back(),
                      .gpus = 8,
                      .submit = {burst * 5 * 3'600'000},
                      .duration = seconds(3600),
                      .runs_on = i < 4 ? "H100" : "A100"});
    }
  }
  return Trace::of("bursts", rows).value();
}

CapacityQuestion question() {
  CapacityQuestion asked{.cluster = load_cluster("1xH100:8,3xA100:8").value(),
                         .trace = bursts(),
                         .policy = "fifo:skip=true"};
  asked.settings.costs = Costs::none();
  return asked;
}

NodeOffer kind(std::string_view text) { return parse_node_offer(text).value(); }

TEST(Capacity, FindsTheTypeThatIsShortAndTheNumberOfNodes) {
  CapacityQuestion asked = question();
  asked.added = {kind("6xA100:8"), kind("6xH100:8")};
  asked.target = parse_wait_target("wait_p90 < 30 min").value();
  const auto answer = capacity(asked);
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(answer->now.waits.wait_p90_s, 3 * 3600);
  ASSERT_EQ(answer->changes.size(), 3U);
  EXPECT_EQ(answer->changes[0].waits.wait_mean_s, answer->now.waits.wait_mean_s)
      << "A100 is not short";
  EXPECT_EQ(answer->changes[1].waits.wait_mean_s, 0);
  EXPECT_EQ(answer->changes[1].change, "+ 6xH100:8");
  ASSERT_EQ(answer->plans.size(), 1U);
  EXPECT_EQ(answer->plans[0].nodes, (std::vector<std::int64_t>{0, 3}));
  EXPECT_EQ(answer->plans[0].waits.wait_p90_s, 0);
  EXPECT_FALSE(answer->cheapest.has_value()) << "nothing has a price";
}

TEST(Capacity, SeeksAMixIfEachTypeIsShort) {
  CapacityQuestion asked = question();
  asked.cluster = load_cluster("1xH100:8,1xA100:8").value();
  asked.added = {kind("5xA100:8"), kind("5xH100:8")};
  asked.target = parse_wait_target("wait_p99 < 1m").value();
  const auto answer = capacity(asked);
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  ASSERT_EQ(answer->plans.size(), 1U);
  EXPECT_EQ(answer->plans[0].nodes, (std::vector<std::int64_t>{1, 3}));
}

TEST(Capacity, NamesTheCheapestOfTypesThatReachTheTarget) {
  CapacityQuestion asked = question();
  std::vector<JobRow> rows;
  const std::string names[] = {"a", "b"};
  for (const std::string& name : names)
    rows.push_back({.id = name, .gpus = 4, .duration = seconds(3600)});
  asked.cluster = load_cluster("1xA100:4").value();
  asked.trace = Trace::of("two", rows).value();
  asked.added = {kind("2xH100:4"), kind("2xL40S:4")};
  asked.target = parse_wait_target("wait_mean < 1m").value();
  ASSERT_TRUE(add_price("H100=2.5/h", asked.prices));
  auto answer = capacity(asked);
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  ASSERT_EQ(answer->plans.size(), 2U);
  EXPECT_EQ(answer->plans[0].price_per_hour, 10);
  EXPECT_FALSE(answer->cheapest.has_value()) << "L40S has no price";
  ASSERT_TRUE(add_price("L40S=0.5", asked.prices));
  answer = capacity(asked);
  ASSERT_EQ(answer->cheapest, 1U);
  EXPECT_EQ(answer->plans[1].nodes, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(answer->plans[1].price_per_hour, 2);
}

TEST(Capacity, RemovedNodesAreMadeUpFor) {
  CapacityQuestion asked = question();
  asked.removed = {"type=H100"};
  asked.added = {kind("6xH100:8")};
  asked.target = parse_wait_target("wait_p90 < 30 min").value();
  const auto answer = capacity(asked);
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(answer->changes[1].change, "- type=H100");
  EXPECT_EQ(answer->changes[1].waits.unfinished, 80) << "no GPU that they may run on";
  ASSERT_EQ(answer->plans.size(), 1U);
  EXPECT_EQ(answer->plans[0].nodes, (std::vector<std::int64_t>{4}))
      << "fewer jobs that finish without a wait do not reach a target";
}

TEST(Capacity, AnUnreachedTargetHasNoPlan) {
  CapacityQuestion asked = question();
  asked.added = {kind("2xH100:8")};
  asked.target = parse_wait_target("wait_p90 < 30m").value();
  const auto answer = capacity(asked);
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_TRUE(answer->plans.empty());
}

TEST(Capacity, ErrorsNameTheirCause) {
  const auto error_of = [](const CapacityQuestion& asked) {
    const auto answer = capacity(asked);
    return answer ? "no error" : answer.error().message;
  };
  CapacityQuestion asked = question();
  EXPECT_EQ(error_of(asked), "name nodes by --add or --remove");
  asked.removed = {"rack=old"};
  EXPECT_EQ(error_of(asked), "--remove: the cluster has no such rack: old");
  asked.removed = {"rack=r0"};
  EXPECT_EQ(error_of(asked), "--remove: no node would be left: rack=r0");
  asked.removed = {"old"};
  EXPECT_EQ(error_of(asked), "--remove takes rack=NAME, node=NAME or type=NAME: old");
  asked.removed = {"node=n1"};
  asked.prices = {{"H200", 3}};
  EXPECT_EQ(error_of(asked), "--price: no added node has this GPU type: H200");
  EXPECT_FALSE(parse_node_offer("4xH100:8,1xA100:4"));
  EXPECT_FALSE(parse_wait_target("waits < 3 min"));
  EXPECT_FALSE(parse_wait_target("wait_p90 30 min"));
  EXPECT_FALSE(parse_wait_target("wait_p90 < soon"));
  GpuPrices prices;
  EXPECT_FALSE(add_price("H100=free", prices));
  EXPECT_FALSE(add_price("H100", prices));
  ASSERT_TRUE(add_price("H100=1", prices));
  EXPECT_FALSE(add_price("H100=2", prices));
}

TEST(SpecOf, GivesTheSameClusterAgain) {
  for (const char* name : {"slides", "1xH100:8,3xA100:8"}) {
    const Cluster cluster = load_cluster(name).value();
    const ClusterSpec spec = spec_of(cluster);
    const Cluster again = build_cluster(spec.name, spec.links, spec.nodes, spec.fabric).value();
    EXPECT_EQ(again.node_names, cluster.node_names);
    EXPECT_EQ(again.node_type, cluster.node_type);
    EXPECT_EQ(again.node_host, cluster.node_host);
    EXPECT_EQ(again.node_rack, cluster.node_rack);
    EXPECT_EQ(again.node_gpus, cluster.node_gpus);
    EXPECT_EQ(again.type_names, cluster.type_names);
    EXPECT_EQ(again.racks.size(), cluster.racks.size());
    EXPECT_EQ(again.switches.size(), cluster.switches.size());
  }
}

}  // namespace
}  // namespace fairlead
