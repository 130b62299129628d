#include "fairlead/io/spawn.h"

#include "fairlead/shim/files.h"
#include "fairlead/shim/processes.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace fairlead {
namespace {

Status system_error(std::string_view what) {
  return run_error("{}: {}", what, std::strerror(errno));
}

// Returns a file in memory, which unlike a pipe cannot fill up.
Result<Descriptor> memory_file(const std::string& bytes) {
  Descriptor file(::memfd_create("task", MFD_CLOEXEC));
  if (!file.is_open() || !shim::write_all(file.get(), bytes) ||
      ::lseek(file.get(), 0, SEEK_SET) != 0) {
    return tl::unexpected(system_error("memfd").error());
  }
  return file;
}

struct Actions {
  Actions() { posix_spawn_file_actions_init(&list); }
  ~Actions() { posix_spawn_file_actions_destroy(&list); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  posix_spawn_file_actions_t list;
};

struct Attributes {
  // Blocks all signals until the shim is ready for them, and ignores none, because the task's processes would inherit
  // that.
  Attributes() : Attributes(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) {
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_setsigmask(&list, &all);
  }
  // A command is ready for signals, and is killed with its children.
  struct OfCommand {};
  explicit Attributes(OfCommand)
      : Attributes(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP) {
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&list, &none);
    posix_spawnattr_setpgroup(&list, 0);
  }
  ~Attributes() { posix_spawnattr_destroy(&list); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  posix_spawnattr_t list;

 private:
  explicit Attributes(int flags) {
    posix_spawnattr_init(&list);
    posix_spawnattr_setflags(&list, static_cast<short>(flags));
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_setsigdefault(&list, &all);
  }
};

// Opens a pidfd of a process that was just started. Error: it is killed and reaped.
Result<Descriptor> open_started(pid_t pid) {
  Descriptor process(shim::open_process(pid));
  if (process.is_open()) return process;
  const Status failure = system_error("pidfd");
  ::kill(pid, SIGKILL);  // the child of a shim, if any, dies with it
  ::waitpid(pid, nullptr, 0);
  return tl::unexpected(failure.error());
}

}  // namespace

Result<Spawned> spawn_shim(const std::filesystem::path& program, const shim::Spec& spec,
                           const Descriptor& log, int terminal) {
  FL_TRY_ASSIGN(input, memory_file(encode(spec)));
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return tl::unexpected(system_error("pipe").error());
  const Descriptor reply(ends[0]);
  Descriptor replies(ends[1]);
  Actions actions;
  const std::pair<int, int> given[] = {{input.get(), STDIN_FILENO},
                                       {log.get(), STDOUT_FILENO},
                                       {log.get(), STDERR_FILENO},
                                       {replies.get(), shim::kReplyDescriptor}};
  // None of these is at the place of another: the daemon's own files have the low numbers.
  if (terminal >= 0)
    posix_spawn_file_actions_adddup2(&actions.list, terminal, shim::kTerminalDescriptor);
  for (const auto& [from, to] : given) posix_spawn_file_actions_adddup2(&actions.list, from, to);
  const Attributes attributes;
  std::string name = program.string();
  std::array<char*, 2> arguments = {name.data(), nullptr};
  std::array<char*, 1> environment = {nullptr};
  Spawned spawned;
  if (const int error = posix_spawn(&spawned.pid, name.c_str(), &actions.list, &attributes.list,
                                    arguments.data(), environment.data());
      error != 0) {
    return run_error("cannot run {}: {}", name, std::strerror(error));
  }
  replies = Descriptor();
  FL_TRY_ASSIGN(process, open_started(spawned.pid));
  spawned.process = std::move(process);
  spawned.reply = shim::read_all(reply.get()).value_or("");
  return spawned;
}

Result<Spawned> spawn_command(const Notification& notification) {
  FL_TRY_ASSIGN(input, memory_file(notification.input));
  Actions actions;
  posix_spawn_file_actions_adddup2(&actions.list, input.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions.list, STDERR_FILENO, STDOUT_FILENO);
  const Attributes attributes{Attributes::OfCommand()};
  std::array<std::string, 3> words = {"/bin/sh", "-c", notification.command};
  std::array<char*, 4> arguments = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  std::vector<std::string> variables = notification.variables;
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  for (char** variable = environ; *variable != nullptr; ++variable)
    environment.push_back(*variable);
  environment.push_back(nullptr);
  Spawned spawned;
  if (const int error = posix_spawn(&spawned.pid, arguments[0], &actions.list, &attributes.list,
                                    arguments.data(), environment.data());
      error != 0) {
    return run_error("cannot run /bin/sh: {}", std::strerror(error));
  }
  FL_TRY_ASSIGN(process, open_started(spawned.pid));
  spawned.process = std::move(process);
  return spawned;
}

bool has_ended(const Descriptor& process, int limit_ms) {
  pollfd ended{process.get(), POLLIN, 0};
  return ::poll(&ended, 1, limit_ms) > 0;
}

bool reap(const Descriptor& process, int limit_ms) {
  if (!has_ended(process, limit_ms)) return false;
  siginfo_t ignored{};
  ::waitid(P_PIDFD, static_cast<id_t>(process.get()), &ignored, WEXITED | WNOHANG);
  return true;
}

}  // namespace fairlead
