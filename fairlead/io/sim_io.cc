#include "fairlead/io/sim_io.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

namespace fairlead {
namespace {

constexpr std::int64_t kBegan2026 = 1'767'225'600'000;  // 1 January 2026
constexpr std::int64_t kFullMs = 120'000;
constexpr std::int64_t kSlowSyncMs = 60'000;
constexpr std::int64_t kLateNoticeMs = 10'000;
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
  File(SimIo& io, std::string name) : io_(io), life_(io.life_), name_(std::move(name)) {}
  const std::string& name() const override { return name_; }

  Status append(std::span<const std::uint8_t> bytes) override {
    const bool was_dead = io_.calls_.is_dead() || life_ != io_.life_;
    if (was_dead || !io_.call(IoCall::kAppend)) {
      if (!was_dead) io_.disk_.append_part(name_, bytes);
      return gone();
    }
    io_.fill_disk();
    io_.trace([&] { return fmt::format("append {} bytes to {}", bytes.size(), name_); });
    if (!io_.disk_.append(name_, bytes)) return full(name_);
    return {};
  }

  Status sync() override {
    if (life_ != io_.life_ || !io_.call(IoCall::kSync)) return gone();
    io_.fill_disk();
    const bool is_slow = io_.happens(&SimFaults::slow_sync);
    io_.now_ = io_.now_ + (is_slow ? io_.upto(kSlowSyncMs) : io_.delay(3));
    io_.trace([&] { return "sync " + name_; });
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
    : faults_(faults),
      rng_(seed),
      disk_(rng_.next()),
      tasks_(rng_.next()),
      calendar_ms_(kBegan2026 + static_cast<std::int64_t>(rng_.below(kDayMs))) {}

bool SimIo::call(IoCall call) {
  const bool was_dead = calls_.is_dead();
  if (calls_.note(call)) return true;
  if (!was_dead) trace([] { return "the daemon crashes"; });
  return false;
}

bool SimIo::happens(double SimFaults::*fault) {
  const double rate = faults_.*fault;
  const bool is_so = rate > 0 && rng_.uniform() < rate;
  if (is_so) calls_.note(fault);
  return is_so;
}

Duration SimIo::upto(std::int64_t ms) {
  return {static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(ms) + 1))};
}

Time SimIo::now() {
  call(IoCall::kNow);
  return now_;
}

std::int64_t SimIo::unix_ms(Time t) { return calendar_ms_ + t.ms; }

IoEvent SimIo::wait(Time until) {
  if (!call(IoCall::kWait) || is_terminated_) return {.kind = IoEvent::Kind::kTerminate};
  disturb(until);
  IoEvent event;
  while (true) {
    const Time agenda = agenda_.empty() ? Time::never() : agenda_.top().at;
    const Time task = tasks_.next();
    const Time next = std::min(agenda, task);
    if (next == Time::never() || next > std::max(until, now_)) break;
    now_ = std::max(now_, next);
    if (task <= agenda) {
      settle_tasks();
    } else if (take(event)) {
      return event;
    }
    if (is_terminated_) return {.kind = IoEvent::Kind::kTerminate};
  }
  // If nothing will ever happen, a daemon would wait for ever: it is asked to leave.
  if (until == Time::never()) return {.kind = IoEvent::Kind::kTerminate};
  now_ = std::max(now_, until);
  return event;
}

void SimIo::disturb(Time until) {
  if (happens(&SimFaults::calendar)) calendar_ms_ += upto(2 * kDayMs).ms - kDayMs;
  // A stalled daemon wakes up after the time that it waited for.
  if (happens(&SimFaults::stall))
    now_ = std::max(now_, std::min(until, now_ + hours(1)) + upto(kStallMs));
}

void SimIo::settle_tasks() {
  ended_.clear();
  tasks_.advance(now_, ended_);
  for (TaskId task : ended_) plan_notice(task);
}

void SimIo::plan_notice(TaskId task) {
  const Duration late = happens(&SimFaults::late_notice) ? upto(kLateNoticeMs) : delay(2);
  agenda_.push({now_ + late, ++order_, life_, kNotice, task});
  if (!happens(&SimFaults::told_twice)) return;
  agenda_.push({now_ + late + upto(kLateNoticeMs), ++order_, life_, kNotice, task});
}

bool SimIo::take(IoEvent& event) {
  const Due due = agenda_.top();
  agenda_.pop();
  if (due.kind == kConnection) return take_arrival(due.what, event);
  if (due.kind == kClient) {
    if (clients_ != nullptr) clients_->wake(due.what);
    return false;
  }
  const SimTask* task = tasks_.find(due.task);
  if (task == nullptr || task->is_alive() || due.what != life_) return false;
  event = {.kind = IoEvent::Kind::kTaskEnded, .task = due.task, .end = task->end};
  trace([&] {
    return fmt::format("event: {} has ended, code {} signal {}{}", text(due.task), task->end.code,
                       task->end.signal, task->end.is_known ? "" : ", not known");
  });
  return true;
}

bool SimIo::take_arrival(ConnectionId id, IoEvent& event) {
  const auto at = connections_.find(id);
  if (at == connections_.end()) return false;
  Connection& connection = at->second;
  Arrival arrival = std::move(connection.arrivals.front());
  connection.arrivals.pop_front();
  received_ = std::move(arrival.bytes);
  event = {.kind = arrival.kind, .connection = id, .peer = connection.peer, .bytes = received_};
  trace([&] { return fmt::format("client {}: {}", id, first_line(event)); });
  if (arrival.kind == IoEvent::Kind::kClosed) connections_.erase(at);
  return true;
}

void SimIo::fill_disk() {
  if (full_until_ <= now_) disk_.set_full(false);
  if (!happens(&SimFaults::disk_full)) return;
  const bool is_moment = rng_.below(2) == 0;  // only this call fails
  full_until_ = now_ + (is_moment ? Duration{} : upto(kFullMs));
  was_full_ = true;
  trace([] { return "the disk is full"; });
  disk_.set_full(true);
}

Status SimIo::write(const std::string& name, std::string_view bytes) {
  if (!call(IoCall::kWrite)) return gone();
  fill_disk();
  now_ = now_ + delay(3);
  trace([&] { return "write " + name; });
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
  trace([&] { return "remove " + name; });
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
  fill_disk();
  if (disk_.is_full() && disk_.find(name) == nullptr) return full(name);
  disk_.cut(name, bytes);
  return std::make_unique<File>(*this, name);
}

void SimIo::send(ConnectionId connection, std::string_view bytes) {
  if (!call(IoCall::kSend) || !connections_.contains(connection)) return;
  trace([&] {
    return fmt::format("to client {}: {}", connection, bytes.substr(0, bytes.find('\r')));
  });
  if (clients_ != nullptr) clients_->received(connection, bytes);
}

void SimIo::close(ConnectionId connection) {
  if (!call(IoCall::kClose) || connections_.erase(connection) == 0) return;
  if (clients_ != nullptr) clients_->closed(connection);
}

Status SimIo::start(const TaskSpec& spec) {
  if (!call(IoCall::kStart)) return gone();
  now_ = now_ + delay(10);
  settle_tasks();
  if (happens(&SimFaults::start_fails)) {
    tasks_.note_failed_start(spec.id.job);
    return run_error("no memory for a process");
  }
  trace([&] {
    return fmt::format("start {} on {} GPUs from {}: {}", text(spec.id), spec.gpus.size(),
                       spec.gpus.empty() ? 0 : spec.gpus.front(), fmt::join(spec.command, " "));
  });
  check_gpus(machine_, tasks_, spec.gpus, spec.id, now_);
  return tasks_.start(now_, spec);
}

Status SimIo::freeze(TaskId task) {
  if (!call(IoCall::kFreeze)) return gone();
  settle_tasks();
  if (happens(&SimFaults::end_early)) {
    ended_.clear();
    tasks_.end_early(now_, task, seconds(10), ended_);
    for (TaskId ended : ended_) plan_notice(ended);
  }
  if (happens(&SimFaults::freeze_fails)) return run_error("a process cannot be frozen");
  trace([&] { return "freeze " + text(task); });
  tasks_.freeze(now_, task);
  return {};
}

Status SimIo::thaw(TaskId task) {
  if (!call(IoCall::kThaw)) return gone();
  settle_tasks();
  if (happens(&SimFaults::freeze_fails)) {
    tasks_.note_failed_start(task.job);
    return run_error("a process cannot be thawed");
  }
  trace([&] { return "thaw " + text(task); });
  if (const SimTask* frozen = tasks_.find(task))
    check_gpus(machine_, tasks_, frozen->gpus, task, now_);
  tasks_.thaw(now_, task);
  return {};
}

void SimIo::interrupt(TaskId task) {
  if (!call(IoCall::kInterrupt)) return;
  settle_tasks();
  trace([&] { return "interrupt " + text(task); });
  tasks_.interrupt(now_, task);
}

void SimIo::kill(TaskId task) {
  if (!call(IoCall::kKill)) return;
  settle_tasks();
  trace([&] { return "kill " + text(task); });
  tasks_.kill(now_, task);
}

std::vector<TaskStatus> SimIo::tasks() {
  if (!call(IoCall::kTasks)) return {};
  settle_tasks();
  return tasks_.statuses();
}

void SimIo::forget(TaskId task) {
  if (!call(IoCall::kForget)) return;
  trace([&] { return "forget " + text(task); });
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
  settle_tasks();
  const SimTask* found = tasks_.find(task);
  using OnTerm = SimWork::OnTerm;
  const OnTerm on_term = found != nullptr ? found->work.on_term : OnTerm::kDie;
  const bool is_silent = found != nullptr && found->work.is_silent;
  const bool is_mute = found != nullptr && found->work.is_mute;
  const std::string progress = is_mute ? std::string() : tasks_.progress(now_, task);
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
  machine_.settle(now_);
  if (happens(&SimFaults::foreign)) {
    const auto gpu = static_cast<std::uint32_t>(rng_.below(machine_.gpus()));
    const Time until = now_ + upto(kForeignMs);
    trace([&] { return fmt::format("a process of no job is on GPU {}", gpu); });
    machine_.add_foreign(gpu, until);
  }
  return machine_.look();
}

void SimIo::add_stray(JobId job, std::uint32_t gpu) {
  SimWork work;
  work.hangs = true;
  trace([&] { return fmt::format("a task of no job is on GPU {}", gpu); });
  (void)tasks_.start(now_,
                     {.id = {job, 1}, .uid = kNoUser, .command = work.command(), .gpus = {gpu}});
}

void SimIo::notify(Notification notification) {
  if (!call(IoCall::kStart)) return;
  trace([&] { return fmt::format("notify of job {}", notification.job.row()); });
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
  ++life_;
  is_terminated_ = false;
  was_full_ = full_until_ > now_ + time;
  calls_.end();  // meanwhile none takes connections
  for (const auto& [id, connection] : std::exchange(connections_, {})) {
    if (clients_ != nullptr) clients_->closed(id);
  }
  settle_tasks();
  if (outage == Outage::kPower) {
    disk_.lose_power();
    tasks_.lose_power(now_);
  }
  const Time end = now_ + time;
  IoEvent event;
  while (!agenda_.empty() && agenda_.top().at <= end) {
    now_ = std::max(now_, agenda_.top().at);
    take(event);
  }
  now_ = end;
  settle_tasks();
  trace([&] {
    return fmt::format("a daemon begins after {} ms{}", time.ms,
                       outage == Outage::kPower ? " without power" : "");
  });
  ++life_;  // only tasks() reports the tasks that ended before
  calls_.begin();
}

void SimIo::stop_faults() {
  faults_ = {};
  machine_.end_foreign();
  full_until_ = now_;
  disk_.set_full(false);
}

ConnectionId SimIo::connect(const Peer& peer) {
  if (calls_.is_dead()) return 0;
  const ConnectionId id = ++last_connection_;
  connections_[id] = {.peer = peer, .last = now_};
  arrive(id, IoEvent::Kind::kConnected, "", {});
  return id;
}

void SimIo::client_send(ConnectionId connection, std::string bytes, Duration later) {
  arrive(connection, IoEvent::Kind::kReceived, std::move(bytes), later);
}

void SimIo::hang_up(ConnectionId connection, Duration later) {
  arrive(connection, IoEvent::Kind::kClosed, "", later);
}

void SimIo::arrive(ConnectionId id, IoEvent::Kind kind, std::string bytes, Duration later) {
  const auto at = connections_.find(id);
  if (at == connections_.end()) return;
  Connection& connection = at->second;
  connection.last = std::max(connection.last, now_ + later);
  connection.arrivals.push_back({kind, std::move(bytes)});
  agenda_.push({connection.last, ++order_, id, kConnection});
}

}  // namespace fairlead
