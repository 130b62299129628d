// The live output of a job, and its end.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/cli/daemon.h"
#include "fairlead/client/answers.h"

#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <string>
#include <utility>

namespace fairlead {

// Prints a line for the user, if standard error can be written: the terminal may have closed.
template <class... Args>
void note(fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  std::fputs(("fairlead: " + text + "\n").c_str(), stderr);
}

// Copies the log of `job` to standard output until the job is done. It survives a restart of the daemon. Returns the
// job as it ended. Once its terminal has closed, it only waits. Error: standard output cannot be written otherwise; the
// job is no longer known. `socket`: of --socket.
// REQUIRES: job.log is known.
Result<JobAnswer> follow_job(const std::string& socket, const JobAnswer& job);
// Copies the current content.
Status print_log(const JobAnswer& job);

// Waits for the end of a job, across restarts of the daemon.
class JobEnd {
 public:
  // `socket`: of --socket.
  JobEnd(std::string socket, std::int64_t id) : socket_(std::move(socket)), id_(id) {}
  // Returns a descriptor that is readable once wait() has something to do; -1: no daemon answers now.
  int descriptor();
  // Waits at most `limit_ms`. Returns nothing if the job still runs or waits.
  Result<std::optional<JobAnswer>> wait(int limit_ms);

 private:
  void ask();

  std::string socket_;
  std::int64_t id_;
  std::optional<Daemon> daemon_;
  bool has_told_ = false;
};

// Cancels a job, and prints that.
Status cancel_job(const std::string& socket, std::int64_t id);

// From now on the end of this terminal is ignored. While follow_job waits, Ctrl-C (SIGINT, and SIGTERM) cancels the job. A second one ends the waiting and
// returns the unfinished job.
void cancel_on_interrupt();
// Returns the number of Ctrl-C since then.
int interrupts_so_far();

}  // namespace fairlead
