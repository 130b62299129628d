#include "fairlead/journal/blocks.h"

#include "fairlead/base/rng.h"
#include "fairlead/journal/testing_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fairlead {
namespace {

std::vector<std::uint8_t> bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

// Writes a block of each text, with as many records as it has characters.
void append(BlockWriter& writer, StreamHash& hash, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    hash.add(bytes_of(text));
    writer.append(bytes_of(text), static_cast<std::uint32_t>(text.size()), hash.value());
  }
}

void write_file(const std::filesystem::path& path, const std::vector<std::string>& texts) {
  Result<BlockWriter> writer = BlockWriter::create(path);
  ASSERT_TRUE(writer.has_value()) << writer.error().message;
  StreamHash hash;
  append(*writer, hash, texts);
  const Status status = writer->close();
  EXPECT_TRUE(status.has_value()) << status.error().message;
}

struct ReadBack {
  std::vector<std::string> texts;
  std::string error;
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
  BlocksRest rest;
};

ReadBack read_back(std::string_view bytes) {
  ReadBack back;
  Result<BlockReader> reader = reader_of(bytes);
  if (!reader) return {.error = reader.error().message};
  for (;;) {
    Result<std::optional<Block>> block = reader->next();
    if (!block) back.error = block.error().message;
    if (!block || !*block) break;
    back.texts.emplace_back((*block)->content.begin(), (*block)->content.end());
    EXPECT_EQ((*block)->records, back.texts.back().size());
  }
  EXPECT_EQ(reader->damaged(), !back.error.empty());
  back.bytes = reader->bytes();
  back.blocks = reader->blocks();
  back.rest = reader->rest();
  return back;
}

TEST(Blocks, ComeBackAsTheyWereWritten) {
  const ScratchFile file;
  Rng rng(5);
  std::string noise(300'000, ' ');  // does not compress
  for (char& c : noise) c = static_cast<char>(rng.below(256));
  const std::vector<std::string> texts = {"a", noise, std::string(1'000'000, 'x'), "end"};
  write_file(file.path(), texts);
  const ReadBack back = read_back(file.bytes());
  EXPECT_EQ(back.error, "");
  EXPECT_TRUE(back.texts == texts);
  EXPECT_EQ(back.blocks, texts.size());
  EXPECT_EQ(back.bytes, std::filesystem::file_size(file.path()));
  EXPECT_EQ(back.rest.bytes, 0u);
}

TEST(Blocks, AreInTheFileAsSoonAsTheyAreAppended) {
  const ScratchFile file;
  Result<BlockWriter> writer = BlockWriter::create(file.path());
  ASSERT_TRUE(writer.has_value());
  EXPECT_EQ(file.bytes(), kBlocksMagic);
  StreamHash hash;
  append(*writer, hash, {"one"});
  EXPECT_EQ(read_back(file.bytes()).texts, (std::vector<std::string>{"one"}));
  append(*writer, hash, {"two"});
  EXPECT_TRUE(writer->sync().has_value());
  EXPECT_EQ(read_back(file.bytes()).texts, (std::vector<std::string>{"one", "two"}));
}

// Checks the format in blocks.h byte by byte, so that files stay readable.
TEST(Blocks, HaveTheDocumentedHeader) {
  const ScratchFile file;
  write_file(file.path(), {"first", "second"});
  const std::vector<std::string> blocks = blocks_of(file.bytes());
  ASSERT_EQ(blocks.size(), 2u);
  const std::string& block = blocks[1];
  const auto number = [&](std::size_t at, std::size_t count) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      value |= std::uint64_t{static_cast<std::uint8_t>(block[at + i])} << (8 * i);
    }
    return value;
  };
  EXPECT_EQ(number(4, 4), block.size() - kBlockHeaderBytes);
  EXPECT_EQ(number(8, 4), 6u);
  EXPECT_EQ(number(12, 8), 2u);
  EXPECT_EQ(number(20, 8), hash_bytes(kHashStart, bytes_of("firstsecond")));
  EXPECT_EQ(block.substr(kBlockHeaderBytes, 4), "\x28\xb5\x2f\xfd");
}

TEST(Blocks, GoOnAfterTheLastWholeOne) {
  const ScratchFile file;
  write_file(file.path(), {"one", "two", "lost"});
  const std::string whole = file.bytes();
  file.write(whole.substr(0, whole.size() - 1));
  const ReadBack cut = read_back(file.bytes());
  ASSERT_EQ(cut.texts, (std::vector<std::string>{"one", "two"}));
  Result<BlockWriter> writer = BlockWriter::append_to(file.path(), cut.blocks, cut.bytes);
  ASSERT_TRUE(writer.has_value()) << writer.error().message;
  StreamHash hash;
  hash.add(bytes_of("onetwo"));
  append(*writer, hash, {"lost"});
  EXPECT_TRUE(writer->close().has_value());
  EXPECT_EQ(file.bytes(), whole);
}

TEST(Blocks, ATornTailIsToldApartFromDamage) {
  const ScratchFile file;
  write_file(file.path(), {"one", "two", "three"});
  const std::string whole = file.bytes();
  const std::vector<std::string> blocks = blocks_of(whole);
  const std::size_t third = whole.size() - blocks[2].size();

  const ReadBack torn = read_back(whole.substr(0, third + kBlockHeaderBytes + 2));
  EXPECT_EQ(torn.error, "");
  EXPECT_EQ(torn.bytes, third);
  EXPECT_EQ(torn.rest.bytes, kBlockHeaderBytes + 2);
  EXPECT_EQ(torn.rest.torn_records, 5u);
  EXPECT_EQ(read_back(whole.substr(0, third + 20)).rest.torn_records, std::nullopt);

  // A file that was lengthened before its bytes were written.
  const ReadBack zeros = read_back(whole.substr(0, third) + std::string(blocks[2].size(), '\0'));
  EXPECT_EQ(zeros.error, "");
  EXPECT_EQ(zeros.rest.bytes, blocks[2].size());

  std::string holed = whole;
  holed[third - 1] ^= 1;
  const ReadBack middle = read_back(holed);
  EXPECT_EQ(middle.error, fmt::format("the file: damaged at byte {}, in block 2: it is not whole, "
                                      "and whole blocks follow (1)",
                                      third - blocks[1].size()));
  EXPECT_EQ(middle.texts, (std::vector<std::string>{"one"}));
  EXPECT_EQ(middle.rest.blocks, 1u);
  EXPECT_EQ(middle.rest.records, 5u);
  EXPECT_EQ(middle.rest.bytes, blocks[1].size() + blocks[2].size());
}

TEST(Blocks, OutOfTheirPlaceAreDamage) {
  const ScratchFile file;
  write_file(file.path(), {"one", "two", "three"});
  std::vector<std::string> blocks = blocks_of(file.bytes());
  EXPECT_EQ(read_back(file_of({blocks[0], blocks[2]})).error,
            fmt::format("the file: damaged at byte {}, in block 2: block 3 stands in its place",
                        kBlocksMagic.size() + blocks[0].size()));
  EXPECT_NE(read_back(file_of({blocks[0], blocks[0]})).error, "");
  EXPECT_NE(read_back(file_of({blocks[1], blocks[0]})).error, "");
  // A block from another file, but with the expected number.
  write_file(file.path(), {"ONE", "two", "three"});
  const std::vector<std::string> other = blocks_of(file.bytes());
  const std::string error = read_back(file_of({blocks[0], other[1], other[2]})).error;
  EXPECT_NE(error.find("in block 2: it does not continue the blocks before it"), std::string::npos)
      << error;
}

TEST(Blocks, OtherFilesAreRefused) {
  EXPECT_EQ(read_back("").error, "the file: not a Fairlead journal");
  EXPECT_EQ(read_back("FLJ").error, "the file: not a Fairlead journal");
  EXPECT_EQ(read_back("job,user\n").error, "the file: not a Fairlead journal");
  EXPECT_NE(read_back("FLJ1....").error.find("an earlier format"), std::string::npos);
  EXPECT_FALSE(BlockReader::open("/nowhere/to/be/found").has_value());
  EXPECT_FALSE(BlockWriter::create("/nowhere/to/be/found").has_value());
  EXPECT_FALSE(BlockWriter::append_to("/nowhere/to/be/found", 0, 4).has_value());
}

TEST(Blocks, AFullDiskIsAnErrorAtTheNextSync) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP();
  Result<BlockWriter> writer = BlockWriter::append_to("/dev/full", 0, 4);
  ASSERT_TRUE(writer.has_value()) << writer.error().message;
  StreamHash hash;
  append(*writer, hash, {"one", "two"});
  EXPECT_FALSE(writer->sync().has_value());
  const Status status = writer->close();
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().kind, Error::Kind::kRun);
  EXPECT_TRUE(status.error().message.starts_with("/dev/full: cannot write: "));
}

}  // namespace
}  // namespace fairlead
