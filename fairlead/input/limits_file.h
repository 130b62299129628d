// A table of limits on GPUs and jobs, with separated values:
//
//   name,qos,account,user,per,gpus,jobs
//   a user in normal,normal,,,user,8,
//   physics,,physics+optics,,,32,
//   each user,,,,user,,10
//
// A row limits the jobs of those QOS, accounts and users, several joined by "+"; empty, or no such column: all. `per` is
// user or account: the jobs of each have the limit; empty: all these jobs together. `gpus` and `jobs` limit the
// GPUs and jobs that they have at once; empty: any number, but one of them is given. `name` is for messages.
#pragma once

#include "fairlead/base/file.h"
#include "fairlead/base/result.h"
#include "fairlead/model/job_limits.h"

#include <span>
#include <string>
#include <vector>

namespace fairlead {

// Returns the rules in the order of the rows. Errors name line and column: an unknown column, a missing or invalid field,
// a row without a limit. O(rows).
Result<std::vector<LimitRule>> read_limits(ByteSource& source);
Result<std::vector<LimitRule>> load_limits(const std::string& path);

// Returns the table of those rules.
std::string limits_csv(std::span<const LimitRule> rules);

}  // namespace fairlead
