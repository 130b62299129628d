// Groups of processes that the kernel freezes and ends as one (cgroup v2). A group is named by its
// folder.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/shim/processes.h"

#include <string>
#include <vector>

namespace fairlead {

// Returns a folder fairlead/`name` for the groups of a daemon, created at a place to which this process may move
// processes: below its own group, which systemd delegates, or otherwise below the root. Empty: there is no such place.
std::string find_cgroups(const std::string& name);

Status make_cgroup(const std::string& group);
// Returns once the processes are frozen. Error: some are not yet; they will be as they can.
Status freeze_cgroup(const std::string& group);
Status thaw_cgroup(const std::string& group);
bool is_cgroup_frozen(const std::string& group);
// Returns the processes of the group. Processes of its subgroups are left out.
std::vector<shim::Process> processes_of_cgroup(const std::string& group);
// Ends all processes, and returns once none is left, or they take long.
void kill_cgroup(const std::string& group);
// Removes a group and its subgroups. A group that contains processes stays.
void remove_cgroup(const std::string& group);

}  // namespace fairlead
