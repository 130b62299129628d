#include "fairlead/pods/other_resources.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

constexpr NodeId kNode{0};
constexpr JobId kJob{3};

class OtherResourcesTest : public testing::Test {
 protected:
  std::uint32_t tasks() const { return resources_.limits().most_tasks(kJob, kNode); }

  OtherResources resources_;
};

TEST_F(OtherResourcesTest, ThePodsOfOthersLeaveLessForGangs) {
  resources_.set_needs(kJob, {{"cpu", 16'000}, {"pods", 1000}});
  EXPECT_TRUE(resources_.take_news());
  EXPECT_FALSE(resources_.take_news());
  EXPECT_TRUE(resources_.set_offer(kNode, {{{"cpu", 96'000}, {"pods", 110'000}}}));
  EXPECT_EQ(tasks(), 6U);
  EXPECT_FALSE(
      resources_.set_offer(kNode, {{{"cpu", 96'000}, {"pods", 110'000}}, {{"cpu", 20'000}}}));
  EXPECT_EQ(tasks(), 4U);
  EXPECT_TRUE(
      resources_.set_offer(kNode, {{{"cpu", 96'000}, {"pods", 110'000}}, {{"cpu", 10'000}}}))
      << "room that comes back is news";
}

TEST_F(OtherResourcesTest, APlacedGangThatHasMoreThanIsKnownOfItLeavesLess) {
  resources_.set_needs(kJob, {{"cpu", 10'000}});
  resources_.set_offer(kNode, {{{"cpu", 40'000}}, {{"cpu", 12'000}}, resources_.needs_of(kJob)});
  EXPECT_EQ(tasks(), 3U) << "the engine counts 10 of the 12, so 38 are offered";
}

TEST_F(OtherResourcesTest, ANodeHasEachPortOnce) {
  resources_.set_needs(kJob, {{"hostPort 8080/TCP", 1000}});
  resources_.set_offer(kNode, {{}});
  EXPECT_EQ(tasks(), 1U);
  resources_.set_offer(kNode, {{}, {{"hostPort 8080/TCP", 1000}}});
  EXPECT_EQ(tasks(), 0U);
}

TEST_F(OtherResourcesTest, AJobThatIsForgottenIsNotLimited) {
  resources_.set_needs(kJob, {{"cpu", 1000}});
  EXPECT_EQ(tasks(), 0U) << "nothing is offered yet";
  resources_.forget(kJob);
  EXPECT_EQ(tasks(), kAnyTasks);
  EXPECT_TRUE(resources_.limits().empty());
}

}  // namespace
}  // namespace fairlead
