// The words in which daemons explain why a present job runs or waits.
#pragma once

#include "fairlead/explain/why_now.h"

#include <functional>
#include <string>
#include <vector>

namespace fairlead {

// Returns the daemon's name of a job: "ann/train", "job 3 (ann)".
using JobNames = std::function<std::string(JobId)>;

// Returns where the job runs and for how long; or the cause of its wait, the free GPUs, and the jobs that have
// the others, a sentence each. REQUIRES: the job is here. O(running jobs + nodes).
std::vector<std::string> state_lines(WhyNow& why, JobId job, const JobNames& name_of);

// Returns "The job has been served 1.25 GPU-hours so far."
std::string served_sentence(const Tables& tables, JobId job, Time now);

}  // namespace fairlead
