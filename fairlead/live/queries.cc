#include "fairlead/live/queries.h"

#include "fairlead/base/parse.h"
#include "fairlead/live/why_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace fairlead {

using nlohmann::json;

JsonAnswer error_answer(int status, std::string_view why) { return {status, {{"error", why}}}; }

std::string json_response(const JsonAnswer& answer, bool keep_alive) {
  return http_response(answer.status, "application/json",
                       answer.body.dump(-1, ' ', false, json::error_handler_t::replace),
                       keep_alive);
}

std::optional<JobPath> job_path(std::string_view path, const Tables& tables) {
  constexpr std::string_view kJobs = "/v1/jobs/";
  if (!path.starts_with(kJobs)) return std::nullopt;
  const std::string_view rest = path.substr(kJobs.size());
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  JobPath found{.job = {}, .text = rest.substr(0, slash), .verb = rest.substr(slash)};
  const auto row = parse_integer(found.text);
  if (!row || *row < 0 || !std::cmp_less(*row, tables.jobs.size())) return found;
  const JobId job(static_cast<std::size_t>(*row));
  if (tables.jobs.has(job)) found.job = job;
  return found;
}

std::optional<JsonAnswer> query_answer(const Views& views, const HttpMessage& request, Time now) {
  if (request.method != "GET") return std::nullopt;
  const std::string_view path = request.path;
  if (path == "/v1/cluster") return JsonAnswer{200, views.cluster(now)};
  if (path == "/v1/users") return JsonAnswer{200, views.users(now)};
  if (path == "/v1/reservations")
    return JsonAnswer{200, {{"reservations", views.reservations(now)}}};
  if (path == "/v1/models") return JsonAnswer{200, views.models()};
  if (path == "/v1/usage") {
    constexpr double kSpanMaxS = 1e10;  // 300 years
    const auto last_s = parse_number(query_value(request.query, "last_s"));
    if (!last_s || !(*last_s > 0 && *last_s <= kSpanMaxS))
      return error_answer(400, "last_s must be a positive number");
    return JsonAnswer{200, views.usage(now, Duration{std::llround(*last_s * 1000)})};
  }
  if (path == "/v1/jobs") {
    return JsonAnswer{200, views.jobs(now, query_value(request.query, "user"),
                                      query_value(request.query, "all") == "1")};
  }
  const std::optional<JobPath> of = job_path(path, views.tables);
  if (!of) return std::nullopt;
  if (of->job.is_none()) return error_answer(404, fmt::format("no such job: {}", of->text));
  if (of->verb.empty()) return JsonAnswer{200, views.job(of->job, now)};
  if (of->verb == "/why") {
    const bool is_verbose = query_value(request.query, "verbose") == "1";
    return JsonAnswer{200, why_answer(views, of->job, now, is_verbose)};
  }
  return std::nullopt;
}

}  // namespace fairlead
