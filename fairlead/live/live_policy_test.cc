#include "fairlead/live/live_policy.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(LivePolicy, HasCanonicalOptions) {
  const auto made = make_live_policy("gang-stride:quantum_s=060", 1);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->policy->name(), "gang-stride");
  EXPECT_NE(made->options.find("quantum_s=60"), std::string::npos) << made->options;
}

TEST(LivePolicy, HasABudgetUnlessItsTextHasOne) {
  EXPECT_EQ(make_live_policy("fifo", 1)->policy->decision_budget(), kLiveBudget);
  const auto unlimited = make_live_policy("fifo:decision_budget=0", 1);
  EXPECT_EQ(unlimited->policy->decision_budget(), 0);
  EXPECT_EQ(unlimited->options.find("decision_budget"), std::string::npos);
}

TEST(LivePolicy, ReportsUnknownPoliciesAndOptions) {
  EXPECT_FALSE(make_live_policy("gang-strides", 1));
  EXPECT_FALSE(make_live_policy("gang-stride:quantum_s=0", 1));
}

}  // namespace
}  // namespace fairlead
