#include "fairlead/cli/progress.h"

#include "fairlead/base/overloaded.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

namespace fairlead {
namespace {

constexpr std::uint64_t kRecordsPerLook = 4096;
constexpr auto kFirstDraw = std::chrono::seconds(1);
constexpr auto kRedraw = std::chrono::milliseconds(200);
constexpr auto kLineEvery = std::chrono::seconds(10);

std::string bar_text(std::int64_t done, std::int64_t all) {
  constexpr std::int64_t kWidth = 30;
  const std::int64_t filled = kWidth * done / std::max<std::int64_t>(all, 1);
  return fmt::format("[{:<{}}]", std::string(static_cast<std::size_t>(filled), '#'), kWidth);
}

void remove_bar() { fmt::print(stderr, "\r\x1b[K"); }

// A longer line would wrap, and remain when the bar is redrawn.
std::size_t terminal_columns() {
  winsize size{};
  constexpr std::size_t kUsual = 80;
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsual;
}

std::string time_text(double time_s) {
  if (time_s < 60) return fmt::format("{:.0f} s", time_s);
  if (time_s < 3600) return fmt::format("{:.0f} min", time_s / 60);
  return fmt::format("{:.1f} h", time_s / 3600);
}

}  // namespace

ProgressLine::ProgressLine()
    : enabled_(isatty(STDERR_FILENO) == 1), next_draw_(Clock::now() + kFirstDraw) {}

ProgressLine::~ProgressLine() {
  if (drawn_) remove_bar();
}

void ProgressLine::on(const Record& record) {
  std::visit(Overloaded{[&](const record::Run& run) { jobs_ = run.jobs; },
                        [&](const OneOf<record::Finished, record::Failed, record::Cancelled,
                                        record::Rejected> auto&) { ++done_; },
                        [](const auto&) {}},
             record.what);
  if (!enabled_ || ++records_ % kRecordsPerLook != 0) return;
  if (const auto now = Clock::now(); now >= next_draw_) {
    next_draw_ = now + kRedraw;
    draw(record.t);
  }
}

void ProgressLine::draw(Time t) {
  drawn_ = true;
  fmt::print(stderr, "\r{} {} of {} jobs, day {:.1f} of the trace\x1b[K", bar_text(done_, jobs_),
             done_, jobs_, to_seconds(t) / 86400);
  std::fflush(stderr);
}

std::string runs_text(const RunsState& state) {
  std::string text =
      fmt::format("{} of {} runs, {}", state.done, state.runs, time_text(state.elapsed_s));
  if (state.done > 0 && state.done < state.runs) {
    const auto done = static_cast<double>(state.done);
    const double left_s = state.elapsed_s / done * (static_cast<double>(state.runs) - done);
    text += fmt::format(", about {} left", time_text(left_s));
  }
  if (!state.running.empty()) text += fmt::format("; now: {}", fmt::join(state.running, ", "));
  return text;
}

RunsProgress::RunsProgress(std::size_t runs, std::string on_interrupt)
    : terminal_(isatty(STDERR_FILENO) == 1),
      on_interrupt_(std::move(on_interrupt)),
      begin_(Clock::now()),
      next_line_(begin_ + kLineEvery),
      state_{.runs = runs} {}

RunsProgress::~RunsProgress() { remove(); }

void RunsProgress::started(const ChildRun& child) {
  state_.running.push_back(child.name);
  if (terminal_) draw();
}

void RunsProgress::ended(const ChildRun& child) {
  std::erase(state_.running, child.name);
  ++state_.done;
  if (terminal_) draw();
  if (const auto now = Clock::now(); !terminal_ && now >= next_line_) {
    next_line_ = now + kLineEvery;
    draw();
  }
}

void RunsProgress::waiting() {
  if (terminal_) draw();
}

void RunsProgress::interrupted() {
  remove();
  fmt::print(stderr, "fairlead: interrupted; {}\n", on_interrupt_);
}

void RunsProgress::draw() {
  state_.elapsed_s = std::chrono::duration<double>(Clock::now() - begin_).count();
  std::string text = runs_text(state_);
  if (!terminal_) {
    fmt::print(stderr, "{}\n", text);
    return;
  }
  text = fmt::format(
      "{} {}",
      bar_text(static_cast<std::int64_t>(state_.done), static_cast<std::int64_t>(state_.runs)),
      text);
  drawn_ = true;
  fmt::print(stderr, "\r{}\x1b[K", text.substr(0, terminal_columns() - 1));
  std::fflush(stderr);
}

void RunsProgress::remove() {
  if (drawn_) remove_bar();
  drawn_ = false;
}

}  // namespace fairlead
