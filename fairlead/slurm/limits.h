// The limits on GPUs and jobs of a Slurm site, from `sacctmgr show qos -P` and `sacctmgr show assoc -P`.
//
// Columns are found by their names, in the short or the long form, with or without a bar at the end of the lines:
//   - of a QOS: GrpTRES, GrpJobs (all its jobs), MaxTRESPU, MaxJobsPU (of each user), MaxTRESPA, MaxJobsPA (of each account)
//   - of an association: GrpTRES, GrpJobs (of a user in an account, or of an account with those below it, if the column
//     ParentName is there), MaxJobs (of a user in an account)
// GPUs are "gres/gpu=8". MaxJobs gives way to MaxJobsPU of the job's QOS; Grp limits hold together
// (https://slurm.schedmd.com/resource_limits.html). MaxTRES, of one job, limits submissions alone.
#pragma once

#include "fairlead/base/file.h"
#include "fairlead/base/result.h"
#include "fairlead/model/job_limits.h"

#include <string>
#include <vector>

namespace fairlead {

struct SlurmLimits {
  std::vector<LimitRule> rules;
  std::vector<std::string> said;  // limits that are left out, a line each
};

// Reads the outputs; null: not given. Errors name line and column: a column is missing, an amount is not understood, or
// the associations are of several clusters. O(rows).
Result<SlurmLimits> read_slurm_limits(ByteSource* qos, ByteSource* associations);

}  // namespace fairlead
