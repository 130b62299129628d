// The workload of Gavel's simulations (Narayanan et al., OSDI 2020; generate_job of its artefact).
//
// A job's model is one of Gavel's 26 (the built-in table `gavel`), equally likely. For a job with more than one GPU the
// draw is repeated until the model can be distributed. It takes 60 x 10^x seconds on as many V100, with x uniform in
// 1.5..3 for four jobs of five and in 3..4 for the fifth.
#pragma once

#include "fairlead/trace/job_stream.h"

#include <string_view>

namespace fairlead {

// Errors: an option out of its range.
Result<Workload> generate_gavel(const JobStream& stream);

// False for the models that Gavel trains on single GPUs only: Recommendation, A3C and CycleGAN.
bool gavel_distributes(std::string_view model);

}  // namespace fairlead
