// The processes of jobs: a shim for each task (fairlead/shim), which outlives the daemon.
//
// If this process may use the kernel's cgroups, a task is one cgroup, and is frozen and ended as one. Otherwise its
// processes are found below its shim and stopped by SIGSTOP, one by one. Further groups limit its memory, processors and
// devices (io/limit_groups.h). Without any group, leftovers of a task whose shim was killed are not found.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/io/descriptor.h"
#include "fairlead/io/epoll.h"
#include "fairlead/io/io.h"
#include "fairlead/io/limit_groups.h"
#include "fairlead/shim/files.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fairlead {

struct TaskOptions {
  std::filesystem::path folder;  // folder of all tasks
  std::filesystem::path logs;    // the folder of the jobs' output
  std::filesystem::path shim;    // the program
  std::string cgroups{};         // the folder of the tasks' cgroups; empty: signals instead
  LimitGroups limits{};
  std::uint64_t log_bytes = 0;  // the bytes of the disk that a job's log may have; 0: any number
  std::uint64_t open_files =
      0;  // the soft limit of a task's processes; 0: the limit of this process
};

class TaskProcesses {
 public:
  // `epoll` must outlive it, at its place. Error: its folders cannot be made.
  static Result<TaskProcesses> open(TaskOptions options, Epoll& epoll);

  // Returns the end of a task, if `ready` signals one.
  std::optional<IoEvent> handle(const Epoll::Ready& ready);

  // Returns the task that a process belongs to: it is below the task's shim. No job: it belongs to none. Nothing: the process
  // ends meanwhile.
  std::optional<TaskId> task_of(pid_t pid) const;

  // Like the functions of Io. `terminal`: the task's terminal or input; -1: none. `denied`: devices that it may not open.
  Status start(const TaskSpec& spec, int terminal, std::vector<DeviceNumber> denied);
  Status freeze(TaskId task);
  Status thaw(TaskId task);
  void interrupt(TaskId task);
  void kill(TaskId task);
  std::vector<TaskStatus> all();
  void forget(TaskId task);
  TaskReports reports(TaskId task, std::uint64_t output_from) const;
  std::string log_path(JobId job) const;
  std::string progress_path(TaskId task) const;

 private:
  // The groups of a task.
  struct Groups {
    std::string cgroup{};               // by which it is frozen; empty: none
    std::vector<std::string> limits{};  // that it is in besides
  };
  // One whose shim lives.
  struct Live {
    Descriptor shim;  // a pidfd
    pid_t pid = 0;
    Groups groups;
    bool is_given_up = false;  // it never began; its end is of no interest
  };
  using Map = std::map<TaskId, Live>;

  TaskProcesses(TaskOptions options, Epoll& epoll) : options_(std::move(options)), epoll_(&epoll) {}
  bool can_save(TaskId task) const;
  std::string folder_of(TaskId task) const;
  std::string cgroup_of(TaskId task) const;
  static Groups groups_from(const std::optional<shim::Mark>& mark);
  Status prepare(const TaskSpec& spec) const;
  Status make_groups(const TaskSpec& spec, std::vector<DeviceNumber> denied, Groups& groups) const;
  Status launch(const TaskSpec& spec, const Groups& groups, int terminal);
  Live& watch(TaskId task, pid_t pid, Descriptor shim, Groups groups);
  void clean(TaskId task, const Groups& groups) const;
  std::optional<TaskStatus> look(TaskId task);
  bool adopt(TaskId task, const shim::Mark& mark);
  std::optional<TaskStatus> status_of(TaskId task, const Live& live) const;
  TaskEnd end_of(TaskId task, const Groups& groups) const;

  TaskOptions options_;
  Epoll* epoll_;
  Map live_;
  std::map<std::uint64_t, TaskId> numbers_;  // tasks of live_ by number
};

}  // namespace fairlead
