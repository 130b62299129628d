#include "fairlead/engine/eligibility.h"

#include "fairlead/input/cluster_file.h"
#include "fairlead/policy/placement_traits.h"
#include "fairlead/policy/registry.h"
#include "testing/world.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace fairlead {
namespace {

// Eight V100 and eight K80 on nodes of four.
constexpr const char* kCluster = "2xV100:4,2xK80:4";
constexpr std::string_view kOneType =
    "larger than each GPU type it may run on, and its policy mixes no types in a gang";

std::string refusal(Policy& policy, const JobSpec& job, const char* cluster = kCluster) {
  return std::string(
      Eligibility().answer(job, policy, load_cluster(cluster).value(), Users()).refusal);
}

std::string refusal(std::string_view policy, const JobSpec& job, const char* cluster = kCluster) {
  return refusal(*policy_named(policy)(), job, cluster);
}

JobSpec gang_of(std::uint32_t gpus) {
  return {.user = UserId(0), .gpus = gpus, .gpus_min = gpus, .gpus_max = gpus};
}

class Refusals : public RecordSink {
 public:
  void on(const Record& record) override {
    if (const auto* rejected = std::get_if<record::Rejected>(&record.what))
      reason = rejected->reason;
  }
  std::string reason;  // why the last one was refused; empty: none was
};

TEST(Eligibility, AGangThatFitsOnMixedTypesOnlyIsForPoliciesThatMix) {
  for (const char* policy :
       {"las", "fifo", "gavel", "gandiva", "tiresias", "tiresias:placement=skew"}) {
    EXPECT_EQ(refusal(policy, gang_of(9)), kOneType) << policy;
    EXPECT_EQ(refusal(policy, gang_of(8)), "") << policy;
  }
  for (const char* policy : {"las:mixed=true", "fifo:mixed=true", "hadar", "hadar:mixed=false"}) {
    EXPECT_EQ(refusal(policy, gang_of(9)), "") << policy;
  }
}

TEST(Eligibility, TypesAndTasksOfTheJobCount) {
  JobSpec on_v100 = gang_of(9);
  on_v100.types = type_bit(GpuTypeId(0));
  EXPECT_EQ(refusal("fifo:mixed=true", on_v100), "larger than the GPU types its model runs on");
  JobSpec in_tasks = gang_of(12);
  in_tasks.task_gpus = 3;  // each type has room for two such tasks
  EXPECT_EQ(refusal("fifo", in_tasks), kOneType);
  EXPECT_EQ(refusal("fifo:mixed=true", in_tasks), "");
}

// Two nodes of 4 GPUs, 8 CPUs and 16 GB.
TEST(Eligibility, AGangThatNeedsMoreThanIdleNodesHaveIsRefused) {
  World world{.cluster = "2xV100:4", .nodes_have = {{{8'000}, {16'000}}}};
  const auto refused = [&](std::uint32_t gpus, CpuMemory asks, const char* policy) {
    world.jobs = {{.gpus = gpus, .asks = asks}, {.gpus = 1}};
    Refusals refusals;
    const Outcome outcome = run(world, policy_named(policy), {}, &refusals);
    EXPECT_EQ(outcome.problems, std::vector<std::string>{}) << policy;
    EXPECT_EQ(outcome.counts.pending, 0) << policy;
    return refusals.reason;
  };
  for (const char* policy : {"fifo", "gandiva", "gandiva-fair", "fairlead", "srtf"}) {
    EXPECT_EQ(refused(1, {{9'000}, {}}, policy),
              "it needs more CPU than the nodes have on which it may run");
    EXPECT_EQ(refused(8, {{8'000}, {33'000}}, policy),
              "it needs more memory than the nodes have on which it may run");
    EXPECT_EQ(refused(1, {{8'000}, {16'000}}, policy), "");
    EXPECT_EQ(refused(8, {{16'000}, {32'000}}, policy), "");
  }
  EXPECT_EQ(refused(3, {{12'000}, {}}, "fifo"), "") << "on two nodes";
  EXPECT_EQ(refused(3, {{12'000}, {}}, "yarn-cs"), "");
}

TEST(Eligibility, APlacementThatKeepsToARackRefusesWhatNoRackHas) {
  const World world{.cluster = "2xV100:4 | 2xV100:4"};
  for (const char* policy : {"yarn-cs", "fifo:placement=rack", "fifo:placement=rack-first"}) {
    World twelve = world;
    twelve.jobs = {{.gpus = 12, .work = seconds(10)}, {.gpus = 1, .work = seconds(10)}};
    const Outcome outcome = run(twelve, policy);
    const bool keeps = std::string_view(policy) != "fifo:placement=rack-first";
    EXPECT_EQ(outcome.jobs[0].rejected, keeps) << policy;
    EXPECT_EQ(outcome.counts.pending, 0) << policy;
  }
}

TEST(Eligibility, AGangOfWholeNodesIsRefusedWhereNodesAreTooFew) {
  EXPECT_EQ(refusal("fifo:placement=consolidate", gang_of(10), "1xV100:6,3xV100:2"),
            "its policy wants its gang on fewer nodes than the cluster can give it");
  EXPECT_EQ(refusal("fifo", gang_of(10), "1xV100:6,3xV100:2"), "");
}

TEST(Eligibility, AnElasticJobNeedsRoomForItsSmallestGang) {
  JobSpec job = gang_of(12);
  job.gpus_min = 4;
  EXPECT_EQ(refusal("optimus", job), "");
  EXPECT_EQ(refusal("fifo", job), kOneType);
}

TEST(Eligibility, APolicyOfOnesOwnSaysHowItPlacesOrAnythingGoes) {
  class Own : public Policy {
   public:
    std::string_view name() const override { return "own"; }
    void decide(const View&, Plan&) override {}
    void fields(Archive&) override {}
  };
  Own own;
  EXPECT_EQ(refusal(own, gang_of(9)), "");
  own.set_traits(
      std::make_shared<const PlacementTraits>(PlacementTraits{.placement = Placement::kBestFit}));
  EXPECT_EQ(refusal(own, gang_of(9)), kOneType);
}

TEST(Eligibility, AJobThatCannotRunKeepsNoOtherWaiting) {
  for (const char* policy : {"las", "fifo", "yarn-cs", "srtf", "gavel", "slurm"}) {
    World world{.cluster = kCluster};
    world.jobs = {{.gpus = 9, .work = seconds(10)},
                  {.submit = {1000}, .gpus = 1, .work = seconds(10)}};
    const Outcome outcome = run(world, policy);
    EXPECT_TRUE(outcome.jobs[0].rejected) << policy;
    EXPECT_EQ(outcome.counts.finished, 1) << policy;
    EXPECT_EQ(outcome.counts.pending, 0) << policy;
  }
}

TEST(Eligibility, WhatIsDownCounts) {
  World world{.cluster = kCluster};
  world.settings.faults.outages = {{NodeId(0), Time{0}, Time{60'000}}};
  world.jobs = {{.submit = {1000}, .gpus = 8, .work = seconds(10)}};
  const Outcome outcome = run(world, "fifo");
  EXPECT_FALSE(outcome.jobs[0].rejected);
  EXPECT_EQ(outcome.counts.finished, 1);
}

// Asked again once a node has joined, the same gang has room.
TEST(Eligibility, ANodeThatJoinsChangesTheAnswer) {
  Eligibility eligibility;
  const auto policy = policy_named("fifo")();
  EXPECT_EQ(
      eligibility.answer(gang_of(9), *policy, load_cluster(kCluster).value(), Users()).refusal,
      kOneType);
  EXPECT_EQ(
      eligibility.answer(gang_of(9), *policy, load_cluster("3xV100:4,2xK80:4").value(), Users())
          .refusal,
      "");
}

}  // namespace
}  // namespace fairlead
