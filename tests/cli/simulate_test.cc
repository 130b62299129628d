// The files that a successful run leaves behind.

#include "program.h"

#include <algorithm>
#include <map>
#include <sstream>

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
            "migrations,status,mix_speed\n"
            "a,ann,,4,0,0,100,100,0,V100,0,0,finished,1\n"
            "b,bob,,2,10,100,150,140,90,V100,0,0,finished,1\n"
            "c,bob,,2,20,100,150,130,80,V100,0,0,finished,1\n"
            "d,ann,,1,30,150,155.5,125.5,120,V100,0,0,finished,1\n");
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
  // Job d would have been submitted at 30 s; it still has a row.
  EXPECT_NE(read("out/jobs.csv").find("\nd,ann,,1,30,,,,,,0,0,pending,1\n"), std::string::npos);
}

// A gang of 9 GPUs of one type finds no place on 8 of each of two types, and blocks none.
TEST_F(SimulateTest, RejectsAJobThatItsPolicyCanNeverPlace) {
  write("jobs.csv", "job,gpus,submit_s,duration_s\na,9,0,10\nb,1,1,10\n");
  for (const std::string policy : {"las", "yarn-cs", "fifo"}) {
    const Ended ended = fairlead(
        "simulate --cluster 2xV100:4,2xK80:4 --trace jobs.csv --out out --policy " + policy);
    EXPECT_EQ(ended.exit_code, 0) << ended.errors;
    const json summary = read_json("out/summary.json");
    EXPECT_EQ(summary["finished"], 1);
    EXPECT_EQ(summary["pending"], 0);
    EXPECT_EQ(summary["jobs_rejected"]["larger than each GPU type it may run on, and its policy "
                                       "mixes no types in a gang"],
              1);
  }
}

// A measured speed may be anything. An auction waits for a faster place only if that is a closer one.
TEST_F(SimulateTest, AGangRunsThatWouldBeFasterOnMoreNodes) {
  write("jobs.csv", "job,gpus,submit_s,duration_s,model\na,2,0,100,odd\n");
  write("odd.yaml",
        "models:\n  - {name: odd, rates: {V100: [{gpus: 2, consolidated: 0.1, spread: 2}]}}\n");
  for (const std::string policy : {"hadar", "fairlead"}) {
    const Ended ended = fairlead(
        "simulate --cluster 2xV100:2 --trace jobs.csv --out out --set models=odd.yaml --policy " +
        policy);
    EXPECT_EQ(ended.exit_code, 0) << ended.errors;
  }
}

// The gang needs a node that stays down.
TEST_F(SimulateTest, ReportsJobsThatCanNeverRun) {
  write("jobs.csv", "job,gpus,submit_s,duration_s\na,8,1,10\nb,1,1,10\n");
  write("outages.csv", "node,down_s,up_s\nn0,0,\n");
  const std::string run =
      "simulate --cluster 2xV100:4 --trace jobs.csv --policy las --set outages=outages.csv --out "
      "out ";
  const Ended ended = fairlead(run);
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_EQ(ended.errors,
            "fairlead: 1 of 2 jobs can never run to their end under las, and figures of durations "
            "omit them: "
            "jobs.csv has them as pending, and `fairlead why out JOB` explains each\n");
  EXPECT_NE(ended.out.find(", of the 1 job that finished\n"), std::string::npos) << ended.out;
  EXPECT_EQ(read_json("out/summary.json")["pending"], 1);
  EXPECT_EQ(fairlead(run + "--until 1000").exit_code, 0);
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
  EXPECT_NE(read("out/jobs.csv").find("\nlarge,ann,,5,0,,,,,,0,0,rejected,1\n"), std::string::npos);
}

TEST_F(SimulateTest, LenientReadingCountsWhatItLeavesOut) {
  write("jobs.csv",
        "job,user,model,gpus,submit_s,duration_s\n"
        "a,ann,,1,0,10\n"
        "b,ann,,-1,0,10\n"
        "a,ann,,1,0,10\n");
  const Ended refused = fairlead(simulate("--set reading=lenient"));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.errors.find("jobs.csv: 1 of 3 rows cannot be used"), std::string::npos)
      << refused.errors;
  EXPECT_TRUE(files("out").empty());
  const Ended ended = fairlead(simulate("--set reading=lenient --set rejected=allow"));
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  const json summary = read_json("out/summary.json");
  std::int64_t left_out = 0;
  for (const json& rows : summary["rows_rejected"]) left_out += rows.get<std::int64_t>();
  EXPECT_EQ(summary["rows_read"], 3);
  EXPECT_EQ(left_out, 1);
  EXPECT_EQ(summary["jobs_read"], 2);
}

TEST_F(SimulateTest, SpeedsThatTheTableDoesNotHaveAreRefusedOrNamed) {
  write("jobs.csv",
        "job,user,model,gpus,submit_s,duration_s\n"
        "a,ann,ResNet50,1,0,7200\n"
        "b,ann,ResNet50,1,0,7200\n");
  const std::string run =
      "simulate --cluster 1xV100:1,1xA100:1 --trace jobs.csv --policy fifo --out out "
      "--set costs=none --set reference_gpu=V100";
  const Ended refused = fairlead(run);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.errors.find("ResNet50 on A100 (2 jobs)"), std::string::npos) << refused.errors;
  EXPECT_TRUE(files("out").empty());

  const Ended assumed = fairlead(run + " --set unknown_speed=generic");
  ASSERT_EQ(assumed.exit_code, 0) << assumed.errors;
  EXPECT_NE(assumed.out.find("\nAssumed\n! speeds        ResNet50 on A100: "), std::string::npos)
      << assumed.out;
  const json summary = read_json("out/summary.json");
  EXPECT_EQ(summary["assumed"]["speeds"][0]["gpu_type"], "A100");
  EXPECT_EQ(summary["assumed"]["speeds"][0]["jobs"], 2);
  EXPECT_EQ(summary["assumed"]["lines"][0]["grave"], true);

  const Ended modern = fairlead(run + " --set models=modern");
  ASSERT_EQ(modern.exit_code, 0) << modern.errors;
  EXPECT_EQ(modern.out.find("speeds  "), std::string::npos) << modern.out;
  EXPECT_NE(read("out/jobs.csv").find("\nb,ann,ResNet50,1,0,0,3791.151,"), std::string::npos);
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

// Returns the cells of each row of a CSV file without quotes, except the header.
std::vector<std::vector<std::string>> cells_of(const std::string& csv) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream cells(line);
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  rows.erase(rows.begin());
  return rows;
}

TEST_F(SimulateTest, TheFilesAddUp) {
  ASSERT_EQ(fairlead("trace generate --jobs 300 --cluster 2xV100:4,1xK80:4 --load 0.9 --seed 2 "
                     "--users 4 --tickets 1/2/3 -o jobs.csv")
                .exit_code,
            0);
  const Ended ended = fairlead(
      "simulate --cluster 2xV100:4,1xK80:4 --trace jobs.csv --policy tiresias --audit --out out "
      "--set bin_s=600 --until 400000");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  const json summary = read_json("out/summary.json");
  EXPECT_EQ(summary["jobs_read"].get<int>(),
            summary["finished"].get<int>() + summary["failed"].get<int>() +
                summary["rejected"].get<int>() + summary["pending"].get<int>());

  std::map<std::string, int> jobs;
  int preemptions = 0;
  double first_s = 1e18;
  for (const auto& row : cells_of(read("out/jobs.csv"))) {
    ++jobs[row[12]];
    preemptions += std::stoi(row[10]);
    first_s = std::min(first_s, std::stod(row[4]));
  }
  EXPECT_EQ(jobs["finished"], summary["finished"]);
  EXPECT_EQ(jobs["pending"], summary["pending"]);
  EXPECT_EQ(preemptions, summary["preemptions"]);
  EXPECT_GT(preemptions, 0);

  double gpu_hours = 0;
  double entitled_gpu_hours = 0;
  for (const json& user : summary["users"]) {
    gpu_hours += user["gpu_hours"].get<double>();
    entitled_gpu_hours += user["entitled_gpu_hours"].get<double>();
  }
  EXPECT_NEAR(gpu_hours, summary["gpu_hours"].get<double>(), 1e-5);

  double timeline_gpu_hours = 0;
  double timeline_entitled_gpu_hours = 0;
  for (const auto& row : cells_of(read("out/timeline.csv"))) {
    const double width_h = std::min(600.0, 400000 - std::stod(row[0])) / 3600;
    timeline_gpu_hours += std::stod(row[2]) * width_h;
    timeline_entitled_gpu_hours += std::stod(row[3]) * width_h;
  }
  EXPECT_NEAR(timeline_gpu_hours, gpu_hours, 1e-3);
  EXPECT_NEAR(timeline_entitled_gpu_hours, entitled_gpu_hours, 1e-3);
  EXPECT_NEAR(summary["gpu_utilization"].get<double>(),
              gpu_hours * 3600 / (12 * (400000 - first_s)), 1e-6);
}

TEST_F(SimulateTest, NoRunBeatsItsBounds) {
  ASSERT_EQ(fairlead("trace generate --jobs 200 --cluster slides-100 --load 1.5 --seed 3 "
                     "-o jobs.csv")
                .exit_code,
            0);
  for (const char* policy : {"fifo", "srtf", "las"}) {
    ASSERT_EQ(fairlead(std::string("simulate --cluster slides-100 --trace jobs.csv --out out "
                                   "--audit --set costs=none --set reference_gpu=K80 --policy ") +
                       policy)
                  .exit_code,
              0);
    const json summary = read_json("out/summary.json");
    const json& bounds = summary["bounds"];
    EXPECT_LE(bounds["jct_avg_lower_s"], summary["jct_avg_s"]) << policy;
    EXPECT_LE(bounds["makespan_lower_s"], summary["makespan_s"]) << policy;
    EXPECT_GT(bounds["jct_avg_lower_s"], 0) << policy;
  }
}

TEST_F(SimulateTest, SettingsMayBeRepeated) {
  small_trace();
  ASSERT_EQ(fairlead(simulate("--set costs=none --set start_s=5")).exit_code, 0);
  EXPECT_EQ(read_json("out/summary.json")["makespan_s"], 105 + 55 + 10.5);
}

}  // namespace
}  // namespace fairlead
