#include "fairlead/journal/checked_journal.h"

#include "fairlead/journal/testing_journal.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>

namespace fairlead {
namespace {

struct Kinds : RecordSink {
  void on(const Record& record) override { seen.push_back(record.kind); }
  std::vector<RecordKind> seen;
};

// Calls `write` between a header of two users and two jobs and the end of a run in which job 0
// runs.
std::string problem_of(const std::function<void(TestJournal&, RecordSink&)>& write) {
  Kinds kinds;
  CheckedJournal checked(kinds);
  TestJournal journal(checked);
  journal.begin(2, {1, 2});
  journal.arrive(0, 0, {.gpus = 2, .work_ms = 1000});
  journal.place(0, 0, {.gang = {{NodeId(0), 2}}});
  write(journal, checked);
  journal.happen(RecordKind::kFinished, 1000, 0);
  journal.unsubmitted(1000, 1, {}, 2000);
  journal.end(1000, {.finished = 1, .pending = 1, .unsubmitted = 1});
  if (checked.status()) {
    EXPECT_EQ(kinds.seen.back(), RecordKind::kEnd);
    return {};
  }
  EXPECT_NE(kinds.seen.back(), RecordKind::kEnd);
  return checked.status().error().message;
}

Record of(RecordKind kind) {
  Record record;
  record.kind = kind;
  return record;
}

TEST(CheckedJournal, PassesOnWhatARunWrites) {
  EXPECT_EQ(problem_of([](TestJournal&, RecordSink&) {}), "");
}

TEST(CheckedJournal, StopsAtTheFirstRecordThatTheAuditRefuses) {
  Kinds kinds;
  CheckedJournal checked(kinds);
  TestJournal journal(checked);
  journal.begin(1, {1});
  const std::size_t header = kinds.seen.size();
  journal.happen(RecordKind::kStop, 0, 0);
  journal.arrive(0, 0, {});
  EXPECT_EQ(kinds.seen.size(), header);
  ASSERT_FALSE(checked.status().has_value());
  EXPECT_NE(checked.status().error().message.find("job 0 loses a gang"), std::string::npos);
}

TEST(CheckedJournal, RefusesAJournalWithoutItsEnd) {
  Kinds kinds;
  CheckedJournal checked(kinds);
  TestJournal(checked).begin(0, {});
  EXPECT_FALSE(checked.status().has_value());
}

TEST(CheckedJournal, RefusesAJobWithoutAUser) {
  const std::string problem = problem_of(
      [](TestJournal& journal, RecordSink&) { journal.arrive(0, 1, {.user = 2, .gpus = 1}); });
  EXPECT_NE(problem.find("job 1 is of user 2 of 2"), std::string::npos) << problem;
}

TEST(CheckedJournal, RefusesAHeaderThatGoesOn) {
  const std::string problem = problem_of([](TestJournal&, RecordSink& sink) {
    Record user = of(RecordKind::kUser);
    user.user = UserId(2);
    user.tickets = 1;
    sink.on(user);
  });
  EXPECT_NE(problem.find("comes late"), std::string::npos) << problem;
}

TEST(CheckedJournal, RefusesUsersWithoutTickets) {
  Kinds kinds;
  CheckedJournal checked(kinds);
  TestJournal(checked).begin(0, {0});
  TestJournal(checked).end(0, {});
  EXPECT_NE(checked.status().error().message.find("user 0 has 0 tickets"), std::string::npos);
}

TEST(CheckedJournal, RefusesANodeOfATypeThatIsNotThere) {
  Kinds kinds;
  CheckedJournal checked(kinds);
  Record run = of(RecordKind::kRun);
  const std::vector<std::string> names = {"fifo", "", "tiny", "t.csv", "V100"};
  run.names = names;
  checked.on(run);
  Record node = of(RecordKind::kNode);
  node.node = NodeId(0);
  node.type = GpuTypeId(1);
  node.host = HostId(0);
  node.rack = RackId(0);
  node.count = 4;
  checked.on(node);
  EXPECT_NE(checked.status().error().message.find("node 0 has type 1"), std::string::npos);
}

TEST(CheckedJournal, RefusesANoteAboutNothing) {
  const std::string problem = problem_of([](TestJournal&, RecordSink& sink) {
    Record note = of(RecordKind::kNote);
    note.note.job = JobId(2);
    sink.on(note);
  });
  EXPECT_NE(problem.find("a note about something"), std::string::npos) << problem;
}

TEST(CheckedJournal, ErrorsNameTheFile) {
  const auto path = std::filesystem::path(testing::TempDir()) / "fairlead_checked_journal.flj";
  auto file = JournalFile::create(path);
  ASSERT_TRUE(file.has_value());
  TestJournal journal(*file);
  journal.begin(1, {1});
  journal.end(0, {});  // which does not count the job
  ASSERT_TRUE(file->close().has_value());
  Kinds kinds;
  const Status status = read_checked_journal(path, kinds);
  std::filesystem::remove(path);
  ASSERT_FALSE(status.has_value());
  EXPECT_TRUE(status.error().message.starts_with(path.string())) << status.error().message;
  EXPECT_FALSE(read_checked_journal(path, kinds).has_value());  // it is gone
}

}  // namespace
}  // namespace fairlead
