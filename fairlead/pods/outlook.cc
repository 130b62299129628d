#include "fairlead/pods/outlook.h"

#include "fairlead/base/overloaded.h"
#include "fairlead/live/entitled_gpus.h"
#include "fairlead/live/why_lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>

namespace fairlead {
namespace {

// From a tenth of a millisecond to ten seconds; and from a hundredth of a second to ten minutes.
const std::vector<double> kDecisionBounds = {0.0001, 0.001, 0.01, 0.1, 1, 10};
const std::vector<double> kBindBounds = {0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300};

std::string_view resource_of(const Reflector& reflector) {
  const std::string_view path = reflector.path();
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

Outlook::Outlook(CountedDoor& door, const Lease& lease, std::string identity, std::string policy)
    : door_(door),
      lease_(lease),
      identity_(std::move(identity)),
      policy_(std::move(policy)),
      decisions_(kDecisionBounds),
      binds_(kBindBounds),
      starts_(kBindBounds) {}

void Outlook::lead(const PodsWorld& world, const Tables& tables, const Policy& policy) {
  world_ = &world;
  tables_ = &tables;
  scheduler_ = &policy;
}

void Outlook::follow() {
  world_ = nullptr;
  tables_ = nullptr;
  scheduler_ = nullptr;
  waits_ = {};
  served_.clear();
}

std::string Outlook::not_ready() const {
  if (tables_ != nullptr) {
    for (const Reflector* reflector : world_->observed().watch().reflectors()) {
      if (reflector->is_fresh()) continue;
      return fmt::format("the cached state of {} is stale: {}", resource_of(*reflector),
                         reflector->trouble());
    }
    return {};
  }
  if (!lease_.trouble().empty()) return lease_.trouble();
  if (lease_.holder().empty()) return "the leader is not known yet";
  return lease_.holder() == identity_ ? "it is starting to lead" : "";
}

std::string Outlook::answer(const HttpMessage& request) const {
  const auto plain = [&](int status, std::string_view text) {
    return http_response(status, "text/plain; charset=utf-8", fmt::format("{}\n", text),
                         request.keep_alive);
  };
  if (request.method != "GET") return plain(405, "only GET is supported");
  if (request.path == "/healthz") return plain(200, "ok");
  if (request.path == "/readyz") {
    const std::string why = not_ready();
    if (!why.empty()) return plain(503, why);
    return plain(200, tables_ != nullptr ? "leads" : fmt::format("follows {}", lease_.holder()));
  }
  if (request.path == "/metrics") {
    return http_response(200, "text/plain; version=0.0.4", metrics(), request.keep_alive);
  }
  constexpr std::string_view kWhy = "/why/";
  if (!request.path.starts_with(kWhy))
    return plain(404, "/healthz, /readyz, /metrics, /why/NAMESPACE/JOB");
  if (tables_ == nullptr) return plain(503, fmt::format("{} leads", lease_.holder()));
  const std::string name = request.path.substr(kWhy.size());
  const std::size_t slash = std::min(name.find('/'), name.size());
  const std::string text =
      why(name.substr(0, slash), name.substr(std::min(slash + 1, name.size())));
  return text.empty() ? plain(404, fmt::format("no Job {} is Fairlead's", name)) : plain(200, text);
}

std::string Outlook::why(const std::string& name_space, const std::string& job) const {
  const std::string name = fmt::format("{}/{}", name_space, job);
  if (const auto refused = world_->refused().find(name); refused != world_->refused().end()) {
    return fmt::format("It is refused: {}.", refused->second);
  }
  const Jobs& jobs = tables_->jobs;
  for (std::size_t row = jobs.size(); row-- > 0;) {  // the last of that name
    const JobId id(row);
    if (!jobs.has(id) || tables_->names[id] != name) continue;
    if (!jobs.is_here(id)) return fmt::format("It is {}.", state_name(jobs.state[id]));
    return fmt::format("{}", fmt::join(why_lines(id), "\n"));
  }
  return {};
}

WhyNow Outlook::why_now() const {
  return WhyNow(*tables_, waits_, scheduler_->traits(), world_->now());
}

std::vector<std::string> Outlook::why_lines(JobId job) const {
  WhyNow why = why_now();
  std::vector<std::string> lines =
      state_lines(why, job, [&](JobId other) { return std::string(tables_->names[other]); });
  lines.push_back(entitlement_sentence(*tables_, tables_->jobs.user[job]));
  lines.push_back(served_sentence(*tables_, job, tables_->now));
  return lines;
}

void Outlook::on(const Record& record) {
  const auto end = [&](JobId job) {
    served_[tables_->jobs.user[job]] += tables_->jobs.attained(job, record.t);
  };
  waits_.on(record);
  if (tables_ == nullptr) return;
  std::visit(Overloaded{
                 [&](const OneOf<record::Finished, record::Failed, record::Cancelled> auto& what) {
                   end(what.job);
                 },
                 [&](const record::Started& what) { starts_.add(to_seconds(what.overhead)); },
                 [](const auto&) {},
             },
             record.what);
}

std::string Outlook::metrics() const {
  PrometheusText text;
  put_leadership(text);
  put_server(text);
  if (tables_ == nullptr) return text.text();
  put_gpus(text);
  put_gangs(text);
  put_users(text);
  text.histogram("decision_seconds", "Time of a decision, from new events to its steps.",
                 decisions_);
  text.histogram("bind_seconds", "Time from a gang's placement to a bound pod.", binds_);
  text.histogram("start_seconds", "Time from a gang's placement until its last pod runs.", starts_);
  return text.text();
}

void Outlook::put_leadership(PrometheusText& text) const {
  text.family("is_leader", "gauge", "1 if this process leads.");
  text.value(lease_.is_leader(door_.now()) ? 1 : 0);
  text.family("lease_transitions", "gauge", "How often the lease changed hands.");
  text.value(static_cast<double>(lease_.transitions()));
  text.family("policy_info", "gauge", "The policy, with its options.");
  text.value({{"policy", policy_}}, 1);
}

void Outlook::put_server(PrometheusText& text) const {
  text.family("writes_total", "counter", "Calls that write, by status; 0: no answer.");
  for (const auto& [what, count] : door_.writes()) {
    text.value({{"method", what.first}, {"code", fmt::to_string(what.second)}},
               static_cast<double>(count));
  }
  if (world_ == nullptr) return;
  text.family("watch_age_seconds", "gauge", "Time since the API server last confirmed the state.");
  for (const Reflector* reflector : world_->observed().watch().reflectors()) {
    if (!reflector->is_synced()) continue;
    text.value({{"resource", resource_of(*reflector)}}, to_seconds(reflector->age()));
  }
  text.family("lists_total", "counter", "Full lists, by cause.");
  for (const Reflector* reflector : world_->observed().watch().reflectors()) {
    for (std::size_t i = 0; i < kListCauses; ++i) {
      text.value({{"resource", resource_of(*reflector)},
                  {"cause", list_cause_name(static_cast<ListCause>(i))}},
                 static_cast<double>(reflector->figures().lists[i]));
    }
  }
}

void Outlook::put_gpus(PrometheusText& text) const {
  std::map<std::string_view, int> states = {{"held", 0}, {"idle", 0}, {"closed", 0}, {"down", 0}};
  for (const Tables::NodeState& node : tables_->nodes) {
    states["down"] += std::popcount(node.has & ~node.up);
    states["held"] += std::popcount(node.up & ~node.free);
    states["closed"] += std::popcount(node.free & node.closed);
    states["idle"] += std::popcount(node.free & ~node.closed);
  }
  text.family("gpus", "gauge",
              "GPUs by state; down: its node is gone, or another scheduler's pod has it.");
  for (const auto& [state, count] : states) text.value({{"state", state}}, count);
}

void Outlook::put_gangs(PrometheusText& text) const {
  const auto starting = std::ranges::count_if(
      tables_->running.members(), [&](JobId job) { return tables_->jobs.is_starting(job); });
  const auto running = std::ssize(tables_->running.members()) - starting;
  text.family("gangs", "gauge", "Gangs that are here, by state.");
  for (const auto& [state, count] : {std::pair("waiting", std::ssize(tables_->waiting.members())),
                                     std::pair("starting", starting), std::pair("running", running),
                                     std::pair("held", std::ssize(tables_->held_until)),
                                     std::pair("refused", std::ssize(world_->refused()))}) {
    text.value({{"state", state}}, static_cast<double>(count));
  }
  text.family("gangs_done_total", "counter", "Gangs that are done, by how they ended.");
  text.value({{"end", "finished"}}, static_cast<double>(tables_->counts.finished));
  text.value({{"end", "failed"}}, static_cast<double>(tables_->counts.failed));
  text.value({{"end", "rejected"}}, static_cast<double>(tables_->counts.rejected));
}

void Outlook::put_users(PrometheusText& text) const {
  const Jobs& jobs = tables_->jobs;
  const Time now = std::max(tables_->now, world_->now());
  std::map<UserId, GpuTime> served = served_;
  std::map<UserId, double> allocated;
  const IdVector<UserId, double> entitled = entitled_gpus(*tables_);
  for (JobId job : ids<JobId>(jobs.size())) {
    if (!jobs.is_here(job)) continue;
    served[jobs.user[job]] += jobs.attained(job, now);
    allocated[jobs.user[job]] += jobs.allocated_gpus[job];
  }
  const auto family = [&](std::string_view name, std::string_view kind, std::string_view help,
                          const auto& value) {
    text.family(name, kind, help);
    for (UserId user : ids<UserId>(tables_->users.size())) {
      text.value({{"user", tables_->users.names[user]}}, value(user));
    }
  };
  family("user_gpu_seconds_total", "counter", "GPU time served to each namespace.",
         [&](UserId user) { return static_cast<double>(saturated_gpu_ms(served[user])) / 1000; });
  family("user_held_gpus", "gauge", "GPUs in use by each namespace's gangs.",
         [&](UserId user) { return allocated[user]; });
  family("user_entitled_gpus", "gauge", "GPUs that each namespace is entitled to now.",
         [&](UserId user) { return entitled[user]; });
}

}  // namespace fairlead
