#include "fairlead/model/type_ratios.h"

#include "fairlead/input/cluster_file.h"
#include "fairlead/model/cluster_build.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fairlead {
namespace {

constexpr GpuTypeId kA(0);
constexpr GpuTypeId kB(1);
constexpr GpuTypeId kC(2);

Cluster three_types() { return *parse_cluster_shorthand("1xA:4,1xB:4,1xC:8"); }

const GpuFactors kFactors{
    .source = "test", .types = {{.gpu_type = "A", .factor = 1}, {.gpu_type = "B", .factor = 4}}};

constexpr double kRounding = 1e-11;  // that logarithms in units of 1e-12 allow

TEST(TypeRatios, AreOneWhereNothingTellsOfThem) {
  const Cluster cluster = three_types();
  const TypeRatios ratios(cluster, {});
  EXPECT_EQ(ratios.ratio(kA, kB), 1);
  EXPECT_EQ(ratios.against_mean(kC), 1);
}

TEST(TypeRatios, AreThoseOfTheModelsThatWereMeasuredOnBoth) {
  const Cluster cluster = three_types();
  TypeRatios ratios(cluster, {});
  ratios.see(0, kA, 3);
  EXPECT_EQ(ratios.ratio(kB, kA), 1);
  ratios.see(0, kB, 6);
  EXPECT_NEAR(ratios.ratio(kB, kA), 2, kRounding);
  EXPECT_NEAR(ratios.ratio(kA, kB), 0.5, kRounding);
  ratios.see(7, kB, 0.8);
  ratios.see(7, kA, 0.1);  // gains 8, so the geometric mean is 4
  EXPECT_NEAR(ratios.ratio(kB, kA), 4, kRounding);
  EXPECT_EQ(ratios.ratio(kC, kA), 1);
}

TEST(TypeRatios, DoNotDependOnEarlierMeasurements) {
  const Cluster cluster = three_types();
  TypeRatios now(cluster, kFactors);
  TypeRatios restored(cluster, kFactors);
  now.see(0, kB, 1.1);
  for (int i = 1; i < 100; ++i) now.see(0, kA, i / 7.0);
  for (TypeRatios* ratios : {&now, &restored}) {
    ratios->see(0, kB, 1.1);
    ratios->see(0, kA, 0.3);
  }
  EXPECT_EQ(now.ratio(kB, kA), restored.ratio(kB, kA));
}

TEST(TypeRatios, CountAModelOnce) {
  const Cluster cluster = three_types();
  TypeRatios ratios(cluster, {});
  ratios.see(0, kA, 1);
  ratios.see(0, kB, 5);
  ratios.see(0, kB, 2);
  EXPECT_NEAR(ratios.ratio(kB, kA), 2, kRounding);
  ratios.see(0, kB, 0);
  EXPECT_EQ(ratios.ratio(kB, kA), 1);
}

TEST(TypeRatios, AreThoseOfTheTableUntilModelsAreMeasured) {
  const Cluster cluster = three_types();
  TypeRatios ratios(cluster, kFactors);
  EXPECT_NEAR(ratios.ratio(kB, kA), 4, kRounding);
  EXPECT_EQ(ratios.ratio(kC, kA), 1);
  ratios.see(0, kA, 1);
  ratios.see(0, kB, 1);  // the table counts as one more model: 4 and 1
  EXPECT_NEAR(ratios.ratio(kB, kA), 2, kRounding);
}

// 16 GPUs: 4 are four times as slow, 4 are equally fast, and 8 have no information.
TEST(TypeRatios, AgainstTheMeanCountEachGpu) {
  const Cluster cluster = three_types();
  const TypeRatios ratios(cluster, kFactors);
  EXPECT_NEAR(ratios.against_mean(kB), std::pow(4, 0.25), kRounding);
  EXPECT_NEAR(ratios.against_mean(kA), std::pow(4, -0.25), kRounding);
}

TEST(TypeRatios, TypesOfOneProductAreAlike) {
  const Cluster cluster = *build_cluster("c", {},
                                         {{.name = "a", .gpu_type = "V100/pool=a", .gpus = 4},
                                          {.name = "b", .gpu_type = "V100", .gpus = 4},
                                          {.name = "k", .gpu_type = "K80", .gpus = 4}});
  TypeRatios ratios(cluster, {});
  ratios.see(0, kB, 6);
  ratios.see(0, kC, 2);
  EXPECT_EQ(ratios.ratio(kA, kB), 1);
  EXPECT_NEAR(ratios.ratio(kA, kC), 3, kRounding);
  EXPECT_NEAR(ratios.ratio(kC, kB), 1 / 3., kRounding);
}

}  // namespace
}  // namespace fairlead
