#include "fairlead/pods/residents.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

Pod pod(const std::string& gang, std::uint64_t gpus, std::string wish, std::string report = "") {
  return {.uid = "of-" + gang,
          .version = "5",
          .node = "n",
          .gpus = 1,
          .has_slots = true,
          .mask = gpus,
          .wish = std::move(wish),
          .report = std::move(report),
          .state = Pod::State::kRunning,
          .gang = gang};
}

TEST(Slots, GpusAreWrittenAsNvidiaReadsThem) {
  EXPECT_EQ(gpus_text(0b1011), "0,1,3");
  EXPECT_EQ(gpus_text(0), "");
  EXPECT_EQ(parse_gpus("0,1,3"), 0b1011U);
  for (const char* wrong : {"", "all", "0,x", "-1", "64"})
    EXPECT_EQ(parse_gpus(wrong), 0U) << wrong;
  EXPECT_EQ(lowest_gpus(0b11010, 2), 0b1010U);
  EXPECT_EQ(lowest_gpus(0b1, 2), 0b1U);
}

TEST(Residents, APodRunsUntilItsAgentHasReportedTheVeryWishThatItRest) {
  for (const auto& [wish, report, is_frozen] :
       {std::tuple("true 5", "", false), std::tuple("true 5", "true 5", false),
        std::tuple("false 7", "", false), std::tuple("false 7", "true 5", false),
        std::tuple("false 9", "false 7", false), std::tuple("false 9", "thawed", false),
        std::tuple("", "", false), std::tuple("false 9", "false 9", true)}) {
    Residents residents;
    residents.set(pod("x", 0b1, wish, report));
    EXPECT_EQ(residents.is_frozen("of-x"), is_frozen) << wish << ", " << report;
    EXPECT_EQ(residents.in_use("n", ""), is_frozen ? 0U : 0b1U) << wish << ", " << report;
  }
}

TEST(Residents, AWishToRunMayComeTrueUntilThePodHasAnotherVersion) {
  Residents residents;
  Pod rests = pod("x", 0b1, "false 4", "false 4");
  residents.set(rests);
  residents.asked("of-x", "", 0);
  EXPECT_EQ(residents.in_use("n", ""), 0b1U);
  residents.set(rests);
  EXPECT_EQ(residents.in_use("n", ""), 0b1U);
  rests.version = "6";
  residents.set(rests);
  EXPECT_EQ(residents.in_use("n", ""), 0U);
  residents.asked("of-x", "", 0);
  residents.refused("of-x");
  EXPECT_EQ(residents.in_use("n", ""), 0U);
}

TEST(Residents, APodThatIsAskedToBeBoundHasItsGpus) {
  Residents residents;
  Pod waits = pod("x", 0, "");
  waits.node.clear();
  waits.state = Pod::State::kPending;
  residents.set(waits);
  EXPECT_EQ(residents.in_use("n", ""), 0U);
  residents.asked("of-x", "n", 0b10);
  EXPECT_EQ(residents.in_use("n", ""), 0b10U);
  EXPECT_EQ(residents.in_use("n", "x"), 0U);
  EXPECT_EQ(residents.in_use("other", ""), 0U);
  residents.remove("of-x");
  EXPECT_EQ(residents.in_use("n", ""), 0U);
}

TEST(Residents, GpusAreFullByResidentsWhetherTheyRunOrNot) {
  Residents residents;
  residents.set(pod("x", 0b011, "true 1"));
  residents.set(pod("y", 0b110, "false 2", "false 2"));
  EXPECT_EQ(residents.full("n", 0b111, 2, ""), 0b010U);
  EXPECT_EQ(residents.full("n", 0b111, 2, "y"), 0U);
  EXPECT_EQ(residents.full("n", 0b101, 1, ""), 0b101U);
  EXPECT_EQ(residents.on("n", 0b100).size(), 1U);
  EXPECT_EQ(residents.on("n", 0b111).size(), 2U);
}

TEST(Residents, WhatIsDeletedRunsForItsGracePeriod) {
  Residents residents;
  Pod leaving = pod("x", 0b1, "false 4", "false 4");
  leaving.is_leaving = true;
  residents.set(leaving);
  EXPECT_EQ(residents.in_use("n", ""), 0b1U);
  leaving.state = Pod::State::kFailed;
  residents.set(leaving);
  EXPECT_EQ(residents.in_use("n", ""), 0U);
}

}  // namespace
}  // namespace fairlead
