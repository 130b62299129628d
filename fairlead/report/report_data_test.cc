#include "fairlead/report/report_data.h"

#include "fairlead/journal/testing_journal.h"
#include "fairlead/report/json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <functional>

namespace fairlead {
namespace {

using nlohmann::json;
using Write = std::function<void(TestJournal&, RecordSink&)>;

// Returns the data of one report on runs with the journals that `runs` write.
json report_of(const std::vector<Write>& runs, const ReportLimits& limits = {}) {
  std::string text;
  ReportData data([&](std::string_view piece) { text += piece; }, "out");
  for (const Write& write : runs) {
    RunRecords records(limits);
    TestJournal journal(records);
    write(journal, records);
    const json summary = {{"policy", "fifo"}};
    EXPECT_TRUE(data.add({".", "fifo", summary, records}).has_value());
  }
  data.finish();
  const json value = json::parse(text, nullptr, false);
  EXPECT_FALSE(value.is_discarded()) << text;
  return value;
}

// Two jobs on the two nodes of 4 GPUs, by hand: job 0 of u0 has 4 + 2 GPUs from 1 s to 3 s and from 4 s to 6 s; job
// 1 of u1 has 1 GPU of the second node from 3 s to 7 s.
void two_jobs(TestJournal& journal, RecordSink&) {
  const std::vector<Slice> wide = {{NodeId(0), 4}, {NodeId(1), 2}};
  journal.begin(2, {1, 1});
  journal.arrive(500, 0, {.user = 0, .gpus = 6, .work_ms = 4000, .model = "VAE"});
  journal.place(1000, 0, {.gang = wide});
  journal.arrive(2500, 1, {.user = 1, .gpus = 1, .work_ms = 4000});
  journal.happen<record::Stop>(3000, 0);
  journal.place(3000, 1, {.gang = {{NodeId(1), 1}}});
  journal.place(4000, 0, {.gang = wide, .kind = PlaceKind::kMigrate});
  journal.happen<record::Finished>(6000, 0);
  journal.happen<record::Finished>(7000, 1);
  journal.end(7000, {.finished = 2});
}

TEST(ReportData, SaysWhyJobsWaitedWhereItIsTold) {
  std::string text;
  ReportData data([&](std::string_view piece) { text += piece; }, "out");
  RunRecords records;
  TestJournal journal(records);
  two_jobs(journal, records);
  const json summary = {{"policy", "fifo"}};
  const ReportedWaits waits = {.causes = {"it was full", "it was scattered"},
                               .pieces = {{.job = JobId(0),
                                           .from = {3000},
                                           .to = {4000},
                                           .cause = 1,
                                           .part = 0.75,
                                           .free = 2.5,
                                           .hole = 2,
                                           .other = JobId(1)}}};
  ASSERT_TRUE(data.add({".", "fifo", summary, records, &waits}).has_value());
  data.finish();
  EXPECT_EQ(json::parse(text)["runs"][0]["waits"], json::parse(R"({
    "causes": ["it was full", "it was scattered"], "job": [0], "from_s": [2.5], "to_s": [3.5],
    "cause": [1], "part": [0.75], "free": [2.5], "hole": [2], "other": [1]})"));
  EXPECT_FALSE(report_of({two_jobs})["runs"][0].contains("waits"));
}

TEST(ReportData, NamesTheProgramOfEachRun) {
  std::string text;
  ReportData data([&](std::string_view piece) { text += piece; }, "out");
  RunRecords records;
  TestJournal journal(records);
  two_jobs(journal, records);
  const json summary = {{"policy", "fifo"}};
  ASSERT_TRUE(data.add({.folder = ".",
                        .label = "fifo",
                        .summary = summary,
                        .records = records,
                        .program = program_text("9.8", "0123456789ab")})
                  .has_value());
  data.finish();
  EXPECT_EQ(json::parse(text)["runs"][0]["program"], "fairlead 9.8 (0123456789ab)");
  EXPECT_FALSE(report_of({two_jobs})["runs"][0].contains("program"));
}

TEST(ReportData, TellsWhatTheClusterAndItsJobsAre) {
  const json data = report_of({two_jobs});
  EXPECT_EQ(data["version"], 2);
  EXPECT_EQ(data["title"], "out");
  EXPECT_TRUE(data["program"].get<std::string>().starts_with("fairlead "));
  EXPECT_EQ(data["first_submit_s"], 0.5) << "on the clock of the trace";
  EXPECT_EQ(data["cluster"], json::parse(R"({"name": "tiny", "gpu_types": ["V100", "K80"],
    "racks": 1, "nodes": {"name": ["n0", "n1"], "rack": [0, 0], "type": [0, 1], "gpus": [4, 4]}})"));
  EXPECT_EQ(data["users"], json({"u0", "u1"}));
  EXPECT_EQ(data["models"], json({"VAE", ""}));
  EXPECT_EQ(data["jobs"], json::parse(R"({"id": ["job-0", "job-1"], "user": [0, 1],
    "model": [0, 1], "gpus": [6, 1], "submit_s": [0, 2]})"));
}

TEST(ReportData, TellsHowEachJobFared) {
  const json run = report_of({two_jobs})["runs"][0];
  EXPECT_EQ(run["folder"], ".");
  EXPECT_EQ(run["label"], "fifo");
  EXPECT_EQ(run["summary"], json({{"policy", "fifo"}}));
  EXPECT_EQ(run["outcome"], json::parse(R"({"start_s": [0.5, 2.5], "finish_s": [5.5, 6.5],
    "queue_s": [1.5, 0.5], "preemptions": [1, 0], "migrations": [1, 0], "status": [0, 0]})"));
}

TEST(ReportData, ShowsWhoHadWhichGpusWhen) {
  const json run_pieces = report_of({two_jobs})["runs"][0]["holds"];
  EXPECT_EQ(run_pieces, json::parse(R"({"resolution_s": 0, "job_step": [0, 0, 0, 0, 1],
    "gpu": [0, 4, 0, 4, 4], "gpus": [4, 2, 4, 2, 1], "begin_step_s": [0.5, 0, 3, 0, -1],
    "for_s": [2, 2, 2, 2, 4], "tier": [2, 2, 2, 2, 0]})"));
}

TEST(ReportData, TellsLoadAndSharesAsMeansOverBins) {
  const json run = report_of({two_jobs})["runs"][0];
  const json& load = run["load"];
  EXPECT_EQ(load["bin_s"], 1);
  // Bins from 0.5 s on; the last is half as long.
  EXPECT_EQ(load["gpus_held"], json({3, 6, 3.5, 4, 7, 4, 1}));
  EXPECT_EQ(load["gpus_up"], json({8, 8, 8, 8, 8, 8, 8}));
  EXPECT_EQ(load["gpus_fragmented"], json({1, 2, 2.5, 2, 1, 2, 3}));
  EXPECT_EQ(load["jobs_running"], json({0.5, 1, 1, 1.5, 2, 1.5, 1}));
  EXPECT_EQ(load["jobs_waiting"], json({0.5, 0, 1, 0.5, 0, 0, 0}));
  const json& shares = run["shares"];
  EXPECT_EQ(shares["user"], json({0, 1}));
  EXPECT_EQ(shares["held"][1], json({0, 0, 0.5, 1, 1, 1, 1}));
  EXPECT_EQ(shares["entitled"][0], json({6, 6, 6, 6, 6, 3, 0}));
  EXPECT_EQ(shares["entitled"][1], json({0, 0, 1, 1, 1, 1, 1}));
}

// Job 0 on 4 + 2 GPUs loses a half of 1 s to 3 s and three quarters of 3 s to 5 s; job 1 nothing.
TEST(ReportData, TellsWhatCommunicationLostByJobRackAndTime) {
  const json data = report_of({[](TestJournal& journal, RecordSink& sink) {
    journal.begin(2, {1});
    sink.on({{0},
             record::Node{.node = NodeId(2),
                          .name = "n2",
                          .type = GpuTypeId(0),
                          .host = HostId(2),
                          .rack = RackId(1),
                          .gpus = 2}});
    journal.arrive(1000, 0, {.gpus = 6, .work_ms = 1500});
    journal.arrive(1000, 1, {.gpus = 1, .work_ms = 1000});
    journal.place(1000, 0,
                  {.gang = {{NodeId(0), 4}, {NodeId(2), 2}}, .rate = 0.5, .locality = 0.5});
    journal.place(1000, 1, {.gang = {{NodeId(1), 1}}});
    journal.happen<record::Finished>(2000, 1);
    journal.speed(3000, 0, 0.25);
    journal.happen<record::Finished>(5000, 0);
    journal.end(5000, {.finished = 2});
  }});
  const json& run = data["runs"][0];
  EXPECT_EQ(run["network"], json::parse(R"({"gpus_lost": [3, 3, 4.5, 4.5],
    "job_lost_gpu_s": [15, 0], "rack_lost_gpu_s": [10, 5]})"));
  EXPECT_FALSE(report_of({two_jobs})["runs"][0].contains("network"));
}

TEST(ReportData, JobsThatGotNothingHaveNoTimes) {
  const json data = report_of({[](TestJournal& journal, RecordSink&) {
    journal.begin(4, {1});
    journal.reject(1000, 3, {.gpus = 99}, "larger than the cluster");
    journal.arrive(2000, 0, {});
    journal.arrive(3000, 1, {});
    journal.happen<record::Failed>(4000, 1);
    journal.unsubmitted(5000, 2, {}, 6000);
    journal.end(5000, {.failed = 1, .rejected = 1, .pending = 2, .unsubmitted = 1});
  }});
  EXPECT_EQ(data["jobs"]["id"], json({"job-0", "job-1", "job-3"}));  // job 2 never came
  EXPECT_EQ(data["jobs"]["submit_s"], json({1, 2, 0}));
  const json& outcome = data["runs"][0]["outcome"];
  EXPECT_EQ(outcome["start_s"], json({nullptr, nullptr, nullptr}));
  EXPECT_EQ(outcome["finish_s"], json({nullptr, 3, nullptr}));
  EXPECT_EQ(outcome["queue_s"], json({nullptr, 1, nullptr}));
  EXPECT_EQ(outcome["status"], json({3, 1, 2}));
  EXPECT_EQ(data["runs"][0]["load"]["jobs_waiting"], json({0, 1, 2, 1}));
}

TEST(ReportData, ARunThatTheEndCutsOffEndsThere) {
  const json run = report_of({[](TestJournal& journal, RecordSink&) {
    journal.begin(1, {1});
    journal.arrive(0, 0, {.gpus = 4, .work_ms = 9000});
    journal.place(0, 0, {.gang = {{NodeId(0), 4}}});
    journal.end(2500, {.pending = 1});
  }})["runs"][0];
  EXPECT_EQ(run["holds"]["for_s"], json({2.5}));
  EXPECT_EQ(run["holds"]["tier"], json({1}));
  EXPECT_EQ(run["load"]["gpus_held"], json({4, 4, 4}));
}

TEST(ReportData, GpusOfOneNodeThatAreNotNeighboursAreSeveralPieces) {
  const json run_pieces = report_of({[](TestJournal& journal, RecordSink& sink) {
    journal.begin(1, {1});
    journal.arrive(0, 0, {.gpus = 3, .work_ms = 1000});
    const std::vector<Slice> gang = {{NodeId(1), 3}};
    const std::vector<std::uint64_t> masks = {0b1011};
    sink.on({{}, record::Place{.job = JobId(0), .gang = gang, .gpu_masks = masks}});
    journal.happen<record::Finished>(1000, 0);
    journal.end(1000, {.finished = 1});
  }})["runs"][0]["holds"];
  EXPECT_EQ(run_pieces["gpu"], json({4, 7}));
  EXPECT_EQ(run_pieces["gpus"], json({2, 1}));
}

TEST(ReportData, NodesThatAreDownAreNotUp) {
  const json load = report_of({[](TestJournal& journal, RecordSink&) {
    journal.begin(1, {1});
    journal.node<record::GpusDown>(0, 1);
    journal.arrive(1000, 0, {.gpus = 1, .work_ms = 3000});
    journal.place(1000, 0, {.gang = {{NodeId(0), 1}}});
    journal.node<record::GpusUp>(2000, 1);
    journal.evict(3000, 0, 0);
    journal.node<record::GpusDown>(3000, 0);
    journal.place(3000, 0, {.gang = {{NodeId(1), 1}}});
    journal.happen<record::Finished>(4000, 0);
    journal.node<record::GpusUp>(9000, 0);
    journal.end(9000, {.finished = 1});
  }})["runs"][0]["load"];
  EXPECT_EQ(load["gpus_up"], json({4, 8, 4}));
  EXPECT_EQ(load["gpus_fragmented"], json({3, 3, 3}));
}

TEST(ReportData, NotesAreInTheUnitOfTheirKind) {
  const json notes = report_of({[](TestJournal& journal, RecordSink&) {
    journal.begin(1, {1, 1});
    journal.arrive(0, 0, {});
    journal.note(2000, note::Trade{UserId(0), UserId(1), GpuTypeId(0), {2500}});
    journal.note(2000, note::NodeTimer{JobId(0), seconds(42)});
    journal.note(2000, note::Pass{JobId(0), {1'250'000}});
    journal.note(2000, note::Queue{JobId(0), 2});
    journal.end(3000, {.pending = 1});
  }})["runs"][0]["notes"];
  EXPECT_EQ(notes, json::parse(R"({"omitted": 0, "t_s": [2, 2, 2, 2], "kind": [2, 4, 5, 0],
    "job": [-1, 0, 0, 0], "user": [0, -1, -1, -1], "other_user": [1, -1, -1, -1],
    "gpu_type": [0, -1, -1, -1], "value": [2.5, 42, 1.25, 2]})"));
}

TEST(ReportData, KeepsToItsLimits) {
  const auto turns = [](TestJournal& journal, RecordSink&) {
    journal.begin(2, {1, 1, 1});
    journal.arrive(0, 0, {.user = 1, .work_ms = 100'000});
    journal.arrive(0, 1, {.user = 2, .work_ms = 100'000});
    for (std::int64_t turn = 0; turn < 100; ++turn) {
      const auto job = static_cast<std::size_t>(turn % 2);
      journal.place(turn * 1000, job, {.gang = {{NodeId(0), 1}}});
      journal.note(turn * 1000, note::Pass{JobId(job), {}});
      journal.happen<record::Stop>(turn * 1000 + 900, job);
    }
    journal.end(100'000, {.pending = 2});
  };
  const json run = report_of({turns}, {.run_pieces = 10, .notes = 30, .users = 2})["runs"][0];
  EXPECT_EQ(run["holds"]["resolution_s"], 2);  // turns of one job are 1.1 s apart
  EXPECT_EQ(run["holds"]["job_step"], json({0, 1}));
  EXPECT_EQ(run["holds"]["for_s"], json({98.9, 98.9}));
  EXPECT_EQ(run["notes"]["t_s"].size(), 25U);
  EXPECT_EQ(run["notes"]["omitted"], 75);
  EXPECT_EQ(run["shares"]["user"], json({1, 2}));
}

TEST(ReportData, RunsOfOneComparisonShareTheirJobs) {
  EXPECT_EQ(report_of({two_jobs, two_jobs})["runs"].size(), 2U);

  std::string text;
  ReportData data([&](std::string_view piece) { text += piece; }, "out");
  const json summary;
  RunRecords first;
  TestJournal journal(first);
  two_jobs(journal, first);
  ASSERT_TRUE(data.add({"a", "a", summary, first}).has_value());
  RunRecords second;
  TestJournal other(second);
  other.begin(1, {1, 1});
  other.arrive(0, 0, {});
  other.end(0, {.pending = 1});
  const Status status = data.add({"b", "b", summary, second});
  ASSERT_FALSE(status.has_value());
  EXPECT_TRUE(status.error().message.ends_with("unlike: b")) << status.error().message;
}

TEST(ReportData, ARunWithoutJobsIsEmpty) {
  const json data = report_of({[](TestJournal& journal, RecordSink&) {
    journal.begin(0, {});
    journal.end(0, {});
  }});
  EXPECT_EQ(data["jobs"]["id"], json::array());
  EXPECT_EQ(data["runs"][0]["load"]["gpus_up"], json::array());
  EXPECT_EQ(data["runs"][0]["holds"]["job_step"], json::array());
}

// 8 GPUs from 0 s, 6 from 2 s, 5 from 4 s as one closes, 10 from 6 s.
TEST(ReportData, CapacityFollowsGpusNodesAndCordons) {
  const json data = report_of({[](TestJournal& journal, RecordSink& sink) {
    journal.begin(1, {1});
    journal.arrive(0, 0, {.gpus = 2, .work_ms = 60'000});
    journal.place(0, 0, {.gang = {{NodeId(0), 2}}});
    sink.on({{2000}, record::GpusDown{NodeId(1), 0b0011}});
    sink.on({{4000}, record::Cordoned{NodeId(0), "old"}});
    sink.on({{4000}, record::Closed{NodeId(0), 0b1000}});
    sink.on({{6000},
             record::Node{.node = NodeId(2),
                          .name = "n2",
                          .type = GpuTypeId(0),
                          .host = HostId(2),
                          .rack = RackId(1),
                          .gpus = 5}});
    journal.end(8000, {.pending = 1});
  }});
  EXPECT_EQ(data["runs"][0]["load"]["gpus_up"], json({8, 8, 6, 6, 5, 5, 10, 10}));
  EXPECT_EQ(data["cluster"]["nodes"]["name"], json({"n0", "n1", "n2"}));
  EXPECT_EQ(data["cluster"]["racks"], 2);
}

TEST(ReportData, AStartThatFailsEndsARun) {
  const json data = report_of({[](TestJournal& journal, RecordSink& sink) {
    journal.begin(1, {1});
    journal.arrive(0, 0, {.gpus = 2, .work_ms = 60'000});
    journal.place(0, 0, {.gang = {{NodeId(0), 2}}});
    sink.on({{2000}, record::StartFailed{JobId(0), {5000}, "no disk"}});
    sink.on({{5000}, record::Held{JobId(0)}});
    journal.end(6000, {.pending = 1});
  }});
  EXPECT_EQ(data["runs"][0]["holds"]["for_s"], json({2}));
  EXPECT_EQ(data["runs"][0]["load"]["jobs_waiting"], json({0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(data["runs"][0]["outcome"]["status"], json({3}));
}

}  // namespace
}  // namespace fairlead
