#include "fairlead/compare/sweep.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

using Texts = std::vector<std::string>;

Texts values_of(const char* text) {
  const auto sweep = parse_sweep(text);
  return sweep ? sweep->values : Texts{sweep.error().message};
}

TEST(Sweep, TakesAListOfValues) {
  EXPECT_EQ(values_of("load=0.5, 0.9,1"), (Texts{"0.5", "0.9", "1"}));
  EXPECT_EQ(values_of("models=slides"), Texts{"slides"});
  EXPECT_EQ(parse_sweep("tiresias.limits=100/200,5")->key, "tiresias.limits");
  EXPECT_EQ(values_of("tiresias.limits=100/200,5"), (Texts{"100/200", "5"}));
}

TEST(Sweep, SpacesValuesEvenlyWithBothEnds) {
  EXPECT_EQ(values_of("load=0.1..0.5/5"), (Texts{"0.1", "0.2", "0.3", "0.4", "0.5"}));
  EXPECT_EQ(values_of("mtbf_h=10..0/3"), (Texts{"10", "5", "0"}));
  EXPECT_EQ(values_of("bin_s=1..1000000/2"), (Texts{"1", "1000000"}));
  EXPECT_EQ(values_of("load=2..3/1"), Texts{"2"});
}

TEST(Sweep, TakesWhatOnlyLooksLikeARangeAsText) {
  EXPECT_EQ(values_of("models=../models/a.yaml"), Texts{"../models/a.yaml"});
  EXPECT_EQ(values_of("tiresias.limits=1/2..3"), Texts{"1/2..3"});
}

TEST(Sweep, RefusesWhatHasNoValuesOrTooMany) {
  for (const char* text : {"load", "=1", "load=", "", "load=1..2/0", "load=1..2/20000"}) {
    EXPECT_TRUE(values_of(text).front().starts_with("--sweep")) << text;
  }
  EXPECT_EQ(values_of("load=1,1").front(), "--sweep load has a value twice: 1");
  EXPECT_EQ(values_of("load=1..1/2").front(), "--sweep load has a value twice: 1");
}

TEST(Sweep, WithoutAnyThereIsOnePoint) {
  const auto points = points_of({}, {"fifo", "las"});
  ASSERT_TRUE(points);
  ASSERT_EQ(points->size(), 1u);
  EXPECT_EQ(points->front().folder, "");
  EXPECT_EQ(points->front().policies, (Texts{"fifo", "las"}));
}

TEST(Sweep, SpansAllCombinationsTheLastFastest) {
  const auto points = points_of({{"load", {"0.5", "1"}}, {"tiresias.skip", {"true", "false"}}},
                                {"fifo", "tiresias", "tiresias:limits=5"});
  ASSERT_TRUE(points) << points.error().message;
  ASSERT_EQ(points->size(), 4u);
  const SweepPoint& second = (*points)[1];
  EXPECT_EQ(second.folder, "load=0.5/tiresias.skip=false");
  EXPECT_EQ(second.settings, Texts{"load=0.5"});
  EXPECT_EQ(second.policies,
            (Texts{"fifo", "tiresias:skip=false", "tiresias:limits=5,skip=false"}));
  EXPECT_EQ((*points)[2].folder, "load=1/tiresias.skip=true");
  EXPECT_EQ(second.values.back(), (std::pair<std::string, std::string>("tiresias.skip", "false")));
}

std::string error_of(const std::vector<Sweep>& sweeps, const Texts& policies) {
  const auto points = points_of(sweeps, policies);
  return points ? "" : points.error().message;
}

TEST(Sweep, RefusesPoliciesThatAreNotComparedAndOptionsThatAreSet) {
  EXPECT_EQ(error_of({{"tiresia.limits", {"5"}}}, {"fifo", "tiresias"}),
            "--sweep: no such policy is compared (there are: tiresias, fifo): tiresia");
  EXPECT_EQ(error_of({{"las.b", {"5"}}}, {"las:a=1,b=2"}),
            "--sweep las.b: --policies sets the option already: las:a=1,b=2");
  EXPECT_EQ(error_of({{"load", {"1"}}, {"load", {"2"}}}, {"las"}),
            "--sweep names a key twice: load");
  const Sweep wide{"load", Texts(1000, "1")};
  EXPECT_NE(error_of({wide, {"mtbf_h", wide.values}}, {"las"}).find("more than"),
            std::string::npos);
}

TEST(Sweep, FolderNamesHaveNothingThatAPathOrAShellCouldMistake) {
  EXPECT_EQ(folder_names({"fifo", "las:a=1/2,b", "fifo", "$(x) '*", ".."}),
            (Texts{"fifo", "las-a=1-2-b", "fifo~2", "--x----", "-."}));
}

}  // namespace
}  // namespace fairlead
