// The tables as clients see them: JSON, with units in its names (docs/openapi.yaml).
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

  // `now`: of the answer.
  nlohmann::json cluster(Time now) const;
  // Those of `user`, or of all if it is empty; done ones only if `all`. O(jobs).
  nlohmann::json jobs(Time now, std::string_view user, bool all) const;
  nlohmann::json job(JobId job, Time now) const;
  // With what only its user and administrators may know.
  nlohmann::json whole_job(JobId job, Time now) const;
  nlohmann::json users(Time now) const;
  // Why the job does not run, or what it runs for, in plain words.
  nlohmann::json why(JobId job, Time now) const;
  // In Prometheus' text format.
  std::string metrics(Time now) const;

 private:
  struct Gpus;
  nlohmann::json node(NodeId node, const Gpus& gpus) const;
  nlohmann::json foreign_on(std::uint32_t gpu) const;
};

double hours(GpuTime time);

}  // namespace fairlead
