#include "fairlead/model/unknown_speed.h"

#include "fairlead/input/cluster_file.h"
#include "fairlead/input/models_file.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

const SpeedTable kTable = *parse_models_yaml(
    "models: [{name: m, rates: {K80: 1, V100: 4}},"
    "         {name: e, rates: {V100: 2, A100: {rate: 5, estimated: by hand}}}]",
    "test");

const GpuFactors kFactors = *parse_gpu_types_yaml(
    "{source: test, types: [{name: K80, factor: 1}, {name: V100, factor: 3},"
    " {name: A100, factor: 9}]}",
    "test");

struct Asked {
  std::string model = "m";
  std::string reference = "";
  std::string runs_on = "";
};

struct World {
  explicit World(std::string_view spec, UnknownSpeed rule, const std::vector<Asked>& asked,
                 std::string_view reference = "")
      : World(*load_cluster(std::string(spec)), rule, asked, reference) {}

  World(Cluster c, UnknownSpeed rule, const std::vector<Asked>& asked, std::string_view reference)
      : cluster(std::move(c)) {
    WorkloadBuilder builder("test", Reading::kStrict);
    int id = 0;
    for (const Asked& job : asked) {
      const std::string name = std::to_string(id++);
      EXPECT_TRUE(builder.add({.id = name,
                               .model = job.model,
                               .duration = seconds(1),
                               .gpu_type = job.reference,
                               .runs_on = job.runs_on},
                              "test"));
    }
    workload = builder.finish();
    speed = Speed::make(cluster, kTable, workload, reference, {}, {rule, kFactors});
  }
  double rate(std::size_t job, std::size_t type) const {
    return speed->rate(JobId(job), GpuTypeId(type), 1, Tier::kPair).value();
  }
  std::string error() const { return speed ? "" : speed.error().message; }

  Cluster cluster;
  Workload workload;
  Result<Speed> speed;
};

TEST(UnknownSpeed, IsRefusedByDefaultAndSaysWhatToDo) {
  EXPECT_EQ(UnknownSpeeds().rule, UnknownSpeed::kError);
  const World world("1xV100:4,1xA100:4", UnknownSpeed::kError, {{"m"}, {"m"}, {"none"}});
  EXPECT_EQ(world.error(),
            "speeds are missing in the table of models; take another table (fairlead models lists "
            "them; --set models=TABLE or FILE), or choose an assumption (--set "
            "unknown_speed=generic, slowest or 1): m on A100 (2 jobs)");
}

TEST(UnknownSpeed, OfTheReferenceTypeIsRefusedToo) {
  const World world("1xV100:4", UnknownSpeed::kError, {{"m", "A100"}, {"e", "A100"}});
  EXPECT_NE(world.error().find("m on A100 (1 job)"), std::string::npos) << world.error();
}

// All that the rate decides there is how long a job takes that was measured on the very same GPUs.
TEST(UnknownSpeed, DoesNotMatterOnTheOnlyProductThatDurationsReferTo) {
  const World world(*parse_cluster_yaml("racks: [{nodes: [{gpu_type: A100/pool=a, gpus: 4},"
                                        "                 {gpu_type: A100/pool=b, gpus: 4}]}]",
                                        "lab"),
                    UnknownSpeed::kError, {{"m"}}, "");
  ASSERT_EQ(world.error(), "");
  EXPECT_EQ(world.rate(0, 0), 1);
  EXPECT_EQ(world.rate(0, 1), 1);
  EXPECT_TRUE(world.speed->assumed().empty());
}

TEST(UnknownSpeed, DoesNotMatterWhereTheJobMayNotRun) {
  EXPECT_EQ(World("1xV100:4,1xA100:4", UnknownSpeed::kError, {{"m", "", "V100"}}).error(), "");
}

TEST(UnknownSpeed, IsTheSlowestKnownOneWhereAsked) {
  const World world("1xV100:4,1xA100:4", UnknownSpeed::kSlowest, {{"m"}});
  ASSERT_EQ(world.error(), "");
  EXPECT_EQ(world.rate(0, 0), 1);
  EXPECT_EQ(world.rate(0, 1), 0.25);
  EXPECT_EQ(world.speed->assumed(),
            (std::vector<AssumedSpeed>{{"m", "A100", "as slow as on its slowest type", 1}}));
}

TEST(UnknownSpeed, IsScaledFromTheNearestTypeWhereAsked) {
  const World world("1xV100:4,1xA100:4", UnknownSpeed::kGeneric, {{"m"}}, "V100");
  ASSERT_EQ(world.error(), "");
  EXPECT_EQ(world.rate(0, 0), 1);
  EXPECT_EQ(world.rate(0, 1), 3) << "9 / 3 times the V100, though the K80 is known too";
  EXPECT_EQ(world.speed->assumed().at(0).as, "3 times that on V100, by the table of GPU types");
}

TEST(UnknownSpeed, OfAModelWithoutARowIsThatOfTheTableOfGpuTypesWhereAsked) {
  const World world("1xV100:4,1xA100:4", UnknownSpeed::kGeneric, {{"none"}, {""}, {"none", "A100"}},
                    "V100");
  ASSERT_EQ(world.error(), "");
  for (std::size_t job : {std::size_t{0}, std::size_t{1}}) {
    EXPECT_EQ(world.rate(job, 0), 1);
    EXPECT_EQ(world.rate(job, 1), 3);
  }
  EXPECT_NEAR(world.rate(2, 0), 1 / 3.0, 1e-6);
  EXPECT_EQ(world.speed->models_unknown(), 0);
  EXPECT_EQ(world.speed->assumed().at(0).model, "any other model");
  EXPECT_EQ(World("1xV100:4,1xA100:4", UnknownSpeed::kError, {{"none"}}).rate(0, 1), 1);
}

TEST(UnknownSpeed, OfAModelIsThatOfTheRowForSuchNames) {
  const SpeedTable table = *parse_models_yaml(
      "models: [{name: first, also: [llama], rates: {V100: 1, A100: 2}},"
      "         {name: llama-2, rates: {V100: 1, A100: 3}}]",
      "test");
  EXPECT_EQ(table.find_alike("Llama-3-8B")->name, "first");
  EXPECT_EQ(table.find_alike("qwen"), nullptr);
  World world("1xV100:4,1xA100:4", UnknownSpeed::kError, {{"Llama-3-8B"}, {"llama-2"}}, "V100");
  world.speed = Speed::make(world.cluster, table, world.workload, "V100", {}, {});
  ASSERT_EQ(world.error(), "");
  EXPECT_EQ(world.rate(0, 1), 2);
  EXPECT_EQ(world.rate(1, 1), 3) << "a row of the same name comes first";
  ASSERT_EQ(world.speed->assumed().size(), 2U) << "both types of the first job";
  EXPECT_EQ(world.speed->assumed().at(0).model, "Llama-3-8B");
  EXPECT_EQ(world.speed->assumed().at(0).as, "as first, by its name");
}

TEST(UnknownSpeed, IsRefusedWhereTheTableOfGpuTypesDoesNotHaveIt) {
  const World world("1xV100:4,1xTPU:4", UnknownSpeed::kGeneric, {{"m"}});
  EXPECT_EQ(world.error(),
            "speeds are missing in the table of models and in the table of GPU types (fairlead "
            "models lists both; give speeds by --set models=FILE): m on TPU (1 job)");
}

TEST(UnknownSpeed, IsThatOfTheReferenceTypeWhereAsked) {
  const World world("1xK80:4,1xV100:4,1xA100:4", UnknownSpeed::kOne, {{"m"}, {"m", "K80"}}, "V100");
  ASSERT_EQ(world.error(), "");
  EXPECT_EQ(world.rate(0, 2), 1);
  EXPECT_EQ(world.rate(1, 2), 4) << "its duration is that on a K80";
  EXPECT_EQ(world.speed->assumed(),
            (std::vector<AssumedSpeed>{{"m", "A100", "as fast as on V100", 2}}));
}

TEST(UnknownSpeed, EstimatesAreNamedWhateverTheRule) {
  const World world("1xV100:4,1xA100:4", UnknownSpeed::kError, {{"e"}});
  ASSERT_EQ(world.error(), "");
  EXPECT_NEAR(world.rate(0, 0), 0.4, 1e-9);
  EXPECT_EQ(world.speed->assumed(), (std::vector<AssumedSpeed>{{"e", "A100", "by hand", 1}}));
}

TEST(ScaledFrom, FindsProductsAndIgnoresCase) {
  const std::string known[] = {"k80", "v100/pool=b"};
  const auto scaled = scaled_from(kFactors, "a100/pool=a", known);
  ASSERT_TRUE(scaled);
  EXPECT_EQ(scaled->known, 1U);
  EXPECT_EQ(scaled->factor, 3);
  EXPECT_FALSE(scaled_from(kFactors, "TPU", known));
  EXPECT_FALSE(scaled_from(kFactors, "A100", {}));
}

}  // namespace
}  // namespace fairlead
