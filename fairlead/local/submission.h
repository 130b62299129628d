// A job as its user submits it: the parts that the engine does not need.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/result.h"
#include "fairlead/base/units.h"
#include "fairlead/io/io.h"
#include "fairlead/local/dependency.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// A shorter time without work on GPUs does not count as idle. Chosen: longer than a job reads its data, or evaluates on
// the processor.
constexpr Duration kIdleMin = seconds(600);

// The order of a job among the jobs of its user.
// kUrgent, which only administrators give, orders a job before the jobs of all users; the others order the jobs of one.
enum class Priority : std::uint8_t { kLow, kNormal, kHigh, kUrgent };
// Returns "low", "normal", "high" or "urgent"; and back, nullopt for other texts.
std::string_view priority_name(Priority priority);
std::optional<Priority> priority_named(std::string_view name);

// The ends of a job that start a notification.
enum class Notify : std::uint8_t {
  kNever,
  kFail,  // it failed, or was cancelled by another than its user
  kEnd,   // each end
};
// Returns "never", "fail" or "end"; and back, nullopt for other texts.
std::string_view notify_name(Notify notify);
std::optional<Notify> notify_named(std::string_view name);

struct Submission {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::vector<std::string> command;
  std::vector<std::string> environment;  // "NAME=value"
  std::string folder;                    // where it runs
  std::uint32_t umask = 022;
  std::uint32_t processes = 1;
  // The most memory that it takes of each GPU, in 10^6 bytes; 0: its user does not state it.
  std::uint32_t gpu_memory_mb = 0;
  // The limits of all of its processes on the machine; 0: none. Memory, which starts wait for, in 10^6 bytes; processors in
  // thousandths.
  std::uint32_t memory_mb = 0;
  std::uint32_t cpu_milli = 0;
  Duration limit;  // on its time with GPUs, all tasks together; zero: none
  Duration
      idle_end{};  // it is cancelled once all of its GPUs were idle for so long; zero: it is not
  std::uint32_t retries = 0;  // number of tasks that may end badly and be followed by another
  std::vector<RunId> failed;  // the runs that started those, in order; the daemon's own
  bool has_hook = true;       // its Python processes count optimizer steps (python/hook)
  // The progress that its last move lost, "from 1200 to 37 steps"; empty: no loss was seen. The daemon's own.
  std::string lost{};
  bool has_terminal = false;  // it is a session at the terminal of its client, and ends with that
  bool has_input = false;     // its first task reads the standard input of its client
  ProcessLimits limits{};     // of the process that submitted it
  std::vector<Dependency> after{};  // conditions of its start
  bool is_held = false;             // its user holds it
  Priority priority = Priority::kNormal;
  Notify notify = Notify::kNever;  // in the file also after a notification
  bool is_current =
      true;  // false: an older daemon, which wrote it, has a user's hold in the journal alone

  std::size_t retries_left() const { return retries - failed.size(); }
};

// Returns the file that stores it in the daemon's folder until the job is done: "jobs/12".
std::string submission_file(JobId job);
// Writes a submission as one line of JSON, and reads it. Error: the text is not from submission_text().
std::string submission_text(const Submission& submission);
Result<Submission> parse_submission(std::string_view text);

}  // namespace fairlead
