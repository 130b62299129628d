// journal verify, dump and repair, and the reports of other commands on damaged journals.

#include "program.h"

#include <algorithm>

namespace fairlead {
namespace {

using nlohmann::json;

class JournalTest : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    small_trace();
    ASSERT_EQ(fairlead(simulate("")).exit_code, 0);
    whole_ = read("out/journal.flj");
    hash_ = read_json("out/summary.json")["journal_hash"];
  }
  json verified(std::string_view file) const {
    return json::parse(fairlead("journal verify --json " + std::string(file)).out, nullptr, false);
  }

  std::string whole_;
  std::string hash_;
};

TEST_F(JournalTest, VerifyTellsAFinishedJournal) {
  for (const char* file : {"out/journal.flj", "out"}) {
    const Ended ended = fairlead(std::string("journal verify ") + file);
    EXPECT_EQ(ended.exit_code, 0) << ended.errors;
    EXPECT_TRUE(ended.out.starts_with("out/journal.flj: finished: ")) << ended.out;
    EXPECT_NE(ended.out.find("hash " + hash_), std::string::npos) << ended.out;
  }
  const json value = verified("out");
  EXPECT_EQ(value["state"], "finished");
  EXPECT_EQ(value["hash"], hash_);
  EXPECT_EQ(value["bytes"], whole_.size());
  EXPECT_EQ(value["problem"], nullptr);
}

TEST_F(JournalTest, VerifyTellsUnfinishedFromDamaged) {
  write("cut.flj", whole_.substr(0, whole_.size() - 1));
  const Ended cut = fairlead("journal verify cut.flj");
  EXPECT_EQ(cut.exit_code, 1);
  EXPECT_NE(cut.out.find("torn tail from byte 4 on: "), std::string::npos) << cut.out;
  write("longer.flj", whole_ + whole_.substr(4));
  const Ended longer = fairlead("journal verify longer.flj");
  EXPECT_EQ(longer.exit_code, 2);
  EXPECT_NE(longer.out.find(" in block 2: "), std::string::npos) << longer.out;
  EXPECT_EQ(verified("longer.flj")["state"], "damaged");
  EXPECT_EQ(fairlead("journal verify jobs.csv").exit_code, 2);
  EXPECT_EQ(fairlead("journal verify gone").exit_code, 2);
}

TEST_F(JournalTest, VerifyTakesSeveralAndAnswersWithTheWorst) {
  write("cut.flj", whole_.substr(0, whole_.size() - 1));
  const Ended two = fairlead("journal verify out cut.flj");
  EXPECT_EQ(two.exit_code, 1);
  EXPECT_NE(two.out.find("out/journal.flj: finished"), std::string::npos);
  EXPECT_NE(two.out.find("cut.flj: unfinished"), std::string::npos);
  const Ended three = fairlead("journal verify jobs.csv cut.flj out --json");
  EXPECT_EQ(three.exit_code, 2);
  EXPECT_EQ(std::ranges::count(three.out, '\n'), 2);
}

TEST_F(JournalTest, AJournalOfAnotherRunIsNoticed) {
  const std::string summary = read("out/summary.json");
  ASSERT_EQ(fairlead(simulate("--until 25")).exit_code, 0);
  write("out/summary.json", summary);
  for (const char* command : {"journal verify out", "report out", "replay out --policy srtf"}) {
    const Ended ended = fairlead(command);
    EXPECT_EQ(ended.exit_code, 2) << command;
    EXPECT_NE((ended.out + ended.errors).find("of another run than the summary.json beside it"),
              std::string::npos)
        << command << ended.out << ended.errors;
  }
}

TEST_F(JournalTest, OneFlippedBitIsNeverAResult) {
  for (std::size_t at = 0; at < whole_.size(); at += whole_.size() / 20) {
    std::string bytes = whole_;
    bytes[at] = static_cast<char>(bytes[at] ^ 16);
    write("out/journal.flj", bytes);
    EXPECT_EQ(fairlead("report out").exit_code, 2) << at;
    EXPECT_EQ(fairlead("replay out --policy srtf").exit_code, 2) << at;
    EXPECT_NE(fairlead("journal verify out").exit_code, 0) << at;
  }
}

TEST_F(JournalTest, DumpPrintsALinePerRecord) {
  const Ended lines = fairlead("journal dump out");
  EXPECT_EQ(lines.exit_code, 0) << lines.errors;
  EXPECT_TRUE(lines.out.starts_with("{\"t_ms\":0,\"kind\":\"run\",")) << lines.out;
  EXPECT_EQ(std::ranges::count(lines.out, '\n'), verified("out")["records"].get<int>());
  const Ended table = fairlead("journal dump out/journal.flj --csv");
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_TRUE(table.out.starts_with("t_ms,kind,job,")) << table.out;
  EXPECT_EQ(std::ranges::count(table.out, '\n'), std::ranges::count(lines.out, '\n') + 1);
  EXPECT_EQ(fairlead("journal dump out --csv --json").exit_code, 2);
  write("cut.flj", whole_.substr(0, whole_.size() - 1));
  EXPECT_EQ(fairlead("journal dump cut.flj").exit_code, 1);
  EXPECT_EQ(fairlead("journal dump jobs.csv").exit_code, 2);
}

TEST_F(JournalTest, RepairCutsAndKeepsTheOriginal) {
  write("out/journal.flj", whole_ + "what an editor left");
  EXPECT_EQ(fairlead("report out").exit_code, 2);
  const Ended copy = fairlead("journal repair out -o copy.flj");
  EXPECT_EQ(copy.exit_code, 0) << copy.errors;
  EXPECT_EQ(read("copy.flj"), whole_);
  const Ended ended = fairlead("journal repair out/journal.flj");
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_NE(ended.out.find(": 19 bytes"), std::string::npos) << ended.out;
  EXPECT_EQ(read("out/journal.flj"), whole_);
  EXPECT_EQ(read("out/journal.flj.damaged"), whole_ + "what an editor left");
  EXPECT_EQ(fairlead("replay out --policy srtf").exit_code, 0);
  EXPECT_NE(fairlead("journal repair out").out.find("nothing to repair"), std::string::npos);
}

TEST_F(JournalTest, RepairRestoresAByteThatWasChanged) {
  std::string bytes = whole_;
  bytes[whole_.size() / 2] ^= 16;
  write("out/journal.flj", bytes);
  const Ended ended = fairlead("journal repair out");
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_NE(ended.out.find(fmt::format("restored 1 changed byte, at {}\n", whole_.size() / 2)),
            std::string::npos)
      << ended.out;
  EXPECT_EQ(read("out/journal.flj"), whole_);
  EXPECT_EQ(read("out/journal.flj.damaged"), bytes);
}

TEST_F(JournalTest, RepairCutsInTheMiddleOnlyIfAsked) {
  write("longer.flj", whole_ + whole_.substr(4));
  const Ended refused = fairlead("journal repair longer.flj");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.errors.find("--cut"), std::string::npos) << refused.errors;
  EXPECT_EQ(fairlead("journal repair longer.flj --cut").exit_code, 0);
  EXPECT_EQ(read("longer.flj"), whole_);
}

TEST_F(JournalTest, HelpTeaches) {
  for (const char* command : {"journal", "journal verify", "journal dump", "journal repair"}) {
    const Ended ended = fairlead(std::string(command) + " --help");
    EXPECT_EQ(ended.exit_code, 0);
    EXPECT_EQ(ended.errors, "");
  }
  EXPECT_NE(fairlead("journal verify --help").out.find("torn"), std::string::npos);
}

}  // namespace
}  // namespace fairlead
