#include "fairlead/trace/inspect.h"

#include "fairlead/trace/testing.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fairlead {
namespace {

using testing::read_text;

// Two GPUs for 1 h from 0 s, four for 0.5 h from 1,800 s, one for 1 h just when the first two end.
TraceStats small() {
  return inspect(
      *read_text("job,user,gpus,submit_s,duration_s,tickets\n"
                 "a,ann,2,0,3600,3\n"
                 "b,bob,4,1800,1800,1\n"
                 "c,bob,1,3600,3600,1\n",
                 {}));
}

TEST(Inspect, CountsAndMeasures) {
  const TraceStats stats = small();
  EXPECT_EQ(stats.jobs, 3);
  EXPECT_EQ(stats.users, 2);
  EXPECT_EQ(stats.rows.rows_read, 3);
  EXPECT_EQ(stats.first_submit_s, 0);
  EXPECT_EQ(stats.last_submit_s, 3600);
  EXPECT_EQ(stats.last_end_s, 7200);
  EXPECT_EQ(stats.jobs_by_gpus, (std::map<std::uint32_t, std::int64_t>{{1, 1}, {2, 1}, {4, 1}}));
  EXPECT_EQ(stats.duration_p50_s, 3600);
  EXPECT_EQ(stats.duration_p90_s, 3600);
  EXPECT_EQ(stats.duration_max_s, 3600);
  EXPECT_EQ(stats.duration_mean_s, 3000);
  EXPECT_EQ(stats.gpu_hours, 5);
  EXPECT_EQ(stats.demand_mean_gpus, 2.5);
  EXPECT_EQ(stats.demand_peak_gpus, 6);
}

TEST(Inspect, OrdersUsersByGpuHours) {
  const TraceStats stats = small();
  ASSERT_EQ(stats.users_top.size(), 2u);
  EXPECT_EQ(stats.users_top[0].name, "bob");
  EXPECT_EQ(stats.users_top[0].gpu_hours, 3);
  EXPECT_EQ(stats.users_top[0].jobs, 2);
  EXPECT_EQ(stats.users_top[1].name, "ann");
  EXPECT_EQ(stats.users_top[1].tickets, 3);
}

TEST(Inspect, QuantilesAreOrderStatistics) {
  std::string text = "job,gpus,submit_s,duration_s\n";
  for (int i = 100; i > 0; --i) text += fmt::format("{},1,0,{}\n", i, i);
  const TraceStats stats = inspect(*read_text(text, {}));
  EXPECT_EQ(stats.duration_p50_s, 50);
  EXPECT_EQ(stats.duration_p90_s, 90);
  EXPECT_EQ(stats.duration_p99_s, 99);
  EXPECT_EQ(stats.duration_max_s, 100);
}

TEST(Inspect, AnEmptyTraceIsAllZero) {
  const TraceStats stats = inspect(*read_text("job,gpus,submit_s,duration_s\n", {}));
  EXPECT_EQ(stats.jobs, 0);
  EXPECT_EQ(stats.gpu_hours, 0);
  EXPECT_EQ(nlohmann::json::parse(to_json(stats)).at("jobs"), 0);
  EXPECT_EQ(to_text(stats), "t: 0 jobs of 0 users, 0 models\nrows: 0 read, 0 rejected\n");
}

TEST(Inspect, TextShowsRejectedAndRepairedRows) {
  const auto workload = read_trace("tests/data/traces/openb_normalized.csv", {});
  const std::string text = to_text(inspect(*workload));
  for (const char* part :
       {"openb_normalized.csv: 3 jobs of 2 users, 0 models", "rows: 4 read, 1 rejected", "no GPU",
        "fractional GPU rounded up", "demand_peak_gpus", "gpu_hours", "BE"})
    EXPECT_NE(text.find(part), text.npos) << part << " in\n" << text;
}

TEST(Inspect, TellsHowTheTraceWasRead) {
  std::string text = "JobID|User|Submit|ElapsedRaw|AllocTRES|State|Node\n";
  for (int job = 0; job < 10; ++job) {
    text += std::to_string(job) + "|u|2026-01-02T03:04:0" + std::to_string(job) +
            "|60|gres/gpu=2|CANCELLED by 7|n\n";
  }
  const TraceStats stats = inspect(*read_text(text, {}));
  const std::string shown = to_text(stats);
  for (const char* part :
       {"odd: 10 of 10 jobs were cancelled", "format: sacct, recognised",
        "times: calendar times without a zone, taken as UTC; the first submission is at 2026-01-02 "
        "03:04 UTC\n",
        "columns ignored: Node", "\nCANCELLED                          10            0.3\n"}) {
    EXPECT_NE(shown.find(part), shown.npos) << part << " in\n" << shown;
  }
  const auto json = nlohmann::json::parse(to_json(stats));
  EXPECT_EQ(json.at("states").at("CANCELLED"), 10);
  EXPECT_NEAR(json.at("states_gpu_hours").at("CANCELLED").get<double>(), 1.0 / 3, 1e-9);
  EXPECT_EQ(json.at("implausible").size(), 1U);
}

// Used: 0.25, 0.5, 1 and 2 of the limits. Waits: 10 s and 30 s.
TEST(Inspect, MeasuresWhatALogSays) {
  const TraceStats stats =
      inspect(*read_text("job,gpus,submit_s,duration_s,time_limit_s,start_s\n"
                         "a,1,0,100,400,10\n"
                         "b,1,0,100,200,\n"
                         "c,1,0,100,100,30\n"
                         "d,1,0,100,50,\n"
                         "e,1,0,100,,\n",
                         {}));
  EXPECT_EQ(stats.limits.jobs, 4);
  EXPECT_EQ(stats.limits.exceeded, 1);
  EXPECT_EQ(stats.limits.used_p50, 0.5);
  EXPECT_EQ(stats.limits.used_p90, 2);
  EXPECT_EQ(stats.waits.jobs, 2);
  EXPECT_EQ(stats.waits.mean_s, 20);
  EXPECT_EQ(stats.waits.p50_s, 10);
  const std::string text = to_text(stats);
  EXPECT_NE(text.find("time limits: of 4 jobs; half of them used at most 50.0 % of it, nine in ten "
                      "at most 200.0 %; 1 ran longer\n"),
            std::string::npos);
  EXPECT_NE(text.find("recorded waits: of 2 jobs; mean 20.0 s, median 10.0 s, p90 30.0 s\n"),
            std::string::npos);
  const nlohmann::json json = nlohmann::json::parse(to_json(stats));
  EXPECT_EQ(json.at("time_limits").at("used_p50"), 0.5);
  EXPECT_EQ(json.at("recorded_waits").at("mean_s"), 20);
  const nlohmann::json without = nlohmann::json::parse(to_json(small()));
  EXPECT_FALSE(without.contains("time_limits") || without.contains("recorded_waits"));
}

TEST(Inspect, JsonHasSortedKeysAndAllNumbers) {
  const std::string text = to_json(small());
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json.dump(2) + "\n", text);
  EXPECT_EQ(json.at("gpu_hours"), 5.0);
  EXPECT_EQ(json.at("jobs_by_gpus").at("4"), 1);
  EXPECT_EQ(json.at("users_top").at(0).at("user"), "bob");
  EXPECT_EQ(json.at("rows_read"), 3);
}

TEST(Inspect, JsonSurvivesNamesThatAreNotUtf8) {
  const auto workload = read_text("job,user,gpus,submit_s,duration_s\na,\xff\xfe,1,0,1\n", {});
  EXPECT_TRUE(nlohmann::json::accept(to_json(inspect(*workload))));
}

}  // namespace
}  // namespace fairlead
