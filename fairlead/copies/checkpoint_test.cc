#include "fairlead/copies/checkpoint.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace fairlead {
namespace {

namespace fs = std::filesystem;

class CheckpointTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / fmt::format("checkpoint-{}", info->name());
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  CheckpointFolder open() {
    auto folder = CheckpointFolder::open(folder_);
    EXPECT_TRUE(folder) << folder.error().message;
    return std::move(*folder);
  }
  std::string text(const char* name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    std::ostringstream all;
    all << file.rdbuf();
    return all.str();
  }
  void append(const char* name, std::string_view bytes) const {
    std::ofstream(folder_ / name, std::ios::binary | std::ios::app) << bytes;
  }

  fs::path folder_;
};

constexpr std::string_view kHeader = "round,done,copy,gpu_type,steps,seconds\n";

Checkpoint at_round(std::uint64_t round) {
  return {.round = round,
          .done = 10 * round,
          .total = 100,
          .speeds = {{"K80", 2.5}, {"V100", 8}},
          .parameters = {1.5F, -2, static_cast<float>(round)},
          .velocity = {0.5F, 0, 1}};
}

TEST_F(CheckpointTest, AnEmptyFolderIsTheBeginning) {
  const CheckpointFolder folder = open();
  EXPECT_EQ(folder.last().done, 0u);
  EXPECT_TRUE(folder.last().parameters.empty());
  EXPECT_EQ(text("rounds.csv"), kHeader);
}

TEST_F(CheckpointTest, WhatWasSavedIsThereForTheNext) {
  {
    CheckpointFolder folder = open();
    ASSERT_TRUE(folder.save(at_round(1), "0,10,0,V100,10,1.25\n"));
    ASSERT_TRUE(folder.save(at_round(2), "1,20,0,V100,10,1.25\n"));
    EXPECT_EQ(folder.parameters_file(), "parameters-2.f32");
  }
  const CheckpointFolder folder = open();
  const Checkpoint expected = at_round(2);
  EXPECT_EQ(folder.last().round, 2u);
  EXPECT_EQ(folder.last().done, 20u);
  EXPECT_EQ(folder.last().total, 100u);
  EXPECT_EQ(folder.last().speeds, expected.speeds);
  EXPECT_EQ(folder.last().parameters, expected.parameters);
  EXPECT_EQ(folder.last().velocity, expected.velocity);
  EXPECT_FALSE(fs::exists(folder_ / "parameters-1.f32"));
}

TEST_F(CheckpointTest, RoundsOfWhichNoCheckpointKnowsAreCutOff) {
  {
    CheckpointFolder folder = open();
    ASSERT_TRUE(folder.save(at_round(1), "0,10,0,V100,10,1.25\n"));
  }
  append("rounds.csv", "1,20,0,V100,10,1.2");  // killed before its checkpoint was written
  const CheckpointFolder folder = open();
  EXPECT_EQ(text("rounds.csv"), fmt::format("{}0,10,0,V100,10,1.25\n", kHeader));
}

TEST_F(CheckpointTest, WhatCannotBeSavedLeavesTheLastOne) {
  CheckpointFolder folder = open();
  ASSERT_TRUE(folder.save(at_round(1), "0,10,0,V100,10,1.25\n"));
  fs::create_directory(folder_ / "parameters-2.f32");  // at the place of a file
  EXPECT_FALSE(folder.save(at_round(2), "1,20,0,V100,10,1.25\n"));
  EXPECT_EQ(folder.last().round, 1u);
  EXPECT_EQ(open().last().done, 10u);
  EXPECT_EQ(text("rounds.csv"), fmt::format("{}0,10,0,V100,10,1.25\n", kHeader));
}

TEST_F(CheckpointTest, DamageIsAnError) {
  {
    CheckpointFolder folder = open();
    ASSERT_TRUE(folder.save(at_round(1), ""));
  }
  append("parameters-1.f32", "x");
  EXPECT_EQ(CheckpointFolder::open(folder_).error().message,
            fmt::format("{}: 13 bytes are not a sequence of 32-bit floats",
                        (folder_ / "parameters-1.f32").string()));
  append("checkpoint.json", "x");
  EXPECT_EQ(CheckpointFolder::open(folder_).error().message,
            fmt::format("{}: it is damaged", (folder_ / "checkpoint.json").string()));
}

}  // namespace
}  // namespace fairlead
