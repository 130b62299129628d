#include "fairlead/replay/recorded_world.h"

#include "fairlead/journal/testing_journal.h"

#include <gtest/gtest.h>

#include <functional>

namespace fairlead {
namespace {

using Write = std::function<void(TestJournal&, RecordSink&)>;

// Returns the world of a run of one job that is cut off at 9 s.
Result<RecordedWorld> world_of(const Write& write) {
  WorldRecorder recorder;
  TestJournal journal(recorder);
  journal.begin(1, {1});
  journal.arrive(0, 0, {.gpus = 1, .work_ms = 60'000});
  write(journal, recorder);
  journal.end(9000, {.pending = 1});
  return recorder.world();
}

TEST(RecordedWorld, HasTheOutagesOfNodesAndOfSingleGpus) {
  const auto world = world_of([](TestJournal&, RecordSink& sink) {
    sink.on({{1000}, record::GpusDown{NodeId(0), 0b0011}});
    sink.on({{2000}, record::GpusDown{NodeId(1), kAllGpus}});
    sink.on({{3000}, record::GpusDown{NodeId(0), 0b0100}});
    sink.on({{4000}, record::GpusUp{NodeId(0), 0b0101}});
    sink.on({{5000}, record::GpusUp{NodeId(1), kAllGpus}});
  });
  ASSERT_TRUE(world.has_value()) << world.error().message;
  const std::vector<NodeOutage> expected = {{NodeId(0), {1000}, {4000}, 0b0001},
                                            {NodeId(0), {3000}, {4000}, 0b0100},
                                            {NodeId(1), {2000}, {5000}, kAllGpus},
                                            {NodeId(0), {1000}, Time::never(), 0b0010}};
  EXPECT_EQ(world->outages, expected);
  EXPECT_EQ(world->until, Time{9000});
}

TEST(RecordedWorld, KeepsExtrasOfJobsAndWhatALogSays) {
  struct Logging : RecordSink {
    void on(const Record& record) override {
      Record logged = record;
      if (auto* arrived = std::get_if<record::Arrived>(&logged.what)) {
        arrived->asked.extras.copies_max = 2;
        arrived->asked.logged = {seconds(90), 3, {5'000}};
        arrived->asked.partition = "gpu";
      }
      recorder.on(logged);
    }
    WorldRecorder recorder;
  };
  Logging logging;
  TestJournal journal(logging);
  journal.begin(1, {1});
  journal.arrive(0, 0, {.gpus = 1, .work_ms = 60'000});
  journal.end(9000, {.pending = 1});
  const auto world = logging.recorder.world();
  ASSERT_TRUE(world.has_value()) << world.error().message;
  const Jobs& jobs = world->workload.jobs;
  const Logged expected{seconds(90), 3, {5'000}};
  EXPECT_EQ(jobs.logged_of(JobId(0)), expected);
  EXPECT_EQ(jobs.partition_name(JobId(0)), "gpu");
  EXPECT_EQ(jobs.extras_of(JobId(0)), JobExtras{.copies_max = 2});
}

TEST(RecordedWorld, OnlyAnExactOneCanBeRebuilt) {
  const auto error_of = [](const Record& record) {
    const auto world = world_of([&](TestJournal&, RecordSink& sink) { sink.on(record); });
    return world ? "no error" : world.error().message;
  };
  const JobId job(0);
  const NodeId node(0);
  const std::vector<std::pair<Record::What, std::string>> records = {
      {record::Place{.job = job, .is_reported = true}, "reports when jobs start"},
      {record::Started{job, {}}, "reports when jobs start"},
      {record::Stopped{job, 1}, "reports when jobs start"},
      {record::Held{job}, "users or limits hold jobs"},
      {record::Cordoned{node, ""}, "users and operators"},
      {record::Tickets{UserId(0), 2}, "users and operators"},
      {record::Ignored{EventKind::kFinished, job, node, 1}, "late, or repeats"},
      {record::Skipped{}, "late, or repeats"},
      {record::User{UserId(1), "late", 1}, "come later"},
      {record::Arrived{{.job = JobId(1), .user = UserId(0), .gpus = 1}}, "its trace does not have"},
  };
  for (const auto& [what, why] : records) {
    const std::string error = error_of({{2500}, what});
    EXPECT_NE(error.find(why), std::string::npos) << error;
    EXPECT_NE(error.find("at 2.5 s"), std::string::npos) << error;
  }
}

}  // namespace
}  // namespace fairlead
