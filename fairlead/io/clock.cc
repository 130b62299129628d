#include "fairlead/io/clock.h"

#include "fairlead/base/check.h"
#include "fairlead/base/file.h"
#include "fairlead/base/parse.h"
#include "fairlead/shim/files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>

namespace fairlead {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;

std::int64_t nanoseconds(clockid_t clock) {
  timespec now{};
  FL_CHECK(::clock_gettime(clock, &now) == 0, "{}", std::strerror(errno));
  return std::int64_t{now.tv_sec} * kNsPerSecond + now.tv_nsec;
}

Parsed<std::int64_t> first_line_of(const std::string& text) {
  return parse_integer(trimmed(std::string_view(text).substr(0, text.find('\n'))));
}

Result<std::int64_t> begin_or_read(const std::string& path, std::int64_t unix_ms) {
  if (const auto text = shim::read_file(path)) {
    const Parsed<std::int64_t> began = first_line_of(*text);
    if (!began) return run_error("{} has no valid creation time of the folder: {}", path, *text);
    return *began;
  }
  if (errno != ENOENT) return run_error("{}: cannot read: {}", path, std::strerror(errno));
  FL_TRY_ASSIGN(file, OutputFile::create(path));
  file.write(fmt::format("{}\n", unix_ms));
  FL_TRY(file.commit());
  return unix_ms;
}

}  // namespace

Result<Clock> Clock::open(const std::string& folder) {
  Clock clock;
  clock.unix_at_open_ = nanoseconds(CLOCK_REALTIME) / kNsPerMs;
  clock.boot_at_open_ns_ = nanoseconds(CLOCK_BOOTTIME);
  FL_TRY_ASSIGN(began, begin_or_read(folder + "/began", clock.unix_at_open_));
  clock.began_ = began;
  const std::string path = folder + "/time";
  if (const auto text = shim::read_file(path)) {
    // A loss of power may have torn the file.
    clock.last_.ms = first_line_of(*text).value_or(0);
  }
  clock.last_file_ = Descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!clock.last_file_.is_open())
    return run_error("{}: cannot write: {}", path, std::strerror(errno));
  clock.at_open_ = std::max(clock.last_, Time{clock.unix_at_open_ - began});
  return clock;
}

Time Clock::now() {
  const std::int64_t passed_ns = nanoseconds(CLOCK_BOOTTIME) - boot_at_open_ns_;
  const Time now = at_open_ + Duration{passed_ns / kNsPerMs};
  if (now <= last_) return last_;
  last_ = now;
  // The width is fixed, so each text overwrites the previous one. The file need not survive a loss of power, after
  // which the calendar is right unless the clock has no battery.
  const std::string text = fmt::format("{:020}\n", now.ms);
  [[maybe_unused]] const ssize_t ignored = ::pwrite(last_file_.get(), text.data(), text.size(), 0);
  return now;
}

timespec Clock::boot_time(Time t) const {
  const std::int64_t after_ms = std::clamp<std::int64_t>((t - at_open_).ms, 0, kMsMax);
  const std::int64_t ns = boot_at_open_ns_ + after_ms * kNsPerMs;
  return {ns / kNsPerSecond, ns % kNsPerSecond};
}

}  // namespace fairlead
