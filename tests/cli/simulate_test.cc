// What a run leaves behind when it goes well.

#include "program.h"

namespace fairlead {
namespace {

using nlohmann::json;

class SimulateTest : public ProgramTest {};

TEST_F(SimulateTest, WritesTheResultFiles) {
  small_trace();
  const Ended ended = fairlead(simulate("--audit --set costs=none"));
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_EQ(ended.errors, "");
  EXPECT_NE(ended.out.find("4 of 4 finished"), std::string::npos) << ended.out;
  EXPECT_EQ(files("out"), (std::vector<std::string>{"jobs.csv", "journal.flj", "run.json",
                                                    "summary.json", "timeline.csv", "users.csv"}));
  EXPECT_EQ(read("out/jobs.csv"),
            "job,user,model,gpus,submit_s,start_s,finish_s,jct_s,queue_s,gpu_types,preemptions,"
            "migrations,status\n"
            "a,ann,,4,0,0,100,100,0,V100,0,0,finished\n"
            "b,bob,,2,10,100,150,140,90,V100,0,0,finished\n"
            "c,bob,,2,20,100,150,130,80,V100,0,0,finished\n"
            "d,ann,,1,30,150,155.5,125.5,120,V100,0,0,finished\n");
  const json summary = read_json("out/summary.json");
  EXPECT_EQ(summary["makespan_s"], 155.5);
  EXPECT_EQ(summary["jct_avg_s"], (100 + 140 + 130 + 125.5) / 4);
  EXPECT_EQ(summary["policy"], "fifo");
  EXPECT_EQ(summary["trace"], "jobs.csv");
  const json run = read_json("out/run.json");
  EXPECT_GT(run["decisions"], 0);
  EXPECT_GT(run["events"], 0);
}

TEST_F(SimulateTest, IsTheSameEveryTime) {
  small_trace();
  ASSERT_EQ(fairlead(simulate("--seed 3")).exit_code, 0);
  const std::string summary = read("out/summary.json");
  const std::string journal = read("out/journal.flj");
  ASSERT_EQ(fairlead(simulate("--seed 3")).exit_code, 0);
  EXPECT_EQ(read("out/summary.json"), summary);
  EXPECT_EQ(read("out/journal.flj"), journal);
}

TEST_F(SimulateTest, JsonPrintsTheSummary) {
  small_trace();
  const Ended ended = fairlead(simulate("--json"));
  ASSERT_EQ(ended.exit_code, 0);
  EXPECT_EQ(ended.out, read("out/summary.json"));
}

TEST_F(SimulateTest, UntilStopsTheClock) {
  small_trace();
  ASSERT_EQ(fairlead(simulate("--until 25 --set costs=none --audit")).exit_code, 0);
  const json summary = read_json("out/summary.json");
  EXPECT_EQ(summary["finished"], 0);
  EXPECT_EQ(summary["pending"], 4);
  EXPECT_EQ(summary["jobs_read"], 4);
  EXPECT_EQ(summary["gpu_utilization"], 1.0);
  EXPECT_TRUE(summary["makespan_s"].is_null());
  // Job d would have been submitted at 30 s; it has a row all the same.
  EXPECT_NE(read("out/jobs.csv").find("\nd,ann,,1,30,,,,,,0,0,pending\n"), std::string::npos);
}

TEST_F(SimulateTest, RejectsAJobLargerThanTheClusterWithAReason) {
  write("jobs.csv",
        "job,user,model,gpus,submit_s,duration_s\n"
        "small,ann,,1,0,10\n"
        "large,ann,,5,0,10\n");
  const Ended ended = fairlead(simulate("--audit"));
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  const json summary = read_json("out/summary.json");
  EXPECT_EQ(summary["rejected"], 1);
  EXPECT_EQ(summary["finished"], 1);
  EXPECT_EQ(summary["jobs_rejected"]["larger than the cluster"], 1);
  EXPECT_NE(read("out/jobs.csv").find("\nlarge,ann,,5,0,,,,,,0,0,rejected\n"), std::string::npos);
}

TEST_F(SimulateTest, LenientReadingCountsWhatItLeavesOut) {
  write("jobs.csv",
        "job,user,model,gpus,submit_s,duration_s\n"
        "a,ann,,1,0,10\n"
        "b,ann,,-1,0,10\n"
        "a,ann,,1,0,10\n");
  const Ended ended = fairlead(simulate("--set reading=lenient"));
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  const json summary = read_json("out/summary.json");
  std::int64_t left_out = 0;
  for (const json& rows : summary["rows_rejected"]) left_out += rows.get<std::int64_t>();
  EXPECT_EQ(summary["rows_read"], 3);
  EXPECT_EQ(left_out, 1);
  EXPECT_EQ(summary["jobs_read"], 2);
}

TEST_F(SimulateTest, BinsOfTheTimelineHaveTheWidthAskedFor) {
  small_trace();
  ASSERT_EQ(fairlead(simulate("--set costs=none --set bin_s=50")).exit_code, 0);
  EXPECT_EQ(read("out/timeline.csv"),
            "t_s,user,gpus_held,gpus_entitled,jobs_running,jobs_waiting\n"
            "0,ann,4,2.4,1,0.4\n"
            "0,bob,0,1.6,0,1.4\n"
            "50,ann,4,2,1,1\n"
            "50,bob,0,2,0,2\n"
            "100,ann,0,1,0,1\n"
            "100,bob,4,3,2,0\n"
            "150,ann,1,1,1,0\n");
}

TEST_F(SimulateTest, SettingsMayBeRepeated) {
  small_trace();
  ASSERT_EQ(fairlead(simulate("--set costs=none --set start_s=5")).exit_code, 0);
  EXPECT_EQ(read_json("out/summary.json")["makespan_s"], 105 + 55 + 10.5);
}

}  // namespace
}  // namespace fairlead
