#include "fairlead/policy/kit/upgrading.h"

#include "testing/steps.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

using Lines = std::vector<std::string>;

// `fast` has a fourth of its speed on the K80; `even` runs as fast there.
constexpr std::string_view kModels =
    "models:\n"
    "  - {name: fast, rates: {K80: 0.25, V100: 1}}\n"
    "  - {name: even, rates: {K80: 1, V100: 1}}\n";

// n0 has two K80, n1 two V100.
Happened on_two_types(const std::vector<TestJob>& jobs, std::string_view policy) {
  return happens(load_cluster("1xK80:2,1xV100:2").value(), jobs, policy, 1'000'000, kModels);
}

TEST(Upgrading, StartsAJobOnTheFastestFreeType) {
  const std::vector<TestJob> jobs = {{.gpus = 2, .model = "fast"}, {.gpus = 2, .model = "fast"}};
  for (const std::string policy : {"srsf", "srtf", "smallest", "las", "tiresias", "themis"}) {
    SCOPED_TRACE(policy);
    const Happened happened = on_two_types(jobs, policy + ":upgrade=true");
    ASSERT_GE(happened.steps.size(), 2u);
    EXPECT_EQ(happened.steps[0], "0s j0 n1:2");
    EXPECT_EQ(happened.steps[1], "0s j1 n0:2");
    EXPECT_EQ(happened.problems, Lines{});
    EXPECT_EQ(on_two_types(jobs, policy).steps[0], "0s j0 n0:2");
  }
}

// j0 ends on the V100 at 1,000 s, when j1 has done 250 s of its work.
TEST(Upgrading, MovesAJobUpWhenAFasterTypeIsFree) {
  const Happened happened =
      on_two_types({{.gpus = 2, .model = "fast"}, {.gpus = 2, .work_s = 2000, .model = "fast"}},
                   "srsf:upgrade=true");
  EXPECT_EQ(happened.steps, (Lines{"0s j0 n1:2", "0s j1 n0:2", "1000s j1 stop", "1000s j1 n1:2"}));
  EXPECT_EQ(happened.finishes, (Lines{"1000s j0", "2750s j1"}));
  EXPECT_EQ(happened.problems, Lines{});
}

TEST(Upgrading, MovesNoJobThatGainsNothingOrMustStay) {
  const Happened even =
      on_two_types({{.gpus = 2, .model = "fast"}, {.gpus = 2, .work_s = 2000, .model = "even"}},
                   "srsf:upgrade=true");
  EXPECT_EQ(even.steps, (Lines{"0s j0 n1:2", "0s j1 n0:2"}));
  const Happened pinned =
      on_two_types({{.gpus = 2, .model = "fast"},
                    {.gpus = 2, .work_s = 2000, .model = "fast", .pinned = kPinnedAlways}},
                   "srsf:upgrade=true");
  EXPECT_EQ(pinned.steps, (Lines{"0s j0 n1:2", "0s j1 n0:2"}));
}

// Two nodes of one V100 are faster, but the gang has one node.
TEST(Upgrading, SpreadsNoGangOverMoreNodes) {
  const Happened happened =
      happens(load_cluster("1xK80:2,2xV100:1").value(), {{.gpus = 2, .model = "fast"}},
              "srsf:upgrade=true", 1'000'000, kModels);
  EXPECT_EQ(happened.steps, Lines{"0s j0 n0:2"});
}

TEST(Upgrading, NeedsTheSpeeds) {
  const auto choice = parse_policy("tiresias:upgrade=true", 0);
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->make().value()->needs().rates, RatesNeeded::kTable);
  EXPECT_NE(parse_policy("tiresias", 0)->make().value()->needs().rates, RatesNeeded::kTable);
}

}  // namespace
}  // namespace fairlead
