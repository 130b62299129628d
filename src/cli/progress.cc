#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <unistd.h>

namespace fairlead {
namespace {

constexpr std::uint64_t kRecordsPerLook = 4096;
constexpr auto kFirstDraw = std::chrono::seconds(1);
constexpr auto kRedraw = std::chrono::milliseconds(200);

}  // namespace

Progress::Progress()
    : enabled_(isatty(STDERR_FILENO) == 1), next_draw_(Clock::now() + kFirstDraw) {}

Progress::~Progress() {
  if (drawn_) fmt::print(stderr, "\r\x1b[K");
}

void Progress::on(const Record& record) {
  switch (record.kind) {
    case RecordKind::kRun:
      jobs_ = record.count;
      break;
    case RecordKind::kFinished:
    case RecordKind::kFailed:
    case RecordKind::kCancelled:
    case RecordKind::kRejected:
      ++done_;
      break;
    default:
      break;
  }
  if (!enabled_ || ++records_ % kRecordsPerLook != 0) return;
  if (const auto now = Clock::now(); now >= next_draw_) {
    next_draw_ = now + kRedraw;
    draw(record.t);
  }
}

void Progress::draw(Time t) {
  constexpr std::int64_t kWidth = 30;
  const std::int64_t filled = kWidth * done_ / std::max<std::int64_t>(jobs_, 1);
  drawn_ = true;
  fmt::print(stderr, "\r[{:<{}}] {} of {} jobs, day {:.1f} of the trace\x1b[K",
             std::string(static_cast<std::size_t>(filled), '#'), kWidth, done_, jobs_,
             to_seconds(t) / 86400);
  std::fflush(stderr);
}

}  // namespace fairlead
