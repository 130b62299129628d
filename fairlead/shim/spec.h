// The description of a task that the daemon passes to a shim on standard input.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead::shim {

// The descriptor on which a shim reports to the daemon: kBegan, or why the task did not start.
constexpr int kReplyDescriptor = 3;
constexpr std::string_view kBegan = "began";
// The start of a reply if the command itself cannot run: "exit code 127: cannot run x: No such file or directory". The
// code is the one of shells: 127 for a missing program, else 126.
constexpr std::string_view kCannotRun = "exit code ";
// The descriptor of the task's terminal or standard input, if it has one.
constexpr int kTerminalDescriptor = 4;

constexpr int kNiceMin = -20;

struct Spec {
  std::string folder;                       // folder of the task; absolute
  std::string cgroup;                       // a folder of cgroup2, or empty
  std::vector<std::string> limit_groups{};  // folders of cgroup v1 that its processes join too
  bool becomes_user = false;
  std::uint32_t uid = 0;  // these three if it becomes another user
  std::uint32_t gid = 0;
  std::vector<std::uint32_t> groups{};
  std::uint32_t umask = 022;
  std::uint64_t open_files = 0;  // the soft limit of each process, if there are no `limits`
  // The soft and hard limit of each resource (RLIMIT_CPU is 0), and the nice value above kNiceMin, which counts if there
  // are limits.
  std::vector<std::uint64_t> limits{};
  std::uint32_t niceness = 0;
  std::uint32_t processes = 1;  // copies of the command; if more than one, each has a RANK
  bool has_terminal = false;    // kTerminalDescriptor; for one process
  bool has_input = false;       // kTerminalDescriptor is the standard input of the first process
  std::string directory;        // where they run
  std::vector<std::string> command{};
  std::vector<std::string> environment{};
  friend bool operator==(const Spec&, const Spec&) = default;
};

// REQUIRES: no text in it contains a NUL.
std::string encode(const Spec& spec);
// Returns nothing if `bytes` are not an encoded Spec.
std::optional<Spec> decode(std::string_view bytes);

}  // namespace fairlead::shim
