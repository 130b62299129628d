// Damaged journals: each damage is found, or cuts the journal at a whole block and leaves it
// unfinished. The records read are always the first records written.

#include "fairlead/base/rng.h"
#include "fairlead/journal/testing_blocks.h"
#include "fairlead/journal/testing_journal.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fairlead {
namespace {

using Records = std::vector<std::vector<std::uint8_t>>;

// The separate encoding of each record.
struct Encoded : RecordSink {
  void on(const Record& record) override {
    Writer out;
    encode_record(out, record, Time{});
    seen.push_back(out.bytes());
  }
  Records seen;
};

// Passes on all records after the first `count`.
struct Later : RecordSink {
  Later(std::size_t count, RecordSink& to) : left(count), next(to) {}
  void on(const Record& record) override {
    if (left == 0) return next.on(record);
    --left;
  }
  std::size_t left;
  RecordSink& next;
};

// Ends the block after every third record.
struct Synced : RecordSink {
  explicit Synced(JournalFile& to) : file(to) {}
  void on(const Record& record) override {
    file.on(record);
    if (++count % 3 != 0) return;
    EXPECT_TRUE(file.sync().has_value());
  }
  JournalFile& file;
  int count = 0;
};

void tell(RecordSink& sink) {
  TestJournal journal(sink);
  journal.begin(2, {1, 2});
  journal.arrive(100, 0, {.user = 0, .gpus = 6, .work_ms = 4000, .model = "VAE"});
  journal.place(100, 0, {.gang = {{NodeId(0), 4}, {NodeId(1), 2}}, .overhead_ms = 50});
  journal.arrive(300, 1, {.user = 1, .gpus = 1, .work_ms = 1000});
  journal.happen<record::Stop>(400, 0);
  journal.place(400, 1, {.gang = {{NodeId(1), 1}}});
  journal.speed(900, 1, 0.5);
  journal.evict(1000, 1, 100);
  journal.node<record::GpusDown>(1000, 1);
  journal.node<record::GpusUp>(1500, 1);
  journal.happen<record::Failed>(1600, 1);
  journal.end(2000, {.failed = 1, .pending = 1});
}

class Damage : public testing::Test {
 protected:
  Damage() {
    auto journal = JournalFile::create(file_.path());
    EXPECT_TRUE(journal.has_value());
    Synced synced(*journal);
    Tee tee({&synced, &all_});
    tell(tee);
    EXPECT_TRUE(journal->close().has_value());
    hash_ = journal->hash();
    whole_ = file_.bytes();
    blocks_ = blocks_of(whole_);
    std::size_t end = kBlocksMagic.size();
    ends_.push_back(end);
    for (const std::string& block : blocks_) ends_.push_back(end += block.size());
  }

  // Returns the number, counted from 0, of the block that contains byte `at`.
  std::size_t block_at(std::size_t at) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(ends_, at) - ends_.begin()) - 1;
  }

  // Reads a damaged journal. Empty if it is not a journal at all.
  std::optional<JournalEnd> read_damaged(std::string_view bytes) {
    Result<BlockReader> reader = reader_of(bytes);
    if (!reader) return std::nullopt;
    Encoded sink;
    const Result<JournalEnd> end = read_journal(std::move(*reader), sink);
    if (!end) return std::nullopt;
    EXPECT_NE(end->state, JournalEnd::State::kFinished);
    EXPECT_EQ(end->problem.empty(), end->state == JournalEnd::State::kUnfinished);
    EXPECT_LE(sink.seen.size(), all_.seen.size());
    EXPECT_TRUE(std::ranges::equal(
        sink.seen, std::span(all_.seen).first(std::min(sink.seen.size(), all_.seen.size()))));
    EXPECT_TRUE(std::ranges::count(ends_, end->bytes) == 1) << end->bytes;
    EXPECT_EQ(end->bytes + end->rest.bytes, bytes.size());
    return *end;
  }

  ScratchFile file_;
  Encoded all_;
  std::string hash_;
  std::string whole_;
  std::vector<std::string> blocks_;
  std::vector<std::size_t> ends_;  // ends of the magic and of each block
};

TEST_F(Damage, NoneIsFoundInTheWhole) {
  Encoded sink;
  Result<JournalEnd> end = read_journal(file_.path(), sink);
  ASSERT_TRUE(end.has_value()) << end.error().message;
  EXPECT_EQ(end->state, JournalEnd::State::kFinished);
  EXPECT_EQ(end->blocks, blocks_.size());
  EXPECT_EQ(end->bytes, whole_.size());
  EXPECT_EQ(end->records, all_.seen.size());
  EXPECT_EQ(end->last.ms, 2000);
  EXPECT_EQ(hash_text(end->hash), hash_);
  EXPECT_EQ(sink.seen, all_.seen);
  EXPECT_GE(blocks_.size(), 5u);
}

TEST_F(Damage, EveryFlippedBitIsFoundInItsBlock) {
  for (std::size_t bit = 0; bit < 8 * whole_.size(); ++bit) {
    std::string bytes = whole_;
    const std::size_t at = bit / 8;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << (bit % 8)));
    const std::optional<JournalEnd> end = read_damaged(bytes);
    if (at < kBlocksMagic.size()) {
      EXPECT_FALSE(end.has_value()) << bit;
      continue;
    }
    ASSERT_TRUE(end.has_value()) << bit;
    const std::size_t block = block_at(at);
    EXPECT_EQ(end->bytes, ends_[block]) << bit;
    // A damaged last block looks the same as a half-written one.
    EXPECT_EQ(end->state == JournalEnd::State::kUnfinished, block + 1 == blocks_.size()) << bit;
    EXPECT_EQ(end->rest.blocks, blocks_.size() - block - 1) << bit;
  }
}

TEST_F(Damage, EveryCutLeavesTheWholeBlocks) {
  for (std::size_t size = 0; size < whole_.size(); ++size) {
    const std::optional<JournalEnd> end = read_damaged(whole_.substr(0, size));
    ASSERT_EQ(end.has_value(), size >= kBlocksMagic.size()) << size;
    if (!end) continue;
    EXPECT_EQ(end->state, JournalEnd::State::kUnfinished) << size;
    EXPECT_EQ(end->blocks, block_at(size)) << size;
    EXPECT_EQ(end->rest.bytes, size - ends_[block_at(size)]) << size;
  }
}

TEST_F(Damage, BlocksSwappedRepeatedOrDroppedAreFound) {
  for (std::size_t a = 0; a < blocks_.size(); ++a) {
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      std::vector<std::string> swapped = blocks_;
      std::swap(swapped[a], swapped[b]);
      std::vector<std::string> repeated = blocks_;
      repeated.insert(repeated.begin() + static_cast<std::ptrdiff_t>(b), blocks_[a]);
      std::vector<std::string> moved = blocks_;
      moved.erase(moved.begin() + static_cast<std::ptrdiff_t>(a));
      moved.insert(moved.begin() + static_cast<std::ptrdiff_t>(b), blocks_[a]);
      for (const auto& blocks : {swapped, repeated, moved}) {
        if (blocks == blocks_) continue;
        const std::optional<JournalEnd> end = read_damaged(file_of(blocks));
        ASSERT_TRUE(end.has_value()) << a << " " << b;
        EXPECT_EQ(end->state, JournalEnd::State::kDamaged) << a << " " << b;
      }
    }
    std::vector<std::string> dropped = blocks_;
    dropped.erase(dropped.begin() + static_cast<std::ptrdiff_t>(a));
    const std::optional<JournalEnd> end = read_damaged(file_of(dropped));
    ASSERT_TRUE(end.has_value()) << a;
    EXPECT_EQ(end->state == JournalEnd::State::kDamaged, a + 1 < blocks_.size()) << a;
  }
}

TEST_F(Damage, BytesAfterTheEndAreFound) {
  Rng rng(3);
  for (std::size_t size = 1; size < 300; ++size) {
    std::string garbage(size, '\0');
    for (char& c : garbage) c = static_cast<char>(rng.below(256));
    for (const std::string& more : {garbage, std::string(size, '\0'), whole_.substr(0, size)}) {
      const std::optional<JournalEnd> end = read_damaged(whole_ + more);
      ASSERT_TRUE(end.has_value()) << size;
      EXPECT_EQ(end->state, JournalEnd::State::kDamaged) << size;
      EXPECT_EQ(end->bytes, whole_.size()) << size;
    }
  }
}

TEST_F(Damage, AnyMixOfDamageIsFound) {
  Rng rng(17);
  constexpr int kTries = 10'000;
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(rng.below(bound)); };
  for (int i = 0; i < kTries; ++i) {
    std::string bytes = whole_;
    for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
      const std::size_t at = below(bytes.size() + 1);
      const std::size_t count = std::min(below(60), bytes.size() - at);
      std::string piece = whole_.substr(below(whole_.size()), below(60));
      switch (below(4)) {
        case 0:
          bytes.erase(at, count);
          break;
        case 1:
          bytes.insert(at, piece);
          break;
        case 2:
          bytes.replace(at, count, piece);
          break;
        default:
          std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), count, '\0');
      }
    }
    if (bytes != whole_) read_damaged(bytes);
  }
}

// A writer is killed at any moment, and the journal is then continued.
TEST_F(Damage, AJournalThatGoesOnEndsAsIfItHadNotBeenCut) {
  for (std::size_t size = kBlocksMagic.size(); size < whole_.size(); size += 13) {
    file_.write(std::string_view(whole_).substr(0, size));
    Encoded before;
    JournalEnd found;
    auto journal = JournalFile::append_to(file_.path(), before, &found);
    ASSERT_TRUE(journal.has_value()) << journal.error().message;
    EXPECT_EQ(found.rest.bytes, size - ends_[block_at(size)]);
    EXPECT_EQ(found.records, before.seen.size());
    Later later(before.seen.size(), *journal);
    tell(later);
    ASSERT_TRUE(journal->close().has_value());
    EXPECT_EQ(journal->hash(), hash_) << size;
    Encoded after;
    const auto end = read_finished_journal(file_.path(), after);
    ASSERT_TRUE(end.has_value()) << end.error().message;
    EXPECT_EQ(after.seen, all_.seen) << size;
  }
}

TEST_F(Damage, NothingGoesOnAfterTheEndOrAfterDamage) {
  Encoded sink;
  const auto finished = JournalFile::append_to(file_.path(), sink);
  ASSERT_FALSE(finished.has_value());
  EXPECT_NE(finished.error().message.find("is finished"), std::string::npos);
  std::string bytes = whole_;
  bytes[ends_[1] + 3] ^= 1;
  file_.write(bytes);
  EXPECT_FALSE(JournalFile::append_to(file_.path(), sink).has_value());
  EXPECT_EQ(file_.bytes(), bytes);
}

TEST_F(Damage, OnlyFinishedJournalsAreReadAsResults) {
  Encoded sink;
  EXPECT_TRUE(read_finished_journal(file_.path(), sink).has_value());
  file_.write(std::string_view(whole_).substr(0, ends_[2]));
  auto end = read_finished_journal(file_.path(), sink);
  ASSERT_FALSE(end.has_value());
  EXPECT_NE(end.error().message.find("unfinished: it has no end record after 6 records"),
            std::string::npos)
      << end.error().message;
  file_.write(std::string_view(whole_).substr(0, ends_[2] + 5));
  end = read_finished_journal(file_.path(), sink);
  ASSERT_FALSE(end.has_value());
  EXPECT_NE(end.error().message.find(fmt::format("its last 5 bytes, from byte {} on", ends_[2])),
            std::string::npos)
      << end.error().message;
}

}  // namespace
}  // namespace fairlead
