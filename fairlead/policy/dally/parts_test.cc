// Tests the parts of Dally by themselves: tiers, places, paces and gains, and the speed on crowded links.
#include "fairlead/model/step.h"
#include "fairlead/policy/dally/gains.h"
#include "fairlead/policy/dally/places.h"
#include "fairlead/policy/kit/crowding.h"
#include "testing/steps.h"
#include "testing/world.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace fairlead {
namespace {

// Two gangs on three racks of two hosts of 4 GPUs, before anything happened. An iteration computes
// for 100 ms; 100 MB take as long over 8 Gbit/s.
class Parts {
 public:
  explicit Parts(bool has_table = true) : cluster_(racks_of_nodes(3, 2, 4)) {
    cluster_.links = {.pair_gbps = 8e6, .node_gbps = 8e6, .rack_gbps = 80, .spine_gbps = 8};
    workload_ =
        numbered_jobs(std::vector<std::uint32_t>{2, 6}, [](JobRow& row, std::uint32_t gpus) {
          row.model = "loud";
          row.gpus = gpus;
          row.duration = seconds(100);
        });
    const SpeedTable models = parse_models_yaml(
                                  "models: [{name: loud, rates: {V100: 1},"
                                  " communication: {bytes_mb: 100, compute_ms: 100}}]",
                                  "test")
                                  .value();
    speed_.emplace(
        Speed::make(cluster_, models, workload_, "", {.kind = NetworkKind::kContention}).value());
    for (JobId job : {JobId(0), JobId(1)}) {
      const std::uint32_t gpus = workload_.jobs.gpus[job];
      jobs_.add({.job = job, .user = UserId(0), .gpus = gpus, .gpus_min = gpus, .gpus_max = gpus},
                {.model = workload_.jobs.model[job]});
      jobs_.state[job] = JobState::kWaiting;
    }
    known_.emplace(has_table ? &*speed_ : nullptr, cluster_, jobs_, RatesNeeded::kTable,
                   ProfileOptions{});
    plan_.emplace(cluster_, jobs_);
    for (JobId job : {JobId(0), JobId(1)}) known_->add_job(job);
  }
  KnownSpeed& known() { return *known_; }

  View view() const {
    return {.now = {},
            .cluster = cluster_,
            .users = workload_.users,
            .jobs = jobs_,
            .speed = *known_,
            .work = work_,
            .news = {},
            .waiting = {},
            .running = {}};
  }
  Plan& plan() { return *plan_; }
  std::string gang(JobId job) const {
    std::string text;
    for (Slice slice : plan_->gang(job))
      text += fmt::format("n{}:{} ", slice.node.row(), slice.gpus);
    return text;
  }

 private:
  Cluster cluster_;
  Workload workload_;
  Jobs jobs_;
  std::optional<Speed> speed_;
  std::optional<KnownSpeed> known_;
  std::optional<Plan> plan_;
  KnownWork work_{jobs_, nullptr, WorkSource::kNone, {}};
};

constexpr JobId kTwo{0};
constexpr JobId kSix{1};
constexpr GpuTypeId kV100{0};

TEST(DallyTiers, SayWhereAGangHasRoomAndHowFastItIsThere) {
  const Parts parts;
  LargestGangs largest;
  const JobTiers two = JobTiers::of(parts.view(), kTwo, largest);
  EXPECT_EQ(two.best(), DallyTier::kNode);
  EXPECT_NEAR(two.at_best(), 1, 1e-3);
  EXPECT_NEAR(two.at_widest(), 0.5, 1e-3);
  EXPECT_EQ(two.slowest(), two.at_widest());
  const JobTiers six = JobTiers::of(parts.view(), kSix, largest);
  EXPECT_EQ(six.types(DallyTier::kNode), 0U);
  EXPECT_EQ(six.best(), DallyTier::kRack);
  EXPECT_FALSE(six.must_mix());
  EXPECT_EQ(six.faster_than(DallyTier::kNetwork, six.at_best()), 0U);
  EXPECT_EQ(six.faster_than(DallyTier::kRack, six.at_widest()), type_bit(kV100));
}

TEST(DallyTiers, FollowFromTheProfileOfAJobThatRanOnOneNode) {
  Parts parts(false);
  LargestGangs largest;
  const std::vector<Slice> pair = {{NodeId(0), 2}};
  parts.known().on_run_begin(kTwo, pair, Rate::one());
  parts.known().on_start(kTwo, pair, {});
  parts.known().set_now({60'000});
  TierTable table;
  table.refresh(parts.view());
  EXPECT_EQ(table.of(parts.view(), kTwo).at_widest(), 1) << "nothing is known of the network";
  // A step of 100 ms, and 100 MB that take as long over 8 Gbit/s.
  parts.known().see_profile(kTwo, {.parameters_kb = 100'000,
                                   .gradients_kb = 100'000,
                                   .largest_tensor_kb = 1'000,
                                   .workers = 2,
                                   .step_us = 200'000});
  table.refresh(parts.view());
  EXPECT_EQ(table.of(parts.view(), kTwo).at_best(), 1);
  EXPECT_NEAR(table.of(parts.view(), kTwo).at_widest(), 100 / 155.0, 1e-3);
}

TEST(DallyPlaces, AreTheTightestAndAcrossRacksTheFewest) {
  Parts parts;
  const auto in_rack = tightest_place(parts.view(), parts.plan(), DallyTier::kRack, kV100, {6, 1});
  ASSERT_TRUE(in_rack);
  place_there(parts.view(), parts.plan(), *in_rack, kSix);
  EXPECT_EQ(parts.gang(kSix), "n0:4 n1:2 ");
  const auto node = tightest_place(parts.view(), parts.plan(), DallyTier::kNode, kV100, {2, 1});
  ASSERT_TRUE(node);
  EXPECT_EQ(node->range.begin, 1U) << "what the gang left of its rack";
  EXPECT_FALSE(tightest_place(parts.view(), parts.plan(), DallyTier::kRack, kV100, {9, 1}));
  parts.plan().stop(kSix, StopCause::kPriority);
  parts.plan().take(NodeId(0), 4);
  parts.plan().place(kTwo);
  const auto across =
      tightest_place(parts.view(), parts.plan(), DallyTier::kNetwork, kV100, {6, 1});
  ASSERT_TRUE(across);
  place_there(parts.view(), parts.plan(), *across, kSix);
  EXPECT_EQ(parts.gang(kSix), "n2:4 n3:2 ") << "one rack has enough";
}

TEST(Crowding, FollowsADraft) {
  Parts parts;
  const View view = parts.view();
  Crowding crowding;
  crowding.begin(view, parts.plan());
  EXPECT_TRUE(crowding.is_seen());
  const std::vector<Slice> there = {{NodeId(1), 1, 0}, {NodeId(3), 1, 0}};
  EXPECT_EQ(crowding.speed_at(view, kTwo, there), 1);
  for (const std::uint32_t node : {0U, 2U}) parts.plan().take(NodeId(node), 3);
  parts.plan().place(kSix);
  crowding.placed(view, parts.plan(), kSix);
  EXPECT_EQ(crowding.speed(kSix), 1);
  // Both racks' uplinks are shared then: its exchange takes 200 ms instead of 100.
  EXPECT_NEAR(crowding.speed_at(view, kTwo, there), 200.0 / 300, 1e-9);
  EXPECT_GT(crowding.loss_of_others(view, kTwo, there), 0);
  crowding.stopped(kSix);
  EXPECT_EQ(crowding.speed_at(view, kTwo, there), 1);
  EXPECT_EQ(crowding.loss_of_others(view, kTwo, there), 0);
}

TEST(DallyPaces, AreThoseOnceTheVictimsAreGone) {
  Parts parts;
  const View view = parts.view();
  Crowding crowding;
  crowding.begin(view, parts.plan());
  TierTable tiers;
  tiers.refresh(view);
  DallyPaces paces(tiers, crowding);
  for (const std::uint32_t node : {1U, 3U}) parts.plan().take(NodeId(node), 1);
  parts.plan().place(kTwo);
  crowding.placed(view, parts.plan(), kTwo);
  EXPECT_NEAR(paces.present(view, parts.plan(), kTwo).rate, 0.5, 1e-3) << "across racks";
  const DallyPlace rack{.tier = DallyTier::kRack, .type = kV100, .range = {0, 2}};
  const DallyPace beside = paces.without(view, parts.plan(), {}, kSix, rack);
  const DallyPace alone = paces.without(view, parts.plan(), {&kTwo, 1}, kSix, rack);
  EXPECT_EQ(alone.rate, tiers.of(view, kSix).at_best());
  EXPECT_EQ(alone.loss_of_others, 0);
  EXPECT_LT(beside.rate, alone.rate) << "they share a link";
  // The draft is as before.
  EXPECT_EQ(parts.gang(kTwo), "n1:1 n3:1 ");
  EXPECT_EQ(crowding.speed(kTwo), 1);
  EXPECT_EQ(paces.on_free_gpus(view, parts.plan(), kSix).rate, beside.rate)
      << "in the tightest rack";
}

TEST(DallyGains, AreTheTimeSavedByAllLessTheRestart) {
  struct Hundred : ExactWork {
    Duration remaining(JobId /*job*/) const override { return seconds(100); }
  };
  const Parts parts;
  const View known = parts.view();
  const Hundred hundred;
  const KnownWork work(known.jobs, &hundred, WorkSource::kExact, {});
  const View view = {.now = known.now,
                     .cluster = known.cluster,
                     .users = known.users,
                     .jobs = known.jobs,
                     .speed = known.speed,
                     .work = work,
                     .news = {},
                     .waiting = {},
                     .running = {}};
  DallyOptions options = *dally_options(options_named("dally"));
  options.switch_cost = seconds(10);
  TierTable tiers;
  tiers.refresh(view);
  const DallyOrder order(options, tiers);
  const DallyGains gains(options, tiers, order);
  EXPECT_EQ(DallyGains::of_rate(view, kTwo, 0.5, 1), 2 * (200 - 100));
  EXPECT_EQ(DallyGains::of_rate(view, kTwo, 0, 1), 0) << "it does not run";
  EXPECT_EQ(gains.restart(view, kTwo), 2 * 10);
  DallySeeker seeker{.key = order.round(view, kTwo),
                     .is_running = true,
                     .otherwise = {.rate = 0.5, .loss_of_others = 0.25},
                     .best = 1};
  const DallyPace there{.rate = 1, .loss_of_others = 0.125};
  EXPECT_EQ(gains.saved(view, seeker, there), 200 + 200 * 0.25 - 100 * 0.125 - 20);
  EXPECT_EQ(gains.value_of_turn(view, seeker), 0);
  seeker.is_running = false;
  EXPECT_EQ(gains.saved(view, seeker, there), 200 + 200 * 0.25 - 100 * 0.125);
  EXPECT_EQ(gains.value_of_turn(view, seeker), 2 * 100) << "it ends before it leaves its class";
}

}  // namespace
}  // namespace fairlead
