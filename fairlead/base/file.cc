#include "fairlead/base/file.h"

#include "fairlead/base/check.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <iconv.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace fairlead {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 18;  // chosen: a read costs little beside it

std::string reason(int error) { return std::generic_category().message(error); }

class DescriptorStream : public ByteStream {
 public:
  DescriptorStream(int descriptor, std::string name)
      : descriptor_(descriptor), name_(std::move(name)) {}
  DescriptorStream(const DescriptorStream&) = delete;
  DescriptorStream& operator=(const DescriptorStream&) = delete;
  ~DescriptorStream() override {
    if (descriptor_ != STDIN_FILENO) ::close(descriptor_);
  }

  Result<std::size_t> read(std::span<char> into) override {
    FL_CHECK(!into.empty());
    ssize_t count = 0;
    do {
      count = ::read(descriptor_, into.data(), into.size());
    } while (count < 0 && errno == EINTR);
    if (count < 0) return input_error("{}: cannot read: {}", name_, reason(errno));
    return static_cast<std::size_t>(count);
  }

 private:
  int descriptor_;
  std::string name_;
};

class MemoryStream : public ByteStream {
 public:
  explicit MemoryStream(std::string_view bytes) : rest_(bytes) {}

  Result<std::size_t> read(std::span<char> into) override {
    FL_CHECK(!into.empty());
    const std::size_t count = rest_.copy(into.data(), into.size());
    rest_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view rest_;
};

// Decompresses gzip members, one after the other.
class GzipStream : public ByteStream {
 public:
  explicit GzipStream(ByteSource raw) : raw_(std::move(raw)) {
    // 15 window bits, plus 16 for the gzip header.
    FL_CHECK(inflateInit2(&inflater_, 15 + 16) == Z_OK);
  }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;
  ~GzipStream() override { inflateEnd(&inflater_); }

  Result<std::size_t> read(std::span<char> into) override {
    for (;;) {
      FL_TRY_ASSIGN(bytes, raw_.peek(1));
      if (bytes.empty() && !inside_) return std::size_t{0};
      if (bytes.empty()) return input_error("{}: the gzip data is truncated", raw_.name());
      FL_TRY_ASSIGN(written, inflate_some(bytes, into));
      if (written > 0) return written;
    }
  }

 private:
  Result<std::size_t> inflate_some(std::string_view bytes, std::span<char> into) {
    if (!inside_) inflateReset(&inflater_);
    inside_ = true;
    const std::size_t given = std::min<std::size_t>(bytes.size(), kChunkBytes);
    // zlib's interface predates const; it does not write to its input.
    inflater_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    inflater_.avail_in = static_cast<uInt>(given);
    inflater_.next_out = reinterpret_cast<Bytef*>(into.data());
    inflater_.avail_out = static_cast<uInt>(std::min<std::size_t>(into.size(), kChunkBytes));
    const std::size_t room = inflater_.avail_out;
    const int status = inflate(&inflater_, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
      return input_error("{}: the gzip data is damaged", raw_.name());
    if (status == Z_STREAM_END) inside_ = false;
    FL_CHECK(inflater_.avail_in <= given && inflater_.avail_out <= room, "zlib went past its ends");
    raw_.consume(given - inflater_.avail_in);
    return room - inflater_.avail_out;
  }

  ByteSource raw_;
  z_stream inflater_ = {};
  bool inside_ = false;  // a member that has not ended
};

// Decompresses zstd frames, one after the other.
class ZstdStream : public ByteStream {
 public:
  explicit ZstdStream(ByteSource raw)
      : raw_(std::move(raw)), decoder_(ZSTD_createDCtx(), ZSTD_freeDCtx) {
    FL_CHECK(decoder_ != nullptr);
  }

  Result<std::size_t> read(std::span<char> into) override {
    for (;;) {
      FL_TRY_ASSIGN(bytes, raw_.peek(1));
      // After the last byte of input the decoder may still have output.
      if (bytes.empty() && !inside_) return std::size_t{0};
      ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
      ZSTD_outBuffer out{into.data(), into.size(), 0};
      const std::size_t status = ZSTD_decompressStream(decoder_.get(), &out, &in);
      if (ZSTD_isError(status))
        return input_error("{}: the zstd data is damaged: {}", raw_.name(),
                           ZSTD_getErrorName(status));
      inside_ = status != 0;
      FL_CHECK(in.pos <= in.size && out.pos <= out.size, "zstd went past its ends");
      raw_.consume(in.pos);
      if (out.pos > 0) return out.pos;
      if (bytes.empty() && inside_)
        return input_error("{}: the zstd data is truncated", raw_.name());
    }
  }

 private:
  ByteSource raw_;
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> decoder_;
  bool inside_ = false;  // a frame that has not ended
};

// UTF-16 with a byte order mark, as spreadsheets and PowerShell write it, as UTF-8.
class Utf16Stream : public ByteStream {
 public:
  explicit Utf16Stream(ByteSource raw)
      : raw_(std::move(raw)), converter_(iconv_open("UTF-8", "UTF-16")) {
    FL_CHECK(is_open(), "libc knows no UTF-16");
  }
  Utf16Stream(const Utf16Stream&) = delete;
  Utf16Stream& operator=(const Utf16Stream&) = delete;
  ~Utf16Stream() override { iconv_close(converter_); }

  Result<std::size_t> read(std::span<char> into) override {
    for (;;) {
      FL_TRY_ASSIGN(bytes, raw_.peek(kChunkBytes));
      if (bytes.empty()) return std::size_t{0};
      // iconv's interface predates const; it does not write to its input.
      char* in = const_cast<char*>(bytes.data());
      std::size_t in_left = bytes.size();
      char* out = into.data();
      std::size_t out_left = into.size();
      errno = 0;
      iconv(converter_, &in, &in_left, &out, &out_left);
      FL_CHECK(errno != E2BIG || out_left < into.size(), "{} bytes are too few", into.size());
      const bool stands_still = in_left == bytes.size();
      raw_.consume(bytes.size() - in_left);
      if (out_left < into.size()) return into.size() - out_left;
      if (stands_still) return input_error("{}: the UTF-16 text is damaged", raw_.name());
    }
  }

 private:
  bool is_open() const { return reinterpret_cast<std::intptr_t>(converter_) != -1; }

  ByteSource raw_;
  iconv_t converter_;
};

}  // namespace

ByteSource::ByteSource(std::unique_ptr<ByteStream> stream, std::string name)
    : stream_(std::move(stream)), name_(std::move(name)) {
  FL_CHECK(stream_ != nullptr, "{}", name_);
}

Result<ByteSource> ByteSource::open(const std::string& path) {
  const bool is_stdin = path == "-";
  const int descriptor = is_stdin ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return input_error("{}: cannot open: {}", path, reason(errno));
  std::string name = is_stdin ? "stdin" : path;
  auto stream = std::make_unique<DescriptorStream>(descriptor, name);
  FL_TRY_ASSIGN(source, decompressed(ByteSource(std::move(stream), std::move(name))));
  return in_utf8(std::move(source));
}

Result<ByteSource> ByteSource::memory(std::string_view bytes, std::string name) {
  FL_TRY_ASSIGN(source,
                decompressed(ByteSource(std::make_unique<MemoryStream>(bytes), std::move(name))));
  return in_utf8(std::move(source));
}

Result<ByteSource> ByteSource::in_utf8(ByteSource raw) {
  FL_TRY_ASSIGN(head, raw.peek(2));
  if (!head.starts_with("\xff\xfe") && !head.starts_with("\xfe\xff")) return raw;
  std::string name = raw.name();
  return ByteSource(std::make_unique<Utf16Stream>(std::move(raw)), std::move(name));
}

Result<ByteSource> ByteSource::decompressed(ByteSource raw) {
  FL_TRY_ASSIGN(head, raw.peek(4));
  std::string name = raw.name();
  if (head.starts_with("\x1f\x8b"))
    return ByteSource(std::make_unique<GzipStream>(std::move(raw)), std::move(name));
  if (head.starts_with("\x28\xb5\x2f\xfd"))
    return ByteSource(std::make_unique<ZstdStream>(std::move(raw)), std::move(name));
  return raw;
}

Result<std::string_view> ByteSource::peek(std::size_t count) {
  while (end_ - begin_ < count && !ended_) {
    make_room(count);
    FL_TRY_ASSIGN(read, stream_->read(std::span(buffer_).subspan(end_)));
    FL_CHECK(read <= buffer_.size() - end_, "{} read {} bytes into {}", name_, read,
             buffer_.size() - end_);
    end_ += read;
    ended_ = read == 0;
  }
  return std::string_view(buffer_.data() + begin_, end_ - begin_);
}

void ByteSource::consume(std::size_t count) {
  FL_CHECK(count <= end_ - begin_, "{} bytes of {}", count, end_ - begin_);
  begin_ += count;
}

// Moves the unread bytes to the front, and grows the buffer if `count` bytes and a chunk do not fit.
void ByteSource::make_room(std::size_t count) {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() < std::max(count, end_) + kChunkBytes / 2)
    buffer_.resize(std::max(2 * buffer_.size(), count + kChunkBytes));
}

Result<bool> LineReader::next() {
  source_.consume(line_bytes_);
  line_bytes_ = 0;
  if (number_ == 0) {
    FL_TRY_ASSIGN(head, source_.peek(3));
    if (head.starts_with("\xef\xbb\xbf")) source_.consume(3);
  }
  FL_TRY_ASSIGN(length, find_end());
  FL_TRY_ASSIGN(bytes, source_.peek(0));
  if (bytes.empty()) return false;
  line_bytes_ = std::min(length + 1, bytes.size());
  line_ = bytes.substr(0, length);
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  line_end_ = bytes.substr(line_.size(), line_bytes_ - line_.size());
  ++number_;
  return true;
}

// The length of the next line: up to its newline, or to the end of the source.
Result<std::size_t> LineReader::find_end() {
  for (std::size_t searched = 0;;) {
    FL_TRY_ASSIGN(bytes, source_.peek(searched + 1));
    if (const auto end = bytes.find('\n', searched); end != bytes.npos) return end;
    if (bytes.size() <= searched) return bytes.size();
    searched = bytes.size();
    if (searched > kLineBytesMax)
      return input_error("{}:{}: the line is longer than {} bytes", source_.name(), number_ + 1,
                         kLineBytesMax);
  }
}

Result<OutputFile> OutputFile::create(const std::filesystem::path& given) {
  std::error_code ignored;
  // Replaces the target of a link, not the link.
  const bool is_link = std::filesystem::is_symlink(given, ignored);
  std::filesystem::path path = is_link ? std::filesystem::canonical(given, ignored) : given;
  if (path.empty()) path = given;  // it leads nowhere
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  if (std::filesystem::is_other(status)) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) return run_error("{}: cannot write: {}", path.string(), reason(errno));
    return OutputFile(path, {}, descriptor);
  }
  // Several files of one process may be under construction at once, even with one target.
  static std::atomic<int> serial = 0;
  std::filesystem::path temporary = path;
  temporary += fmt::format(".{}.{}.tmp", ::getpid(), serial++);
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  // A file without a name vanishes with the process, however that ends.
  if (const int nameless = ::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
      nameless >= 0) {
    OutputFile file(path, std::move(temporary), nameless);
    file.nameless_ = true;
    return file;
  }
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) return run_error("{}: cannot write: {}", path.string(), reason(errno));
  return OutputFile(path, std::move(temporary), descriptor);
}

OutputFile::OutputFile(std::filesystem::path target, std::filesystem::path temporary,
                       int descriptor)
    : target_(std::move(target)), temporary_(std::move(temporary)), descriptor_(descriptor) {
  buffer_.reserve(kChunkBytes);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : target_(std::move(other.target_)),
      temporary_(std::move(other.temporary_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      nameless_(other.nameless_),
      failure_(other.failure_),
      buffer_(std::move(other.buffer_)) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) discard();
}

void OutputFile::write(std::string_view bytes) {
  FL_DCHECK(descriptor_ >= 0, "{} is written after its end", target_.string());
  if (buffer_.size() + bytes.size() > kChunkBytes) flush();
  buffer_ += bytes;
}

void OutputFile::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty() && failure_ == 0) {
    const ssize_t count = ::write(descriptor_, rest.data(), rest.size());
    if (count >= 0) rest.remove_prefix(static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) note_failure();
  }
  buffer_.clear();
}

void OutputFile::note_failure() {
  if (failure_ == 0) failure_ = errno;
}

void OutputFile::discard() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  if (!temporary_.empty() && !nameless_) ::unlink(temporary_.c_str());
}

void OutputFile::give_name() {
  const std::string link = fmt::format("/proc/self/fd/{}", descriptor_);
  const int done =
      ::linkat(AT_FDCWD, link.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW);
  if (done != 0) return note_failure();
  nameless_ = false;
}

Status OutputFile::commit() {
  FL_CHECK(descriptor_ >= 0, "{} is ended twice", target_.string());
  flush();
  // Without fsync a crash after the rename may leave an empty file under the final name. Pipes and
  // some file systems cannot sync.
  if (failure_ == 0 && ::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS)
    note_failure();
  if (failure_ == 0 && nameless_) give_name();
  if (::close(std::exchange(descriptor_, -1)) != 0) note_failure();
  if (failure_ == 0 && !temporary_.empty() &&
      std::rename(temporary_.c_str(), target_.c_str()) != 0) {
    note_failure();
  }
  if (failure_ == 0) return {};
  discard();
  return run_error("{}: cannot write: {}", target_.string(), reason(failure_));
}

}  // namespace fairlead
