// A job's output as it comes, and its end.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/client/answers.h"

#include <string>

namespace fairlead {

// Copies the log of `job` to standard output: what is there, and what comes until the job is done.
// It outlasts a daemon that stops and returns. Returns the job as it ended. Error: standard output
// takes no more; the job is not known any more. `socket`: of --socket. REQUIRES: job.log is known.
Result<JobAnswer> follow_job(const std::string& socket, const JobAnswer& job);
// Copies what is there.
Status print_log(const JobAnswer& job);

// From now on Ctrl-C (SIGINT, and SIGTERM) while follow_job waits cancels the job, and a second one
// ends the waiting, with the job as it is: not done.
void cancel_on_interrupt();

}  // namespace fairlead
