// Files in a task's folder through which a shim and the daemons communicate.
//
// shim       names the process that took the task: the shim that runs it, or a daemon that gave the task up first.
//            It is created once and complete, so a task is never started twice.
// end        how the task ended; appears, complete, once no process of the task is left
// end.new    the future `end`: its disk space is reserved before the task starts
// progress   written by the task
// steps      written by the hook in the task's Python processes (python/hook)
// asked      exists once the task was asked to end
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace fairlead::shim {

constexpr std::string_view kMarkFile = "shim";
constexpr std::string_view kEndFile = "end";
constexpr std::string_view kProgressFile = "progress";
constexpr std::string_view kStepsFile = "steps";
constexpr std::string_view kAskedFile = "asked";

// The process that runs a task.
struct Mark {
  std::string boot;                         // boot_id()
  pid_t pid = 0;                            // 0: a daemon gave the task up before it started
  std::uint64_t started = 0;                // Process::started
  std::string cgroup{};                     // cgroup of the task; empty: none
  std::vector<std::string> limit_groups{};  // its groups of cgroup v1
  friend bool operator==(const Mark&, const Mark&) = default;
};

struct End {
  int code = 0;            // exit code of the first process that did not end well, or 0
  int signal = 0;          // that ended it, or 0
  bool was_asked = false;  // the task was asked to end before this
  friend bool operator==(const End&, const End&) = default;
};

// Takes a task. False: another process took it, the folder is gone, or it cannot be written (errno).
bool write_mark(const std::string& folder, const Mark& mark);
std::optional<Mark> read_mark(const std::string& folder);
// Reserves the disk space that write_end() needs. False: the disk is full.
bool reserve_end(const std::string& folder);
// Writes the end so that it survives a loss of power. False: it cannot be written.
bool write_end(const std::string& folder, End end);
std::optional<End> read_end(const std::string& folder);

// Writes an end that need not survive a loss of power, because the task does not survive it either.
void write_interrupted(const std::string& folder);
bool was_interrupted(const std::string& folder);

// Returns the whole content of a file; nothing if it cannot be read.
std::optional<std::string> read_file(const std::string& path);
// Reads to the end; nothing if that fails.
std::optional<std::string> read_all(int descriptor);
// False: some bytes could not be written.
bool write_all(int descriptor, std::string_view bytes);

}  // namespace fairlead::shim
