#include "fairlead/copies/tracker.h"

#include "fairlead/base/parse.h"
#include "fairlead/copies/checkpoint.h"
#include "fairlead/copies/consolidate.h"
#include "fairlead/copies/copy_listener.h"
#include "fairlead/copies/interrupt.h"
#include "fairlead/copies/local_trainer.h"
#include "fairlead/copies/remote_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <poll.h>
#include <utility>

namespace fairlead {
namespace {

constexpr int kStartsMax = 3;  // starts of a copy without a step in between
constexpr std::uint64_t kRoundSteps =
    50;                                 // the best of the measured values (docs/policies/hadare.md)
constexpr double kExchangePart = 0.05;  // fraction of a round
constexpr double kOuterRate = 0.7;      // DiLoCo's, like the momentum
constexpr double kOuterMomentum = 0.9;
constexpr std::string_view kResult = "parameters.f32";
constexpr double kWaitS = 3600;        // one wait, which is repeated
constexpr double kLastWaitS = 3;       // some times as long as a copy waits between two tries
constexpr double kPatienceLeastS = 5;  // a pause that no copy is left out for
// Supposed time of an order that no speed is known for: the first ones load a model and compile it. Chosen.
constexpr double kOrderS = 60;

struct Copy {
  CopyPlace place;
  std::unique_ptr<Trainer> trainer;  // none: lost, permanently after too many starts
  bool is_remote = false;            // another machine starts its trainer
  bool is_ready = false;             // it has reported the number of steps
  int starts = 0;                    // since it made a step
  int exit_code = 0;                 // exit code of the last trainer that ended
  double measured = 0;               // steps per second; 0: not yet
  bool has_supposed_speed = false;   // its order is by Tracker::supposed_
  // State of this round.
  std::uint64_t asked = 0;
  bool is_awaited = false;  // it starts, or has an order, since `began_s`, and no answer came
  std::optional<std::uint64_t> made{};
  double began_s = 0, took_s = 0;
  std::vector<float> parameters{};
};

// Returns the number in "made 35" after "made"; nullopt: the line has another form.
std::optional<std::uint64_t> number_after(std::string_view line, std::string_view word) {
  if (!line.starts_with(word) || line.size() <= word.size() || line[word.size()] != ' ')
    return std::nullopt;
  const auto number = parse_integer(line.substr(word.size() + 1));
  if (!number || *number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

class Tracker {
 public:
  Tracker(const TrackerOptions& options, CheckpointFolder folder)
      : options_(options),
        folder_(std::move(folder)),
        total_(at().total),
        outer_(options.is_plain ? 1 : kOuterRate, options.is_plain ? 0 : kOuterMomentum) {
    for (const CopyPlace& place : options.copies) copies_.push_back({.place = place});
    outer_.velocity() = at().velocity;
  }

  Result<int> run();

 private:
  const Checkpoint& at() const { return folder_.last(); }
  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) const {
    fmt::print("tracker: {}\n", fmt::format(format, std::forward<Args>(args)...));
    std::fflush(stdout);
  }
  // Starts copies without a trainer, and adds the new ones of other machines. False: all of them were started too often, and
  // no other can come.
  Result<bool> start_missing();
  Status listen();
  void accept_newcomers();
  bool has_newcomers();
  void add_newcomers();
  void add_remote(CopyListener::Accepted accepted);
  void await_remote(double limit_s);
  bool may_start() const;
  bool has_ready() const;
  void lose(Copy& copy, std::string_view why);
  // Waits until `is_settled` is true for all copies with a trainer.
  template <class IsSettled>
  void settle(IsSettled is_settled);
  void poll(std::vector<pollfd>& files, double limit_s = -1);
  void pass_on_interrupt();
  double patience_s() const;
  double alone_s(const Copy& copy) const;
  double leave_out_late();
  double leave_out(double patience_s);
  double leave_out_all();
  void lose_late(Copy& copy, double took_s);
  void hear(Copy& copy);
  void hear_line(Copy& copy, const std::string& line);
  std::vector<Copy*> ready();
  std::size_t number(const Copy& copy) const {
    return static_cast<std::size_t>(&copy - copies_.data());
  }
  std::string file_of(const Copy& copy) const { return fmt::format("copy-{}.f32", number(copy)); }
  void order(Copy& copy, std::uint64_t steps, std::string_view from);
  Status begin_parameters(Copy& first);
  Status round();
  Status consolidate(std::span<Copy* const> copies);
  // Reads the copy's parameters; drops the copy if they are unusable.
  void take(Copy& copy);
  double speed_of(const std::string& gpu_type) const;
  std::vector<double> speeds(std::span<Copy* const> of) const;
  std::uint64_t round_steps(std::span<const double> speeds) const;
  void tell_progress() const;
  int give_up() const;
  Result<int> finish();

  const TrackerOptions& options_;
  CheckpointFolder folder_;
  std::uint64_t total_;  // steps of the job; 0: no trainer has reported it yet
  OuterMomentum outer_;
  std::optional<CopyListener> listener_;
  Interrupt interrupt_;
  bool passed_on_ = false;  // the interrupt, to the trainers
  std::vector<Copy> copies_;
  std::vector<CopyListener::Accepted> newcomers_;  // they take part from the next round on
  int losses_ = 0;                                 // of all copies by leave_out_all(), since a step
  std::map<std::string, double> supposed_;         // speeds by type, of copies that were left out
  double exchange_s_ = 0;                          // of the last round
};

Result<bool> Tracker::start_missing() {
  for (Copy& copy : copies_) {
    if (copy.trainer || copy.is_remote || copy.starts == kStartsMax) continue;
    ++copy.starts;
    copy.is_ready = false;
    copy.asked = 0;
    copy.is_awaited = true;
    copy.began_s = options_.now_s();
    FL_TRY_ASSIGN(trainer,
                  LocalTrainer::start(options_.command, copy.place, number(copy), folder_.path()));
    copy.trainer = std::move(trainer);
  }
  add_newcomers();
  settle([](const Copy& copy) { return copy.is_ready; });
  return listener_ || has_ready() || may_start();
}

// Returns true if a copy has lost its trainer and will have another.
bool Tracker::may_start() const {
  return std::ranges::any_of(copies_, [](const Copy& copy) {
    return !copy.trainer && !copy.is_remote && copy.starts < kStartsMax;
  });
}

void Tracker::accept_newcomers() {
  if (!listener_) return;
  while (auto accepted = listener_->next()) newcomers_.push_back(*std::move(accepted));
}

// Returns true if copies wait for the next round.
bool Tracker::has_newcomers() {
  std::erase_if(newcomers_, [](CopyListener::Accepted& one) {
    one.stream.pump();
    return one.stream.is_closed();
  });
  return !newcomers_.empty();
}

void Tracker::add_newcomers() {
  accept_newcomers();
  for (CopyListener::Accepted& one : std::exchange(newcomers_, {})) add_remote(std::move(one));
}

// A copy takes the place of one that was lost.
void Tracker::add_remote(CopyListener::Accepted accepted) {
  if (total_ != 0 && accepted.total != total_) {
    const std::string why = fmt::format("its trainer has {} steps, not {}", accepted.total, total_);
    say("refuses a copy on {}: {}", accepted.gpu_type, why);
    accepted.stream.send("refused " + why);
    accepted.stream.pump();
    return;
  }
  total_ = accepted.total;
  auto place = std::ranges::find_if(
      copies_, [](const Copy& copy) { return copy.is_remote && !copy.trainer; });
  if (place == copies_.end()) place = copies_.insert(copies_.end(), Copy());
  *place = Copy();
  place->place = {.gpus = {}, .gpu_type = std::move(accepted.gpu_type), .speed = accepted.speed};
  place->trainer =
      std::make_unique<RemoteTrainer>(std::move(accepted.stream), folder_.path(), options_.now_s);
  place->is_remote = place->is_ready = true;
  say("copy {} on {} has come", number(*place), place->place.gpu_type);
}

bool Tracker::has_ready() const {
  return std::ranges::any_of(copies_,
                             [](const Copy& copy) { return copy.trainer && copy.is_ready; });
}

// Waits until a copy of another machine comes, if there is no other. Below 0: without a limit.
void Tracker::await_remote(double limit_s) {
  const double until_s = options_.now_s() + limit_s;
  add_newcomers();
  while (!has_ready() && !interrupt_.came()) {
    const double left_s = limit_s < 0 ? limit_s : std::max(0.0, until_s - options_.now_s());
    if (left_s == 0) return;
    std::vector<pollfd> files;
    listener_->add_files(files);
    poll(files, left_s);
    add_newcomers();
  }
}

void Tracker::lose(Copy& copy, std::string_view why) {
  copy.trainer.reset();
  copy.made.reset();
  copy.is_awaited = false;
  const std::uint64_t again = std::exchange(copy.asked, 0);
  say("copy {} on {} {}{}{}", number(copy), copy.place.gpu_type, why,
      again > 0 ? fmt::format("; its {} steps are made again", again) : "",
      copy.starts == kStartsMax ? "; it is not started again" : "");
}

// Sending may have read an answer already, so the answers of all copies are handled before each wait.
template <class IsSettled>
void Tracker::settle(IsSettled is_settled) {
  for (;;) {
    for (Copy& copy : copies_) {
      if (copy.trainer && !is_settled(copy)) hear(copy);
    }
    accept_newcomers();
    const double limit_s = leave_out_late();
    std::vector<pollfd> files;
    for (const Copy& copy : copies_) {
      if (copy.trainer && !is_settled(copy)) copy.trainer->add_files(files);
    }
    if (files.empty()) return;
    if (listener_) listener_->add_files(files);
    poll(files, limit_s);
  }
}

// Waits for the files or an interrupt, which is passed on. Below 0: without a limit.
void Tracker::poll(std::vector<pollfd>& files, double limit_s) {
  files.push_back({.fd = passed_on_ ? -1 : interrupt_.file(), .events = POLLIN, .revents = 0});
  ::poll(files.data(), files.size(),
         limit_s < 0 ? -1 : static_cast<int>(std::ceil(std::min(limit_s, kWaitS) * 1000)));
  pass_on_interrupt();
}

// Returns how long a copy may take for its steps of this round: a multiple of the longest time of the others, because the
// steps are divided so that all end together. 0: no other has ended yet.
double Tracker::patience_s() const {
  double longest_s = 0;
  for (const Copy& copy : copies_) {
    const bool is_whole = copy.trainer && copy.asked > 0 && copy.made == copy.asked;
    if (is_whole) longest_s = std::max(longest_s, copy.took_s);
  }
  return longest_s == 0 ? 0 : std::max(kPatienceLeastS, options_.patience * longest_s);
}

// Returns how long the copy may take if no other has ended: the same multiple of the time that it is supposed to take.
// Without a known speed, that time doubles with each loss of all copies: a step may take longer than supposed.
double Tracker::alone_s(const Copy& copy) const {
  const double speed = copy.measured > 0 ? copy.measured : speed_of(copy.place.gpu_type);
  const bool is_known = copy.asked > 0 && speed > 0;
  const double supposed_s =
      is_known ? static_cast<double>(copy.asked) / speed : std::ldexp(kOrderS, losses_);
  return std::max(kPatienceLeastS, options_.patience * supposed_s);
}

// Leaves out the copies that take too long. Returns the seconds until the next one would; below 0: none would.
double Tracker::leave_out_late() {
  if (options_.patience == 0 || passed_on_) return -1;
  const double patience = patience_s();
  const bool is_round = std::ranges::any_of(
      copies_, [](const Copy& copy) { return copy.is_awaited && copy.asked > 0; });
  if (is_round && patience > 0) return leave_out(patience);
  return has_newcomers() ? leave_out_all() : -1;
}

// Leaves out the copies of a round that take longer than that. Returns the same.
double Tracker::leave_out(double patience_s) {
  double left_s = -1;
  for (Copy& copy : copies_) {
    if (!copy.is_awaited) continue;
    const double took_s = options_.now_s() - copy.began_s;
    if (took_s < patience_s) {
      left_s = left_s < 0 ? patience_s - took_s : std::min(left_s, patience_s - took_s);
      continue;
    }
    lose_late(copy, took_s);
  }
  return left_s;
}

// Leaves out all awaited copies once each takes too long, so that the round goes to the newcomers. Returns the same.
double Tracker::leave_out_all() {
  double left_s = -1;
  for (const Copy& copy : copies_) {
    if (!copy.is_awaited) continue;
    left_s = std::max(left_s, copy.began_s + alone_s(copy) - options_.now_s());
  }
  if (left_s > 0) return left_s;
  bool is_any = false;
  for (Copy& copy : copies_) {
    if (!copy.is_awaited) continue;
    lose_late(copy, options_.now_s() - copy.began_s);
    is_any = true;
  }
  if (is_any) ++losses_;
  return -1;
}

void Tracker::lose_late(Copy& copy, double took_s) {
  // If it is only slow, it gets fewer steps next time.
  if (copy.asked > 0) {
    copy.measured = 0;
    supposed_[copy.place.gpu_type] = static_cast<double>(copy.asked) / took_s / 2;
  }
  lose(copy, fmt::format("has made no answer for {:.0f} s", took_s));
}

void Tracker::pass_on_interrupt() {
  if (!interrupt_.came() || std::exchange(passed_on_, true)) return;
  for (Copy& copy : copies_) {
    if (copy.trainer) copy.trainer->interrupt();
  }
}

// Handles a trainer's lines, and then its end.
void Tracker::hear(Copy& copy) {
  const bool has_ended = copy.trainer->has_ended();
  while (copy.trainer) {
    const auto line = copy.trainer->line();
    if (!line) break;
    hear_line(copy, *line);
  }
  if (!copy.trainer || !has_ended || copy.made) return;
  copy.exit_code = copy.trainer->reap();
  lose(copy, fmt::format("has ended with exit code {}", copy.exit_code));
}

void Tracker::hear_line(Copy& copy, const std::string& line) {
  if (copy.is_ready) {
    const auto made = number_after(line, "made");
    if (!made || copy.made || *made > copy.asked)
      return lose(copy, fmt::format("expected \"made STEPS\", got: {}", line));
    copy.took_s = options_.now_s() - copy.began_s;
    copy.made = made;
    copy.is_awaited = false;
    return;
  }
  const auto total = number_after(line, "total");
  if (!total || *total == 0 || (total_ != 0 && *total != total_))
    return lose(copy, fmt::format("expected \"total {}\", got: {}",
                                  total_ == 0 ? "STEPS" : fmt::to_string(total_), line));
  total_ = *total;
  copy.is_ready = true;
  copy.is_awaited = false;
}

std::vector<Copy*> Tracker::ready() {
  std::vector<Copy*> all;
  for (Copy& copy : copies_) {
    if (copy.trainer && copy.is_ready) all.push_back(&copy);
  }
  return all;
}

void Tracker::order(Copy& copy, std::uint64_t steps, std::string_view from) {
  copy.asked = steps;
  copy.made.reset();
  copy.is_awaited = true;
  copy.began_s = options_.now_s();
  copy.trainer->tell(fmt::format("make {} {} {} {}", steps, at().done, from, file_of(copy)));
}

// All copies start with the parameters with which the first of them would start alone.
Status Tracker::begin_parameters(Copy& first) {
  order(first, 0, "-");
  settle([&](const Copy& copy) { return &copy != &first || copy.made.has_value(); });
  if (first.made) take(first);
  if (!first.made) return {};
  Checkpoint next = at();
  next.total = total_;
  next.parameters = std::move(first.parameters);
  return folder_.save(std::move(next), {});
}

Status Tracker::round() {
  const std::vector<Copy*> copies = ready();
  if (copies.empty()) return {};
  if (at().parameters.empty()) return begin_parameters(*copies.front());
  const std::vector<double> speeds = this->speeds(copies);
  const auto split = split_steps(std::min(round_steps(speeds), total_ - at().done), speeds);

  for (std::size_t i = 0; i < copies.size(); ++i) {
    copies[i]->made.reset();
    copies[i]->asked = 0;
    copies[i]->has_supposed_speed =
        copies[i]->measured == 0 && supposed_.contains(copies[i]->place.gpu_type);
    if (split[i] > 0) order(*copies[i], split[i], folder_.parameters_file());
  }
  settle([](const Copy& copy) { return copy.asked == 0 || copy.made.has_value(); });
  return consolidate(copies);
}

void Tracker::take(Copy& copy) {
  auto parameters = read_floats(folder_.path() / file_of(copy));
  const std::size_t count = at().parameters.size();
  if (!parameters)
    return lose(copy, fmt::format("has no parameters: {}", parameters.error().message));
  if (parameters->empty() || (count != 0 && parameters->size() != count))
    return lose(copy, fmt::format("has {} parameters, expected {}", parameters->size(), count));
  copy.parameters = std::move(*parameters);
}

Status Tracker::consolidate(std::span<Copy* const> copies) {
  const double began_s = options_.now_s();
  std::vector<std::span<const float>> parameters;
  std::vector<std::uint64_t> steps;
  std::string lines;
  Checkpoint next = at();
  ++next.round;
  for (Copy* copy : copies) {
    if (!copy->made.value_or(0)) continue;
    take(*copy);
    if (!copy->made) continue;
    parameters.emplace_back(copy->parameters);
    steps.push_back(*copy->made);
    next.done += *copy->made;
    copy->starts = 0;
    copy->measured = static_cast<double>(*copy->made) / std::max(copy->took_s, 1e-6);
    next.speeds[copy->place.gpu_type] = copy->measured;
    if (std::exchange(copy->has_supposed_speed, false)) supposed_.erase(copy->place.gpu_type);
    lines += fmt::format("{},{},{},{},{},{:.6f}\n", at().round, next.done, number(*copy),
                         copy->place.gpu_type, *copy->made, copy->took_s);
  }
  if (steps.empty()) return {};
  losses_ = 0;
  std::vector<float> mean(at().parameters.size());
  average(parameters, steps, mean);
  outer_.step(next.parameters, mean);
  if (!options_.is_plain) next.velocity = outer_.velocity();
  FL_TRY(folder_.save(std::move(next), lines));
  exchange_s_ = options_.now_s() - began_s;
  tell_progress();
  return {};
}

// Returns the known speed of copies on GPUs of that type, in steps per second; 0: none.
double Tracker::speed_of(const std::string& gpu_type) const {
  if (const auto late = supposed_.find(gpu_type); late != supposed_.end()) return late->second;
  const auto before = at().speeds.find(gpu_type);
  return before == at().speeds.end() ? 0 : before->second;
}

// Returns steps per second. Copies without a measurement get their relative speeds, scaled to the measured ones.
std::vector<double> Tracker::speeds(std::span<Copy* const> of) const {
  std::vector<double> known;
  double measured = 0;
  double relative = 0;
  for (const Copy* copy : of) {
    known.push_back(copy->measured > 0 ? copy->measured : speed_of(copy->place.gpu_type));
    if (known.back() == 0) continue;
    measured += known.back();
    relative += copy->place.speed;
  }
  const double scale = relative > 0 ? measured / relative : 1;
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (known[i] == 0) known[i] = of[i]->place.speed * scale;
  }
  return known;
}

std::uint64_t Tracker::round_steps(std::span<const double> speeds) const {
  if (options_.round_steps > 0) return options_.round_steps;
  double together = 0;
  for (double speed : speeds) together += speed;
  const double least = exchange_s_ / kExchangePart * together;
  return std::max(kRoundSteps, static_cast<std::uint64_t>(least));
}

void Tracker::tell_progress() const {
  if (options_.progress.empty()) return;
  if (std::FILE* file = std::fopen(options_.progress.c_str(), "a")) {
    std::fputs(fmt::format("{} {} steps\n", at().done, total_).c_str(), file);
    std::fclose(file);
  }
}

int Tracker::give_up() const {
  say("no copy trains: docs/copies.md describes the protocol of a trainer");
  const auto failed =
      std::ranges::find_if(copies_, [](const Copy& copy) { return copy.exit_code != 0; });
  return failed == copies_.end() ? 1 : failed->exit_code;
}

Status Tracker::listen() {
  FL_TRY_ASSIGN(address, parse_copy_address(options_.listen));
  FL_TRY_ASSIGN(listener, CopyListener::open(address, options_.token));
  listener_ = std::move(listener);
  say("waits for copies at port {}", listener_->port());
  return {};
}

Result<int> Tracker::run() {
  if (!options_.listen.empty()) FL_TRY(listen());
  say("{} {}, {} steps made", copies_.size(), copies_.size() == 1 ? "copy" : "copies", at().done);
  tell_progress();
  while (total_ == 0 || at().done < total_) {
    FL_TRY_ASSIGN(goes_on, start_missing());
    if (interrupt_.came()) break;
    if (!goes_on) return give_up();
    if (listener_ && !may_start()) await_remote(-1);
    if (!interrupt_.came()) FL_TRY(round());
    if (interrupt_.came()) break;
  }
  if (total_ != 0 && at().done == total_ && !interrupt_.came()) return finish();
  say("interrupted: checkpoint at step {}", at().done);
  return kInterrupted;
}

// One copy sees the whole job's parameters last, to judge or to keep them in its own way.
Result<int> Tracker::finish() {
  FL_TRY(start_missing());
  std::error_code error;
  const auto options = std::filesystem::copy_options::overwrite_existing;
  std::filesystem::copy_file(folder_.path() / folder_.parameters_file(), folder_.path() / kResult,
                             options, error);
  if (error) return run_error("{}: {}", (folder_.path() / kResult).string(), error.message());
  for (Copy& copy : copies_) {
    if (copy.trainer && copy.trainer->has_ended()) lose(copy, "has left");
  }
  // Copies whose last tracker was killed come again, and learn that nothing is left to do.
  if (listener_) await_remote(kLastWaitS);
  const std::vector<Copy*> copies = ready();
  int exit_code = 0;
  for (Copy* copy : copies) {
    if (copy == copies.front()) copy->trainer->tell(fmt::format("end {}", kResult));
    copy->trainer->end_input();
  }
  for (Copy* copy : copies) {
    const int code = copy->trainer->reap();
    const bool is_lost = copy->is_remote && code == kLostTrainer;  // all steps are there
    if (exit_code == 0 && !is_lost) exit_code = code;
  }
  for (const Copy& copy : copies_) {
    std::filesystem::remove(folder_.path() / file_of(copy), error);
    std::filesystem::remove(folder_.path() / fmt::format("answers-{}", number(copy)), error);
  }
  say("done: step {}", at().done);
  return exit_code;
}

}  // namespace

Result<int> track(const TrackerOptions& options) {
  FL_TRY_ASSIGN(folder, CheckpointFolder::open(options.folder));
  return Tracker(options, std::move(folder)).run();
}

}  // namespace fairlead
