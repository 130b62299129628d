#include "fairlead/serve/api.h"

#include "fairlead/base/embedded_file.h"
#include "fairlead/base/parse.h"
#include "fairlead/http/prometheus.h"
#include "fairlead/model/job_row.h"
#include "fairlead/serve/job_request.h"
#include "fairlead/serve/reservation_requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

namespace fairlead {

// page.html, which the build embeds (cmake/Embed.cmake).
std::span<const EmbeddedFile> embedded_live_page();

namespace {

using nlohmann::json;

constexpr std::string_view kUsers = "/v1/users/";
constexpr std::string_view kGroups = "/v1/groups/";
constexpr std::string_view kNodes = "/v1/nodes/";
constexpr std::string_view kGpus = "/v1/gpus/";

// A request that takes longer to arrive is given up. The largest one takes a second over a slow network.
constexpr Duration kRequestTime = seconds(30);
// Bytes of all requests of a user that the daemon keeps: eight of the largest. Unknown peers count as one user.
constexpr std::size_t kKeptBytesMax = 8 * kHttpBytesMax;

}  // namespace

Api::Api(Io& io, const Views& views, LocalBackend& backend, StartConditions& conditions,
         Inbox& inbox, const ServeOptions& options)
    : io_(io),
      views_(views),
      tables_(views.tables),
      backend_(backend),
      conditions_(conditions),
      inbox_(inbox),
      door_(options.http_token),
      notifies_(!options.notify.empty()),
      host_(options.machine.host),
      page_(options.http_address.empty()
                ? ""
                : fmt::format("http://{}/?token={}", options.http_address, options.http_token)),
      next_job_(tables_.jobs.size()) {}

void Api::on_connected(ConnectionId connection, const Peer& peer) {
  clients_[connection].peer = peer;
}

void Api::on_received(ConnectionId connection, std::string_view bytes) {
  const auto found = clients_.find(connection);
  if (found == clients_.end()) return;
  Client& client = found->second;
  if (const Status status = client.reader.feed(bytes); !status) {
    send(connection, error_answer(400, status.error().message), false);
    return;
  }
  if (is_within_bounds(connection, client)) serve_next(connection, client);
}

// Returns false if the requests of its user are too large together. Then the connection is gone.
bool Api::is_within_bounds(ConnectionId connection, Client& client) {
  const HttpReader::Kept kept = client.reader.kept();
  set_kept(client, kept.whole + kept.incomplete);
  if (kept_[client.peer.uid] > kKeptBytesMax) {
    send(connection, error_answer(503, "your requests are too many and too large; try again later"),
         false);
    return false;
  }
  if (kept.incomplete == 0) set_due(connection, client, Time::never());
  if (kept.incomplete > 0 && client.due == Time::never())
    set_due(connection, client, io_.now() + kRequestTime);
  return true;
}

void Api::set_kept(Client& client, std::size_t bytes) {
  std::size_t& all = kept_[client.peer.uid];
  all = all - std::exchange(client.kept, bytes) + bytes;
  if (all == 0) kept_.erase(client.peer.uid);
}

void Api::set_due(ConnectionId connection, Client& client, Time due) {
  if (client.due != Time::never()) incomplete_.erase({client.due, connection});
  client.due = due;
  if (due != Time::never()) incomplete_.emplace(due, connection);
}

Time Api::deadline() const {
  return incomplete_.empty() ? Time::never() : incomplete_.begin()->first;
}

void Api::on_time(Time now) {
  while (deadline() <= now) {
    const ConnectionId connection = incomplete_.begin()->second;
    send(connection, error_answer(408, "the request did not arrive in time"), false);
  }
}

void Api::on_closed(ConnectionId connection) {
  if (const auto found = clients_.find(connection); found != clients_.end()) {
    set_kept(found->second, 0);
    set_due(connection, found->second, Time::never());
    clients_.erase(found);
  }
  const auto is_its = [&](const Due& due) { return due.connection == connection; };
  std::erase_if(due_, is_its);
  std::erase_if(until_end_, [&](const auto& entry) { return is_its(entry.second); });
  const auto [begin, end] = at_terminals_.equal_range(connection);
  for (auto entry = begin; entry != end; ++entry) left_alone_.push_back(entry->second);
  at_terminals_.erase(begin, end);
}

// Answers come in the order of requests, so the next waits for the one before.
void Api::serve_next(ConnectionId connection, Client& client) {
  while (!client.is_waiting) {
    const std::optional<HttpMessage> request = client.reader.next();
    if (!request) return;
    const HttpReader::Kept kept = client.reader.kept();
    set_kept(client, kept.whole + kept.incomplete);
    handle(connection, client, *request);
    if (!clients_.contains(connection)) return;
  }
}

void Api::handle(ConnectionId connection, Client& client, const HttpMessage& request) {
  if (client.peer.is_unknown && refuse(connection, request)) return;
  if (handle_text(connection, request)) return;
  if (const auto now = answer(connection, client.peer, request)) {
    send(connection, *now, request.keep_alive);
  } else {
    client.is_waiting = true;
  }
}

bool Api::refuse(ConnectionId connection, const HttpMessage& request) {
  const Door::Refusal refusal = door_.refusal(request);
  if (refusal.status == 0) return false;
  io_.send(connection, http_response(refusal.status, "application/json",
                                     error_answer(refusal.status, refusal.why).body.dump(), false,
                                     refusal.status == 401 ? "WWW-Authenticate: Bearer\r\n" : ""));
  leave(connection);
  return true;
}

Api::Answer Api::page() const {
  if (!page_.empty()) return {200, {{"url", page_}}};
  return error_answer(404,
                      "the daemon has no page over TCP: `fairlead serve --http 127.0.0.1:8080` "
                      "has one");
}

bool Api::handle_text(ConnectionId connection, const HttpMessage& request) {
  if (request.method != "GET") return false;
  if (request.path == "/") {
    io_.send(connection,
             http_response(200, "text/html; charset=utf-8", embedded_live_page().front().text,
                           request.keep_alive, door_.cookie_for(request)));
  } else if (request.path == "/metrics") {
    io_.send(connection,
             http_response(200, "text/plain; version=0.0.4", metrics(), request.keep_alive));
  } else {
    return false;
  }
  if (!request.keep_alive) leave(connection);
  return true;
}

std::optional<Api::Answer> Api::answer(ConnectionId connection, const Peer& peer,
                                       const HttpMessage& request) {
  const std::string_view path = request.path;
  const bool gets = request.method == "GET";
  if (gets && path == "/healthz") return Answer{200, {{"status", "ok"}}};
  if (gets && path == "/v1/page") return page();
  if (request.method == "POST" && path == "/v1/models/forget")
    return forget_model(connection, peer, request);
  if (request.method == "POST" && path == "/v1/jobs") return submit(connection, peer, request);
  if (const auto of = job_path(path, tables_)) return answer_job(connection, peer, request, *of);
  if (auto known = query_answer(views_, request, now())) return known;
  if (auto reserved = reservation_answer(backend_.reservations(), tables_.cluster, request, peer,
                                         io_.user_name(peer.uid), io_.unix_ms(now())))
    return reserved;
  const bool is_operators =
      (request.method == "PUT" && (path.starts_with(kUsers) || path.starts_with(kGroups))) ||
      (request.method == "POST" && (path.starts_with(kNodes) || path.starts_with(kGpus)));
  if (!is_operators) return error_answer(404, fmt::format("no such thing: {}", path));
  if (!peer.is_admin) return error_answer(403, "only administrators may do that");
  if (path.starts_with(kUsers)) {
    return set_user(connection, request, path.substr(kUsers.size()));
  }
  if (path.starts_with(kGroups)) {
    return set_group(connection, request, path.substr(kGroups.size()));
  }
  if (path.starts_with(kGpus)) {
    return cordon_gpu(connection, request, path.substr(kGpus.size()));
  }
  return cordon(connection, request, path.substr(kNodes.size()));
}

std::optional<Api::Answer> Api::answer_job(ConnectionId connection, const Peer& peer,
                                           const HttpMessage& request, const JobPath& of) {
  const JobId job = of.job;
  if (job.is_none()) return error_answer(404, fmt::format("no such job: {}", of.text));
  const std::string_view verb = of.verb;
  if (request.method == "GET" && verb.empty() && may_change(peer, job)) {
    return Answer{200, whole_job(job)};
  }
  if (auto known = query_answer(views_, request, now())) return known;
  if (request.method == "GET" && verb == "/end") {
    if (has_ended(job)) return Answer{200, views_.job(job, now())};
    until_end_.emplace(job, Due{connection, request.keep_alive});
    return std::nullopt;
  }
  const bool is_known =
      verb == "/cancel" || verb == "/hold" || verb == "/release" || verb == "/priority";
  if (request.method != "POST" || !is_known) {
    return error_answer(404, fmt::format("no such thing: {}", request.path));
  }
  if (!may_change(peer, job)) {
    return error_answer(403, fmt::format("job {} is not yours", job.row()));
  }
  if (!tables_.jobs.is_here(job)) {
    return error_answer(409, fmt::format("job {} is done", job.row()));
  }
  if (verb == "/priority") return set_priority(connection, peer, request, job);
  if (verb != "/cancel") return hold(connection, request, job, verb == "/hold");
  inbox_.add({.kind = EventKind::kCancelled,
              .job = job,
              .reason = is_of(job, peer) ? "" : "by an administrator"});
  defer(connection, request);
  return std::nullopt;
}

std::optional<Api::Answer> Api::hold(ConnectionId connection, const HttpMessage& request, JobId job,
                                     bool is_held) {
  const std::string condition = conditions_.text(job);
  if (!is_held && !backend_.jobs().submission(job)->is_held && !condition.empty())
    return error_answer(409, fmt::format("job {} is not held: it starts {}", job.row(), condition));
  if (const Status status = conditions_.set_held(job, is_held); !status)
    return error_answer(503, status.error().message);
  defer(connection, request);
  return std::nullopt;
}

std::optional<Api::Answer> Api::set_priority(ConnectionId connection, const Peer& peer,
                                             const HttpMessage& request, JobId job) {
  const json body = json::parse(request.body, nullptr, false);
  const bool is_text =
      body.is_object() && body.contains("priority") && body["priority"].is_string();
  const auto priority = priority_named(is_text ? body["priority"].get<std::string>() : "");
  if (!priority) return error_answer(400, "priority must be low, normal, high or urgent");
  if (*priority == Priority::kUrgent && !peer.is_admin)
    return error_answer(403, "priority: only administrators may make a job urgent");
  if (const Status status = backend_.set_priority(job, *priority); !status)
    return error_answer(503, status.error().message);
  defer(connection, request);
  return std::nullopt;
}

// Returns also the fields that only the job's user and administrators may see.
json Api::whole_job(JobId job) const {
  json whole = views_.job(job, now());
  whole["log"] = io_.log_path(job);
  if (const Submission* what = backend_.jobs().submission(job)) {
    whole["command"] = what->command;
    whole["folder"] = what->folder;
  }
  return whole;
}

bool Api::has_ended(JobId job) const {
  return !tables_.jobs.is_here(job) && backend_.jobs().submission(job) == nullptr;
}

bool Api::may_change(const Peer& peer, JobId job) const {
  if (peer.is_unknown) return false;
  return peer.is_admin || is_of(job, peer);
}

bool Api::is_of(JobId job, const Peer& peer) const {
  return tables_.users.names[tables_.jobs.user[job]] == io_.user_name(peer.uid);
}

std::optional<Api::Answer> Api::submit(ConnectionId connection, const Peer& peer,
                                       const HttpMessage& request) {
  Result<JobRequests> parsed = parse_job_requests(request.body, tables_.cluster);
  if (!parsed) return error_answer(400, parsed.error().message);
  std::vector<JobRequest>& jobs = parsed->jobs;
  for (JobRequest& job : jobs) {
    Status status = take_types_with_memory(job);
    if (status) status = check_size(job.submission);
    if (!status) return error_answer(400, status.error().message);
  }
  if (!peer.is_admin && jobs.front().submission.priority == Priority::kUrgent)
    return error_answer(403, "priority: only administrators may submit urgent jobs");
  if (!notifies_ && jobs.front().submission.notify != Notify::kNever) {
    return error_answer(400,
                        "notify: this daemon sends no notifications; an administrator sets "
                        "`fairlead serve --notify`");
  }
  // All of them have the same conditions so far.
  if (const auto unknown = unknown_job(jobs.front().submission.after))
    return error_answer(400, fmt::format("no such job to start after: {}", unknown->row()));
  const JobId first(next_job_);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    Submission& what = jobs[i].submission;
    what.uid = peer.uid;
    what.gid = peer.gid;
    what.limits = peer.limits;
    if (parsed->at_once == 0 || i < parsed->at_once) continue;
    what.after.push_back(
        {.first = first, .last = JobId(next_job_ + i - 1), .unfinished_max = parsed->at_once - 1});
  }
  if (const Status status = store(first, jobs); !status)
    return error_answer(503, status.error().message);
  const UserId user = user_of(io_.user_name(peer.uid));
  for (JobRequest& asked : jobs) {
    const JobId job(next_job_++);
    const JobSpec spec{.job = job,
                       .user = user,
                       .name = inbox_.keep(std::move(asked.name)),
                       .model = inbox_.keep(std::move(asked.model)),
                       .gpus = asked.gpus,
                       .gpus_min = asked.gpus,
                       .gpus_max = asked.gpus,
                       .extras = asked.extras,
                       .types = asked.types,
                       .work = asked.declared};
    inbox_.add(spec);
    if (asked.submission.has_terminal) at_terminals_.emplace(connection, job);
    backend_.add_new(spec, std::move(asked.submission), connection);
  }
  defer(connection, request, {.job = first, .tasks = parsed->are_tasks ? jobs.size() : 0});
  return std::nullopt;
}

// Leaves the job the types of GPU with the memory that it states. Error: there is none.
Status Api::take_types_with_memory(JobRequest& job) const {
  const std::uint32_t need_mb = job.submission.gpu_memory_mb;
  if (need_mb == 0) return {};
  const auto memory_mb = backend_.gpus().memory_mb_of_types();
  std::uint32_t most_mb = 0;
  TypeMask fitting = 0;
  for (GpuTypeId type : ids<GpuTypeId>(memory_mb.size())) {
    if ((job.types & type_bit(type)) == 0) continue;
    most_mb = std::max(most_mb, memory_mb[type]);
    if (memory_mb[type] == 0 || memory_mb[type] >= need_mb) {
      fitting |= type_bit(type);
    } else {
      job.types &= ~type_bit(type);
    }
  }
  if (fitting != 0) return {};
  return input_error("gpu_memory_mb: {}, and no GPU that the job can use has more than {}", need_mb,
                     most_mb);
}

// Error: the machine has less than the job states.
Status Api::check_size(const Submission& what) const {
  if (host_.memory_mb > 0 && what.memory_mb > host_.memory_mb)
    return input_error("memory_mb: {}, and this machine has {}", what.memory_mb, host_.memory_mb);
  if (host_.cpus > 0 && what.cpu_milli > std::uint64_t{1000} * host_.cpus)
    return input_error("cpus: {:g}, and this machine has {}", what.cpu_milli / 1000.0, host_.cpus);
  return {};
}

// Returns a job of the conditions that is not there.
std::optional<JobId> Api::unknown_job(std::span<const Dependency> conditions) const {
  for (const Dependency& condition : conditions) {
    for (std::size_t row = condition.first.row(); row <= condition.last.row(); ++row) {
      if (!tables_.jobs.has(JobId(row))) return JobId(row);
    }
  }
  return std::nullopt;
}

// Writes the files of new jobs: all, or none.
Status Api::store(JobId first, std::span<const JobRequest> jobs) {
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Status status =
        io_.write(submission_file(JobId(first.row() + i)), submission_text(jobs[i].submission));
    if (status) continue;
    for (std::size_t written = 0; written < i; ++written)
      io_.remove(submission_file(JobId(first.row() + written)));
    return status;
  }
  return {};
}

namespace {

// Returns the whole number of a field of a request; nullopt: it is not there.
Result<std::optional<std::int64_t>> number_of(const json& body, const char* field, std::int64_t min,
                                              std::int64_t max) {
  if (!body.is_object() || !body.contains(field)) return std::nullopt;
  const json& value = body[field];
  if (value.is_number_integer() && value >= min && value <= max) return value.get<std::int64_t>();
  return input_error("{} must be a whole number from {} to {}", field, min, max);
}

bool is_name(std::string_view name) {
  return !name.empty() && name.find('/') == std::string_view::npos;
}

}  // namespace

std::optional<Api::Answer> Api::set_group(ConnectionId connection, const HttpMessage& request,
                                          std::string_view name) {
  const auto max_gpus =
      number_of(json::parse(request.body, nullptr, false), "max_gpus", 0, kJobGpusMax);
  if (!max_gpus) return error_answer(400, max_gpus.error().message);
  if (!*max_gpus) return error_answer(400, "name max_gpus");
  if (!is_name(name)) return error_answer(404, "no such group");
  const auto gpus = static_cast<std::uint32_t>(**max_gpus);
  if (const Status status = conditions_.set_group_gpus_max(name, gpus); !status)
    return error_answer(503, status.error().message);
  defer(connection, request);
  return std::nullopt;
}

std::optional<Api::Answer> Api::set_user(ConnectionId connection, const HttpMessage& request,
                                         std::string_view name) {
  const json body = json::parse(request.body, nullptr, false);
  const auto tickets = number_of(body, "tickets", 1, kTicketsMax);
  if (!tickets) return error_answer(400, tickets.error().message);
  const auto max_gpus = number_of(body, "max_gpus", 0, kJobGpusMax);
  if (!max_gpus) return error_answer(400, max_gpus.error().message);
  if (!*tickets && !*max_gpus) return error_answer(400, "name tickets or max_gpus");
  if (!is_name(name)) return error_answer(404, "no such user");
  if (*max_gpus) {
    const Status status = conditions_.set_gpus_max(name, static_cast<std::uint32_t>(**max_gpus));
    if (!status) return error_answer(503, status.error().message);
  }
  if (*tickets)
    inbox_.add({.kind = EventKind::kTickets, .user = user_of(name), .tickets = **tickets});
  defer(connection, request);
  return std::nullopt;
}

std::optional<Api::Answer> Api::forget_model(ConnectionId connection, const Peer& peer,
                                             const HttpMessage& request) {
  const json body = json::parse(request.body, nullptr, false);
  const auto text = [&](const char* name) {
    return body.is_object() && body.contains(name) && body[name].is_string();
  };
  if (!text("model") || !text("user")) return error_answer(400, "model and user must be strings");
  const auto model = body["model"].get<std::string>();
  const auto user = body["user"].get<std::string>();
  if (!peer.is_admin && (peer.is_unknown || user != io_.user_name(peer.uid)))
    return error_answer(403, fmt::format("the speeds of {} are not yours", user));
  const auto has = [&](const LearnedSpeed& speed) {
    return tables_.users.names[speed.user] == user &&
           (speed.model.is_none() ? "" : tables_.models[speed.model]) == model;
  };
  if (std::ranges::none_of(views_.speeds.learned(), has))
    return error_answer(404, fmt::format("no speed of {} was learned for {}", user, model));
  inbox_.add({.kind = EventKind::kForgotten, .user = user_of(user), .model = inbox_.keep(model)});
  defer(connection, request);
  return std::nullopt;
}

std::optional<Api::Answer> Api::cordon(ConnectionId connection, const HttpMessage& request,
                                       std::string_view rest) {
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view verb = rest.substr(slash);
  const auto& names = tables_.cluster.node_names;
  const auto found = std::ranges::find(names, rest.substr(0, slash));
  if (found == names.end() || (verb != "/cordon" && verb != "/uncordon")) {
    return error_answer(
        404, fmt::format("no such node (there are: {}): {}",
                         fmt::join(names.begin(), names.end(), ", "), rest.substr(0, slash)));
  }
  const NodeId node(static_cast<std::size_t>(found - names.begin()));
  if (verb == "/uncordon") {
    if (const Status status = backend_.gpus().uncordon(node); !status)
      return error_answer(503, status.error().message);
  }
  inbox_.add({.kind = verb == "/cordon" ? EventKind::kCordoned : EventKind::kUncordoned,
              .node = node,
              .reason = "by an administrator"});
  defer(connection, request);
  return std::nullopt;
}

std::optional<Api::Answer> Api::cordon_gpu(ConnectionId connection, const HttpMessage& request,
                                           std::string_view rest) {
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view verb = rest.substr(slash);
  const auto gpu = parse_integer(rest.substr(0, slash));
  if (!gpu || *gpu < 0 || !std::cmp_less(*gpu, tables_.cluster.gpus) ||
      (verb != "/cordon" && verb != "/uncordon")) {
    return error_answer(404, fmt::format("no such GPU (there are: 0 to {}): {}",
                                         tables_.cluster.gpus - 1, rest.substr(0, slash)));
  }
  const auto number = static_cast<std::uint32_t>(*gpu);
  GpuWatch& gpus = backend_.gpus();
  const Status status = verb == "/cordon" ? gpus.cordon(number) : gpus.uncordon(number);
  if (!status) return error_answer(503, status.error().message);
  defer(connection, request);
  return std::nullopt;
}

void Api::defer(ConnectionId connection, const HttpMessage& request, Submitted submitted) {
  due_.push_back({connection, request.keep_alive, submitted});
}

void Api::answer_due() {
  // A client that asks again after its answer may be deferred again.
  for (const Due& due : std::exchange(due_, {})) {
    const auto [job, tasks] = due.submitted;
    if (job.is_none()) {
      send(due.connection, {}, due.keep_alive);
    } else if (tables_.jobs.state[job] == JobState::kRejected) {
      send(due.connection, error_answer(400, views_.book.of(job).reason), due.keep_alive);
    } else {
      json ids = {{"id", job.row()}};
      if (tasks > 0) ids["last"] = job.row() + tasks - 1;
      send(due.connection, {201, std::move(ids)}, due.keep_alive);
    }
  }
  for (JobId job : std::exchange(left_alone_, {})) {
    if (tables_.jobs.is_here(job)) inbox_.add({.kind = EventKind::kCancelled, .job = job});
  }
  std::vector<std::pair<JobId, Due>> ended;
  std::erase_if(until_end_, [&](const auto& entry) {
    if (!has_ended(entry.first)) return false;
    ended.push_back(entry);
    return true;
  });
  for (const auto& [job, due] : ended) {
    send(due.connection, {200, views_.job(job, now())}, due.keep_alive);
  }
}

void Api::send(ConnectionId connection, const Answer& answer, bool keep_alive) {
  io_.send(connection, json_response(answer, keep_alive));
  const auto client = clients_.find(connection);
  if (!keep_alive) return leave(connection);
  if (client == clients_.end() || !std::exchange(client->second.is_waiting, false)) return;
  serve_next(connection, client->second);
}

// The engine's clock may be some milliseconds ahead: no two of its instants are equal.
Time Api::now() const { return std::max(io_.now(), tables_.now); }

void Api::leave(ConnectionId connection) {
  io_.close(connection);
  on_closed(connection);
}

std::string Api::metrics() const {
  PrometheusText text;
  text.family("gpus", "gauge", "GPUs by state.");
  std::map<std::string, int> states;
  const json nodes = views_.cluster(now())["nodes"];
  for (const json& node : nodes) {
    for (const json& gpu : node["gpus"]) ++states[gpu["state"].get<std::string>()];
  }
  for (const auto& [state, count] : states) text.value({{"state", state}}, count);
  views_.add_gpu_metrics(text, now());
  views_.add_reservation_metrics(text, now());
  text.family("jobs", "gauge", "Jobs that are here, by state.");
  const std::size_t running =
      tables_.running.members().size() + tables_.running_without_gpus.members().size();
  for (const auto& [state, jobs] :
       {std::pair("waiting", tables_.waiting.members().size()), std::pair("running", running),
        std::pair("held", tables_.held_until.size())}) {
    text.value({{"state", state}}, static_cast<double>(jobs));
  }
  text.family("jobs_done_total", "counter", "Jobs that are done, by how they ended.");
  const JobCounts& counts = tables_.counts;
  const std::int64_t cancelled = views_.book.cancelled();  // they count as failed in the journal
  for (const auto& [end, jobs] :
       {std::pair("finished", counts.finished), std::pair("failed", counts.failed - cancelled),
        std::pair("cancelled", cancelled), std::pair("rejected", counts.rejected)}) {
    text.value({{"end", end}}, static_cast<double>(jobs));
  }
  views_.add_decision_metrics(text);
  views_.add_user_metrics(text, now());
  return text.text();
}

}  // namespace fairlead
