// The workload of a published experiment: users named one by one, drawn, or a trace.
//
//   workload: {trace: jobs.csv}             # a file, relative to the experiment's
//   workload: {shared: data/traces/x.csv}   # a public trace, below $FAIRLEAD_SHARED
//   workload: {shared: x.csv, of_users: [a, b], submit_h: [0, 48], jobs: [1, 500], at_once: true}
//                                           # of any trace, the jobs of these users, submitted
//                                           # within these hours; of those the first 500 in the
//                                           # order of submission; all submitted at once
//   workload: {generate: {...}}             # as `fairlead trace generate`: jobs, load, users,
//                                           # tickets, daily_swing, duration_scale, gangs:
//                                           # {1: weight, ...}, models: [...]
//   workload: {sessions: {...}}             # users who come and go (trace/sessions.h): hours,
//                                           # load, users, tickets, jobs: [min, max], burst_s,
//                                           # duration_h: [min, max], gangs: {1: weight, ...},
//                                           # models: [...]
//   workload: {gavel: {...}}                # Gavel's (trace/gavel_workload.h): jobs,
//                                           # jobs_per_hour, gangs; artefact_seed: 0 takes the
//                                           # very jobs that the authors' simulator draws with it,
//                                           # whatever the run's seed (trace/published_gavel.h),
//                                           # and priorities: true gives some high priority then
//   workload: {classes: {...}}              # jobs by size (trace/size_classes.h): jobs,
//                                           # jobs_per_hour, gangs, classes: a list of {name,
//                                           # weight, gpu_hours: [min, max], models: [...]}
//   workload: {gavel: {...}, elastic: {min: 1, factor: 2}}  # drawn jobs may stretch: from min
//                                           # GPUs (or the request, if that is less) to factor
//                                           # times the request
//   workload:
//     users:                                # each with so many equal jobs, the gangs in turn
//       - {name: ann, tickets: 1, jobs: 40, gangs: [1, 2, 4], model: VAE, duration_h: 1000,
//          submit_h: 0}
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/input/yaml_reader.h"
#include "fairlead/model/cluster.h"
#include "fairlead/model/workload.h"
#include "fairlead/trace/gavel_workload.h"
#include "fairlead/trace/generate.h"
#include "fairlead/trace/published_gavel.h"
#include "fairlead/trace/sessions.h"
#include "fairlead/trace/size_classes.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

namespace fairlead {

struct DrawnUser {
  std::string name;
  std::int64_t tickets = 1;
  std::int64_t jobs = 1;
  std::vector<std::int64_t> gangs = {1};
  std::string model;
  double duration_h = 100'000;  // chosen: never ends
  double submit_h = 0;
};

struct TraceSpec {
  std::filesystem::path path;
  std::string shared_name{};  // name of a public trace: its path below the shared folder
  // The selected jobs: jobs of these users (none named: all) that were submitted in these hours, and of them the first
  // to the last, from 1 on in the order of submission.
  std::vector<std::string> users;
  double submit_from_h = 0;
  double submit_to_h = kEndH;
  std::int64_t first_job = 1;
  std::int64_t last_job = kAllJobs;
  bool at_once = false;  // all submitted at time 0

  static constexpr std::int64_t kAllJobs = 1'000'000'000;
  static constexpr double kEndH = 1e6;
  bool is_whole_file() const {
    return users.empty() && submit_from_h == 0 && submit_to_h == kEndH && first_job == 1 &&
           last_job == kAllJobs && !at_once;
  }
};

// The gangs that a drawn job accepts; by default only the requested one.
struct Elastic {
  std::int64_t gpus_min = kJobGpusMax;  // if its request is at least this
  std::int64_t factor = 1;              // gpus_max in terms of the request
};

// Drawn jobs use the capacity and the seed of the run, except the seed of PublishedGavel.
struct DrawnSpec {
  // A JobStream stands for Gavel's workload.
  std::variant<SessionOptions, GenerateOptions, JobStream, PublishedGavel, ClassOptions> options;
  Elastic elastic;
};

using WorkloadSpec = std::variant<std::vector<DrawnUser>, DrawnSpec, TraceSpec>;

// Returns the folder of public files: $FAIRLEAD_SHARED, or ../shared.
std::filesystem::path shared_folder();

// `folder`: the base of relative paths of traces. Errors, with position: also a trace that does not exist, unless it is
// a public one.
Result<WorkloadSpec> read_workload(const YamlNode& map, const std::filesystem::path& folder);

// Returns the jobs. A user's only job has the user's name, others get numbers. Errors: a trace that cannot be read, or
// has no such jobs.
Result<Workload> make_workload(const WorkloadSpec& spec, const Cluster& cluster,
                               std::uint64_t seed);

}  // namespace fairlead
