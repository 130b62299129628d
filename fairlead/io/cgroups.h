// Groups of processes that the kernel freezes and ends as one (cgroup v2). A group is named by its
// folder.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/shim/processes.h"

#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// Returns this process's own group as a path below the mount; empty: the root, or there is no such hierarchy. `controller`:
// as of cgroup_parents().
std::string own_cgroup(std::string_view controller);

// Returns the groups below which a daemon may have its own, the best first: this process's group, which systemd delegates,
// and the root. `controller`: of a hierarchy of cgroup v1, for example "memory"; empty: cgroup v2.
std::vector<std::string> cgroup_parents(std::string_view controller);

// Returns a folder fairlead/`name` for the groups of a daemon, created at a place to which this process may move
// processes. The first place where its groups can limit memory and processors is the best one. A group that has
// processes passes no controller on, for example the daemon's own group under systemd. Empty: there is no such place.
std::string find_cgroups(const std::string& name);

// Writes to a file of a group. The first returns the system's error; 0: none.
int try_write_cgroup(const std::string& file, std::string_view text);
Status write_cgroup(const std::string& file, std::string_view text);
Status make_cgroup(const std::string& group);
// Returns once the processes are frozen. Error: some are not yet; they will be as they can.
Status freeze_cgroup(const std::string& group);
Status thaw_cgroup(const std::string& group);
bool is_cgroup_frozen(const std::string& group);
// Returns the processes of the group. Processes of its subgroups are left out.
std::vector<shim::Process> processes_of_cgroup(const std::string& group);
// Ends all processes, and returns once none is left, or they take long. In a group of cgroup v1, or before Linux 5.14, it
// kills them one by one.
void kill_cgroup(const std::string& group);
// Removes a group and its subgroups. A group that contains processes stays.
void remove_cgroup(const std::string& group);

}  // namespace fairlead
