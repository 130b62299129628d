#include "fairlead/io/notices.h"

#include "fairlead/base/time_text.h"
#include "fairlead/io/spawn.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <utility>

namespace fairlead {
namespace {

constexpr std::int64_t kMsPerS = 1000;
constexpr std::int64_t kNsPerMs = 1'000'000;

void log_unsent(JobId job, std::string_view why) {
  fmt::print(stderr, "fairlead: the notification about job {} has failed: {}\n", job.row(), why);
  std::fflush(stderr);
}

Result<Descriptor> timer_after(Duration time) {
  Descriptor timer(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  itimerspec at{};
  at.it_value.tv_sec = time.ms / kMsPerS;
  at.it_value.tv_nsec = time.ms % kMsPerS * kNsPerMs;
  if (!timer.is_open() || ::timerfd_settime(timer.get(), 0, &at, nullptr) != 0)
    return run_error("timer: {}", std::strerror(errno));
  return timer;
}

// Returns how the process of a pidfd has ended, and reaps it; empty: well.
std::string end_of(const Descriptor& process) {
  siginfo_t info{};
  if (::waitid(P_PIDFD, static_cast<id_t>(process.get()), &info, WEXITED | WNOHANG) != 0)
    return fmt::format("its end is unknown: {}", std::strerror(errno));
  if (info.si_code != CLD_EXITED) return fmt::format("signal {}", info.si_status);
  return info.si_status == 0 ? std::string() : fmt::format("exit code {}", info.si_status);
}

}  // namespace

Notices::~Notices() {
  if (waiting_.empty()) return;
  fmt::print(stderr, "fairlead: {} notifications are not sent, because the daemon ends\n",
             waiting_.size());
}

void Notices::add(Notification notification) {
  if (waiting_.size() >= kNotificationsWaitingMax)
    return log_unsent(notification.job,
                      fmt::format("{} others wait already", kNotificationsWaitingMax));
  waiting_.push_back(std::move(notification));
  start_waiting();
}

void Notices::start_waiting() {
  while (!waiting_.empty() && running_.size() < kNotificationsAtOnce) {
    const Notification next = std::move(waiting_.front());
    waiting_.pop_front();
    if (const Status status = start(next); !status) log_unsent(next.job, status.error().message);
  }
}

Status Notices::start(const Notification& notification) {
  FL_TRY_ASSIGN(timer, timer_after(limit_));
  FL_TRY_ASSIGN(timer_number, epoll_.add(timer.get(), EPOLLIN));
  Result<Spawned> spawned = spawn_command(notification);
  Result<std::uint64_t> number =
      spawned ? epoll_.add(spawned->process.get(), EPOLLIN) : tl::unexpected(spawned.error());
  if (!number) {  // what cannot be watched must not run
    epoll_.remove(timer.get());
    if (!spawned) return tl::unexpected(spawned.error());
    ::kill(-spawned->pid, SIGKILL);
    ::waitpid(spawned->pid, nullptr, 0);
    return tl::unexpected(number.error());
  }
  running_.emplace(*number, Running{.job = notification.job,
                                    .pid = spawned->pid,
                                    .process = std::move(spawned->process),
                                    .timer = std::move(timer),
                                    .timer_number = timer_number});
  return {};
}

bool Notices::handle(const Epoll::Ready& ready) {
  if (const auto found = running_.find(ready.number); found != running_.end()) {
    const Running ended = std::move(found->second);
    running_.erase(found);
    end(ended);
    start_waiting();
    return true;
  }
  const auto late = std::ranges::find_if(
      running_, [&](const auto& entry) { return entry.second.timer_number == ready.number; });
  if (late == running_.end()) return false;
  late->second.is_late = true;
  epoll_.remove(late->second.timer.get());
  ::kill(-late->second.pid, SIGKILL);
  return true;
}

void Notices::end(const Running& ended) {
  const std::string why = end_of(ended.process);
  if (ended.is_late) {
    log_unsent(ended.job, "it was killed after " + span_text(limit_.ms));
  } else if (!why.empty()) {
    log_unsent(ended.job, why);
  }
  epoll_.remove(ended.process.get());
  if (!ended.is_late) epoll_.remove(ended.timer.get());
}

}  // namespace fairlead
