#include "fairlead/policy/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

namespace fairlead {
namespace {

std::string error_of(std::string_view text) {
  const auto choice = parse_policy(text, 0);
  if (!choice) return choice.error().message;
  const auto policy = choice->make();
  return policy ? "no error" : policy.error().message;
}

std::string canonical(std::string_view text) {
  const auto choice = parse_policy(text, 0);
  return choice ? choice->options.canonical() : choice.error().message;
}

TEST(Registry, ListsPoliciesByName) {
  EXPECT_TRUE(std::ranges::is_sorted(all_policies(), {}, &PolicyEntry::name));
  EXPECT_EQ(find_policy("tiresias")->name, "tiresias");
  EXPECT_EQ(find_policy("tyresias"), nullptr);
}

TEST(Registry, EveryPolicyIsMadeFromItsDefaultsUnderItsName) {
  for (const PolicyEntry* entry : all_policies()) {
    const auto choice = parse_policy(entry->name, 7);
    ASSERT_TRUE(choice.has_value()) << choice.error().message;
    EXPECT_EQ(choice->options.seed(), 7U);
    const auto policy = choice->make();
    ASSERT_TRUE(policy.has_value()) << policy.error().message;
    EXPECT_EQ((*policy)->name(), entry->name);
  }
}

TEST(Registry, EveryDefaultIsAValidValueAndEveryOptionExplained) {
  for (const PolicyEntry* entry : all_policies()) {
    for (const OptionSpec& option : entry->options) {
      const std::string text = fmt::format("{}:{}={}", entry->name, option.name, option.fallback);
      EXPECT_EQ(canonical(text), canonical(entry->name)) << text;
      EXPECT_FALSE(option.help.empty()) << text;
    }
  }
}

TEST(Registry, GivenOptionsReplaceDefaultsInTheOrderOfTheSpecs) {
  EXPECT_EQ(canonical("fifo"),
            "placement=count,mixed=false,skip=false,backfill=none,backfill_jobs=500");
  EXPECT_EQ(canonical("fifo:skip=true,placement=yarn"),
            "placement=yarn,mixed=false,skip=true,backfill=none,backfill_jobs=500");
  EXPECT_EQ(canonical("yarn-cs"), "placement=yarn,mixed=false,skip=false");
}

TEST(Registry, EqualValuesHaveOneText) {
  EXPECT_EQ(canonical("tiresias:limits=0250.0/1e3,promote=2.50"),
            canonical("tiresias:limits=250/1000,promote=2.5"));
}

TEST(Registry, UnknownNamesAreAnsweredWithTheNearestFirst) {
  EXPECT_TRUE(error_of("tiresis").starts_with("no such policy (there are: tiresias, "));
  EXPECT_TRUE(error_of("tiresis").ends_with(": tiresis"));
  EXPECT_EQ(error_of("fifo:skp=true"),
            "policy fifo has no such option (it has: skip, mixed, backfill, placement, "
            "backfill_jobs, decision_budget): skp");
}

TEST(Registry, ValuesAreCheckedByTypeAndRange) {
  EXPECT_EQ(error_of("fifo:skip=yes"), "policy fifo: option skip must be true or false: yes");
  EXPECT_TRUE(error_of("fifo:placement=best")
                  .starts_with("policy fifo: option placement must be one of best-fit, "));
  EXPECT_EQ(error_of("las:quantum_s=0"),
            "policy las: option quantum_s must be a whole number from 1 to 86400 seconds: 0");
  EXPECT_EQ(error_of("las:quantum_s=1.5"),
            "policy las: option quantum_s must be a whole number from 1 to 86400 seconds: 1.5");
  EXPECT_EQ(error_of("tiresias:promote=-1"),
            "policy tiresias: option promote must be a number from 0 to 1000 times the running "
            "time: -1");
  EXPECT_EQ(error_of("tiresias:limits=10//20"),
            "policy tiresias: option limits must be numbers from 1 to 1000000000 GPU-seconds or "
            "seconds, separated by '/': 10//20");
}

TEST(Registry, ValuesAreReadInTheirUnitsAndChoicesByTheirPlace) {
  const auto choice = parse_policy("dally:node_s=7,preempt=network", 0);
  ASSERT_TRUE(choice.has_value()) << choice.error().message;
  const PolicyOptions& options = choice->options;
  EXPECT_EQ(options.duration("node_s"), seconds(7));
  EXPECT_EQ(options.choice("preempt", {0, 1, 2, 3}), 2);  // none/las/network/both
  EXPECT_TRUE(options.is("preempt", "network"));
  EXPECT_FALSE(options.is("preempt", "both"));
  const auto slurm = parse_policy("slurm:priority_max_age_h=2", 0);
  ASSERT_TRUE(slurm.has_value()) << slurm.error().message;
  EXPECT_EQ(slurm->options.duration("priority_max_age_h"), hours(2));
}

TEST(RegistryDeathTest, AnOptionIsReadAsWhatItIs) {
  const auto choice = parse_policy("gandiva-fair", 0);
  ASSERT_TRUE(choice.has_value()) << choice.error().message;
  const PolicyOptions& options = choice->options;
  EXPECT_DEATH(options.integer("machine"), "no option machine");
  EXPECT_DEATH(options.integer("gain"), "option gain has another type");
  EXPECT_DEATH(options.duration("trade_quanta"), "option trade_quanta is not a duration");
  EXPECT_DEATH(options.is("turns", "all"), "option turns is never all");
  EXPECT_DEATH(options.choice("turns", {0, 1}), "option turns has 3 choices, not 2");
}

TEST(Registry, MalformedOptionsAreErrors) {
  EXPECT_EQ(error_of("fifo:skip"), "policy fifo: write skip=VALUE: skip");
  EXPECT_EQ(error_of("fifo:skip=true,skip=true"), "policy fifo: the option is given twice: skip");
  EXPECT_EQ(
      error_of("fifo:"),
      "policy fifo has no such option (it has: skip, mixed, backfill, placement, backfill_jobs, "
      "decision_budget): ");
  EXPECT_TRUE(error_of("").starts_with("no such policy"));
}

TEST(Registry, PoliciesCheckWhatOnlyTheyCan) {
  EXPECT_EQ(error_of("tiresias:limits=20/10"), "policy tiresias: limits must increase: 20/10");
  EXPECT_EQ(error_of("tiresias:limits=1.5"), "policy tiresias: limits must be whole numbers: 1.5");
  EXPECT_NE(error_of("tiresias:gittins=true,gittins_file=no/such/file"), "no error");
  EXPECT_NE(error_of("tiresias:gittins_file=no/such/file"), "no error");
}

TEST(Registry, EveryPolicyHasABudget) {
  const auto choice = parse_policy("fifo:decision_budget=050,skip=true", 0);
  ASSERT_TRUE(choice);
  EXPECT_TRUE(choice->options.canonical().ends_with(",decision_budget=50"));
  EXPECT_EQ(choice->make().value()->decision_budget(), 50);
  const auto none = parse_policy("fifo:decision_budget=0", 0);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->options.canonical(), parse_policy("fifo", 0)->options.canonical())
      << "journals without a budget are as they were";
  EXPECT_EQ(with_budget("fifo", 7), "fifo:decision_budget=7");
  EXPECT_EQ(with_budget("fifo:skip=true", 7), "fifo:skip=true,decision_budget=7");
  EXPECT_EQ(with_budget("fifo:decision_budget=0", 7), "fifo:decision_budget=0");
}

}  // namespace
}  // namespace fairlead
