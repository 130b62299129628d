#include "fairlead/journal/repair.h"

#include "fairlead/journal/testing_blocks.h"
#include "fairlead/journal/testing_journal.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

// A finished journal of three blocks.
void write_journal(const std::filesystem::path& path) {
  auto file = JournalFile::create(path);
  ASSERT_TRUE(file.has_value());
  TestJournal journal(*file);
  journal.begin(1, {1});
  ASSERT_TRUE(file->sync().has_value());
  journal.arrive(0, 0, {});
  journal.place(0, 0, {.gang = {{NodeId(0), 1}}});
  ASSERT_TRUE(file->sync().has_value());
  journal.happen<record::Finished>(1000, 0);
  journal.end(1000, {.finished = 1});
  ASSERT_TRUE(file->close().has_value());
}

class RepairTest : public testing::Test {
 protected:
  RepairTest() {
    write_journal(file_.path());
    whole_ = file_.bytes();
    blocks_ = blocks_of(whole_);
    kept_ = file_.path().string() + ".damaged";
  }
  ~RepairTest() override {
    std::error_code ignored;
    std::filesystem::remove(kept_, ignored);
  }

  ScratchFile file_;
  ScratchFile other_;
  std::string whole_;
  std::vector<std::string> blocks_;
  std::filesystem::path kept_;
};

TEST_F(RepairTest, CutsATornTailAndKeepsTheOriginal) {
  const std::string torn = whole_.substr(0, whole_.size() - 3);
  file_.write(torn);
  const auto found = repair_journal(file_.path(), file_.path(), false);
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(found->end.rest.bytes, blocks_[2].size() - 3);
  EXPECT_EQ(found->end.rest.torn_records, 2u);
  EXPECT_EQ(file_.bytes(), file_of({blocks_[0], blocks_[1]}));
  ASSERT_TRUE(std::filesystem::exists(kept_));
  EXPECT_EQ(std::filesystem::file_size(kept_), torn.size());
  // Once more there is nothing to cut, and then there would be no name for another original.
  EXPECT_EQ(repair_journal(file_.path(), file_.path(), false)->end.rest.bytes, 0u);
  file_.write(torn);
  const auto again = repair_journal(file_.path(), file_.path(), false);
  ASSERT_FALSE(again.has_value());
  EXPECT_NE(again.error().message.find(".damaged: cannot keep the original there"),
            std::string::npos);
  EXPECT_EQ(file_.bytes(), torn);
}

TEST_F(RepairTest, CutsWhatStandsBehindTheEnd) {
  file_.write(whole_ + "more");
  const auto found = repair_journal(file_.path(), other_.path(), false);
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(found->end.rest.bytes, 4u);
  EXPECT_EQ(other_.bytes(), whole_);
  EXPECT_EQ(file_.bytes(), whole_ + "more");
  EXPECT_FALSE(std::filesystem::exists(kept_));
}

TEST_F(RepairTest, CutsDamageInTheMiddleOnlyIfAsked) {
  std::string bytes = whole_;
  bytes[kBlocksMagic.size() + blocks_[0].size() + 30] ^= 4;
  bytes[kBlocksMagic.size() + blocks_[0].size() + 33] ^= 4;
  file_.write(bytes);
  const auto refused = repair_journal(file_.path(), other_.path(), false);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("would lose 2 records in 1 whole blocks"),
            std::string::npos)
      << refused.error().message;
  EXPECT_FALSE(std::filesystem::exists(other_.path()));
  const auto found = repair_journal(file_.path(), other_.path(), true);
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(found->end.rest.bytes, blocks_[1].size() + blocks_[2].size());
  EXPECT_EQ(other_.bytes(), file_of({blocks_[0]}));
  EXPECT_EQ(found->lost.last, 3U);
  EXPECT_EQ(found->lost.span, Duration{1000});
}

TEST_F(RepairTest, RestoresAChangedByteAndKeepsTheOriginal) {
  std::string bytes = whole_;
  bytes[kBlocksMagic.size() + blocks_[0].size() + 30] ^= 4;
  file_.write(bytes);
  const auto found = repair_journal(file_.path(), file_.path(), false);
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(found->end.state, JournalEnd::State::kFinished);
  EXPECT_EQ(found->end.rest.bytes, 0U);
  EXPECT_EQ(found->blocks.restored.size(), 1U);
  EXPECT_EQ(file_.bytes(), whole_);
  EXPECT_TRUE(std::filesystem::exists(kept_));
}

TEST_F(RepairTest, CopiesWhatIsWhole) {
  EXPECT_TRUE(repair_journal(file_.path(), other_.path(), false).has_value());
  EXPECT_EQ(other_.bytes(), whole_);
  EXPECT_TRUE(repair_journal(file_.path(), file_.path(), false).has_value());
  EXPECT_FALSE(std::filesystem::exists(kept_));
  file_.write("no journal");
  EXPECT_FALSE(repair_journal(file_.path(), other_.path(), true).has_value());
}

}  // namespace
}  // namespace fairlead
