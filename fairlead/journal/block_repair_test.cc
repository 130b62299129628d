#include "fairlead/journal/block_repair.h"

#include "fairlead/journal/testing_blocks.h"
#include "fairlead/journal/testing_journal.h"

#include <gtest/gtest.h>

#include <numeric>

namespace fairlead {
namespace {

// A journal of four blocks, each of them synced, without an end.
std::string journal_bytes() {
  const ScratchFile scratch;
  auto file = JournalFile::create(scratch.path());
  TestJournal journal(*file);
  journal.begin(1, {1});
  EXPECT_TRUE(file->sync().has_value());
  journal.arrive(0, 0, {});
  journal.place(0, 0, {.gang = {{NodeId(0), 1}}});
  EXPECT_TRUE(file->sync().has_value());
  journal.arrive(1000, 1, {});
  EXPECT_TRUE(file->sync().has_value());
  journal.happen<record::Finished>(5000, 0);
  EXPECT_TRUE(file->sync().has_value());
  return scratch.bytes();
}

class BlockRepairTest : public testing::Test {
 protected:
  const std::string whole_ = journal_bytes();
  const std::vector<std::string> blocks_ = blocks_of(whole_);

  std::size_t begin_of(std::size_t block) const {
    return std::accumulate(
        blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(block), kBlocksMagic.size(),
        [](std::size_t sum, const std::string& one) { return sum + one.size(); });
  }
};

TEST_F(BlockRepairTest, LeavesAloneWhatIsWhole) {
  std::string bytes = whole_;
  EXPECT_FALSE(repair_blocks(bytes).is_needed());
  EXPECT_EQ(bytes, whole_);
}

// In the magic, and in the check value, length, records, number, hash and frame of each block.
TEST_F(BlockRepairTest, RestoresABitThatWasFlippedAnywhere) {
  for (std::size_t at = 0; at < whole_.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes = whole_;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
      const BlockRepair done = repair_blocks(bytes);
      ASSERT_EQ(done.restored, std::vector<std::uint64_t>{at}) << at << " bit " << bit;
      ASSERT_EQ(bytes, whole_) << at << " bit " << bit;
    }
  }
}

TEST_F(BlockRepairTest, RestoresAByteOfEachBlock) {
  std::string bytes = whole_;
  std::vector<std::uint64_t> changed;
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    const std::size_t at = begin_of(block) + 4 + 7 * block;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x5A);
    changed.push_back(at);
  }
  EXPECT_EQ(repair_blocks(bytes).restored, changed);
  EXPECT_EQ(bytes, whole_);
}

TEST_F(BlockRepairTest, DropsWhatStandsBetweenBlocks) {
  for (const std::string& strange : {std::string("strange bytes"), blocks_[1], blocks_[0]}) {
    std::string bytes = whole_;
    bytes.insert(begin_of(2), strange);
    const BlockRepair done = repair_blocks(bytes);
    EXPECT_EQ(done.dropped, strange.size());
    EXPECT_EQ(bytes, whole_);
  }
}

TEST_F(BlockRepairTest, GuessesNothing) {
  std::string two = whole_;
  two[begin_of(1) + 30] ^= 1;
  two[begin_of(1) + 35] ^= 1;
  const std::string missing = file_of({blocks_[0], blocks_[2], blocks_[3]});
  const std::string torn = whole_.substr(0, whole_.size() - 1);
  for (const std::string& damaged : {two, missing, torn, std::string("FL"), std::string("FLJ3")}) {
    std::string bytes = damaged;
    EXPECT_FALSE(repair_blocks(bytes).is_needed());
    EXPECT_EQ(bytes, damaged);
  }
}

TEST_F(BlockRepairTest, WhatIsLostIsCounted) {
  const std::string rest = blocks_[1].substr(1) + blocks_[2] + blocks_[3];
  const LostRecords lost = lost_records(rest);
  EXPECT_EQ(lost.span, Duration{5000});
  EXPECT_EQ(lost.jobs, 1U);
  EXPECT_EQ(lost.last, 4U);
}

}  // namespace
}  // namespace fairlead
