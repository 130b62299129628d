#include "fairlead/cli/follow.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <unistd.h>

namespace fairlead {
namespace {

volatile std::sig_atomic_t interrupts = 0;

// The pause between looks at a log: not every file system notifies about a file's growth.
constexpr int kLookMs = 100;

// A growing file, which may not exist yet.
class Log {
 public:
  explicit Log(std::string path) : path_(std::move(path)) {}
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  ~Log() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  // Copies the bytes since the last call. Error: they cannot be read, or cannot be written.
  Status copy() {
    if (descriptor_ < 0) descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0 && errno == ENOENT) return {};
    std::array<char, 1 << 16> bytes;
    for (;;) {
      skip_hole();
      const ssize_t count = descriptor_ < 0 ? -1 : ::read(descriptor_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return run_error("cannot read {}: {}", path_, std::strerror(errno));
      if (count == 0) break;
      std::fwrite(bytes.data(), 1, static_cast<std::size_t>(count), stdout);
    }
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
    const bool is_terminal_gone = errno == EIO;
    if (is_terminal_gone && std::freopen("/dev/null", "w", stdout) != nullptr) return {};
    return run_error("cannot write to standard output; the job continues");
  }

 private:
  // Goes on behind a part that the daemon has removed, because the log was too long. Keeps errno, which may have the error
  // of a write.
  void skip_hole() const {
    const int before = errno;
    const off_t at = descriptor_ < 0 ? -1 : ::lseek(descriptor_, 0, SEEK_CUR);
    const off_t data = at < 0 ? -1 : ::lseek(descriptor_, at, SEEK_DATA);
    if (data > at) note("{} bytes of the output were removed, because it is too long", data - at);
    if (data < 0 && at >= 0) ::lseek(descriptor_, at, SEEK_SET);
    errno = before;
  }

  std::string path_;
  int descriptor_ = -1;
};

}  // namespace

int JobEnd::descriptor() {
  if (!daemon_) ask();
  return daemon_ ? daemon_->client().descriptor() : -1;
}

void JobEnd::ask() {
  auto daemon = Daemon::connect(socket_);
  if (daemon && daemon->ask_end(id_)) daemon_ = std::move(*daemon);
}

Result<std::optional<JobAnswer>> JobEnd::wait(int limit_ms) {
  pollfd end{.fd = descriptor(), .events = POLLIN, .revents = 0};
  if (::poll(&end, 1, limit_ms) <= 0) return std::nullopt;
  auto job = daemon_->take_end();
  if (job) return std::optional(std::move(*job));
  if (job.error().kind == Error::Kind::kInput) return tl::unexpected(std::move(job).error());
  daemon_.reset();
  if (!std::exchange(has_told_, true))
    note("the daemon has stopped; job {} continues without it", id_);
  return std::nullopt;
}

int interrupts_so_far() { return interrupts; }

Status cancel_job(const std::string& socket, std::int64_t id) {
  FL_TRY_ASSIGN(daemon, Daemon::connect(socket));
  FL_TRY(daemon.post(job_target(id, "cancel")));
  note("cancels job {}; Ctrl-C leaves without waiting for its end", id);
  return {};
}

Result<JobAnswer> follow_job(const std::string& socket, const JobAnswer& job) {
  Log log(job.log);
  JobEnd end(socket, job.id);
  bool is_cancelled = false;
  for (;;) {
    if (interrupts > 1) return job;
    if (interrupts == 1 && !std::exchange(is_cancelled, true)) FL_TRY(cancel_job(socket, job.id));
    FL_TRY_ASSIGN(ended, end.wait(kLookMs));
    FL_TRY(log.copy());
    if (ended) return std::move(*ended);
  }
}

Status print_log(const JobAnswer& job) { return Log(job.log).copy(); }

void cancel_on_interrupt() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupts = interrupts + 1; };
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGHUP, SIG_IGN);
}

}  // namespace fairlead
