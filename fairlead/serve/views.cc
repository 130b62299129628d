#include "fairlead/serve/views.h"

#include "fairlead/http/prometheus.h"
#include "fairlead/live/entitled_gpus.h"

#include <algorithm>
#include <bit>

namespace fairlead {
namespace {

using nlohmann::json;

double gpu_seconds(GpuTime time) { return static_cast<double>(time.gpu_ms) / 1000.0; }

// "exit code 3" and "signal 9", as end_text() has them.
json number_after(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return nullptr;
  int number = 0;
  for (const char c : text.substr(prefix.size())) {
    if (c < '0' || c > '9') return nullptr;
    number = number * 10 + (c - '0');
  }
  return number;
}

std::string retries_text(const Submission* what) {
  if (what == nullptr || what->failed.empty()) return "";
  return fmt::format("{} of {} retries used", what->failed.size(), what->retries);
}

json progress_of(const Sensors* sensors) {
  const auto done = sensors == nullptr ? std::nullopt : sensors->done();
  if (!done) return nullptr;
  return {{"done", done->progress.done},
          {"total", done->progress.total},
          {"unit_per_s", done->unit_per_s}};
}

json speed_of(const Sensors* sensors) {
  const auto speed = sensors == nullptr ? std::nullopt : sensors->speed();
  if (!speed) return nullptr;
  return {{"unit_per_s", speed->unit_per_s},
          {"unit", speed->unit},
          {"sensor", sensor_name(speed->sensor)}};
}

}  // namespace

double hours(GpuTime time) { return gpu_seconds(time) / 3600; }

// The job on each GPU of the machine.
struct Views::Gpus {
  explicit Gpus(const Views& views)
      : gpu_jobs(views.tables.cluster.gpus, JobId::none()), stopping(gpu_jobs.size(), false) {
    const Tables& of = views.tables;
    const FirstGpus& first = views.backend.first_gpus();
    for (JobId job : of.running.members()) {
      const auto masks = std::as_const(of.jobs.gangs).gpu_masks(of.jobs.last[job]);
      for (auto gpu : machine_gpus(first, of.jobs.last_gang(job), masks)) gpu_jobs[gpu] = job;
    }
    for (const auto& [run, busy] : of.stopping) {
      for (const auto& [node, mask] : busy.gpus) {
        const Slice slice{.node = node, .gpus = 1};
        for (auto gpu : machine_gpus(first, {&slice, 1}, {&mask, 1})) stopping[gpu] = true;
      }
    }
  }
  std::vector<JobId> gpu_jobs;
  std::vector<bool> stopping;
};

json Views::foreign_on(std::uint32_t gpu) const {
  json list = json::array();
  for (const ForeignProcess& process : backend.foreign()) {
    if (process.gpu != gpu) continue;
    list.push_back({{"pid", process.pid}, {"name", process.name}, {"user", process.user}});
  }
  return list;
}

json Views::node(NodeId node, const Gpus& of) const {
  const Cluster& cluster = tables.cluster;
  const Tables::NodeState& state = tables.nodes[node];
  json gpus = json::array();
  for (std::uint32_t i = 0; i < cluster.node_gpus[node]; ++i) {
    const std::uint32_t gpu = backend.first_gpus()[node] + i;
    const std::uint64_t bit = std::uint64_t{1} << i;
    const bool is_busy = !of.gpu_jobs[gpu].is_none();
    const char* says = is_busy                     ? "busy"
                       : (state.up & bit) == 0     ? "down"
                       : (state.closed & bit) != 0 ? "closed"
                       : of.stopping[gpu]          ? "stopping"
                                                   : "idle";
    gpus.push_back({{"index", gpu},
                    {"state", says},
                    {"foreign", foreign_on(gpu)},
                    {"job", is_busy ? json(of.gpu_jobs[gpu].row()) : json(nullptr)}});
  }
  return {{"name", cluster.node_names[node]},
          {"type", cluster.type_names[cluster.node_type[node]]},
          {"is_cordoned", tables.cordoned.contains(node)},
          {"gpus", std::move(gpus)}};
}

json Views::cluster(Time now) const {
  const Gpus gpus(*this);
  json nodes = json::array();
  for (NodeId id : ids<NodeId>(tables.cluster.nodes())) nodes.push_back(node(id, gpus));
  return {{"now_unix_ms", io.unix_ms(now)},
          {"policy", policy},
          {"policy_options", policy_options},
          {"nodes", std::move(nodes)},
          {"jobs_waiting", tables.waiting.members().size()},
          {"jobs_running", tables.running.members().size()}};
}

json Views::jobs(Time now, std::string_view user, bool all) const {
  json list = json::array();
  for (JobId id : ids<JobId>(tables.jobs.size())) {
    if (!tables.jobs.has(id) || (!tables.jobs.is_here(id) && !all)) continue;
    if (!user.empty() && tables.users.names[tables.jobs.user[id]] != user) continue;
    list.push_back(job(id, now));
  }
  return {{"jobs", std::move(list)}};
}

json Views::job(JobId id, Time now) const {
  const Jobs& jobs = tables.jobs;
  const JobBook::Entry& entry = book.of(id);
  const auto state_text = [&]() -> std::string_view {
    if (jobs.is_starting(id)) return "starting";
    const bool ran = !jobs.last[id].empty();
    return jobs.state[id] == JobState::kWaiting && ran ? "suspended" : state_name(jobs.state[id]);
  };
  json on = json::array();
  if (jobs.state[id] == JobState::kRunning) {
    const auto masks = jobs.gangs.gpu_masks(jobs.last[id]);
    std::size_t i = 0;
    for (Slice slice : jobs.last_gang(id)) {
      on.push_back(
          {{"node", tables.cluster.node_names[slice.node]},
           {"gpus", machine_gpus(backend.first_gpus(), {&slice, 1}, masks.subspan(i++, 1))}});
    }
  }
  const Duration declared = entry.declared;
  const Submission* what = backend.submission(id);
  const Duration limit = what == nullptr ? Duration() : what->limit;
  const bool is_over = !jobs.is_here(id);
  const Duration idle = backend.idle(id, now);
  const json exit_code =
      jobs.state[id] == JobState::kFinished ? json(0) : number_after(entry.reason, "exit code ");
  json view = {{"id", id.row()},
               {"name", tables.names[id]},
               {"user", tables.users.names[jobs.user[id]]},
               {"model", jobs.model[id].is_none() ? "" : tables.models[jobs.model[id]]},
               {"gpus", jobs.gpus[id]},
               {"state", state_text()},
               {"submitted_unix_ms", io.unix_ms(jobs.arrival[id])},
               {"since_unix_ms", io.unix_ms(entry.since)},
               {"finished_unix_ms", is_over ? json(io.unix_ms(entry.done)) : json(nullptr)},
               {"gpu_s", gpu_seconds(jobs.attained(id, now))},
               {"on", std::move(on)},
               {"restarts", entry.restarts()},
               {"reason", entry.reason.empty() ? retries_text(what) : entry.reason},
               {"exit_code", exit_code},
               {"signal", number_after(entry.reason, "signal ")},
               {"declared_s", declared.ms == 0 ? json(nullptr) : json(to_seconds(declared))},
               {"limit_s", limit.ms == 0 ? json(nullptr) : json(to_seconds(limit))},
               {"retries_left", what == nullptr ? json(nullptr) : json(what->retries_left())},
               {"idle_s", idle.ms == 0 ? json(nullptr) : json(to_seconds(idle))},
               {"progress", progress_of(backend.sensors(id))},
               {"speed", speed_of(backend.sensors(id))}};
  const JobExtras extras = jobs.extras_of(id);
  JobExtras::each(extras, [&](const char* name, auto value, const auto&) { view[name] = value; });
  return view;
}

json Views::whole_job(JobId id, Time now) const {
  json whole = job(id, now);
  whole["log"] = io.log_path(id);
  if (const Submission* what = backend.submission(id)) {
    whole["command"] = what->command;
    whole["folder"] = what->folder;
  }
  return whole;
}

json Views::users(Time now) const {
  struct Sum {
    GpuTime served;
    std::uint32_t allocated = 0;
    int waiting = 0;
    int running = 0;
  };
  IdVector<UserId, Sum> sums;
  sums.resize(tables.users.size());
  for (JobId job : tables.running.members()) {
    Sum& sum = sums[tables.jobs.user[job]];
    sum.served += tables.jobs.attained(job, now);
    sum.allocated += tables.jobs.allocated_gpus[job];
    ++sum.running;
  }
  for (JobId job : tables.waiting.members()) {
    Sum& sum = sums[tables.jobs.user[job]];
    sum.served += tables.jobs.attained(job, now);
    ++sum.waiting;
  }
  for (const auto& [job, until] : tables.held_until) {
    sums[tables.jobs.user[job]].served += tables.jobs.attained(job, now);
  }
  const IdVector<UserId, double> entitled = entitled_gpus(tables);
  json list = json::array();
  for (UserId user : ids<UserId>(tables.users.size())) {
    const Sum& sum = sums[user];
    list.push_back({{"name", tables.users.names[user]},
                    {"tickets", tables.users.tickets[user]},
                    {"gpu_s", gpu_seconds(sum.served + book.served(user))},
                    {"entitled_gpus", entitled[user]},
                    {"held_gpus", sum.allocated},
                    {"jobs_waiting", sum.waiting},
                    {"jobs_running", sum.running}});
  }
  return {{"users", std::move(list)}};
}

std::string Views::metrics(Time now) const {
  PrometheusText text;
  text.family("gpus", "gauge", "GPUs by state.");
  std::map<std::string, int> states;
  const json nodes = cluster(now)["nodes"];
  for (const json& node : nodes) {
    for (const json& gpu : node["gpus"]) ++states[gpu["state"].get<std::string>()];
  }
  for (const auto& [state, count] : states) text.value({{"state", state}}, count);
  text.family("jobs", "gauge", "Jobs that are here, by state.");
  for (const auto& [state, jobs] : {std::pair("waiting", tables.waiting.members().size()),
                                    std::pair("running", tables.running.members().size()),
                                    std::pair("held", tables.held_until.size())}) {
    text.value({{"state", state}}, static_cast<double>(jobs));
  }
  text.family("jobs_done_total", "counter", "Jobs that are done, by how they ended.");
  const JobCounts& counts = tables.counts;
  const std::int64_t cancelled = book.cancelled();  // which count as failed in the journal
  for (const auto& [end, jobs] :
       {std::pair("finished", counts.finished), std::pair("failed", counts.failed - cancelled),
        std::pair("cancelled", cancelled), std::pair("rejected", counts.rejected)}) {
    text.value({{"end", end}}, static_cast<double>(jobs));
  }
  const json list = users(now)["users"];
  const auto by_user = [&](const char* field) {
    for (const json& user : list) {
      text.value({{"user", user["name"].get<std::string>()}}, user[field].get<double>());
    }
  };
  text.family("user_gpu_seconds_total", "counter", "GPU time served to each user's jobs.");
  by_user("gpu_s");
  text.family("user_entitled_gpus", "gauge", "GPUs that each user is entitled to now.");
  by_user("entitled_gpus");
  text.family("user_held_gpus", "gauge", "GPUs that each user's jobs have.");
  by_user("held_gpus");
  return text.text();
}

}  // namespace fairlead
