#include "fairlead/cli/session.h"

#include "fairlead/cli/follow.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <utility>

namespace fairlead {
namespace {

constexpr int kLookMs =
    100;  // interval of checks for the session's start; and the least delay of a new size
constexpr int kDrainMs = 50;  // the job's last output arrives a moment after its end
constexpr auto kAskEvery = std::chrono::seconds(1);  // interval of requests for the job's state

volatile std::sig_atomic_t is_resized = 0;
volatile std::sig_atomic_t is_told_to_leave = 0;

void on_signal(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  ::sigaction(signal, &action, nullptr);
}

// Passes all keys on unchanged during its lifetime.
class Raw {
 public:
  Raw() {
    if (::tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios raw = before_;
    ::cfmakeraw(&raw);
    is_set_ = ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
  }
  ~Raw() {
    if (is_set_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;

 private:
  termios before_{};
  bool is_set_ = false;
};

// Returns false if standard output is closed.
bool write_out(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR && is_told_to_leave == 0) continue;
    if (count < 0 && errno == EAGAIN) {
      pollfd out{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
      ::poll(&out, 1, kLookMs);
      continue;
    }
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

class Session {
 public:
  Session(Daemon& daemon, const std::string& socket, const JobAnswer& job,
          const PseudoTerminal& terminal)
      : daemon_(daemon), socket_(socket), job_(job), terminal_(terminal), end_(socket, job.id) {}

  Result<JobAnswer> attend() {
    bool is_cancelled = false;
    for (;;) {
      if (is_to_leave()) return job_;
      if (interrupts_so_far() == 1 && !std::exchange(is_cancelled, true))
        FL_TRY(cancel_job(socket_, job_.id));
      if (!raw_ && terminal_.is_taken()) raw_.emplace();
      if (std::exchange(is_resized, 0) != 0) terminal_.resize();
      if (!relay()) return job_;
      FL_TRY_ASSIGN(ended, end_.wait(0));
      if (!ended) {
        tell_state();
        continue;
      }
      while (has_output(kDrainMs) && copy_output()) {
      }
      return std::move(*ended);
    }
  }

 private:
  // Set by `kill`, or by a second Ctrl-C before the job has started; afterwards Ctrl-C belongs to the job.
  bool is_to_leave() const { return is_told_to_leave != 0 || interrupts_so_far() > (raw_ ? 0 : 1); }

  // Waits for bytes, and passes them on. Returns false if this terminal is gone.
  bool relay() {
    const bool takes_keys = raw_ && keys_.empty();
    const auto wants = [](bool does, short what) { return static_cast<short>(does ? what : 0); };
    std::array<pollfd, 3> ready = {{
        {.fd = STDIN_FILENO, .events = wants(takes_keys, POLLIN), .revents = 0},
        {.fd = terminal_.near_side(),
         .events = static_cast<short>(POLLIN | wants(!keys_.empty(), POLLOUT)),
         .revents = 0},
        {.fd = end_.descriptor(), .events = POLLIN, .revents = 0},
    }};
    if (::poll(ready.data(), ready.size(), kLookMs) <= 0) return true;
    if ((ready[1].revents & POLLIN) != 0 && !copy_output()) return false;
    if ((ready[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !read_keys()) return false;
    if (!keys_.empty()) pass_keys();
    return true;
  }

  bool has_output(int limit_ms) const {
    pollfd output{.fd = terminal_.near_side(), .events = POLLIN, .revents = 0};
    return ::poll(&output, 1, limit_ms) > 0 && (output.revents & POLLIN) != 0;
  }

  bool copy_output() {
    std::array<char, 1 << 16> bytes;
    const ssize_t count = ::read(terminal_.near_side(), bytes.data(), bytes.size());
    if (count <= 0) return count < 0 && (errno == EAGAIN || errno == EINTR);
    return write_out({bytes.data(), static_cast<std::size_t>(count)});
  }

  bool read_keys() {
    std::array<char, 4096> bytes;
    const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count <= 0) return count < 0 && (errno == EAGAIN || errno == EINTR);
    keys_.assign(bytes.data(), static_cast<std::size_t>(count));
    return true;
  }

  void pass_keys() {
    const ssize_t count = ::write(terminal_.near_side(), keys_.data(), keys_.size());
    if (count > 0) keys_.erase(0, static_cast<std::size_t>(count));
  }

  void tell_state() {
    const auto now = std::chrono::steady_clock::now();
    if (!raw_ || now < ask_at_) return;
    ask_at_ = now + kAskEvery;
    const auto job = daemon_.job(job_.id);
    if (!job) {  // a daemon that starts again has a new connection
      ask_at_ = std::chrono::steady_clock::time_point::max();
      return;
    }
    const bool is_still = job->is_waiting() || job->state == "held";
    if (std::exchange(was_still_, is_still) == is_still) return;
    write_out(is_still
                  ? fmt::format("\r\n[fairlead: job {} is {}, and frozen until its next turn]\r\n",
                                job_.id, job->state)
                  : fmt::format("\r\n[fairlead: job {} goes on]\r\n", job_.id));
  }

  Daemon& daemon_;
  const std::string& socket_;
  const JobAnswer& job_;
  const PseudoTerminal& terminal_;
  JobEnd end_;
  std::optional<Raw> raw_;  // once the session has started
  std::string keys_;        // keys that the job has not read yet
  std::chrono::steady_clock::time_point ask_at_{};
  bool was_still_ = false;
};

}  // namespace

Result<PseudoTerminal> PseudoTerminal::make() {
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0)
    return input_error("--tty: standard input and output must be a terminal");
  const int near_side = ::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  PseudoTerminal made(near_side, -1);
  std::array<char, 128> name{};
  if (near_side < 0 || ::grantpt(near_side) != 0 || ::unlockpt(near_side) != 0 ||
      ::ptsname_r(near_side, name.data(), name.size()) != 0 ||
      (made.far_ = ::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0)
    return run_error("cannot make a terminal: {}", std::strerror(errno));
  termios settings{};
  if (::tcgetattr(STDIN_FILENO, &settings) == 0) ::tcsetattr(made.far_, TCSANOW, &settings);
  made.resize();
  return made;
}

PseudoTerminal::PseudoTerminal(PseudoTerminal&& other) noexcept
    : near_(std::exchange(other.near_, -1)), far_(std::exchange(other.far_, -1)) {}

PseudoTerminal& PseudoTerminal::operator=(PseudoTerminal&& other) noexcept {
  std::swap(near_, other.near_);
  std::swap(far_, other.far_);
  return *this;
}

PseudoTerminal::~PseudoTerminal() {
  if (near_ >= 0) ::close(near_);
  if (far_ >= 0) ::close(far_);
}

bool PseudoTerminal::is_taken() const {
  pid_t session = 0;
  return ::ioctl(near_, TIOCGSID, &session) == 0;
}

void PseudoTerminal::resize() const {
  winsize size{};
  if (::ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0) ::ioctl(near_, TIOCSWINSZ, &size);
}

Result<JobAnswer> attend_session(Daemon& daemon, const std::string& socket, const JobAnswer& job,
                                 const PseudoTerminal& terminal) {
  on_signal(SIGWINCH, [](int) { is_resized = 1; });
  for (const int signal : {SIGTERM, SIGHUP, SIGQUIT})
    on_signal(signal, [](int) { is_told_to_leave = 1; });
  is_resized = 1;  // the size may have changed before
  return Session(daemon, socket, job, terminal).attend();
}

}  // namespace fairlead
