// Runs of this program in parallel child processes.
#pragma once

#include "fairlead/base/result.h"

#include <string>
#include <vector>

namespace fairlead {

// Exit code of a run with complete results, in which some jobs could never finish.
constexpr int kJobsLeft = 3;

struct ChildRun {
  std::vector<std::string> arguments;  // without the program's name
  std::string name = {};               // for people
  int exit_code = 0;                   // 128 + the signal's number if a signal ended it
  std::string errors = {};             // its standard error
  double part_done = 0;                // by its own report, from 0 to 1
  std::size_t kind = 0;                // runs of one kind take about as long; small numbers
};

// A child reports the part of its work that is done: a double at the start of the file whose descriptor this variable
// of the environment names.
constexpr const char* kProgressVariable = "FAIRLEAD_PROGRESS_FD";

// Observes the children.
class ChildObserver {
 public:
  virtual ~ChildObserver() = default;
  virtual void started(const ChildRun& child) = 0;
  virtual void ended(const ChildRun& child) = 0;
  // Called about twice a second, after part_done of the running children was updated.
  virtual void waiting() = 0;
  // A signal is about to end this program; all children have ended.
  virtual void interrupted() = 0;
};

// Runs every child, as many at a time as there are cores, in a ChildOrder by the kinds, and fills in the outcomes. Their standard output is
// discarded. SIGINT, SIGTERM and SIGHUP, unless ignored, end the children first and then this program; if it is
// killed, the kernel kills them. Changes the process's signal mask and waits for any child, so only one thread may
// call it, in a program without other children. Error: a process cannot be started.
Status run_children(std::vector<ChildRun>& children, ChildObserver* observer = nullptr);

// Returns whether it wrote results.
bool has_results(const ChildRun& child);
// Returns why it failed: its error output without the program's name, or otherwise its exit code.
std::string message_of(const ChildRun& child);

}  // namespace fairlead
