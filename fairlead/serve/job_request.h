// A submission as a client sends it: of one job, or of the tasks of an array.
#pragma once

#include "fairlead/base/units.h"
#include "fairlead/local/submission.h"
#include "fairlead/model/cluster.h"
#include "fairlead/model/job_asks.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

constexpr std::size_t kNameBytesMax = 200;
// Tasks of one submission. Each costs two syncs of the disk, and no client gets an answer meanwhile.
constexpr std::uint32_t kTasksMax = 1000;

struct JobRequest {
  std::string name;
  std::string model;
  std::uint32_t gpus = 1;
  JobExtras extras = kSubmittedExtras;
  TypeMask types = kAllTypes;
  Duration declared;      // zero: not
  Submission submission;  // without the user: the client does not send it
};

// The jobs of one submission: a single one, or several that differ in their commands, names and indices.
struct JobRequests {
  std::vector<JobRequest> jobs;
  bool are_tasks = false;     // the request names tasks
  std::uint32_t at_once = 0;  // so many of them may be released and unfinished; 0: all
};

// Parses the body of a submission. Errors, which name the field: it is missing, of the wrong kind, too
// large, or has unprintable characters.
Result<JobRequests> parse_job_requests(std::string_view body, const Cluster& cluster);

}  // namespace fairlead
