#include "cli/child_runs.h"

#include "base/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <memory>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char** environ;

namespace fairlead {
namespace {

constexpr const char* kThisProgram = "/proc/self/exe";

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using TemporaryFile = std::unique_ptr<std::FILE, CloseFile>;

struct Started {
  ChildRun* run;
  TemporaryFile errors;
};

int spawn(const ChildRun& run, std::FILE* errors, pid_t& pid) {
  std::vector<char*> argv = {const_cast<char*>("fairlead")};
  for (const std::string& argument : run.arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, fileno(errors), STDERR_FILENO);
  const int failure = posix_spawn(&pid, kThisProgram, &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return failure;
}

std::string contents(std::FILE* file) {
  std::string text;
  char chunk[4096];
  std::rewind(file);
  for (std::size_t n = 0; (n = std::fread(chunk, 1, sizeof chunk, file)) > 0;) {
    text.append(chunk, n);
  }
  return text;
}

Status start(ChildRun& run, std::map<pid_t, Started>& started) {
  TemporaryFile errors(std::tmpfile());
  if (!errors) return run_error("cannot create a temporary file: {}", std::strerror(errno));
  pid_t pid = 0;
  if (const int failure = spawn(run, errors.get(), pid); failure != 0) {
    return run_error("cannot start a process: {}", std::strerror(failure));
  }
  started.emplace(pid, Started{&run, std::move(errors)});
  return {};
}

// REQUIRES: a child runs, and the end of children is not ignored (SIGCHLD).
void wait_for_one(std::map<pid_t, Started>& started) {
  int status = 0;
  pid_t pid = 0;
  do {
    pid = waitpid(-1, &status, 0);
  } while (pid < 0 && errno == EINTR);
  FL_CHECK(pid > 0, "no child to wait for: {}", std::strerror(errno));
  const auto child = started.find(pid);
  if (child == started.end()) return;
  ChildRun& run = *child->second.run;
  run.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  run.errors = contents(child->second.errors.get());
  started.erase(child);
}

}  // namespace

Status run_children(std::vector<ChildRun>& children) {
  const std::size_t parallel = std::max(1u, std::thread::hardware_concurrency());
  // A parent that ignores SIGCHLD hands that down, and children would vanish without a word.
  std::signal(SIGCHLD, SIG_DFL);
  std::map<pid_t, Started> started;
  Status status;
  for (ChildRun& run : children) {
    if (started.size() == parallel) wait_for_one(started);
    status = start(run, started);
    if (!status) break;
  }
  while (!started.empty()) wait_for_one(started);
  return status;
}

// "fairlead: out of paper\n" says "out of paper".
std::string message_of(const ChildRun& child) {
  std::string_view message = child.errors;
  constexpr std::string_view kPrefix = "fairlead: ";
  if (message.starts_with(kPrefix)) message.remove_prefix(kPrefix.size());
  while (message.ends_with('\n')) message.remove_suffix(1);
  return message.empty() ? fmt::format("exit code {}", child.exit_code) : std::string(message);
}

}  // namespace fairlead
