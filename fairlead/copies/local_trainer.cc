#include "fairlead/copies/local_trainer.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace fairlead {
namespace {

tl::unexpected<Error> system_error(std::string_view what, int error) {
  return run_error("{}: {}", what, std::strerror(error));
}

// Returns this program's variables, except the ones in `own`.
std::vector<std::string> environment_with(std::vector<std::string> own) {
  const std::size_t count = own.size();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable = *entry;
    const std::string_view name = variable.substr(0, variable.find('=') + 1);
    const bool is_set = std::any_of(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(count),
                                    [&](const std::string& one) { return one.starts_with(name); });
    if (!is_set) own.emplace_back(variable);
  }
  return own;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

// Prepares the new process: `input` as standard input, no signal blocked or ignored, its own process group, and death
// with its tracker.
void become_trainer(int input, pid_t tracker, char* const* command, char* const* environment) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != tracker) ::_exit(1);
  ::setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  ::dup2(input, STDIN_FILENO);
  ::execvpe(command[0], command, environment);
}

// Error: the system's error number.
int start_process(pid_t& pid, int input, std::vector<std::string> command,
                  std::vector<std::string> environment) {
  const std::vector<char*> words = pointers(command);
  const std::vector<char*> variables = pointers(environment);
  const pid_t tracker = ::getpid();
  std::array<int, 2> failure{};
  if (::pipe2(failure.data(), O_CLOEXEC) != 0) return errno;
  const Descriptor says(failure[0]);
  Descriptor said(failure[1]);
  pid = ::fork();
  if (pid < 0) return errno;
  if (pid == 0) {
    become_trainer(input, tracker, words.data(), variables.data());
    const int error = errno;
    (void)!::write(said.get(), &error, sizeof error);
    ::_exit(127);
  }
  said = Descriptor();
  int error = 0;  // empty if the program runs: exec closes the pipe
  if (::read(says.get(), &error, sizeof error) <= 0) return 0;
  ::waitpid(pid, nullptr, 0);
  return error;
}

}  // namespace

Result<std::vector<CopyPlace>> parse_copies(std::string_view text) {
  const auto list = nlohmann::json::parse(text, nullptr, false);
  const auto wrong = [&] {
    return input_error(
        "FAIRLEAD_COPIES is like [{{\"gpus\": [\"0\"], \"gpu_type\": \"V100\", \"speed\": 1}}]: {}",
        text);
  };
  if (!list.is_array() || list.empty()) return wrong();
  std::vector<CopyPlace> copies;
  for (const auto& one : list) {
    try {
      copies.push_back(
          {.gpus = one.at("gpus").get<std::vector<std::string>>(),
           .visible_devices = one.value("visible_devices", CopyPlace().visible_devices),
           .gpu_type = one.at("gpu_type").get<std::string>(),
           .speed = one.at("speed").get<double>()});
    } catch (const nlohmann::json::exception&) {
      return wrong();
    }
    if (!(copies.back().speed > 0)) return wrong();
  }
  return copies;
}

Result<std::unique_ptr<Trainer>> LocalTrainer::start(const std::vector<std::string>& command,
                                                     const CopyPlace& place, std::size_t number,
                                                     const std::filesystem::path& folder) {
  std::unique_ptr<LocalTrainer> trainer(new LocalTrainer);
  const std::string answers = (folder / fmt::format("answers-{}", number)).string();
  ::unlink(answers.c_str());
  if (::mkfifo(answers.c_str(), 0600) != 0) return system_error(answers, errno);
  // Opened also to write, so that it does not end when a process that has it does.
  trainer->answers_ = Descriptor(::open(answers.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!trainer->answers_.is_open()) return system_error(answers, errno);
  std::array<int, 2> orders{};
  if (::pipe2(orders.data(), O_CLOEXEC) != 0) return system_error("a pipe", errno);
  const Descriptor input(orders[0]);
  trainer->orders_ = Descriptor(orders[1]);
  std::vector<std::string> own = {fmt::format("FAIRLEAD_GPU_TYPE={}", place.gpu_type),
                                  fmt::format("FAIRLEAD_SPEED={}", place.speed),
                                  fmt::format("FAIRLEAD_COPY={}", number),
                                  fmt::format("FAIRLEAD_ANSWERS={}", answers),
                                  "FAIRLEAD_PROGRESS=",  // the tracker reports it
                                  fmt::format("FAIRLEAD_COPIES_FOLDER={}", folder.string())};
  if (!place.gpus.empty()) {
    own.push_back(fmt::format("{}={}", place.visible_devices, fmt::join(place.gpus, ",")));
    own.push_back(fmt::format("FAIRLEAD_GPUS={}", place.gpus.size()));
  }
  const int error =
      start_process(trainer->pid_, input.get(), command, environment_with(std::move(own)));
  if (error != 0) {
    trainer->pid_ = 0;
    return system_error(command.front(), error);
  }
  trainer->process_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, trainer->pid_, 0)));
  if (!trainer->process_.is_open()) return system_error("pidfd_open", errno);
  return trainer;
}

LocalTrainer::~LocalTrainer() {
  if (pid_ == 0) return;
  ::kill(-pid_, SIGKILL);
  reap();
}

void LocalTrainer::add_files(std::vector<pollfd>& files) const {
  files.push_back({.fd = answers_.get(), .events = POLLIN, .revents = 0});
  files.push_back({.fd = process_.get(), .events = POLLIN, .revents = 0});
}

bool LocalTrainer::has_ended() {
  pollfd ended = {.fd = process_.get(), .events = POLLIN, .revents = 0};
  return ::poll(&ended, 1, 0) > 0;
}

void LocalTrainer::tell(std::string_view line) {
  const std::string text = fmt::format("{}\n", line);
  (void)!::write(orders_.get(), text.data(), text.size());
}

void LocalTrainer::interrupt() {
  if (pid_ != 0) ::kill(-pid_, SIGTERM);
}

void LocalTrainer::read_more() {
  std::array<char, 4096> bytes;
  for (;;) {
    const ssize_t got = ::read(answers_.get(), bytes.data(), bytes.size());
    if (got <= 0) return;
    said_.append(bytes.data(), static_cast<std::size_t>(got));
  }
}

std::optional<std::string> LocalTrainer::line() {
  read_more();
  const std::size_t end = said_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = said_.substr(0, end);
  said_.erase(0, end + 1);
  return line;
}

int LocalTrainer::reap() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  // Kills the processes that it left behind.
  ::kill(-std::exchange(pid_, 0), SIGKILL);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace fairlead
