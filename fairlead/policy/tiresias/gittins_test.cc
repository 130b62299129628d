#include "fairlead/policy/tiresias/gittins.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace fairlead {
namespace {

GpuTime gpu_seconds(std::int64_t s) { return occupancy(seconds(s), 1); }

// Samples 10, 20, 100 and a quantum of 15. By hand, for a job served 0..9 GPU-seconds (as if 9):
// the window up to 24 has two of three samples, P = 0.66667; serving on costs (10 + 20 + 15) / 3 =
// 15; so the index is 0.66667e6 / 15 = 44444.6667.
TEST(GittinsIndex, IsTheChanceToFinishOverTheCostOfTrying) {
  const GittinsIndex index({100, 10, 20}, 15);
  EXPECT_EQ(index.of(gpu_seconds(0)), 444'446'667);
  EXPECT_EQ(index.of(gpu_seconds(9)), 444'446'667);
  // Served 10..19 (as if 19): one of two finishes by 34; (20 + 15) / 2 = 17 in whole GPU-seconds.
  EXPECT_EQ(index.of(gpu_seconds(10)), 294'117'647);
  // Served 20..99 (as if 99): the window reaches the last sample and ends before it.
  EXPECT_EQ(index.of(gpu_seconds(20)), 0);
}

TEST(GittinsIndex, IsZeroBeyondTheLastSample) {
  const GittinsIndex index({10, 20, 100}, 15);
  EXPECT_EQ(index.of(gpu_seconds(100)), 0);
  EXPECT_EQ(index.of(gpu_seconds(5000)), 0);
}

TEST(GittinsIndex, CountsWholeGpuSeconds) {
  const GittinsIndex index({10, 20, 100}, 15);
  EXPECT_EQ(index.of({9'999}), index.of(gpu_seconds(9)));
  EXPECT_EQ(index.of({10'000}), index.of(gpu_seconds(10)));
}

class SamplesFile : public testing::Test {
 protected:
  std::string written(std::string_view text) {
    path_ = testing::TempDir() + "samples.csv";
    std::ofstream(path_) << text;
    return path_;
  }
  void TearDown() override { std::filesystem::remove(path_); }
  std::string path_;
};

TEST_F(SamplesFile, HasOneNumberPerLineBelowAHeading) {
  EXPECT_EQ(read_service_samples(written("duration\n121\n\n122\n")).value(),
            (std::vector<std::int64_t>{121, 122}));
}

TEST_F(SamplesFile, SaysWhereItIsWrong) {
  const auto samples = read_service_samples(written("121\n0\n"));
  ASSERT_FALSE(samples.has_value());
  EXPECT_NE(samples.error().message.find("samples.csv:2:1: "), std::string::npos);
  EXPECT_TRUE(samples.error().message.ends_with(": 0"));
  EXPECT_FALSE(read_service_samples(written("duration\n")).has_value());
}

}  // namespace
}  // namespace fairlead
