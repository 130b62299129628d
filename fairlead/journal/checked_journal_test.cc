#include "fairlead/journal/checked_journal.h"

#include "fairlead/journal/testing_journal.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>

namespace fairlead {
namespace {

struct Seen : RecordSink {
  void on(const Record& record) override {
    ++count;
    ended = std::holds_alternative<record::End>(record.what);
  }
  std::size_t count = 0;
  bool ended = false;
};

// Calls `write` between a header of two users and two jobs and the end of a run in which job 0
// runs.
std::string problem_of(const std::function<void(TestJournal&, RecordSink&)>& write) {
  Seen seen;
  CheckedJournal checked(seen);
  TestJournal journal(checked);
  journal.begin(2, {1, 2});
  journal.arrive(0, 0, {.gpus = 2, .work_ms = 1000});
  journal.place(0, 0, {.gang = {{NodeId(0), 2}}});
  write(journal, checked);
  journal.happen<record::Finished>(1000, 0);
  journal.unsubmitted(1000, 1, {}, 2000);
  journal.end(1000, {.finished = 1, .pending = 1, .unsubmitted = 1});
  EXPECT_EQ(seen.ended, checked.status().has_value());
  return checked.status() ? "" : checked.status().error().message;
}

TEST(CheckedJournal, PassesOnWhatARunWrites) {
  EXPECT_EQ(problem_of([](TestJournal&, RecordSink&) {}), "");
}

TEST(CheckedJournal, StopsAtTheFirstRecordThatTheAuditRefuses) {
  Seen seen;
  CheckedJournal checked(seen);
  TestJournal journal(checked);
  journal.begin(1, {1});
  const std::size_t header = seen.count;
  journal.happen<record::Stop>(0, 0);
  journal.arrive(0, 0, {});
  EXPECT_EQ(seen.count, header);
  ASSERT_FALSE(checked.status().has_value());
  EXPECT_NE(checked.status().error().message.find("job 0 loses a gang"), std::string::npos);
}

TEST(CheckedJournal, RefusesAJournalWithoutItsEnd) {
  Seen seen;
  CheckedJournal checked(seen);
  TestJournal(checked).begin(0, {});
  EXPECT_FALSE(checked.status().has_value());
}

TEST(CheckedJournal, RefusesAJobWithoutAUser) {
  const std::string problem = problem_of(
      [](TestJournal& journal, RecordSink&) { journal.arrive(0, 1, {.user = 2, .gpus = 1}); });
  EXPECT_NE(problem.find("job 1 is of user 2 of 2"), std::string::npos) << problem;
}

TEST(CheckedJournal, UsersNodesAndJobsMayComeAtAnyTime) {
  Seen seen;
  CheckedJournal checked(seen);
  TestJournal journal(checked);
  journal.begin(1, {1});
  journal.arrive(0, 0, {.gpus = 2, .work_ms = 1000});
  checked.on({{10}, record::User{.user = UserId(1), .name = "late", .tickets = 1}});
  checked.on({{10},
              record::Node{.node = NodeId(2),
                           .name = "n2",
                           .type = GpuTypeId(0),
                           .host = HostId(2),
                           .rack = RackId(1),
                           .gpus = 2}});
  journal.arrive(20, 1, {.user = 1, .gpus = 2, .work_ms = 1000});  // a job that is not in the trace
  journal.place(20, 1, {.gang = {{NodeId(2), 2}}});
  journal.note(20, note::Queue{JobId(1), 0});
  journal.happen<record::Finished>(1020, 1);
  journal.end(2000, {.finished = 1, .pending = 1});
  EXPECT_TRUE(checked.status().has_value()) << checked.status().error().message;
  EXPECT_TRUE(seen.ended);
}

TEST(CheckedJournal, RefusesWhatComesOutOfOrder) {
  const auto problem_with = [](const Record& record) {
    return problem_of([&](TestJournal&, RecordSink& sink) { sink.on(record); });
  };
  EXPECT_NE(problem_with({{}, record::Run{}}).find("a second run"), std::string::npos);
  EXPECT_NE(problem_with({{}, record::User{.user = UserId(3), .name = "u", .tickets = 1}})
                .find("user 2 is out of order"),
            std::string::npos);
  EXPECT_NE(problem_with({{}, record::Tickets{UserId(2), 1}}).find("user 2 of 2"),
            std::string::npos);
  EXPECT_NE(problem_with({{}, record::Tickets{UserId(1), 0}}).find("has 0 tickets"),
            std::string::npos);
  EXPECT_NE(problem_with({{}, record::Pinned{JobId(1), true}}).find("job 1 is pinned or may move"),
            std::string::npos);
}

TEST(CheckedJournal, GpusGoDownAndComeUpOnce) {
  const auto problem_with = [](const std::vector<Record>& records) {
    return problem_of([&](TestJournal&, RecordSink& sink) {
      for (const Record& record : records) sink.on(record);
    });
  };
  const NodeId node(1);
  EXPECT_EQ(problem_with({{{}, record::GpusDown{node, 0b0011}},
                          {{}, record::GpusDown{node, 0b0100}},
                          {{}, record::GpusUp{node, 0b0101}},
                          {{}, record::GpusUp{node, 0b0010}}}),
            "");
  EXPECT_NE(problem_with({{{}, record::GpusDown{node, 0b0011}}, {{}, record::GpusDown{node}}}), "");
  EXPECT_NE(problem_with({{{}, record::GpusDown{node, 0b10000}}}), "");
  EXPECT_NE(problem_with({{{}, record::GpusDown{node, 0b0011}}, {{}, record::GpusUp{node}}}), "");
  EXPECT_NE(problem_with({{{}, record::Cordoned{node, ""}}, {{}, record::Closed{node, 16}}}), "");
}

TEST(CheckedJournal, WhatWasIgnoredMayBeAboutAnything) {
  EXPECT_EQ(problem_of([](TestJournal&, RecordSink& sink) {
              sink.on({{}, record::Ignored{EventKind::kFinished, JobId(900), NodeId(70), 3}});
              sink.on({{}, record::Skipped{}});
            }),
            "");
}

TEST(CheckedJournal, RefusesAUserOfAGroupThatDoesNotExist) {
  const auto problem_with = [](const Record& record) {
    return problem_of([&](TestJournal&, RecordSink& sink) { sink.on(record); });
  };
  EXPECT_NE(problem_with({{}, record::User{UserId(2), "u", 1, GroupId(0)}}).find("group 0 of 0"),
            std::string::npos);
  EXPECT_NE(problem_with({{}, record::Group{GroupId(1), "g", 1, 0}}).find("out of order"),
            std::string::npos);
  EXPECT_NE(problem_with({{}, record::Group{GroupId(0), "g", 0, 0}}).find("0 tickets"),
            std::string::npos);
  EXPECT_EQ(problem_of([](TestJournal&, RecordSink& checked) {
              checked.on({{}, record::Group{GroupId(0), "g", 1, 4}});
              checked.on({{}, record::User{UserId(2), "u", 1, GroupId(0)}});
            }),
            "");
}

TEST(CheckedJournal, RefusesUsersWithoutTickets) {
  Seen seen;
  CheckedJournal checked(seen);
  TestJournal(checked).begin(0, {0});
  TestJournal(checked).end(0, {});
  EXPECT_NE(checked.status().error().message.find("user 0 has 0 tickets"), std::string::npos);
}

TEST(CheckedJournal, RefusesANodeOfATypeThatIsNotThere) {
  Seen seen;
  CheckedJournal checked(seen);
  const std::vector<std::string> types = {"V100"};
  checked.on({{}, record::Run{.gpu_types = types}});
  checked.on({{},
              record::Node{.node = NodeId(0),
                           .name = "n0",
                           .type = GpuTypeId(1),
                           .host = HostId(0),
                           .rack = RackId(0),
                           .gpus = 4}});
  EXPECT_NE(checked.status().error().message.find("node 0 has type 1"), std::string::npos);
}

TEST(CheckedJournal, RefusesANoteAboutNothing) {
  const std::string problem = problem_of([](TestJournal& journal, RecordSink&) {
    journal.note(0, note::Queue{JobId(2), 0});
  });
  EXPECT_NE(problem.find("a note about something"), std::string::npos) << problem;
}

TEST(CheckedJournal, ErrorsNameTheFile) {
  const auto path = std::filesystem::path(testing::TempDir()) / "fairlead_checked_journal.flj";
  auto file = JournalFile::create(path);
  ASSERT_TRUE(file.has_value());
  TestJournal journal(*file);
  journal.begin(1, {1});
  journal.end(0, {});  // the end record does not count the job
  ASSERT_TRUE(file->close().has_value());
  Seen seen;
  const auto status = read_checked_journal(path, seen);
  std::filesystem::remove(path);
  ASSERT_FALSE(status.has_value());
  EXPECT_TRUE(status.error().message.starts_with(path.string())) << status.error().message;
  EXPECT_FALSE(read_checked_journal(path, seen).has_value());  // the file is gone
}

}  // namespace
}  // namespace fairlead
