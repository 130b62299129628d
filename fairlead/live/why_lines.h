// The words in which daemons explain why a job runs, waits or has ended.
#pragma once

#include "fairlead/explain/why_now.h"
#include "fairlead/live/views.h"

#include <string>
#include <vector>

namespace fairlead {

// Returns everything known about the job, a sentence or two each: its place, or the cause of its wait with the free
// GPUs and the jobs that have the others; its limits and retries; the share of its user. A job that is over has one
// line, its end. REQUIRES: the tables have the job. O(jobs + nodes).
// `is_verbose`: with the policy's notes about it.
std::vector<std::string> why_lines(const Views& views, JobId job, Time now,
                                   bool is_verbose = false);

// Returns these lines with the name of the wait's cause (docs/why.md); null: it does not wait.
nlohmann::json why_answer(const Views& views, JobId job, Time now, bool is_verbose = false);

// Returns the causes of all waits now.
WhyNow why_now(const Views& views, Time now);

}  // namespace fairlead
