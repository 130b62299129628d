#include "fairlead/report/journal_dump.h"

#include "fairlead/journal/testing_journal.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <sstream>

namespace fairlead {
namespace {

// A record of every kind.
void tell(RecordSink& sink) {
  TestJournal journal(sink);
  journal.begin(3, {3});
  journal.arrive(100, 0, {.user = 0, .gpus = 6, .work_ms = 4000, .model = "VAE"});
  journal.place(100, 0,
                {.gang = {{NodeId(0), 2}, {NodeId(1), 1}},
                 .kind = PlaceKind::kMigrate,
                 .overhead_ms = 50,
                 .rate = 0.25});
  journal.reject(200, 1, {.gpus = 99}, "larger, \"much\" larger");
  journal.speed(300, 0, 1.5);
  journal.note(300, note::Trade{.seller = UserId(0), .buyer = {}, .fast = {}, .gpus = {-7}});
  journal.happen<record::Stop>(400, 0);
  journal.evict(500, 0, 20);
  journal.node<record::GpusDown>(500, 1);
  journal.node<record::GpusUp>(600, 1);
  journal.happen<record::Held>(600, 0);
  journal.happen<record::Released>(600, 0);
  sink.on({{600}, record::Stopped{JobId(0), 1}});
  sink.on({{600}, record::StopFailed{JobId(0), 1, "busy"}});
  sink.on({{600}, record::Started{JobId(0), {30}}});
  sink.on({{600}, record::StartFailed{JobId(0), {900}, "no such file"}});
  sink.on({{600}, record::Cordoned{NodeId(1), "three starts failed"}});
  sink.on({{600}, record::Closed{NodeId(1), 1}});
  sink.on({{600}, record::Reported{JobId(0), Duration{7}}});
  sink.on({{600}, record::Carried{JobId(0), 3, {5}, Duration{9}}});
  sink.on({{600}, record::Pinned{JobId(0), true}});
  sink.on({{600}, record::Forgotten{UserId(0), "VAE"}});
  sink.on({{600}, record::Profiled{JobId(0), {900, 800, 700, 8, 32, 4000}}});
  sink.on({{600}, record::Charged{UserId(0), NodeId(1), {60'000}}});
  sink.on({{600}, record::Group{GroupId(0), "vision", 3, 16}});
  sink.on({{600}, record::User{UserId(1), "cat", 2, GroupId(0)}});
  sink.on({{600}, record::Uncordoned{NodeId(1)}});
  sink.on({{600}, record::Tickets{UserId(0), 2}});
  sink.on({{600}, record::Ignored{EventKind::kFinished, JobId(0), NodeId(), 1}});
  sink.on({{600}, record::Skipped{}});
  sink.on({{600}, record::Snapshot{"fifo", "skip=true", {}, {}}});
  sink.on({{600},
           record::Arrived{{.job = JobId(3),
                            .user = UserId(0),
                            .name = "logged",
                            .logged = {.time_limit = seconds(9), .priority = 2, .start = {700}},
                            .partition = "gpu"}}});
  journal.happen<record::Finished>(700, 0);
  journal.happen<record::Failed>(700, 0);
  journal.happen<record::Cancelled>(700, 0);
  journal.unsubmitted(800, 2, {.gpus = 1}, 9000);
  journal.end(800, {.finished = 1, .rejected = 1, .pending = 1, .unsubmitted = 1});
}

std::vector<std::string> dump(JournalDump::Form form) {
  std::string text;
  JournalDump sink(form, [&](std::string_view piece) { text += piece; });
  tell(sink);
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(JournalDump, JsonHasAnObjectWithNamedFieldsForEachRecord) {
  const std::vector<std::string> lines = dump(JournalDump::Form::kJson);
  EXPECT_EQ(lines[0],
            R"({"t_ms":0,"kind":"run","seed":"7","jobs":3,"policy":"fifo","options":"skip=true",)"
            R"("cluster":"tiny","trace":"t.csv","gpu_types":["V100","K80"]})");
  EXPECT_EQ(lines[1], R"({"t_ms":0,"kind":"user","user":0,"name":"u0","tickets":3})");
  EXPECT_EQ(lines[4],
            R"({"t_ms":100,"kind":"arrived","job":0,"user":0,"name":"job-0","model":"VAE",)"
            R"("gpus":6,"gpus_min":6,"gpus_max":6,"types":4294967295,"work_ms":4000})");
  EXPECT_EQ(lines[5], R"({"t_ms":100,"kind":"place","job":0,"place":"migrate",)"
                      R"("gang":[{"node":0,"gpus":[0,1]},{"node":1,"gpus":[0]}],"rate":0.25,)"
                      R"("overhead_ms":50,"locality":1,"copy":0,"share_num":1,"share_den":1,)"
                      R"("reported":0})");
  EXPECT_EQ(lines[8],
            R"({"t_ms":300,"kind":"note","note":"trade","job":null,"user":0,"other_user":null,)"
            R"("type":null,"value":-7})");
  std::set<std::string> kinds;
  for (const std::string& line : lines) {
    const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(json.is_object()) << line;
    kinds.insert(json["kind"]);
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<Record::What>);
}

TEST(JournalDump, SaysWhatALogSays) {
  const std::vector<std::string> lines = dump(JournalDump::Form::kJson);
  EXPECT_EQ(std::ranges::count_if(lines,
                                  [](const std::string& line) {
                                    return line.ends_with(
                                        R"("work_ms":0,"time_limit_ms":9000,"priority":2,)"
                                        R"("partition":"gpu","logged_start_ms":700})");
                                  }),
            1);
}

TEST(JournalDump, CsvHasAColumnForEachFieldOfTheJson) {
  const std::vector<std::string> lines = dump(JournalDump::Form::kCsv);
  const auto cells = [](const std::string& line) { return std::ranges::count(line, ',') + 1; };
  for (const std::string& line : dump(JournalDump::Form::kJson)) {
    const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
    for (const auto& [key, value] : json.items()) {
      EXPECT_NE(("," + lines[0] + ",").find("," + key + ","), std::string::npos) << key;
    }
  }
  EXPECT_TRUE(lines[6].starts_with("100,place,0,,,,,,,,,,,,migrate,0:0+1 1:0,0.25,50,1,0,1,1,0,,"))
      << lines[6];
  EXPECT_NE(lines[7].find(",\"larger, \"\"much\"\" larger\","), std::string::npos) << lines[7];
  EXPECT_EQ(cells(lines[6]), cells(lines[0]));
  EXPECT_EQ(lines.size(), dump(JournalDump::Form::kJson).size() + 1);
}

}  // namespace
}  // namespace fairlead
