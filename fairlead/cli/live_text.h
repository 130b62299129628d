// A daemon's state for people: tables of jobs, GPUs and users.
#pragma once

#include "fairlead/base/time_text.h"
#include "fairlead/client/answers.h"
#include "fairlead/report/table.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// Returns the place of a job: "V100:0-1,3".
std::string on_text(const std::vector<JobAnswer::On>& on);

// Returns the use of the GPUs in a line, and a row for each job, running ones first.
std::string queue_text(const ClusterAnswer& cluster, const std::vector<JobAnswer>& jobs,
                       TextStyle style);
// Returns a row for each GPU and its job.
std::string gpus_text(const ClusterAnswer& cluster, const std::vector<JobAnswer>& jobs,
                      TextStyle style);
// Returns a row for each learned speed.
std::string models_text(const ClusterAnswer& cluster, const std::vector<ModelAnswer>& models,
                        TextStyle style);
// Returns a row for each model of a user whose job profile was seen; empty: there are none. REQUIRES: sorted by user and
// model.
std::string profiles_text(const std::vector<ModelAnswer>& models, TextStyle style);
std::string users_text(const std::vector<UserAnswer>& users, TextStyle style);
// Returns a table of the limits of groups; empty: there are none.
std::string groups_text(const std::vector<GroupAnswer>& groups, TextStyle style);

// Returns the exit status of a job's command, as shells do: its exit code, or 128 + the signal that ended it. REQUIRES:
// the job is done.
int exit_code_of(const JobAnswer& job);
// "job 12 failed: exit code 3". REQUIRES: the job is done.
std::string end_text(const JobAnswer& job);

}  // namespace fairlead
