// Files as streams of bytes and lines, and output files that appear complete or not at all.
//
// ByteSource reads a file, standard input ("-") or memory through one buffer, and undoes gzip and
// zstd compression and UTF-16, recognised by their first bytes. Memory is bounded by the buffer, however large
// the file is. LineReader adds lines and their numbers. OutputFile writes under a temporary name
// and renames on commit(), so a reader of the target never sees half a file.
//
// Reading costs O(bytes), without allocation once the buffer has its size.
#pragma once

#include "fairlead/base/result.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// Bytes from somewhere; ByteSource buffers them.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Fills the front of `into`; returns how many bytes, 0 only at the end. REQUIRES: into not empty.
  virtual Result<std::size_t> read(std::span<char> into) = 0;
};

class ByteSource {
 public:
  // Opens `path`, or standard input for "-". Errors name the path and the reason.
  static Result<ByteSource> open(const std::string& path);
  // Reads `bytes`, which must outlive the source; errors call them `name`.
  static Result<ByteSource> memory(std::string_view bytes, std::string name);
  // Returns the bytes of `stream` unchanged, without decompression or change of encoding.
  ByteSource(std::unique_ptr<ByteStream> stream, std::string name);

  // Returns the next bytes: at least `count`, or all that remain. Valid until the next call of peek. Errors: the system
  // cannot read on, or the compressed data is damaged or truncated.
  Result<std::string_view> peek(std::size_t count);
  // Steps over `count` bytes that peek returned.
  void consume(std::size_t count);

  const std::string& name() const { return name_; }

 private:
  static Result<ByteSource> decompressed(ByteSource raw);
  static Result<ByteSource> in_utf8(ByteSource raw);
  void make_room(std::size_t count);

  std::unique_ptr<ByteStream> stream_;
  std::string name_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // start of the bytes not consumed yet, in buffer_
  std::size_t end_ = 0;
  bool ended_ = false;  // the stream has no more
};

// A longer line is an error: it bounds the memory of every reader.
constexpr std::size_t kLineBytesMax = std::size_t{1} << 24;

// The lines of a source, without their ends ("\n" or "\r\n"). A UTF-8 byte order mark at the
// beginning is left out.
class LineReader {
 public:
  // Continues at the position of `source`, which must outlive the reader.
  explicit LineReader(ByteSource& source) : source_(source) {}

  // Goes to the next line; false at the end.
  Result<bool> next();
  // The line; valid until the next call of next().
  std::string_view line() const { return line_; }
  // Returns the line's terminator: "\n", "\r\n", or a part of it at the end of the source.
  std::string_view line_end() const { return line_end_; }
  // Its number; the first is 1.
  std::int64_t number() const { return number_; }
  const std::string& name() const { return source_.name(); }

 private:
  Result<std::size_t> find_end();

  ByteSource& source_;
  std::string_view line_;
  std::string_view line_end_;
  std::int64_t number_ = 0;
  std::size_t line_bytes_ = 0;  // bytes of the current line with its end, not consumed yet
};

// A file under construction. A target that is not a regular file (a pipe, /dev/null) is written in place, because a
// replacement would take it away from its other users. Errors are Error::Kind::kRun and name the path and the system's
// reason.
class OutputFile {
 public:
  // Creates a temporary file beside `path`.
  static Result<OutputFile> create(const std::filesystem::path& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  // Leaves the target unchanged if commit() was not called.
  ~OutputFile();

  // Appends `bytes`. A failure appears at commit().
  void write(std::string_view bytes);
  // Makes the file appear under its name and replaces the previous file. REQUIRES: called once, last.
  Status commit();

 private:
  OutputFile(std::filesystem::path target, std::filesystem::path temporary, int descriptor);
  void flush();
  void note_failure();
  void give_name();
  void discard();

  std::filesystem::path target_;
  std::filesystem::path temporary_;  // empty: target_ itself is open
  int descriptor_;                   // -1 once closed
  bool nameless_ = false;            // it has no name yet, not even the temporary one
  int failure_ = 0;                  // the first errno
  std::string buffer_;
};

}  // namespace fairlead
