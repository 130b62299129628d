#include "fairlead/model/speed.h"

#include "fairlead/input/cluster_file.h"
#include "fairlead/input/models_file.h"
#include "fairlead/model/cluster_build.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <map>

namespace fairlead {
namespace {

const GpuTypeId kV100(0);
const GpuTypeId kK80(1);

struct AskedJob {
  std::string model;  // empty: none
  std::uint32_t gpus = 1;
  std::string reference_type = "";
};

Workload workload_of(const std::vector<AskedJob>& asked) {
  Workload workload;
  std::map<std::string, ModelId> models;
  for (const AskedJob& job : asked) {
    ModelId model;
    if (!job.model.empty()) {
      if (!models.contains(job.model)) models[job.model] = workload.models.push_back(job.model);
      model = models[job.model];
    }
    workload.jobs.user.push_back(UserId(0));
    workload.jobs.model.push_back(model);
    workload.jobs.gpus.push_back(job.gpus);
    workload.reference_types.push_back(job.reference_type);
  }
  return workload;
}

// Two racks: V100 nodes 0, 1 and K80 nodes 2, 3 of 4 GPUs; V100 nodes 4, 5 and K80 nodes 6, 7.
Cluster two_racks() {
  return *parse_cluster_yaml(
      "racks: [{count: 2, nodes: [{count: 2, gpu_type: V100, gpus: 4},"
      "                           {count: 2, gpu_type: K80, gpus: 4}]}]",
      "lab");
}

SpeedTable table_of(std::string_view yaml) { return *parse_models_yaml(yaml, "test"); }

// A cluster with its jobs and their speeds; a type without rows has the slowest speed.
struct World {
  World(Cluster c, const SpeedTable& table, const std::vector<AskedJob>& asked,
        std::string_view reference = "", const NetworkOptions& network = {})
      : cluster(std::move(c)),
        workload(workload_of(asked)),
        speed(*Speed::make(cluster, table, workload, reference, network,
                           {.rule = UnknownSpeed::kSlowest})) {}

  Rate rate(std::vector<Slice> gang, std::size_t job = 0) const {
    return speed.rate(JobId(job), Gang(gang));
  }
  Rate locality(std::vector<Slice> gang, std::size_t job = 0) const {
    return speed.locality(JobId(job), Gang(gang));
  }
  TypeMask types(std::size_t job) const { return workload.jobs.types[JobId(job)]; }

  Cluster cluster;
  Workload workload;
  Speed speed;
};

std::string make_error(const std::vector<AskedJob>& asked, std::string_view reference) {
  const Cluster cluster = two_racks();
  Workload workload = workload_of(asked);
  const Result<Speed> speed = Speed::make(cluster, builtin_models(), workload, reference);
  return speed ? "no error" : speed.error().message;
}

TEST(Speed, IsThePublishedSpeedupBetweenTypes) {
  const World world(two_racks(), builtin_models(), {{"ResNet50", 1}});
  EXPECT_EQ(world.speed.reference_type(), kV100);
  EXPECT_EQ(world.rate({{NodeId(0), 1}}), Rate::one());
  EXPECT_EQ(world.rate({{NodeId(2), 1}}), Rate::of(1 / 5.14));
}

TEST(Speed, IsThatOfTheProductOnNodesThatDifferOtherwise) {
  const Cluster cluster = *build_cluster("c", {},
                                         {{.name = "a", .gpu_type = "V100/pool=a", .gpus = 4},
                                          {.name = "k", .gpu_type = "K80/pool=a", .gpus = 4},
                                          {.name = "b", .gpu_type = "K80", .gpus = 4}});
  const World world(cluster, builtin_models(), {{"ResNet50", 1}});
  EXPECT_EQ(world.rate({{NodeId(0), 1}}), Rate::one());
  EXPECT_EQ(world.rate({{NodeId(1), 1}}), Rate::of(1 / 5.14));
  EXPECT_EQ(world.rate({{NodeId(2), 1}}), Rate::of(1 / 5.14));
}

TEST(Speed, JobsRunOnTheTypesThatTheyNameAlone) {
  Workload workload = workload_of({{"ResNet50"}, {"ResNet50"}, {""}, {""}});
  workload.runs_on = {{JobId(0), "K80"}, {JobId(2), "k80 + V100"}, {JobId(3), "H100"}};
  ASSERT_TRUE(Speed::make(two_racks(), builtin_models(), workload, ""));
  EXPECT_EQ(workload.jobs.types[JobId(0)], type_bit(kK80));
  EXPECT_EQ(workload.jobs.types[JobId(1)], type_bit(kK80) | type_bit(kV100));
  EXPECT_EQ(workload.jobs.types[JobId(2)], type_bit(kK80) | type_bit(kV100));
  EXPECT_EQ(workload.jobs.types[JobId(3)], TypeMask{0}) << "the cluster has no H100";
}

// Equal on every compiler: results depend on each step.
TEST(Speed, HasFixedSteps) {
  const World world(two_racks(), builtin_models(), {{"ResNet50", 1}, {"LSTM", 4}});
  EXPECT_EQ(world.rate({{NodeId(2), 1}}).fixed, 835'596'750);
  EXPECT_EQ(world.speed.rate(JobId(1), kK80, 3, Tier::kNode).fixed, 669'693'445);
}

TEST(Speed, OfAMixedGangIsThatOfItsSlowestMember) {
  const World world(two_racks(), builtin_models(), {{"ResNet50", 2}});
  const Rate k80 = world.rate({{NodeId(2), 2}});
  EXPECT_EQ(k80, Rate::of(1 / 5.14));
  EXPECT_EQ(world.rate({{NodeId(0), 1}, {NodeId(2), 1}}), k80);
  EXPECT_EQ(world.rate({{NodeId(0), 1}, {NodeId(1), 1}}), Rate::one());
}

TEST(Speed, OfAnElasticGangFollowsItsSize) {
  const World world(two_racks(), builtin_models(), {{"ResNet50", 4}, {"", 4}, {"", 3}});
  for (std::size_t job : {0U, 1U}) {
    EXPECT_EQ(world.rate({{NodeId(0), 2}}, job), Rate::of(0.5));
    EXPECT_EQ(world.rate({{NodeId(0), 4}}, job), Rate::one());
    EXPECT_EQ(world.rate({{NodeId(0), 4}, {NodeId(1), 4}}, job), Rate::of(2));
  }
  EXPECT_EQ(world.rate({{NodeId(0), 1}}, 2), Rate::of(1.0 / 3));
}

// An iteration of two V100 takes 100 ms and, for 100 MB, 10 ms as a pair, 100 ms in a rack, 400 ms
// over the spine.
constexpr NetworkOptions kAnalytic = {.kind = NetworkKind::kAnalytic};
Cluster slow_racks() {
  Cluster cluster = two_racks();
  cluster.links = {.pair_gbps = 80, .node_gbps = 40, .rack_gbps = 8, .spine_gbps = 2};
  return cluster;
}
const char* const kTalkative =
    "models: [{name: m, rates: {V100: 4, K80: 1}, locality: {rack: 0.9},"
    "          communication: {bytes_mb: 100, compute_ms: 100}}]";

TEST(Speed, OfAnAnalyticNetworkIsThatOfOneNodeTimesTheRatioOfIterations) {
  const World world(slow_racks(), table_of(kTalkative), {{"m", 2}}, "", kAnalytic);
  EXPECT_EQ(world.rate({{NodeId(0), 2}}), Rate::one());
  EXPECT_EQ(world.rate({{NodeId(0), 1}, {NodeId(1), 1}}), Rate::of(110.0 / 200));
  EXPECT_EQ(world.rate({{NodeId(0), 1}, {NodeId(4), 1}}), Rate::of(110.0 / 500));
  EXPECT_EQ(world.locality({{NodeId(0), 1}, {NodeId(4), 1}}), Rate::of(100.0 / 500));
  EXPECT_EQ(world.speed.rate(JobId(0), kV100, 2, Tier::kSpine), Rate::of(110.0 / 500));
}

// A K80 computes for 400 ms, so communication weighs less.
TEST(Speed, OfAnAnalyticNetworkScalesComputationByTheSlowestType) {
  const World world(slow_racks(), table_of(kTalkative), {{"m", 2}}, "", kAnalytic);
  EXPECT_EQ(world.rate({{NodeId(2), 1}, {NodeId(3), 1}}), Rate::of(0.25 * 410 / 500));
  EXPECT_EQ(world.rate({{NodeId(0), 1}, {NodeId(3), 1}}), Rate::of(0.25 * 410 / 500));
  EXPECT_EQ(world.speed.iteration(JobId(0), std::vector<Slice>{{NodeId(2), 1}})->compute_ms, 400);
}

TEST(Speed, OfAnAnalyticNetworkFollowsCongestion) {
  const World world(slow_racks(), table_of(kTalkative), {{"m", 2}}, "",
                    {.kind = NetworkKind::kAnalytic, .congestion = {1, 1, 4, 1}});
  EXPECT_EQ(world.rate({{NodeId(0), 1}, {NodeId(1), 1}}), Rate::of(110.0 / 500));
}

// Eight GPUs need a rack: 175 MB take 175 ms in the trace and 700 ms with congestion.
TEST(Speed, CongestionSlowsAlsoGangsThatAlwaysCrossItsLinks) {
  const World world(slow_racks(), table_of(kTalkative), {{"m", 8}}, "",
                    {.kind = NetworkKind::kAnalytic, .congestion = {1, 1, 4, 1}});
  EXPECT_EQ(world.rate({{NodeId(0), 4}, {NodeId(1), 4}}), Rate::of(275.0 / 800));
}

TEST(Speed, StaysAsMeasuredWhereTheModelDoesNotSayWhatItCommunicates) {
  const char* const table =
      "models: [{name: m, rates: {V100: [{gpus: 2, consolidated: 4, spread: 1}]},"
      "          locality: {spine: 0.5}}]";
  const World profiled(slow_racks(), table_of(table), {{"m", 2}});
  const World analytic(slow_racks(), table_of(table), {{"m", 2}}, "", kAnalytic);
  for (std::size_t other : {0U, 1U, 4U}) {
    std::vector<Slice> gang = {{NodeId(0), 2}};
    if (other > 0) gang = {{NodeId(0), 1}, {NodeId(other), 1}};
    EXPECT_EQ(analytic.rate(gang), profiled.rate(gang)) << other;
    EXPECT_EQ(analytic.locality(gang), profiled.locality(gang)) << other;
    EXPECT_FALSE(analytic.speed.iteration(JobId(0), gang).has_value());
  }
}

TEST(Speed, AsMeasuredIgnoresWhatTheModelCommunicates) {
  const World world(slow_racks(), table_of(kTalkative), {{"m", 2}});
  EXPECT_EQ(world.rate({{NodeId(0), 1}, {NodeId(1), 1}}), Rate::of(0.9));
}

TEST(Speed, OfAnAnalyticNetworkKeepsGangsOffTypesWhereTheyDoNotFitWhenSpread) {
  const World world(slow_racks(),
                    table_of("models: [{name: m, rates: {V100: [{gpus: 1, consolidated: 4, "
                             "spread: 0}], K80: 1},"
                             "          communication: {bytes_mb: 100, compute_ms: 100}}]"),
                    {{"m", 2}}, "", kAnalytic);
  EXPECT_EQ(world.types(0), type_bit(kK80));
}

TEST(Speed, IsOneEverywhereForModelsWithoutAProfile) {
  const World world(two_racks(), builtin_models(), {{"", 2}, {"GPT", 2}, {"GPT", 2}});
  EXPECT_EQ(world.speed.models_unknown(), 2);
  for (std::size_t job : {0U, 1U, 2U}) {
    EXPECT_EQ(world.rate({{NodeId(2), 2}}, job), Rate::one());
    EXPECT_EQ(world.rate({{NodeId(0), 1}, {NodeId(6), 1}}, job), Rate::one());
    EXPECT_EQ(world.locality({{NodeId(0), 1}, {NodeId(6), 1}}, job), Rate::one());
    EXPECT_EQ(world.types(job), type_bit(kV100) | type_bit(kK80));
    EXPECT_EQ(world.speed.profile(JobId(job)), nullptr);
  }
}

TEST(Speed, TakesTheRowOfTheNextSmallerGangSize) {
  const SpeedTable table = table_of(
      "models: [{name: m, rates: {V100: [{gpus: 2, consolidated: 8}, {gpus: 4, consolidated: 6}],"
      "                           K80: 1}}]");
  const World world(two_racks(), table, {{"m", 4}});
  EXPECT_EQ(world.rate({{NodeId(0), 4}}), Rate::one());
  EXPECT_EQ(world.rate({{NodeId(0), 3}}), Rate::of(3 * 8.0 / 24));
  EXPECT_EQ(world.rate({{NodeId(0), 2}}), Rate::of(2 * 8.0 / 24));
  EXPECT_EQ(world.rate({{NodeId(0), 1}}), Rate::of(1 * 8.0 / 24)) << "below the first row";
  EXPECT_EQ(world.rate({{NodeId(0), 4}, {NodeId(1), 4}}), Rate::of(8 * 6.0 / 24));
}

TEST(Speed, OfATypeWithoutRowsIsTheSlowestKnownAboveZero) {
  const SpeedTable table = table_of("models: [{name: m, rates: {V100: 6, P100: 3, T4: 0}}]");
  const World world(two_racks(), table, {{"m", 1}});
  EXPECT_EQ(world.rate({{NodeId(2), 1}}), Rate::of(0.5));
}

TEST(Speed, FallsByTheLocalityOfTheWidestTier) {
  const SpeedTable table = table_of(
      "models: [{name: m, rates: {V100: 6},"
      "          locality: {pair: 1, node: 0.9, rack: 0.6, spine: 0.3}}]");
  const World world(two_racks(), table, {{"m", 4}, {"m", 2}});
  EXPECT_EQ(world.rate({{NodeId(0), 4}}), Rate::one()) << "a node is the best tier of four";
  const std::vector<Slice> rack = {{NodeId(0), 2}, {NodeId(1), 2}};
  const std::vector<Slice> spine = {{NodeId(0), 2}, {NodeId(4), 2}};
  EXPECT_EQ(world.rate(rack), Rate::of(4 * (6 * 0.6) / (4 * (6 * 0.9))));
  EXPECT_EQ(world.rate(spine), Rate::of(4 * (6 * 0.3) / (4 * (6 * 0.9))));
  EXPECT_EQ(world.locality(rack), world.rate(rack));
  EXPECT_EQ(world.locality(spine), world.rate(spine));
  EXPECT_EQ(world.locality({{NodeId(0), 4}}), Rate::one());
  EXPECT_EQ(world.rate({{NodeId(0), 1}, {NodeId(1), 1}}, 1), Rate::of(0.6));
  // A job that grew beyond a node loses nothing to its tier: no gang of that size does better.
  EXPECT_EQ(world.locality({{NodeId(0), 4}, {NodeId(1), 1}}), Rate::one());
}

TEST(Speed, PrefersAMeasuredSpreadToTheLocalityFactor) {
  const SpeedTable table = table_of(
      "models: [{name: m, rates: {V100: [{gpus: 2, consolidated: 10, spread: 7}]},"
      "          locality: {rack: 0.5, spine: 0.25}}]");
  const World world(two_racks(), table, {{"m", 2}});
  EXPECT_EQ(world.rate({{NodeId(0), 1}, {NodeId(1), 1}}), Rate::of(0.7));
  EXPECT_EQ(world.rate({{NodeId(0), 1}, {NodeId(4), 1}}), Rate::of(0.35));
}

TEST(Speed, MayBeHigherAtAWiderTierWithoutCountingAsAGain) {
  const SpeedTable table =
      table_of("models: [{name: m, rates: {V100: [{gpus: 2, consolidated: 10, spread: 12}]}}]");
  const World world(two_racks(), table, {{"m", 2}});
  EXPECT_EQ(world.rate({{NodeId(0), 1}, {NodeId(1), 1}}), Rate::of(1.2));
  EXPECT_EQ(world.locality({{NodeId(0), 1}, {NodeId(1), 1}}), Rate::one());
}

TEST(Speed, IsZeroWhereTheTableSaysInfeasible) {
  const SpeedTable table = table_of(
      "models:\n"
      "- {name: small, rates: {V100: 2, K80: 0}}\n"
      "- {name: huge, rates: {V100: 0, K80: 0}}\n"
      "- name: solo\n"
      "  rates: {V100: [{gpus: 1, consolidated: 2}, {gpus: 2, consolidated: 2, spread: 0}], K80: "
      "0}\n");
  const World world(two_racks(), table, {{"small", 1}, {"huge", 1}, {"solo", 4}, {"solo", 8}});
  EXPECT_EQ(world.rate({{NodeId(2), 1}}), Rate{0});
  EXPECT_EQ(world.rate({{NodeId(0), 1}, {NodeId(2), 1}}), Rate{0});
  EXPECT_EQ(world.types(0), type_bit(kV100));
  EXPECT_EQ(world.types(1), 0U);
  EXPECT_EQ(world.rate({{NodeId(0), 1}}, 1), Rate{0});
  EXPECT_EQ(world.types(2), 0U) << "a policy that ignores tiers would spread it";
  EXPECT_EQ(world.rate({{NodeId(0), 2}, {NodeId(1), 2}}, 2), Rate{0});
  EXPECT_EQ(world.locality({{NodeId(0), 2}, {NodeId(1), 2}}, 2), Rate{0});
  EXPECT_EQ(world.types(3), 0U) << "eight GPUs never share a node here";
}

TEST(Speed, RefersToTheFastestPossibleTypeWhereTheReferenceIsInfeasible) {
  const SpeedTable table = table_of("models: [{name: m, rates: {V100: 6, K80: 0}}]");
  const World world(two_racks(), table, {{"m", 1}}, "K80");
  EXPECT_EQ(world.speed.reference_type(), kK80);
  EXPECT_EQ(world.rate({{NodeId(0), 1}}), Rate::one());
}

TEST(Speed, RefersToTheTypeThatTheTraceNames) {
  const World world(two_racks(), builtin_models(),
                    {{"ResNet50", 1, "K80"}, {"ResNet50", 1, "p40"}, {"ResNet50", 1}}, "v100");
  EXPECT_EQ(world.rate({{NodeId(2), 1}}, 0), Rate::one());
  EXPECT_EQ(world.rate({{NodeId(0), 1}}, 0), Rate::of(5.14));
  EXPECT_EQ(world.rate({{NodeId(0), 1}}, 1), Rate::of(5.14 / 3.17))
      << "a type only the table knows";
  EXPECT_EQ(world.rate({{NodeId(0), 1}}, 2), Rate::one());
}

TEST(Speed, RefersToTheClustersFastestTypeByDefault) {
  const Cluster k80_first = *load_cluster("1xK80:4,1xV100:4");
  EXPECT_EQ(World(k80_first, builtin_models(), {{"VAE", 1}}).speed.reference_type(), GpuTypeId(1));
  EXPECT_EQ(World(k80_first, builtin_models(), {{"", 1}}).speed.reference_type(), GpuTypeId(0))
      << "all types are equal to jobs without a model";
  // Each model counts the same, whatever its unit: V100 scores 0.5 + 1, K80 1 + 0.9.
  const SpeedTable table = table_of(
      "models: [{name: a, rates: {V100: 1, K80: 2}}, {name: b, rates: {V100: 1000, K80: 900}}]");
  EXPECT_EQ(World(k80_first, table, {{"a", 1}, {"b", 1}}).speed.reference_type(), GpuTypeId(0));
  EXPECT_EQ(World(k80_first, table, {{"b", 1}}).speed.reference_type(), GpuTypeId(1));
}

TEST(Speed, HasNoReferenceTypeIdForATypeThatTheClusterLacks) {
  const World world(two_racks(), builtin_models(), {{"ResNet50", 1}}, "P100");
  EXPECT_TRUE(world.speed.reference_type().is_none());
  EXPECT_EQ(world.rate({{NodeId(0), 1}}), Rate::of(5.14 / 3.34));
}

TEST(Speed, RefusesAnUnknownReference) {
  EXPECT_EQ(make_error({{"VAE", 1}}, "A100"),
            "neither the cluster nor the table of models has the reference GPU type (known: k80, "
            "p100, p40, v100): A100");
  EXPECT_EQ(make_error({{"VAE", 1, "TPU"}}, ""), "no error") << "a row's type is repaired instead";
  EXPECT_EQ(make_error({{"VAE", 1, "P40"}}, "K80"), "no error");
}

TEST(Speed, KeepsExtremeSpeedsWithinTheRangeOfRate) {
  const SpeedTable table =
      table_of("models: [{name: m, rates: {V100: 1000000000000, K80: 0.000000001}}]");
  const World slow(two_racks(), table, {{"m", 1, "V100"}});
  EXPECT_EQ(slow.rate({{NodeId(2), 1}}), Rate{1}) << "feasible, however slow";
  const World fast(two_racks(), table, {{"m", 1, "K80"}});
  EXPECT_EQ(fast.rate({{NodeId(0), 1}}), Rate::of(1e6));
}

TEST(Speed, AnswersForPlacementsThatAreNotMade) {
  const World world(two_racks(), builtin_models(), {{"ResNet50", 2}, {"", 2}});
  EXPECT_EQ(world.speed.rate(JobId(0), kK80, 2, Tier::kRack), Rate::of(1 / 5.14));
  EXPECT_EQ(world.speed.rate(JobId(0), kV100, 1, Tier::kPair), Rate::of(0.5));
  EXPECT_EQ(world.speed.rate(JobId(1), kV100, 1, Tier::kPair), Rate::of(0.5));
}

// Random tables: two types, rows at sizes 1, 2, 4, some of them spread, some infeasible.
SpeedTable random_table() {
  const auto rate = rc::gen::map(rc::gen::inRange(0, 2000), [](int n) { return n / 64.0; });
  SpeedTable table;
  ModelProfile model;
  model.name = "m";
  for (const char* type : {"V100", "K80"}) {
    TypeRates rates = {type, {}};
    for (std::uint32_t gpus : {1U, 2U, 4U}) {
      RateRow row = {gpus, *rate, {}};
      if (*rc::gen::arbitrary<bool>()) row.spread = *rate;
      rates.rows.push_back(row);
    }
    model.rates.push_back(std::move(rates));
  }
  model.locality = {1, 0.9375, 0.75, 0.5};
  table.models.push_back(std::move(model));
  return table;
}

void scale(SpeedTable& table, double factor) {
  for (TypeRates& rates : table.models[0].rates) {
    for (RateRow& row : rates.rows) {
      row.consolidated *= factor;
      if (row.spread) *row.spread *= factor;
    }
  }
}

const std::vector<std::vector<Slice>> kGangs = {
    {{NodeId(0), 1}},
    {{NodeId(2), 3}},
    {{NodeId(0), 2}, {NodeId(2), 2}},
    {{NodeId(0), 4}, {NodeId(6), 1}},
    {{NodeId(1), 1}, {NodeId(3), 1}, {NodeId(5), 1}},
};

RC_GTEST_PROP(SpeedProperty, TheReferenceGangRunsAtExactlyOne, ()) {
  const auto gpus = *rc::gen::inRange<std::uint32_t>(1, 5);
  const bool on_k80 = *rc::gen::arbitrary<bool>();
  const World world(two_racks(), random_table(), {{"m", gpus}}, on_k80 ? "K80" : "V100");
  const std::vector<Slice> gang = {{NodeId(on_k80 ? 2U : 0U), static_cast<std::uint16_t>(gpus)}};
  RC_PRE(world.rate(gang).fixed != 0);
  RC_ASSERT(world.rate(gang) == Rate::one());
}

RC_GTEST_PROP(SpeedProperty, TheUnitOfATableDoesNotMatter, ()) {
  SpeedTable table = random_table();
  const auto gpus = *rc::gen::inRange<std::uint32_t>(1, 9);
  const World before(two_racks(), table, {{"m", gpus}}, "K80");
  scale(table, *rc::gen::inRange(1, 1'000'000) / 1000.0);
  const World after(two_racks(), table, {{"m", gpus}}, "K80");
  RC_ASSERT(before.types(0) == after.types(0));
  for (const std::vector<Slice>& gang : kGangs) {
    // Scaling rounds in the 53rd bit, so a speed may fall on the other side of half a step.
    RC_ASSERT(std::abs(before.rate(gang).fixed - after.rate(gang).fixed) <= 1);
  }
}

RC_GTEST_PROP(SpeedProperty, AMixedGangIsNoFasterThanEitherType, ()) {
  const World world(two_racks(), random_table(), {{"m", *rc::gen::inRange<std::uint32_t>(1, 9)}});
  for (const std::vector<Slice>& gang : kGangs) {
    const Tier tier = world.cluster.tier_of(gang);
    for (Slice slice : gang) {
      const GpuTypeId type = world.cluster.node_type[slice.node];
      RC_ASSERT(world.rate(gang) <= world.speed.rate(JobId(0), type, gpus_of(gang), tier));
    }
  }
}

RC_GTEST_PROP(SpeedProperty, AGangOfOneTypeRunsAtTheRateOfThatType, ()) {
  const World world(two_racks(), random_table(), {{"m", *rc::gen::inRange<std::uint32_t>(1, 9)}});
  for (const std::vector<Slice>& gang :
       {std::vector<Slice>{{NodeId(0), 3}}, {{NodeId(0), 1}, {NodeId(5), 2}}}) {
    RC_ASSERT(world.rate(gang) ==
              world.speed.rate(JobId(0), kV100, gpus_of(gang), world.cluster.tier_of(gang)));
  }
}

}  // namespace
}  // namespace fairlead
