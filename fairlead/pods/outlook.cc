#include "fairlead/pods/outlook.h"

#include "fairlead/live/queries.h"
#include "fairlead/live/why_lines.h"
#include "fairlead/measure/sensors.h"

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

void Outlook::lead(const PodsWorld& world, const LiveEngine& live, const RecordedRun& run) {
  leading_.emplace(Leading{world, Views(*this, live)});
  for (const Record& record : run.records()) leading_->views.book.on(record);
}

std::string Outlook::not_ready() const {
  if (leading_) {
    for (const Reflector* reflector : leading_->world.observed().watch().reflectors()) {
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
    return plain(200, leading_ ? "leads" : fmt::format("follows {}", lease_.holder()));
  }
  if (request.path == "/metrics") {
    return http_response(200, "text/plain; version=0.0.4", metrics(), request.keep_alive);
  }
  if (request.path.starts_with("/v1/")) return json(request);
  constexpr std::string_view kWhy = "/why/";
  if (!request.path.starts_with(kWhy))
    return plain(404, "/healthz, /readyz, /metrics, /why/NAMESPACE/JOB, /v1/...");
  if (!leading_) return plain(503, fmt::format("{} leads", lease_.holder()));
  const std::string name = request.path.substr(kWhy.size());
  const std::size_t slash = std::min(name.find('/'), name.size());
  const std::string text =
      why(name.substr(0, slash), name.substr(std::min(slash + 1, name.size())));
  return text.empty() ? plain(404, fmt::format("no Job {} is Fairlead's", name)) : plain(200, text);
}

std::string Outlook::json(const HttpMessage& request) const {
  const auto found = [&]() -> std::optional<JsonAnswer> {
    if (!leading_)
      return error_answer(503, fmt::format("this process only follows; {} leads", lease_.holder()));
    return query_answer(leading_->views, request, now());
  }();
  return json_response(
      found ? *found : error_answer(404, fmt::format("no such thing: {}", request.path)),
      request.keep_alive);
}

std::string Outlook::why(const std::string& name_space, const std::string& job) const {
  const std::string name = fmt::format("{}/{}", name_space, job);
  const auto& refusals = leading_->world.refused();
  if (const auto refused = refusals.find(name); refused != refusals.end()) {
    return fmt::format("It is refused: {}.", refused->second);
  }
  if (const std::string missing = leading_->world.missing(name); !missing.empty()) {
    return fmt::format("It waits: {}.", missing);
  }
  const Tables& tables = leading_->views.tables;
  for (std::size_t row = tables.jobs.size(); row-- > 0;) {  // the last of that name
    const JobId id(row);
    if (!tables.jobs.has(id) || tables.names[id] != name) continue;
    return fmt::format("{}", fmt::join(why_lines(id), "\n"));
  }
  return {};
}

WhyNow Outlook::why_now() const { return fairlead::why_now(leading_->views, now()); }

std::vector<std::string> Outlook::why_lines(JobId job) const {
  std::vector<std::string> lines = fairlead::why_lines(leading_->views, job, now());
  if (std::string lacks = leading_->world.shortage(job); !lacks.empty()) {
    lines.push_back(fmt::format("Other resources: {}.", lacks));
  }
  return lines;
}

std::int64_t Outlook::unix_ms(Time t) const {
  return door_.unix_ms() + (t - leading_->world.now()).ms;
}

std::string Outlook::name_of(JobId job) const {
  return std::string(leading_->views.tables.names[job]);
}

bool Outlook::rests_in_place(JobId job) const {
  const GangBook::Entry* const entry = leading_->world.observed().gangs().find(job);
  return entry != nullptr && entry->gang.owner().has_slots;
}

BackendFacts::JobFacts Outlook::of(JobId job, Time /*now*/) const {
  const GangBook::Entry* const entry = leading_->world.observed().gangs().find(job);
  JobFacts facts;
  if (entry == nullptr) return facts;
  facts.after = leading_->world.order_text(job);
  if (const Owner& owner = entry->gang.owner(); !owner.priority_class.empty())
    facts.priority = owner.priority_class;
  const PodProgress* const progress = progress_of(entry->gang);
  if (progress == nullptr) return facts;
  facts.progress = {.done = progress->progress.done,
                    .total = progress->progress.total,
                    .unit_per_s = progress->unit_per_s};
  facts.speed = {.unit_per_s = progress->unit_per_s,
                 .unit = progress->progress.unit,
                 .sensor = sensor_name(Sensor::kOutput),
                 .sensor_text = sensor_text(Sensor::kOutput)};
  return facts;
}

Time Outlook::now() const { return std::max(leading_->views.tables.now, leading_->world.now()); }

void Outlook::on(const Record& record) {
  if (!leading_) return;
  leading_->views.book.on(record);
  if (const auto* started = std::get_if<record::Started>(&record.what))
    starts_.add(to_seconds(started->overhead));
}

std::string Outlook::metrics() const {
  PrometheusText text;
  put_leadership(text);
  put_server(text);
  if (!leading_) return text.text();
  put_gpus(text);
  put_gangs(text);
  leading_->views.add_user_metrics(text, now());
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
  if (!leading_) return;
  text.family("watch_age_seconds", "gauge", "Time since the API server last confirmed the state.");
  for (const Reflector* reflector : leading_->world.observed().watch().reflectors()) {
    if (!reflector->is_synced()) continue;
    text.value({{"resource", resource_of(*reflector)}}, to_seconds(reflector->age()));
  }
  text.family("lists_total", "counter", "Full lists, by cause.");
  for (const Reflector* reflector : leading_->world.observed().watch().reflectors()) {
    for (std::size_t i = 0; i < kListCauses; ++i) {
      text.value({{"resource", resource_of(*reflector)},
                  {"cause", list_cause_name(static_cast<ListCause>(i))}},
                 static_cast<double>(reflector->figures().lists[i]));
    }
  }
}

void Outlook::put_gpus(PrometheusText& text) const {
  std::map<std::string_view, int> states = {{"held", 0}, {"idle", 0}, {"closed", 0}, {"down", 0}};
  for (const Tables::NodeState& node : leading_->views.tables.nodes) {
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
  const Tables& tables = leading_->views.tables;
  const auto starting = std::ranges::count_if(
      tables.running.members(), [&](JobId job) { return tables.jobs.is_starting(job); });
  const auto running = std::ssize(tables.running.members()) - starting;
  text.family("gangs", "gauge", "Gangs that are here, by state.");
  for (const auto& [state, count] :
       {std::pair("waiting", std::ssize(tables.waiting.members())), std::pair("starting", starting),
        std::pair("running", running), std::pair("held", std::ssize(tables.held_until)),
        std::pair("refused", std::ssize(leading_->world.refused()))}) {
    text.value({{"state", state}}, static_cast<double>(count));
  }
  text.family("gangs_done_total", "counter", "Gangs that are done, by how they ended.");
  text.value({{"end", "finished"}}, static_cast<double>(tables.counts.finished));
  text.value({{"end", "failed"}}, static_cast<double>(tables.counts.failed));
  text.value({{"end", "rejected"}}, static_cast<double>(tables.counts.rejected));
  leading_->views.add_decision_metrics(text);
}

}  // namespace fairlead
