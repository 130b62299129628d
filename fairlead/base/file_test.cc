#include "fairlead/base/file.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fairlead {
namespace {

std::string gzip(const std::string& text) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, text.size()) + 64, '\0');
  std::string input = text;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string zstd(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

// Large enough for several buffers, and not compressible to nothing.
std::string long_text() {
  std::string text;
  for (int i = 0; text.size() < 1'000'000; ++i) text += fmt::format("line {}\n", i * 7919 % 10007);
  return text;
}

// The whole text of a source, or its error.
Result<std::string> read_all(ByteSource& source) {
  std::string text;
  for (;;) {
    FL_TRY_ASSIGN(bytes, source.peek(1));
    if (bytes.empty()) return text;
    text += bytes;
    source.consume(bytes.size());
  }
}

Result<std::string> read_all(const std::string& bytes) {
  FL_TRY_ASSIGN(source, ByteSource::memory(bytes, "m"));
  return read_all(source);
}

std::vector<std::string> lines_of(const std::string& text) {
  auto source = ByteSource::memory(text, "m");
  LineReader reader(*source);
  std::vector<std::string> lines;
  while (reader.next().value_or(false)) lines.emplace_back(reader.line());
  return lines;
}

class TemporaryFolder : public testing::Test {
 protected:
  TemporaryFolder()
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("fairlead-file-test-{}", ::getpid())) {
    std::filesystem::create_directory(path_);
  }
  ~TemporaryFolder() override { std::filesystem::remove_all(path_); }

  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }
  std::string text_of(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(path_ / name).rdbuf();
    return text.str();
  }

  std::filesystem::path path_;
};
using ByteSourceFiles = TemporaryFolder;
using OutputFiles = TemporaryFolder;

TEST(ByteSource, ReadsPlainGzipAndZstdAlike) {
  const std::string text = long_text();
  EXPECT_EQ(read_all(text).value(), text);
  EXPECT_EQ(read_all(gzip(text)).value(), text);
  EXPECT_EQ(read_all(zstd(text)).value(), text);
}

TEST(ByteSource, ReadsConcatenatedMembers) {
  EXPECT_EQ(read_all(gzip("one\n") + gzip("") + gzip("two\n")).value(), "one\ntwo\n");
  EXPECT_EQ(read_all(zstd("one\n") + zstd("") + zstd("two\n")).value(), "one\ntwo\n");
}

TEST(ByteSource, EmptyInputIsEmpty) {
  EXPECT_EQ(read_all("").value(), "");
  EXPECT_EQ(read_all(gzip("")).value(), "");
  EXPECT_EQ(read_all(zstd("")).value(), "");
}

TEST(ByteSource, TruncatedCompressionIsAnErrorWhereverItEnds) {
  const std::string text = "a text that is long enough to be cut anywhere, anywhere, anywhere\n";
  for (const std::string& packed : {gzip(text), zstd(text)}) {
    for (std::size_t size = 4; size < packed.size(); ++size) {
      const auto read = read_all(packed.substr(0, size));
      ASSERT_FALSE(read.has_value()) << size;
      EXPECT_EQ(read.error().kind, Error::Kind::kInput);
      EXPECT_TRUE(read.error().message.starts_with("m: the ")) << read.error().message;
      EXPECT_TRUE(read.error().message.ends_with(" truncated")) << read.error().message;
    }
  }
}

TEST(ByteSource, DamagedCompressionIsAnError) {
  std::string packed = gzip(long_text());
  packed[packed.size() / 2] = static_cast<char>(~packed[packed.size() / 2]);
  EXPECT_EQ(read_all(packed).error().message, "m: the gzip data is damaged");
  EXPECT_EQ(read_all(gzip("x") + "rest").error().message, "m: the gzip data is damaged");
  EXPECT_TRUE(
      read_all(zstd("x") + "rest").error().message.starts_with("m: the zstd data is damaged"));
}

TEST_F(ByteSourceFiles, OpensFiles) {
  std::ofstream(path_ / "a.gz") << gzip(long_text());
  auto source = ByteSource::open(path_ / "a.gz");
  EXPECT_EQ(read_all(*source).value(), long_text());
}

TEST_F(ByteSourceFiles, NamesWhatItCannotOpenOrRead) {
  EXPECT_EQ(ByteSource::open("no/such.csv").error().message,
            "no/such.csv: cannot open: No such file or directory");
  EXPECT_EQ(ByteSource::open(path_).error().message,
            path_.string() + ": cannot read: Is a directory");
}

TEST(LineReader, SplitsAtEveryKindOfEnd) {
  EXPECT_EQ(lines_of("a\nb\r\nc"), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(lines_of("a\n\nb\n"), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(lines_of(""), std::vector<std::string>{});
  EXPECT_EQ(lines_of("\n"), std::vector<std::string>{""});
}

TEST(LineReader, LeavesOutAByteOrderMarkAtTheBeginningOnly) {
  EXPECT_EQ(lines_of("\xef\xbb\xbf"
                     "a\n\xef\xbb\xbf"
                     "b"),
            (std::vector<std::string>{"a",
                                      "\xef\xbb\xbf"
                                      "b"}));
  EXPECT_EQ(lines_of("\xef\xbb\xbf"), std::vector<std::string>{});
}

TEST(LineReader, CountsLines) {
  const std::string text = long_text();
  auto source = ByteSource::memory(text, "m");
  LineReader reader(*source);
  std::string joined;
  std::int64_t count = 0;
  while (reader.next().value()) {
    EXPECT_EQ(reader.number(), ++count);
    joined += reader.line();
    joined += reader.line_end();
  }
  EXPECT_EQ(joined, text);
}

TEST(LineReader, RefusesEndlessLines) {
  const std::string text = "first\n" + std::string(kLineBytesMax + 1'000'000, 'x');
  auto source = ByteSource::memory(text, "m");
  LineReader reader(*source);
  EXPECT_TRUE(reader.next().value());
  EXPECT_EQ(reader.next().error().message, "m:2: the line is longer than 16777216 bytes");
}

TEST(LineReader, PassesOnTheErrorsOfItsSource) {
  const std::string packed = gzip(long_text());
  auto source = ByteSource::memory(std::string_view(packed).substr(0, packed.size() / 2), "m");
  LineReader reader(*source);
  auto more = reader.next();
  while (more && *more) more = reader.next();
  ASSERT_FALSE(more.has_value());
  EXPECT_EQ(more.error().message, "m: the gzip data is truncated");
}

RC_GTEST_PROP(LineReader, KeepsEveryByte, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("a", "\n", "\r\n", "\r", "bc", "\n\n"));
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  auto source = ByteSource::memory(text, "m");
  LineReader reader(*source);
  std::string joined;
  while (reader.next().value()) {
    joined += reader.line();
    joined += reader.line_end();
  }
  RC_ASSERT(joined == text);
}

TEST_F(OutputFiles, AppearOnlyWhenCommitted) {
  auto file = OutputFile::create(path_ / "out.csv");
  file->write("one,");
  file->write(std::string(1'000'000, 'x'));
  EXPECT_FALSE(std::filesystem::exists(path_ / "out.csv"));
  EXPECT_TRUE(file->commit().has_value());
  EXPECT_EQ(text_of("out.csv"), "one," + std::string(1'000'000, 'x'));
  EXPECT_EQ(files(), 1u);
}

TEST_F(OutputFiles, LeaveNothingBehindWithoutCommit) {
  std::ofstream(path_ / "out.csv") << "old";
  {
    auto file = OutputFile::create(path_ / "out.csv");
    file->write("new");
  }
  EXPECT_EQ(text_of("out.csv"), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(OutputFiles, ReplaceWhatWasThere) {
  std::ofstream(path_ / "out.csv") << "old and longer";
  auto file = OutputFile::create(path_ / "out.csv");
  file->write("new");
  EXPECT_TRUE(file->commit().has_value());
  EXPECT_EQ(text_of("out.csv"), "new");
}

TEST_F(OutputFiles, NameTheFolderThatIsMissing) {
  const auto file = OutputFile::create(path_ / "no" / "out.csv");
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error().kind, Error::Kind::kRun);
  EXPECT_EQ(file.error().message,
            (path_ / "no" / "out.csv").string() + ": cannot write: No such file or directory");
}

TEST_F(OutputFiles, FailAtCommitIfTheTargetIsAFolder) {
  std::filesystem::create_directories(path_ / "out.csv" / "full");
  auto file = OutputFile::create(path_ / "out.csv");
  file->write("x");
  const Status status = file->commit();
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().kind, Error::Kind::kRun);
  EXPECT_TRUE(
      status.error().message.starts_with((path_ / "out.csv").string() + ": cannot write: "));
  EXPECT_EQ(files(), 1u);
}

// A limit on file sizes stands in for a full disk: both fail a write in the middle.
TEST_F(OutputFiles, AFullDiskIsAnErrorAndLeavesNothing) {
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 1000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  auto file = OutputFile::create(path_ / "out.csv");
  file->write(std::string(1'000'000, 'x'));
  const Status status = file->commit();
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().kind, Error::Kind::kRun);
  EXPECT_EQ(status.error().message,
            (path_ / "out.csv").string() + ": cannot write: File too large");
  EXPECT_EQ(files(), 0u);
}

TEST_F(OutputFiles, ADeviceIsWrittenAndStaysADevice) {
  auto null = OutputFile::create("/dev/null");
  ASSERT_TRUE(null.has_value());
  null->write("text");
  EXPECT_TRUE(null->commit().has_value());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));

  auto full = OutputFile::create("/dev/full");
  ASSERT_TRUE(full.has_value());
  full->write("text");
  EXPECT_EQ(full->commit().error().message, "/dev/full: cannot write: No space left on device");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

std::string utf16(std::u16string_view text, bool little_endian) {
  std::string bytes;
  std::u16string units(1, u'\xfeff');
  units += text;
  for (const char16_t unit : units) {
    const char low = static_cast<char>(unit & 0xff);
    const char high = static_cast<char>(unit >> 8);
    bytes += little_endian ? low : high;
    bytes += little_endian ? high : low;
  }
  return bytes;
}

TEST(ByteSource, Utf16IsReadAsUtf8) {
  for (const bool little_endian : {true, false}) {
    EXPECT_EQ(read_all(utf16(u"a;\u00fc\n\u20ac;\U0001f600", little_endian)),
              "a;\u00fc\n\u20ac;\U0001f600");
    EXPECT_EQ(read_all(gzip(utf16(u"packed", little_endian))), "packed");
    EXPECT_EQ(read_all(utf16(u"", little_endian)), "");
  }
  const std::u16string many(300'000, u'\u20ac');
  EXPECT_EQ(read_all(utf16(many, true))->size(), 900'000U) << "over several buffers";
}

TEST(ByteSource, DamagedUtf16IsAnError) {
  std::string cut = utf16(u"ab", true);
  cut.pop_back();
  EXPECT_EQ(read_all(cut).error().message, "m: the UTF-16 text is damaged");
  EXPECT_EQ(read_all(utf16(std::u16string(1, static_cast<char16_t>(0xdc00)), true)).error().message,
            "m: the UTF-16 text is damaged");
}

}  // namespace
}  // namespace fairlead
