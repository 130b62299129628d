#include "fairlead/copies/copy_program.h"

#include "fairlead/base/parse.h"
#include "fairlead/copies/copy_stream.h"
#include "fairlead/copies/interrupt.h"
#include "fairlead/copies/local_trainer.h"
#include "fairlead/shim/files.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <poll.h>
#include <sstream>
#include <utility>

namespace fairlead {
namespace {

constexpr int kStartsMax = 3;  // starts of the trainer without a step in between
constexpr std::chrono::milliseconds kConnect{5'000};
constexpr double kPauseS = 0.5;  // between two tries
constexpr double kFlushS = 10;
constexpr std::string_view kFrom = "from.f32";
constexpr std::string_view kTo = "to.f32";

class CopyProgram {
 public:
  explicit CopyProgram(const CopyProgramOptions& options)
      : options_(options), answered_s_(options.now_s()) {}
  Result<int> run();

 private:
  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) const {
    fmt::print("copy: {}\n", fmt::format(format, std::forward<Args>(args)...));
    std::fflush(stdout);
  }
  // Waits for the trainer, the tracker or SIGTERM, at most so long; below 0: without a limit.
  void wait(double limit_s = -1);
  bool has_trainer();  // that runs
  Status start_trainer();
  // Returns false if no tracker answers now.
  bool connect();
  // Passes orders and answers on until one side ends. Returns the exit code if nothing is left to do.
  Result<std::optional<int>> pass_on();
  Result<std::optional<int>> take_part();
  void finish_order();
  void answer(const std::string& line);
  Status obey(const CopyMessage& message);
  void end_trainer();
  void flush();

  const CopyProgramOptions& options_;
  Interrupt interrupt_;
  std::unique_ptr<Trainer> trainer_;  // it has reported its steps
  std::optional<CopyStream> stream_;
  std::uint64_t total_ = 0;
  int starts_ = 0;
  int exit_code_ = 0;
  double answered_s_;        // when a tracker last answered
  bool has_order_ = false;   // that the trainer has not answered
  bool is_stale_ = false;    // the tracker that gave it is gone
  bool is_leaving_ = false;  // after SIGTERM
  bool is_done_ = false;     // no order follows
};

void CopyProgram::wait(double limit_s) {
  std::vector<pollfd> files = {
      {.fd = is_leaving_ ? -1 : interrupt_.file(), .events = POLLIN, .revents = 0}};
  if (trainer_) trainer_->add_files(files);
  if (stream_ && !stream_->is_closed()) stream_->add_file(files);
  ::poll(files.data(), files.size(),
         limit_s < 0 ? -1 : static_cast<int>(std::ceil(limit_s * 1000)));
  if (is_leaving_ || !interrupt_.came()) return;
  is_leaving_ = true;
  if (trainer_) trainer_->interrupt();
}

// Sets the trainer once it has reported its steps, or the exit code if it has ended before.
Status CopyProgram::start_trainer() {
  ++starts_;
  has_order_ = is_stale_ = false;
  FL_TRY_ASSIGN(trainer, LocalTrainer::start(options_.command, options_.place, options_.number,
                                             options_.folder));
  trainer_ = std::move(trainer);
  while (!is_leaving_) {
    const bool has_ended = trainer_->has_ended();
    const std::optional<std::string> line = trainer_->line();
    const bool reports = line && line->starts_with("total ");
    const std::int64_t total = reports ? parse_integer(line->substr(6)).value_or(0) : 0;
    if (total > 0) {
      total_ = static_cast<std::uint64_t>(total);
      answered_s_ = options_.now_s();
      return {};
    }
    if (line || has_ended) {
      if (line) say("expected \"total STEPS\", got: {}", *line);
      if (has_ended) end_trainer();
      trainer_.reset();
      return {};
    }
    wait();
  }
  return {};
}

void CopyProgram::end_trainer() {
  exit_code_ = trainer_->reap();
  trainer_.reset();
  if (!is_done_) say("the trainer has ended with exit code {}", exit_code_);
}

bool CopyProgram::connect() {
  Descriptor socket = connect_to(options_.tracker, kConnect);
  if (!socket.is_open()) return false;
  stream_.emplace(std::move(socket));
  stream_->allow_any_size();
  stream_->send(fmt::format("hello 1 {} {} {} {}", options_.token, total_, options_.place.speed,
                            options_.place.gpu_type));
  return true;
}

bool CopyProgram::has_trainer() {
  if (trainer_ && trainer_->has_ended()) end_trainer();
  return trainer_ != nullptr;
}

Result<int> CopyProgram::run() {
  for (;;) {
    if (is_leaving_ || interrupt_.came()) return kInterrupted;
    if (!has_trainer() && starts_ == kStartsMax) return exit_code_ == 0 ? 1 : exit_code_;
    if (!trainer_) {
      FL_TRY(start_trainer());
      continue;
    }
    FL_TRY_ASSIGN(code, take_part());
    if (code) return *code;
    wait(kPauseS);
  }
}

// Connects once, and passes on. Returns the exit code if nothing is left to do.
Result<std::optional<int>> CopyProgram::take_part() {
  if (connect()) {
    const double before_s = answered_s_;
    FL_TRY_ASSIGN(code, pass_on());
    stream_.reset();
    if (code) return code;
    if (answered_s_ != before_s) answered_s_ = options_.now_s();  // it was accepted
  }
  if (options_.now_s() - answered_s_ > options_.give_up_s)
    return run_error("no tracker answers at {}:{}", options_.tracker.host, options_.tracker.port);
  return std::nullopt;
}

Result<std::optional<int>> CopyProgram::pass_on() {
  for (;;) {
    const bool has_ended = trainer_->has_ended();
    while (const auto line = trainer_->line()) answer(*line);
    if (has_ended) {
      end_trainer();
      stream_->send(fmt::format("ended {}", exit_code_));
      flush();
      return is_done_ ? std::optional(exit_code_) : std::nullopt;
    }
    if (is_leaving_ && !has_order_) {
      flush();
      return std::optional<int>(kInterrupted);
    }
    stream_->pump();
    while (const auto message = stream_->take()) FL_TRY(obey(*message));
    if (stream_->is_closed() && !is_done_) {
      stream_.reset();
      finish_order();
      return std::nullopt;
    }
    wait();
  }
}

// Waits for the answer to an order whose tracker is gone, so that the trainer is free for the next one.
void CopyProgram::finish_order() {
  is_stale_ = has_order_;
  while (has_order_ && !is_leaving_) {
    const bool has_ended = trainer_->has_ended();
    while (const auto line = trainer_->line()) answer(*line);
    if (has_order_ && has_ended) return end_trainer();
    if (has_order_) wait();
  }
}

// Passes an answer on with the parameters. The answer to a tracker that is gone counts no more.
void CopyProgram::answer(const std::string& line) {
  const bool is_stale = std::exchange(is_stale_, false);
  has_order_ = false;
  if (is_stale || !stream_) return;
  if (line.starts_with("made ") && line != "made 0") starts_ = 0;
  stream_->send(line, shim::read_file((options_.folder / kTo).string()).value_or(""));
  stream_->pump();
}

Status CopyProgram::obey(const CopyMessage& message) {
  answered_s_ = options_.now_s();
  std::istringstream words(message.line);
  std::string order;
  std::uint64_t steps = 0;
  std::uint64_t done = 0;
  words >> order;
  if (order == "accepted") return {};
  if (order == "refused")
    return input_error("the tracker refuses the copy: {}", message.line.substr(order.size() + 1));
  if (order == "leave") trainer_->interrupt();
  if (order == "done") {
    is_done_ = true;
    trainer_->end_input();
  }
  if (order != "make" && order != "end") return {};
  if (!message.content.empty() && !write_content(options_.folder / kFrom, message.content))
    return run_error("{}: the parameters cannot be written", options_.folder.string());
  if (order == "end") {
    trainer_->tell(fmt::format("end {}", kFrom));
    return {};
  }
  words >> steps >> done;
  std::error_code error;
  std::filesystem::remove(options_.folder / kTo, error);
  has_order_ = true;
  trainer_->tell(
      fmt::format("make {} {} {} {}", steps, done, message.content.empty() ? "-" : kFrom, kTo));
  return {};
}

// Sends the rest of the messages, for some seconds at most.
void CopyProgram::flush() {
  const double until_s = options_.now_s() + kFlushS;
  while (!stream_->is_closed() && !stream_->has_sent_all()) {
    const double left_s = until_s - options_.now_s();
    if (left_s <= 0) return;
    std::vector<pollfd> files;
    stream_->add_file(files);
    ::poll(files.data(), files.size(), static_cast<int>(std::ceil(left_s * 1000)));
    stream_->pump();
  }
}

}  // namespace

Result<int> run_copy(const CopyProgramOptions& options) { return CopyProgram(options).run(); }

}  // namespace fairlead
