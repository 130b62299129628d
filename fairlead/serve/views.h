// The tables as JSON for clients, with units in the names of fields (docs/openapi.yaml).
#pragma once

#include "fairlead/local/local_backend.h"
#include "fairlead/serve/job_book.h"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace fairlead {

struct Views {
  Io& io;
  const Tables& tables;
  const JobBook& book;
  const LocalBackend& backend;
  std::string policy;
  std::string policy_options;
  const PlacementTraits* traits;  // of the policy; null: as PlacementTraits()

  // `now`: the time of the answer.
  nlohmann::json cluster(Time now) const;
  // Returns the jobs of `user`, or of all users if it is empty. Ended jobs are included if `all`. O(jobs).
  nlohmann::json jobs(Time now, std::string_view user, bool all) const;
  nlohmann::json job(JobId job, Time now) const;
  // Returns also the fields that only the job's user and administrators may see.
  nlohmann::json whole_job(JobId job, Time now) const;
  nlohmann::json users(Time now) const;
  // Explains in plain words why the job runs or does not run.
  nlohmann::json why(JobId job, Time now) const;
  // Returns the metrics in Prometheus' text format.
  std::string metrics(Time now) const;

 private:
  struct Gpus;
  nlohmann::json node(NodeId node, const Gpus& gpus) const;
  nlohmann::json foreign_on(std::uint32_t gpu) const;
};

double hours(GpuTime time);

}  // namespace fairlead
