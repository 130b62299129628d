// Processes of this machine as /proc shows them, and the trees that they form.
//
// The number of an ended process may be used again; number and start time together are unique until the machine
// restarts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fairlead::shim {

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = '?';           // as in /proc/PID/stat: R, S, D, T (stopped), Z (ended), ...
  std::uint64_t started = 0;  // clock ticks since the machine began

  friend bool operator==(const Process&, const Process&) = default;
  bool has_ended() const { return state == 'Z' || state == 'X'; }
  bool is_still() const { return state == 'T' || state == 't' || has_ended(); }
};

// Returns nothing if there is no such process.
std::optional<Process> find_process(pid_t pid);
// Returns the id of this boot of the machine; no two boots have the same.
std::string boot_id();
// Returns a pidfd, which stays bound to the process even if its number is reused. Negative: there is no such process.
int open_process(pid_t pid);
void send_signal_to(int pidfd, int signal);
// Sends the signal to exactly this process; does nothing if it has ended.
void send_signal(const Process& process, int signal);

struct Tree {
  std::vector<Process> processes;  // all descendants of the root, without the root
  bool is_whole = true;            // false: one moved or ended meanwhile, and others may be missing
};
// Costs O(processes of the machine).
Tree descendants(pid_t root);
void signal_descendants(pid_t root, int signal);
// Returns whether each worker among the processes of a task has a handler for the signal or blocks it, as programs do
// that wait for it with sigwait or signalfd, and there is one. A worker is a process that started no other. Helpers count as part of the process that started them: its forks, and processes of
// Python's multiprocessing. A launcher with a handler thus proves nothing about its workers. O(processes).
bool workers_handle(const std::vector<Process>& processes, int signal);
// Sends SIGSTOP to all descendants of `root` until none runs. False if some still run after `limit_ms`: they multiply
// too fast, or wait for a device.
bool stop_descendants(pid_t root, int limit_ms);

}  // namespace fairlead::shim
