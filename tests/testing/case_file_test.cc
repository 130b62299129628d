#include "testing/case_file.h"

#include "testing/drawn_world.h"
#include "testing/racks.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

World read_back(const std::string& text) {
  const auto read = parse_case(text, "case");
  FL_CHECK(read.has_value(), "{}\n{}", read.error().message, text);
  return read->world;
}

TEST(CaseFile, WhatIsWrittenReadsBackAsTheSameWorld) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const World world = drawn_world(seed, {.faults = seed % 2 == 0});
    const std::string text = case_text(world, "srtf:placement=yarn", "What it shows.");
    const World again = read_back(text);
    EXPECT_EQ(case_text(again, "srtf:placement=yarn", "What it shows."), text);
    EXPECT_EQ(run(again, "srtf").hash, run(world, "srtf").hash) << text;
  }
}

TEST(CaseFile, SaysAllThatAWorldHas) {
  World world{.cluster = "1xV100:2,1xK80:1 | 2xV100:4", .seed = 4, .until = {90'000}};
  world.jobs = {{.submit = {1'500},
                 .gpus = 2,
                 .gpus_min = 2,
                 .gpus_max = 8,
                 .task_gpus = 2,
                 .copies_max = 3,
                 .work = seconds(7),
                 .user = "ben",
                 .model = "VAE",
                 .require_level = "rack",
                 .prefer_level = "host",
                 .tickets = 3,
                 .time_limit = seconds(60),
                 .priority = -2,
                 .partition = "gpu",
                 .logged_start = {9'000}}};
  world.settings.costs = Costs();
  world.settings.costs.copies_exchange = {};
  world.settings.faults = {.mtbf_h = 0.02,
                           .mttr_h = 0.005,
                           .outages = {{NodeId(1), {10'000}, {20'500}}},
                           .checkpoint_interval = seconds(7)};
  world.sim_seed = 9;
  EXPECT_EQ(case_text(world, "las", "All."),
            "# All.\n"
            "cluster  1xV100:2,1xK80:1 | 2xV100:4\n"
            "policy   las\n"
            "seed     4\n"
            "costs    start 10s  suspend 500ms  resume 500ms  checkpoint 3500ms/15s/30s  migrate "
            "3500ms/15s/30s\n"
            "faults   mtbf 72s  mttr 18s  seed 9\n"
            "outage   n1  10s  20500ms\n"
            "checkpoint  7s\n"
            "until    90s\n"
            "job      j0  gpus 2  arrive 1500ms  work 7s  user ben  tickets 3  model VAE  min 2  "
            "max 8  tasks 2  copies 3  require rack  prefer host  partition gpu  priority -2  "
            "limit 60s  started "
            "9s\n"
            "expect\n");
  const World again = read_back(case_text(world, "las", "All."));
  EXPECT_EQ(again.settings.faults.mtbf_h, 0.02);
  EXPECT_EQ(again.settings.faults.outages.front().up, Time{20'500});
  EXPECT_EQ(again.jobs.front().gpus_max, 8U);
  EXPECT_EQ(again.jobs.front().task_gpus, 2U);
  EXPECT_EQ(again.jobs.front().prefer_level, "host");
  EXPECT_EQ(again.settings.costs.migrate[2], seconds(30));
}

TEST(CaseFile, AnErrorNamesTheLine) {
  const auto error_of = [](std::string_view line) {
    const auto read = parse_case(fmt::format("# A.\n{}\nexpect\n", line), "a.case");
    return read ? "none" : read.error().message;
  };
  EXPECT_EQ(error_of("costs start 1s  naps 2s"), "a.case:2: no such cost: naps");
  EXPECT_EQ(error_of("faults mtbf 1s"), "a.case:2: write: faults mtbf TIME mttr TIME seed NUMBER");
  EXPECT_EQ(error_of("checkpoint soon"), "a.case:2: not a time: soon");
  EXPECT_EQ(error_of("seed x"), "a.case:2: not a seed: x");
  EXPECT_EQ(error_of("job a gpus 1 arrive 0s work 1s min 0"), "a.case:2: not a number above 0: 0");
  EXPECT_EQ(error_of("weather fine"), "a.case:2: no such line: weather");
}

TEST(Racks, StandBesideEachOtherInTheText) {
  const Cluster cluster = cluster_of("2xV100:4,1xK80:2 | 1xK80:8").value();
  ASSERT_EQ(cluster.nodes(), 4U);
  EXPECT_EQ(cluster.rack_nodes.size(), 2U);
  EXPECT_EQ(cluster.node_rack[NodeId(2)], RackId(0));
  EXPECT_EQ(cluster.node_rack[NodeId(3)], RackId(1));
  EXPECT_EQ(cluster.node_type[NodeId(2)], cluster.node_type[NodeId(3)]);
  EXPECT_EQ(cluster.gpus, 18U);
  EXPECT_EQ(cluster_of("slides")->name, "slides");
  EXPECT_FALSE(cluster_of("2xV100:4 | ").has_value());
}

}  // namespace
}  // namespace fairlead
