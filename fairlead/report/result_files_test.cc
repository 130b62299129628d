#include "fairlead/report/result_files.h"

#include "fairlead/journal/testing_journal.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <sstream>

namespace fairlead {
namespace {

namespace fs = std::filesystem;

class ResultFilesTest : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(root_); }
  void TearDown() override { fs::remove_all(root_); }
  static std::string read(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  const fs::path root_ = fs::path(testing::TempDir()) / "fairlead_result_files_test";
};

void write_run(RecordSink& sink) {
  TestJournal journal(sink);
  journal.begin(3, {2});
  journal.arrive(500, 0, {.gpus = 4, .work_ms = 10000, .model = "vgg,16"});
  journal.place(1500, 0, {.gang = {{NodeId(0), 4}}});
  journal.reject(2000, 2, {.gpus = 99}, "larger than the cluster");
  journal.happen<record::Finished>(11500, 0);
  journal.arrive(12000, 1, {.gpus = 1});
  journal.end(12500, {.finished = 1, .rejected = 1, .pending = 1});
}

TEST_F(ResultFilesTest, WritesEveryFile) {
  Metrics metrics({.bin = seconds(10), .bins_max = 100});
  write_run(metrics);
  auto folder = ResultFolder::open(root_ / "a" / "b");
  ASSERT_TRUE(folder.has_value()) << folder.error().message;
  const Summary summary = metrics.summary({});
  ASSERT_TRUE(write_results(*folder, metrics, {}, summary, {}).has_value());
  ASSERT_TRUE(folder->keep().has_value());

  const fs::path dir = root_ / "a" / "b";
  EXPECT_EQ(read(dir / "jobs.csv"),
            "job,user,model,gpus,submit_s,start_s,finish_s,jct_s,queue_s,gpu_types,preemptions,"
            "migrations,status,mix_speed\n"
            "job-0,u0,\"vgg,16\",4,0.5,1.5,11.5,11,1,V100,0,0,finished,1\n"
            "job-1,u0,,1,12,,,,,,0,0,pending,1\n"
            "job-2,u0,,99,2,,,,,,0,0,rejected,1\n");
  EXPECT_EQ(read(dir / "users.csv"),
            "user,tickets,jobs,gpu_hours,work_gpu_hours,entitled_gpu_hours,throughput_share,"
            "contended_entitled_gpu_hours,contended_useful_gpu_hours,contended_effective_gpu_hours,"
            "contended_work_gpu_hours,jct_avg_s,queue_avg_s,"
            "bounded_ftf_max\n"
            "u0,2,3,0.011111,0.011111,0.012361,0,0,0,0,0,11,1,\n");
  EXPECT_EQ(read(dir / "timeline.csv"),
            "t_s,user,gpus_held,gpus_entitled,jobs_running,jobs_waiting\n"
            "0.5,u0,3.6,4,0.9,0.1\n"
            "10.5,u0,2,2.25,0.5,0.25\n");
  EXPECT_EQ(read(dir / "summary.json"), summary_json(summary));
  EXPECT_TRUE(fs::exists(dir / "run.json"));
}

TEST_F(ResultFilesTest, SummaryHasEveryKeyOfTheContract) {
  Metrics metrics;
  write_run(metrics);
  const auto value = nlohmann::json::parse(summary_json(metrics.summary({})));
  for (const char* key : {"policy",
                          "options",
                          "seed",
                          "cluster",
                          "trace",
                          "journal_hash",
                          "rows_read",
                          "rows_rejected",
                          "jobs_read",
                          "finished",
                          "failed",
                          "rejected",
                          "pending",
                          "models_unknown",
                          "makespan_s",
                          "jct_avg_s",
                          "jct_p50_s",
                          "jct_p90_s",
                          "jct_p99_s",
                          "queue_avg_s",
                          "gpu_utilization",
                          "gpu_hours",
                          "preemptions",
                          "migrations",
                          "comm_time_share",
                          "users",
                          "fairness",
                          "bounds",
                          "placements",
                          "settings",
                          "models_communicating",
                          "assumed"}) {
    EXPECT_TRUE(value.contains(key)) << key;
  }
  for (const char* key :
       {"user", "tickets", "jobs", "gpu_hours", "work_gpu_hours", "entitled_gpu_hours",
        "throughput_share", "contended_entitled_gpu_hours", "contended_useful_gpu_hours",
        "contended_effective_gpu_hours", "contended_work_gpu_hours", "jct_avg_s", "queue_avg_s",
        "bounded_ftf_max"}) {
    EXPECT_TRUE(value["users"][0].contains(key)) << key;
  }
  for (const char* key :
       {"jain", "share_error_max", "share_error_avg", "ftf_max", "ftf_avg", "bounded_ftf_max",
        "bounded_ftf_p99", "bounded_ftf_p50", "useful_shortfall_max", "effective_shortfall_max",
        "effective_shortfall_avg"}) {
    EXPECT_TRUE(value["fairness"].contains(key)) << key;
  }
  EXPECT_TRUE(value["bounds"].contains("makespan_lower_s"));
  EXPECT_TRUE(value["bounds"].contains("jct_avg_lower_s"));
  EXPECT_EQ(value["jct_avg_s"], 11.0);
  EXPECT_EQ(value["jobs_rejected"]["larger than the cluster"], 1);
}

TEST_F(ResultFilesTest, ShowsFiguresWithoutMeaningAsNull) {
  Metrics metrics;
  TestJournal(metrics).begin(0, {});
  TestJournal(metrics).end(0, {});
  const auto value = nlohmann::json::parse(summary_json(metrics.summary({})));
  EXPECT_TRUE(value["jct_avg_s"].is_null());
  EXPECT_TRUE(value["users"].empty());
}

TEST_F(ResultFilesTest, AFolderThatIsNotKeptLeavesNothing) {
  {
    auto folder = ResultFolder::open(root_ / "a" / "b");
    ASSERT_TRUE(folder.has_value());
    auto file = OutputFile::create(folder->file("x"));
    ASSERT_TRUE(file.has_value());
    ASSERT_TRUE(folder->add(std::move(*file), "x").has_value());
    EXPECT_TRUE(fs::exists(root_ / "a" / "b" / "x"));
  }
  EXPECT_FALSE(fs::exists(root_));
}

TEST_F(ResultFilesTest, WhatStandsThereStaysUntilStagedFilesAreWhole) {
  const auto write = [](const fs::path& path, const char* text) { std::ofstream(path) << text; };
  const auto stage = [&] {
    auto folder = ResultFolder::open(root_);
    EXPECT_TRUE(folder && folder->stage());
    write(folder->file("jobs.csv"), "new");
    folder->add("jobs.csv");
    write(folder->file("summary.json"), "{}");
    folder->add("summary.json");
    return folder;
  };
  fs::create_directories(root_ / kUnfinished);
  write(root_ / kUnfinished / "journal.flj", "of a run that was killed");
  write(root_ / "jobs.csv", "old");
  write(root_ / "notes", "theirs");
  {
    const auto folder = stage();
    EXPECT_EQ(read(root_ / "jobs.csv"), "old");
    EXPECT_FALSE(fs::exists(root_ / kUnfinished / "journal.flj"));
  }
  EXPECT_EQ(read(root_ / "jobs.csv"), "old");
  EXPECT_FALSE(fs::exists(root_ / kUnfinished));
  {
    auto folder = stage();
    ASSERT_TRUE(folder->keep().has_value());
  }
  EXPECT_EQ(read(root_ / "jobs.csv"), "new");
  EXPECT_EQ(read(root_ / "summary.json"), "{}");
  EXPECT_EQ(read(root_ / "notes"), "theirs");
  EXPECT_FALSE(fs::exists(root_ / kUnfinished));
}

TEST_F(ResultFilesTest, AFolderOfOthersStays) {
  fs::create_directories(root_);
  std::ofstream(root_ / "theirs") << "x";
  { ASSERT_TRUE(ResultFolder::open(root_).has_value()); }
  { ASSERT_TRUE(ResultFolder::open(root_ / "new").has_value()); }
  EXPECT_TRUE(fs::exists(root_ / "theirs"));
  EXPECT_FALSE(fs::exists(root_ / "new"));
}

TEST_F(ResultFilesTest, AFileInTheWayIsAnErrorOfTheRun) {
  fs::create_directories(root_);
  std::ofstream(root_ / "file") << "x";
  const auto folder = ResultFolder::open(root_ / "file");
  ASSERT_FALSE(folder.has_value());
  EXPECT_EQ(folder.error().kind, Error::Kind::kRun);
  EXPECT_FALSE(ResultFolder::open(root_ / "file" / "below").has_value());
}

TEST_F(ResultFilesTest, HasGroupsWhereUsersHaveThem) {
  Metrics metrics({.bin = seconds(10), .bins_max = 100});
  TestJournal journal(metrics);
  journal.begin(1, {2});
  metrics.on({{}, record::Group{GroupId(0), "lab", 3, 0}});
  metrics.on({{}, record::User{UserId(1), "ann", 1, GroupId(0)}});
  journal.end(0, {.pending = 1, .unsubmitted = 1});
  auto folder = ResultFolder::open(root_);
  ASSERT_TRUE(folder.has_value());
  ASSERT_TRUE(write_results(*folder, metrics, {}, metrics.summary({}), {}).has_value());
  ASSERT_TRUE(folder->keep().has_value());
  const auto value = nlohmann::json::parse(read(root_ / "summary.json"));
  EXPECT_EQ(value["groups"][0]["group"], "lab");
  EXPECT_EQ(value["groups"][0]["tickets"], 3);
  EXPECT_TRUE(value["groups"][0]["quota"].is_null());
  EXPECT_EQ(value["users"][1]["group"], "lab");
  EXPECT_FALSE(value["users"][0].contains("group"));
  const std::string users = read(root_ / "users.csv");
  EXPECT_NE(users.find("bounded_ftf_max,group\n"), std::string::npos) << users;
  EXPECT_NE(users.find("ann,1,0,0,0,0,0,0,0,0,0,,,,lab\n"), std::string::npos) << users;
}

}  // namespace
}  // namespace fairlead
