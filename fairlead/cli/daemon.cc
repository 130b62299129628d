#include "fairlead/cli/daemon.h"

#include "fairlead/base/parse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <pwd.h>
#include <unistd.h>

namespace fairlead {
namespace {

using nlohmann::json;

constexpr const char* kSystemSocket = "/run/fairlead/socket";

Error several(const std::string& name, const std::vector<JobAnswer>& jobs) {
  std::vector<std::int64_t> ids;
  ids.reserve(jobs.size());
  for (const JobAnswer& job : jobs) ids.push_back(job.id);
  return {.message =
              fmt::format("several jobs of yours have that name; give the number of one, {}: {}",
                          fmt::join(ids, ", "), name)};
}

}  // namespace

Result<json> body_of(const HttpMessage& answer) {
  json body = json::parse(answer.body, nullptr, false);
  if (answer.status >= 200 && answer.status < 300) {
    if (body.is_discarded()) return run_error("the fairlead daemon's answer is not JSON");
    return body;
  }
  const bool has_reason = body.is_object() && body.contains("error") && body["error"].is_string();
  const std::string reason =
      has_reason ? body["error"].get<std::string>()
                 : fmt::format("the fairlead daemon refuses: HTTP status {}", answer.status);
  if (answer.status >= 500) return run_error("{}", reason);
  return input_error("{}", reason);
}

void add_socket_flag(CLI::App& app, std::string& socket) {
  app.add_option("--socket", socket,
                 "the daemon's socket (default: FAIRLEAD_SOCKET, or /run/fairlead/socket, or "
                 "~/.local/state/fairlead/socket)")
      ->type_name("PATH");
}

std::string socket_path(const std::string& flag) {
  if (!flag.empty()) return flag;
  if (const char* path = std::getenv("FAIRLEAD_SOCKET"); path != nullptr && *path != '\0')
    return path;
  std::error_code ignored;
  if (std::filesystem::exists(kSystemSocket, ignored)) return kSystemSocket;
  if (const char* home = std::getenv("HOME"); home != nullptr) {
    std::string own = fmt::format("{}/.local/state/fairlead/socket", home);
    if (std::filesystem::exists(own, ignored)) return own;
  }
  return kSystemSocket;
}

std::string own_name() {
  const passwd* account = getpwuid(geteuid());
  return account != nullptr ? account->pw_name : fmt::format("{}", geteuid());
}

std::string job_target(std::int64_t id, std::string_view what) {
  return fmt::format("/v1/jobs/{}{}{}", id, what.empty() ? "" : "/", what);
}

Result<json> DaemonQueries::get(const std::string& target) const {
  FL_TRY_ASSIGN(answer, get_(target));
  return body_of(answer);
}

Result<ClusterAnswer> DaemonQueries::cluster() const {
  FL_TRY_ASSIGN(answer, get("/v1/cluster"));
  return cluster_answer(answer);
}

Result<std::vector<JobAnswer>> DaemonQueries::jobs(std::string_view query) const {
  FL_TRY_ASSIGN(answer, get(fmt::format("/v1/jobs{}{}", query.empty() ? "" : "?", query)));
  return job_answers(answer);
}

Result<std::vector<UserAnswer>> DaemonQueries::users() const {
  FL_TRY_ASSIGN(answer, get("/v1/users"));
  return user_answers(answer);
}

Result<Daemon> Daemon::connect(const std::string& flag) {
  FL_TRY_ASSIGN(client, Client::connect(socket_path(flag)));
  return Daemon(std::make_shared<Client>(std::move(client)));
}

Daemon::Daemon(std::shared_ptr<Client> client)
    : DaemonQueries([client](const std::string& target) { return client->ask("GET", target); }),
      client_(std::move(client)) {}

Result<json> Daemon::post(const std::string& target, const json& body, int terminal) {
  FL_TRY(client_->send("POST", target, body.is_null() ? "" : body.dump(), terminal));
  FL_TRY_ASSIGN(answer, client_->receive());
  return body_of(answer);
}

Result<HttpMessage> Daemon::ask(const std::string& target, const json& body) {
  return client_->ask("POST", target, body.dump());
}

Result<json> Daemon::put(const std::string& target, const json& body) {
  FL_TRY_ASSIGN(answer, client_->ask("PUT", target, body.dump()));
  return body_of(answer);
}

Result<JobAnswer> Daemon::job(std::int64_t id) {
  FL_TRY_ASSIGN(answer, get(job_target(id)));
  return job_answer(answer);
}

Result<std::int64_t> Daemon::job_named(const std::string& text) {
  if (const auto id = parse_integer(text)) return *id;
  for (const std::string_view all : {"", "&all=1"}) {
    FL_TRY_ASSIGN(answers, jobs(fmt::format("user={}{}", http_encoded(own_name()), all)));
    std::erase_if(answers, [&](const JobAnswer& job) { return job.name != text; });
    if (all.empty() && answers.size() > 1) return tl::unexpected(several(text, answers));
    if (!answers.empty()) return answers.back().id;
  }
  return input_error("no job of yours has that name; `fairlead ps -a` lists them: {}", text);
}

Result<std::vector<std::int64_t>> Daemon::jobs_named(const std::string& text) {
  const std::size_t dash = std::min(text.find('-'), text.size());
  const auto first = parse_integer(std::string_view(text).substr(0, dash));
  const auto last = parse_integer(std::string_view(text).substr(std::min(dash + 1, text.size())));
  if (!first || !last) {
    FL_TRY_ASSIGN(id, job_named(text));
    return std::vector<std::int64_t>{id};
  }
  constexpr std::int64_t kRangeMax = 100'000;  // jobs that one command can name
  if (*last < *first || *last - *first >= kRangeMax)
    return input_error("a range of jobs is like 12-31: {}", text);
  std::vector<std::int64_t> ids;
  for (std::int64_t id = *first; id <= *last; ++id) ids.push_back(id);
  return ids;
}

Status Daemon::ask_end(std::int64_t id) { return client_->send("GET", job_target(id, "end")); }

Result<JobAnswer> Daemon::take_end() {
  FL_TRY_ASSIGN(answer, client_->receive());
  FL_TRY_ASSIGN(body, body_of(answer));
  return job_answer(body);
}

}  // namespace fairlead
