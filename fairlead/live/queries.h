// The requests that change nothing and that every daemon answers: the cluster, the users, the learned speeds, the jobs,
// and why one waits (docs/openapi.yaml).
#pragma once

#include "fairlead/http/http.h"
#include "fairlead/live/views.h"

#include <optional>
#include <string>
#include <string_view>

namespace fairlead {

struct JsonAnswer {
  int status = 200;
  nlohmann::json body = nlohmann::json::object();
};

// Returns an answer with the reason of a refusal, for people.
JsonAnswer error_answer(int status, std::string_view why);
// Returns the whole response. Bytes of texts that are not UTF-8 are replaced.
std::string json_response(const JsonAnswer& answer, bool keep_alive);

// The parts of a path such as "/v1/jobs/12/why".
struct JobPath {
  JobId job;              // none: the tables have no such job
  std::string_view text;  // "12", as requested
  std::string_view verb;  // "/why"; empty: the job itself
};
// Returns nullopt for a path that names no job.
std::optional<JobPath> job_path(std::string_view path, const Tables& tables);

// Answers a GET at that time; nullopt: this is another request. The answer has nothing that only some clients may see.
// O((users + jobs) log users + nodes + speeds).
std::optional<JsonAnswer> query_answer(const Views& views, const HttpMessage& request, Time now);

}  // namespace fairlead
