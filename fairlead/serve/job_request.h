// A submission as a client sends it.
#pragma once

#include "fairlead/base/units.h"
#include "fairlead/local/submission.h"
#include "fairlead/model/cluster.h"
#include "fairlead/model/job_asks.h"

#include <string>
#include <string_view>

namespace fairlead {

struct JobRequest {
  std::string name;
  std::string model;
  std::uint32_t gpus = 1;
  JobExtras extras = kSubmittedExtras;
  TypeMask types = kAllTypes;
  Duration declared;      // zero: not
  Submission submission;  // without the user: the client does not send it
};

// Parses the body of a submission. Errors, which name the field: it is missing, of the wrong kind, too
// large, or has unprintable characters.
Result<JobRequest> parse_job_request(std::string_view body, const Cluster& cluster);

}  // namespace fairlead
