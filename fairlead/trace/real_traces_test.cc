// Tests of the public traces, if they are present: FAIRLEAD_SHARED names the folder.
#include "fairlead/trace/inspect.h"
#include "fairlead/trace/testing.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace fairlead {
namespace {

class RealTraces : public ::testing::Test {
 protected:
  // The statistics of one file, or none, with the test skipped.
  void read(const std::string& name) {
    const char* folder = std::getenv("FAIRLEAD_SHARED");
    const auto path = std::filesystem::path(folder == nullptr ? "../shared" : folder) / name;
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
    auto workload = read_trace(path, {});
    ASSERT_TRUE(workload.has_value()) << workload.error().message;
    workload_ = std::move(*workload);
    stats_ = inspect(workload_);
  }

  Workload workload_;
  TraceStats stats_;
};

TEST_F(RealTraces, Itp) {
  read("data/traces/itp_7clusters.csv.gz");
  if (IsSkipped()) return;
  EXPECT_EQ(stats_.jobs, 39'255);
  EXPECT_EQ(stats_.users, 7);
  EXPECT_EQ(stats_.rows.rejected(), 0);
}

TEST_F(RealTraces, Philly) {
  read("data/traces/philly_sia_82k.csv.gz");
  if (IsSkipped()) return;
  EXPECT_EQ(stats_.jobs, 82'247);
  EXPECT_EQ(stats_.users, 15);
  EXPECT_EQ(stats_.rows.rejected(), 0);
  EXPECT_NEAR(stats_.gpu_hours, 978'078, 1);
  EXPECT_EQ(stats_.duration_p50_s, 1144);
}

TEST_F(RealTraces, Openb) {
  read("data/traces/openb_2023_default.csv.gz");
  if (IsSkipped()) return;
  EXPECT_EQ(stats_.rows.rows_read, 8'152);
  EXPECT_GT(stats_.rows.rows_repaired.at("fractional GPU rounded up"), 0);
}

TEST_F(RealTraces, Tiresias) {
  read("gold/tiresias/480_job__n15g4/trace.csv");
  if (IsSkipped()) return;
  EXPECT_EQ(stats_.jobs, 480);
}

TEST_F(RealTraces, Gavel) {
  read("gold/gavel/static_multi_120_s0__c16-0-0__s4-1-1__seed0/trace.tsv");
  if (IsSkipped()) return;
  EXPECT_EQ(stats_.jobs, 120);
  EXPECT_EQ(stats_.rows.rejected(), 0);
}

TEST_F(RealTraces, Shockwave) {
  read("gold/shockwave/tacc_32gpus_static/trace.tsv");
  if (IsSkipped()) return;
  EXPECT_EQ(stats_.jobs, 120);
  EXPECT_EQ(workload_.durations[JobId(0)], seconds(1418));
}

}  // namespace
}  // namespace fairlead
