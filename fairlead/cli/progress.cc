#include "fairlead/cli/progress.h"

#include "fairlead/base/overloaded.h"
#include "fairlead/base/parse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
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

// Returns the descriptor of the parent's file, or -1.
int parent_descriptor() {
  const char* const text = std::getenv(kProgressVariable);
  if (text == nullptr) return -1;
  const auto number = parse_integer(text);
  if (!number || *number < 0 || *number > std::numeric_limits<int>::max()) return -1;
  return static_cast<int>(*number);
}

double seconds_between(std::chrono::steady_clock::time_point from,
                       std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

ProgressLine::ProgressLine()
    : enabled_(isatty(STDERR_FILENO) == 1),
      parent_(parent_descriptor()),
      next_draw_(Clock::now() + kFirstDraw) {}

ProgressLine::~ProgressLine() {
  if (drawn_) remove_bar();
}

void ProgressLine::on(const Record& record) {
  std::visit(Overloaded{[&](const record::Run& run) { jobs_ = run.jobs; },
                        [&](const OneOf<record::Finished, record::Failed, record::Cancelled,
                                        record::Rejected> auto&) { ++done_; },
                        [](const auto&) {}},
             record.what);
  if ((!enabled_ && parent_ < 0) || ++records_ % kRecordsPerLook != 0) return;
  if (const auto now = Clock::now(); now >= next_draw_) {
    next_draw_ = now + kRedraw;
    if (enabled_) draw(record.t);
    if (parent_ >= 0) report();
  }
}

void ProgressLine::report() const {
  const double part =
      static_cast<double>(done_) / static_cast<double>(std::max<std::int64_t>(jobs_, 1));
  // Without a report the parent only knows less.
  [[maybe_unused]] const ssize_t written = pwrite(parent_, &part, sizeof part, 0);
}

void ProgressLine::draw(Time t) {
  drawn_ = true;
  fmt::print(stderr, "\r{} {} of {} jobs, day {:.1f} of the trace\x1b[K", bar_text(done_, jobs_),
             done_, jobs_, to_seconds(t) / 86400);
  std::fflush(stderr);
}

std::optional<double> left_s(const RunsState& state) {
  // A run that has done less is hardly measured.
  constexpr double kPartKnown = 0.01;
  double known_s = state.done_s;  // lengths of runs, as far as known
  auto known = static_cast<double>(state.done);
  const auto whole_s = [](const RunsState::Running& run) { return run.elapsed_s / run.part_done; };
  for (const RunsState::Running& run : state.running) {
    if (run.part_done < kPartKnown) continue;
    known_s += whole_s(run);
    ++known;
  }
  if (known == 0) return std::nullopt;
  const double mean_s = known_s / known;
  double sum_s = 0;
  double longest_s = 0;
  for (const RunsState::Running& run : state.running) {
    const double length_s = run.part_done < kPartKnown ? mean_s : whole_s(run);
    const double rest_s = std::max(0.0, length_s - run.elapsed_s);
    sum_s += rest_s;
    longest_s = std::max(longest_s, rest_s);
  }
  const std::size_t waiting = state.runs - std::min(state.runs, state.done + state.running.size());
  sum_s += mean_s * static_cast<double>(waiting);
  return std::max(longest_s, sum_s / static_cast<double>(std::max<std::size_t>(state.parallel, 1)));
}

std::string runs_text(const RunsState& state) {
  std::string text =
      fmt::format("{} of {} runs, {}", state.done, state.runs, time_text(state.elapsed_s));
  const std::optional<double> left = left_s(state);
  if (left && state.done < state.runs) text += fmt::format(", about {} left", time_text(*left));
  std::vector<std::string> running;
  for (const RunsState::Running& run : state.running) {
    running.push_back(run.part_done > 0 ? fmt::format("{} {:.0f} %", run.name, 100 * run.part_done)
                                        : run.name);
  }
  if (!running.empty()) text += fmt::format("; now: {}", fmt::join(running, ", "));
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
  running_.push_back({&child, Clock::now()});
  state_.parallel = std::max(state_.parallel, running_.size());
  if (terminal_) draw();
}

void RunsProgress::ended(const ChildRun& child) {
  const auto ended = std::ranges::find(running_, &child, &Started::child);
  if (ended != running_.end()) {
    state_.done_s += seconds_between(ended->at, Clock::now());
    running_.erase(ended);
  }
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
  const Clock::time_point now = Clock::now();
  RunsState state = state_;
  state.elapsed_s = seconds_between(begin_, now);
  for (const Started& one : running_) {
    state.running.push_back({.name = one.child->name,
                             .elapsed_s = seconds_between(one.at, now),
                             .part_done = one.child->part_done});
  }
  std::string text = runs_text(state);
  if (!terminal_) {
    fmt::print(stderr, "{}\n", text);
    return;
  }
  double work = static_cast<double>(state.done);
  for (const RunsState::Running& run : state.running) work += run.part_done;
  constexpr double kSteps = 1000;  // finer than the bar
  text = fmt::format(
      "{} {}",
      bar_text(std::llround(kSteps * work), std::llround(kSteps * static_cast<double>(state.runs))),
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
