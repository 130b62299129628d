#include "fairlead/agent/pod_output.h"

#include "fairlead/base/parse.h"
#include "fairlead/io/io.h"

#include <algorithm>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <utility>

namespace fairlead {
namespace {

namespace fs = std::filesystem;

// Chosen: a few screens of each of many lines a second, and a small cost every few seconds.
constexpr std::uint64_t kReadMax = std::uint64_t{16} * kOutputBytesMax;

// Returns the largest N of the files N.log; -1: there is none.
std::int64_t last_number(const fs::path& folder) {
  std::int64_t last = -1;
  std::error_code error;
  for (fs::directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error)) {
    const std::string name = file->path().filename();
    constexpr std::string_view kLog = ".log";
    if (!name.ends_with(kLog)) continue;
    const auto number = parse_integer(std::string_view(name).substr(0, name.size() - kLog.size()));
    if (number) last = std::max(last, *number);
  }
  return last;
}

std::optional<struct stat> status_of(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return status;
}

// Takes the text up to the next blank off the line.
std::string_view take_word(std::string_view& line) {
  const std::size_t blank = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, blank);
  line.remove_prefix(std::min(blank + 1, line.size()));
  return word;
}

}  // namespace

PodOutput::Text PodOutput::read() {
  Text text;
  const std::int64_t number = last_number(folder_);
  if (number < 0) return text;
  const fs::path path = folder_ / (std::to_string(number) + ".log");
  if (number != number_) {
    text.is_new = number_ >= 0;
    if (!open(path)) return text;
    number_ = number;
    read_on(text);
    return text;
  }
  struct stat now {};
  const bool is_there = ::lstat(path.c_str(), &now) == 0;
  const auto before = status_of(file_.get());
  const bool is_rotated = is_there && (!before || before->st_ino != now.st_ino);
  read_on(text);
  if (is_rotated && open(path)) read_on(text);
  return text;
}

bool PodOutput::open(const fs::path& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.is_open() || !status_of(file.get())) return false;
  file_ = std::move(file);
  offset_ = 0;
  begun_ = {};
  return true;
}

void PodOutput::read_on(Text& text) {
  const auto status = status_of(file_.get());
  if (!status) return;
  const auto size = static_cast<std::uint64_t>(status->st_size);
  if (size < offset_) {  // it was cut off
    offset_ = 0;
    begun_ = {};
  }
  const bool skips = size - offset_ > kReadMax;
  if (skips) {
    text.has_gap = text.has_gap || offset_ > 0;
    offset_ = size - kReadMax;
    begun_ = {};
  }
  std::string bytes(size - offset_, '\0');
  const ssize_t count =
      ::pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset_));
  bytes.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  std::string_view whole = bytes;
  const std::size_t end = whole.rfind('\n') + 1;  // 0: there is none
  offset_ += end;
  whole = whole.substr(0, end);
  if (skips) whole.remove_prefix(std::min(whole.find('\n') + 1, whole.size()));
  take(whole, text);
}

void PodOutput::take(std::string_view bytes, Text& text) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    add(bytes.substr(0, end), text);
    bytes.remove_prefix(end + 1);
  }
}

void PodOutput::add(std::string_view line, Text& text) {
  take_word(line);  // its time
  const std::string_view stream = take_word(line);
  const std::string_view tags = take_word(line);
  if (stream != "stdout" && stream != "stderr") return;
  std::string& begun = begun_[stream == "stderr" ? 1 : 0];
  begun += line;
  if (tags.substr(0, tags.find(':')) == "F") begun += '\n';
  const std::size_t complete = begun.find_last_of("\r\n") + 1;
  text.lines += std::string_view(begun).substr(0, complete);
  begun.erase(0, complete);
  if (begun.size() > kOutputBytesMax) begun.clear();  // no line of progress is that long
}

}  // namespace fairlead
