// The files of a task's folder that a shim and daemons tell each other by.
//
//   shim       who took the task: the shim that runs it, or a daemon that gave it up before any did.
//              It is made once and whole, so a task is never started twice.
//   end        how the task ended; it is there, whole, once nothing of it is left
//   end.new    what becomes that: its room on the disk is taken before the task begins
//   progress   written by the task
//   asked      there once the task was asked to end
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace fairlead::shim {

constexpr std::string_view kMarkFile = "shim";
constexpr std::string_view kEndFile = "end";
constexpr std::string_view kProgressFile = "progress";
constexpr std::string_view kAskedFile = "asked";

// The process that runs a task.
struct Mark {
  std::string boot;           // boot_id()
  pid_t pid = 0;              // 0: a daemon gave the task up; it never began
  std::uint64_t started = 0;  // Process::started
  std::string cgroup{};       // of the task; empty: none
  friend bool operator==(const Mark&, const Mark&) = default;
};

struct End {
  int code = 0;            // of the first process that did not end well, or 0
  int signal = 0;          // that ended it, or 0
  bool was_asked = false;  // before: the task was asked to end while it could still be
  friend bool operator==(const End&, const End&) = default;
};

// Takes a task. False: another one has, or the folder is gone, or cannot be written (errno).
bool write_mark(const std::string& folder, const Mark& mark);
std::optional<Mark> read_mark(const std::string& folder);
// Takes the room on the disk that write_end() needs. False: there is none.
bool reserve_end(const std::string& folder);
// It will be there after a loss of power. False: it cannot be written.
bool write_end(const std::string& folder, End end);
std::optional<End> read_end(const std::string& folder);

// It need not outlive a loss of power, as the task does not.
void write_interrupted(const std::string& folder);
bool was_interrupted(const std::string& folder);

// All that a file has; nothing where it cannot be read.
std::optional<std::string> read_file(const std::string& path);
// All that is left to read; nothing where that fails.
std::optional<std::string> read_all(int descriptor);
// False: not all could be written.
bool write_all(int descriptor, std::string_view bytes);

}  // namespace fairlead::shim
