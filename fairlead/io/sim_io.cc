#include "fairlead/io/sim_io.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

namespace fairlead {
namespace {

constexpr std::int64_t kBegan2026 = 1'767'225'600'000;  // 1 January 2026
constexpr std::int64_t kSlowSyncMs = 60'000;
constexpr std::int64_t kStallMs = 600'000;
constexpr std::int64_t kForeignMs = 120'000;
constexpr std::int64_t kDayMs = 86'400'000;

std::string text(TaskId id) { return fmt::format("job {} run {}", id.job.row(), id.run); }

std::string first_line(const IoEvent& event) {
  if (event.kind == IoEvent::Kind::kConnected)
    return fmt::format("user {} connects", event.peer.uid);
  if (event.kind == IoEvent::Kind::kClosed) return "hangs up";
  return std::string(event.bytes.substr(0, event.bytes.find('\r')));
}

constexpr std::array<std::string_view, kIoCalls> kCallNames = {
    "now",    "wait",  "write",  "read",     "remove", "list",   "stream", "open",
    "append", "sync",  "send",   "close",    "start",  "freeze", "thaw",   "interrupt",
    "kill",   "tasks", "forget", "progress", "look",   "port"};

// Notes a task that starts or continues beside a foreign process that the daemon has seen.
void check_gpus(const SimMachine& machine, SimTasks& tasks, std::span<const std::uint32_t> gpus,
                TaskId task, Time now) {
  if (const auto gpu = machine.seen_foreign(gpus, now)) {
    tasks.note_problem(fmt::format("{} works on GPU {} beside a process of no job that was seen",
                                   text(task), *gpu));
  }
}

tl::unexpected<Error> gone() { return run_error("the daemon is gone"); }
tl::unexpected<Error> full(const std::string& name) {
  return run_error("{}: no space left on the device", name);
}

}  // namespace

std::span<const std::string_view> io_call_names() { return kCallNames; }

// A file of one daemon; writes of a dead daemon are dropped.
class SimIo::File : public AppendFile {
 public:
  File(SimIo& io, std::string name) : io_(io), life_(io.calls_.life()), name_(std::move(name)) {}
  const std::string& name() const override { return name_; }

  Status append(std::span<const std::uint8_t> bytes) override {
    const bool was_dead = io_.calls_.is_dead() || life_ != io_.calls_.life();
    if (was_dead || !io_.call(IoCall::kAppend)) {
      if (!was_dead) io_.disk_.append_part(name_, bytes);
      return gone();
    }
    io_.faults_.fill_disk();
    io_.trace_.add([&] { return fmt::format("append {} bytes to {}", bytes.size(), name_); });
    if (!io_.disk_.append(name_, bytes)) return full(name_);
    return {};
  }

  Status sync() override {
    if (life_ != io_.calls_.life() || !io_.call(IoCall::kSync)) return gone();
    io_.faults_.fill_disk();
    FaultInjector& faults = io_.faults_;
    const bool is_slow = faults.happens(&SimFaults::slow_sync);
    io_.agenda_.pass(is_slow ? faults.upto(kSlowSyncMs) : faults.delay(3));
    io_.trace_.add([&] { return "sync " + name_; });
    if (!io_.disk_.sync(name_)) return full(name_);
    return {};
  }

  Status close() override { return sync(); }

 private:
  SimIo& io_;
  std::uint64_t life_;
  std::string name_;
};

class SimIo::Stream : public ByteStream {
 public:
  Stream(const SimDisk& disk, std::string name) : disk_(disk), name_(std::move(name)) {}
  Result<std::size_t> read(std::span<char> into) override {
    const std::string* bytes = disk_.find(name_);
    if (bytes == nullptr || at_ >= bytes->size()) return std::size_t{0};
    const std::size_t count = bytes->copy(into.data(), into.size(), at_);
    at_ += count;
    return count;
  }

 private:
  const SimDisk& disk_;
  std::string name_;
  std::size_t at_ = 0;
};

SimIo::SimIo(std::uint64_t seed, const SimFaults& faults)
    : faults_(seed, faults, agenda_, calls_, trace_, disk_, machine_),
      disk_(faults_.seed()),
      tasks_(faults_.seed()),
      calendar_ms_(kBegan2026 + static_cast<std::int64_t>(faults_.below(kDayMs))) {}

bool SimIo::call(IoCall call) {
  const bool was_dead = calls_.is_dead();
  if (calls_.note(call)) return true;
  if (!was_dead) trace_.add([] { return "the daemon crashes"; });
  return false;
}

Time SimIo::now() {
  call(IoCall::kNow);
  return agenda_.now();
}

std::int64_t SimIo::unix_ms(Time t) { return calendar_ms_ + t.ms; }

IoEvent SimIo::wait(Time until) {
  if (!call(IoCall::kWait) || is_terminated_) return {.kind = IoEvent::Kind::kTerminate};
  if (faults_.happens(&SimFaults::calendar)) calendar_ms_ += faults_.upto(2 * kDayMs).ms - kDayMs;
  // A stalled daemon wakes up after the time that it waited for.
  if (faults_.happens(&SimFaults::stall))
    agenda_.pass_until(std::min(until, agenda_.now() + hours(1)) + faults_.upto(kStallMs));
  IoEvent event;
  while (true) {
    const Time agenda = agenda_.next();
    const Time task = tasks_.next();
    const Time next = std::min(agenda, task);
    if (next == Time::never() || next > std::max(until, agenda_.now())) break;
    agenda_.pass_until(next);
    if (task <= agenda) {
      ends_.settle();
    } else if (take(event)) {
      return event;
    }
    if (is_terminated_) return {.kind = IoEvent::Kind::kTerminate};
  }
  // If nothing will ever happen, a daemon would wait for ever: it is asked to leave.
  if (until == Time::never()) return {.kind = IoEvent::Kind::kTerminate};
  agenda_.pass_until(until);
  return event;
}

bool SimIo::take(IoEvent& event) {
  const SimAgenda::Event due = agenda_.take();
  switch (due.kind) {
    case SimAgenda::Kind::kClient:
      network_.on_wake(due.what);
      return false;
    case SimAgenda::Kind::kArrival:
      if (!network_.take_arrival(due.what, event)) return false;
      trace_.add([&] { return fmt::format("client {}: {}", due.what, first_line(event)); });
      return true;
    case SimAgenda::Kind::kNotice:
      break;
  }
  const SimTask* const task = ends_.noticed(due);
  if (task == nullptr) return false;
  event = {.kind = IoEvent::Kind::kTaskEnded, .task = due.task, .end = task->end};
  trace_.add([&] {
    return fmt::format("event: {} has ended, code {} signal {}{}", text(due.task), task->end.code,
                       task->end.signal, task->end.is_known ? "" : ", not known");
  });
  return true;
}

Status SimIo::write(const std::string& name, std::string_view bytes) {
  if (!call(IoCall::kWrite)) return gone();
  faults_.fill_disk();
  agenda_.pass(faults_.delay(3));
  trace_.add([&] { return "write " + name; });
  if (!disk_.write(name, bytes)) return full(name);
  return {};
}

Result<std::string> SimIo::read(const std::string& name) {
  if (!call(IoCall::kRead)) return gone();
  const std::string* bytes = disk_.find(name);
  if (bytes == nullptr) return run_error("{}: there is no such file", name);
  return *bytes;
}

void SimIo::remove(const std::string& name) {
  if (!call(IoCall::kRemove)) return;
  trace_.add([&] { return "remove " + name; });
  disk_.remove(name);
}

std::vector<std::string> SimIo::list(const std::string& folder) {
  return call(IoCall::kList) ? disk_.list(folder) : std::vector<std::string>();
}

Result<ByteSource> SimIo::stream(const std::string& name) {
  if (!call(IoCall::kStream)) return gone();
  return ByteSource(std::make_unique<Stream>(disk_, name), name);
}

Result<std::unique_ptr<AppendFile>> SimIo::append_to(const std::string& name, std::uint64_t bytes) {
  if (!call(IoCall::kOpen)) return gone();
  faults_.fill_disk();
  if (disk_.is_full() && disk_.find(name) == nullptr) return full(name);
  disk_.cut(name, bytes);
  return std::make_unique<File>(*this, name);
}

void SimIo::send(ConnectionId connection, std::string_view bytes) {
  if (!call(IoCall::kSend) || !network_.has(connection)) return;
  trace_.add([&] {
    return fmt::format("to client {}: {}", connection, bytes.substr(0, bytes.find('\r')));
  });
  network_.deliver(connection, bytes);
}

void SimIo::close(ConnectionId connection) {
  if (call(IoCall::kClose)) network_.close(connection);
}

Status SimIo::start(const TaskSpec& spec) {
  if (!call(IoCall::kStart)) return gone();
  agenda_.pass(faults_.delay(10));
  ends_.settle();
  if (faults_.happens(&SimFaults::start_fails)) {
    tasks_.note_failed_start(spec.id.job);
    return run_error("no memory for a process");
  }
  trace_.add([&] {
    return fmt::format("start {} on {} GPUs from {}: {}", text(spec.id), spec.gpus.size(),
                       spec.gpus.empty() ? 0 : spec.gpus.front(), fmt::join(spec.command, " "));
  });
  check_gpus(machine_, tasks_, spec.gpus, spec.id, agenda_.now());
  return tasks_.start(agenda_.now(), spec);
}

Status SimIo::freeze(TaskId task) {
  if (!call(IoCall::kFreeze)) return gone();
  ends_.settle();
  if (faults_.happens(&SimFaults::end_early)) ends_.end_early(task);
  if (faults_.happens(&SimFaults::freeze_fails)) return run_error("a process cannot be frozen");
  trace_.add([&] { return "freeze " + text(task); });
  tasks_.freeze(agenda_.now(), task);
  return {};
}

Status SimIo::thaw(TaskId task) {
  if (!call(IoCall::kThaw)) return gone();
  ends_.settle();
  if (faults_.happens(&SimFaults::freeze_fails)) {
    tasks_.note_failed_start(task.job);
    return run_error("a process cannot be thawed");
  }
  trace_.add([&] { return "thaw " + text(task); });
  if (const SimTask* frozen = tasks_.find(task))
    check_gpus(machine_, tasks_, frozen->gpus, task, agenda_.now());
  tasks_.thaw(agenda_.now(), task);
  return {};
}

void SimIo::interrupt(TaskId task) {
  if (!call(IoCall::kInterrupt)) return;
  ends_.settle();
  trace_.add([&] { return "interrupt " + text(task); });
  tasks_.interrupt(agenda_.now(), task);
}

void SimIo::kill(TaskId task) {
  if (!call(IoCall::kKill)) return;
  ends_.settle();
  trace_.add([&] { return "kill " + text(task); });
  tasks_.kill(agenda_.now(), task);
}

std::vector<TaskStatus> SimIo::tasks() {
  if (!call(IoCall::kTasks)) return {};
  ends_.settle();
  return tasks_.statuses();
}

void SimIo::forget(TaskId task) {
  if (!call(IoCall::kForget)) return;
  trace_.add([&] { return "forget " + text(task); });
  tasks_.forget(task);
}

namespace {

// Returns the line of the hook; gradients of 0 kB: without a profile. Each GPU has a worker with 32 samples.
std::string hook_line(const std::string& progress, const SimTask& task) {
  const std::int64_t gradients_kb = task.work.gradients_kb;
  if (progress.empty() || gradients_kb == 0) return progress;
  return fmt::format("{} steps {} {} {} {} 32 4711", progress, gradients_kb, gradients_kb,
                     (gradients_kb + 1) / 2, task.gpus.size());
}

}  // namespace

TaskReports SimIo::reports(TaskId task, std::uint64_t output_from) {
  if (!call(IoCall::kProgress)) return {};
  ends_.settle();
  const SimTask* found = tasks_.find(task);
  using OnTerm = SimWork::OnTerm;
  const OnTerm on_term = found != nullptr ? found->work.on_term : OnTerm::kDie;
  const bool is_silent = found != nullptr && found->work.is_silent;
  const bool is_mute = found != nullptr && found->work.is_mute;
  const std::string progress = is_mute ? std::string() : tasks_.progress(agenda_.now(), task);
  return {.progress = is_silent ? std::string() : progress,
          .steps = is_silent ? hook_line(progress, *found) : std::string(),
          .output_begin = output_from,
          .can_save = on_term == OnTerm::kCheckpoint || on_term == OnTerm::kForget};
}

std::string SimIo::log_path(JobId job) { return fmt::format("/log/{}", job.row()); }

std::string SimIo::progress_path(TaskId task) {
  return fmt::format("/tasks/{}-{}", task.job.row(), task.run);
}

std::optional<GpuLook> SimIo::look_at_gpus(std::span<const std::string>) {
  if (!call(IoCall::kLook) || machine_.gpus() == 0) return std::nullopt;
  machine_.settle(agenda_.now());
  if (faults_.happens(&SimFaults::foreign)) {
    const auto gpu = static_cast<std::uint32_t>(faults_.below(machine_.gpus()));
    const Time until = agenda_.now() + faults_.upto(kForeignMs);
    trace_.add([&] { return fmt::format("a process of no job is on GPU {}", gpu); });
    machine_.add_foreign(gpu, until);
  }
  return machine_.look();
}

void SimIo::add_stray(JobId job, std::uint32_t gpu) {
  SimWork work;
  work.hangs = true;
  trace_.add([&] { return fmt::format("a task of no job is on GPU {}", gpu); });
  (void)tasks_.start(agenda_.now(),
                     {.id = {job, 1}, .uid = kNoUser, .command = work.command(), .gpus = {gpu}});
}

void SimIo::end_process(std::uint64_t pid, bool by_force) {
  if (!call(IoCall::kKill)) return;
  trace_.add([&] { return fmt::format("{} process {}", by_force ? "kill" : "interrupt", pid); });
  machine_.end_process(pid, by_force);
}

void SimIo::notify(Notification notification) {
  if (!call(IoCall::kStart)) return;
  trace_.add([&] { return fmt::format("notify of job {}", notification.job.row()); });
  machine_.notify(std::move(notification));
}

std::vector<std::string> SimIo::group_names(std::uint32_t uid, std::uint32_t /*gid*/) {
  return machine_.groups_of(uid);
}

std::string SimIo::user_name(std::uint32_t uid) {
  return uid == 0 ? "root" : fmt::format("user{}", uid);
}

std::uint16_t SimIo::free_port() { return call(IoCall::kPort) ? ++port_ : port_; }

void SimIo::restart(Outage outage, Duration time) {
  const Time end = agenda_.now() + time;
  is_terminated_ = false;
  faults_.begin_life(end);
  calls_.end();  // meanwhile none takes connections
  network_.close_all();
  ends_.settle();
  if (outage == Outage::kPower) {
    disk_.lose_power();
    tasks_.lose_power(agenda_.now());
  }
  IoEvent event;
  while (agenda_.next() <= end) {
    agenda_.pass_until(agenda_.next());
    take(event);
  }
  agenda_.pass_until(end);
  ends_.settle();
  trace_.add([&] {
    return fmt::format("a daemon begins after {} ms{}", time.ms,
                       outage == Outage::kPower ? " without power" : "");
  });
  calls_.begin();  // only tasks() reports the tasks that ended before
}

}  // namespace fairlead
