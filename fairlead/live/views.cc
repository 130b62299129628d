#include "fairlead/live/views.h"

#include "fairlead/base/time_text.h"
#include "fairlead/live/entitled_gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace fairlead {
namespace {

using nlohmann::json;

double gpu_seconds(GpuTime time) { return static_cast<double>(time.gpu_ms) / 1000.0; }

// "exit code 3" and "signal 9", as fairlead/local/job_ends.cc writes them; "exit code 127: cannot run x".
json number_after(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return nullptr;
  int number = 0;
  text.remove_prefix(prefix.size());
  for (const char c : text.substr(0, text.find(':'))) {
    if (c < '0' || c > '9') return nullptr;
    number = number * 10 + (c - '0');
  }
  return number;
}

// Returns the reason of the job's state; may be empty.
std::string reason_of(const JobBook::Entry& entry, const BackendFacts::JobFacts& facts) {
  if (!entry.reason.empty()) return entry.reason;
  if (!facts.after.empty()) return facts.after;
  if (!facts.retries || facts.retries->used() == 0) return "";
  return fmt::format("{} of {} retries used", facts.retries->used(), facts.retries->most);
}

json progress_of(const BackendFacts::JobFacts& facts) {
  if (!facts.progress) return nullptr;
  return {{"done", facts.progress->done},
          {"total", facts.progress->total},
          {"unit_per_s", facts.progress->unit_per_s}};
}

json speed_of(const BackendFacts::JobFacts& facts) {
  if (!facts.speed) return nullptr;
  return {{"unit_per_s", facts.speed->unit_per_s},
          {"unit", facts.speed->unit},
          {"sensor", facts.speed->sensor}};
}

json load_of(const BackendFacts::JobFacts& facts) {
  if (!facts.load) return nullptr;
  return {{"busy_percent", facts.load->busy_percent},
          {"power_w", facts.load->power_w ? json(*facts.load->power_w) : json(nullptr)}};
}

json seconds_or_null(Duration time) {
  return time.ms == 0 ? json(nullptr) : json(to_seconds(time));
}

json number_or_null(std::uint32_t number) { return number == 0 ? json(nullptr) : json(number); }

// Returns the GPUs of one slice by their numbers on its host.
json numbers_of(std::uint32_t first, std::uint64_t mask) {
  json numbers = json::array();
  for (; mask != 0; mask &= mask - 1) {
    numbers.push_back(first + static_cast<std::uint32_t>(std::countr_zero(mask)));
  }
  return numbers;
}

}  // namespace

FirstOnHost first_gpus_on_host(const Cluster& cluster) {
  FirstOnHost first;
  IdVector<HostId, std::uint32_t> next;
  next.resize(cluster.hosts);
  for (NodeId node : ids<NodeId>(cluster.nodes())) {
    first.push_back(next[cluster.node_host[node]]);
    next[cluster.node_host[node]] += cluster.node_gpus[node];
  }
  return first;
}

// The job on each GPU of each node.
struct Views::Gpus {
  Gpus(const Views& views, Time at)
      : now(at),
        outages(views.backend.outages(at)),
        first(first_gpus_on_host(views.tables.cluster)) {
    const Tables& of = views.tables;
    for (NodeId node : ids<NodeId>(of.cluster.nodes())) {
      jobs.push_back(std::vector<JobId>(of.cluster.node_gpus[node], JobId::none()));
    }
    stopping.resize(of.cluster.nodes());
    for (JobId job : of.running.members()) {
      const auto masks = of.jobs.gangs.gpu_masks(of.jobs.last[job]);
      std::size_t i = 0;
      for (Slice slice : of.jobs.last_gang(job)) {
        for (std::uint64_t left = masks[i++]; left != 0; left &= left - 1) {
          jobs[slice.node][static_cast<std::size_t>(std::countr_zero(left))] = job;
        }
      }
    }
    for (const auto& [run, busy] : of.stopping) {
      for (const auto& [node, mask] : busy.gpus) stopping[node] |= mask;
    }
  }
  Time now;
  std::vector<BackendFacts::Outage> outages;
  FirstOnHost first;
  IdVector<NodeId, std::vector<JobId>> jobs;
  IdVector<NodeId, std::uint64_t> stopping;
};

std::string foreign_remark(const BackendFacts& backend, const GpuProcess& process, Time now) {
  const JobId job = process.task.job;
  std::string text = job.is_none() ? "is not a Fairlead job"
                                   : fmt::format("is of job {}, which has other GPUs", job.row());
  if (const std::string_view user = backend.charged_user(process); !user.empty())
    return fmt::format("{}, and {} is charged for the GPU", text, user);
  const Time ends = backend.end_of(process);
  if (ends == Time::never()) return text;
  text += ends > now ? fmt::format(", and is ended in {}", span_text((ends - now).ms))
                     : ", and was asked to end";
  return text;
}

std::string reservation_text(const BackendFacts::Reservation& one, std::int64_t unix_ms) {
  std::string text = fmt::format("{} {} GPU{} reserved for {}{} (reservation {})", one.gpus,
                                 one.type, one.gpus == 1 ? " is" : "s are",
                                 one.is_group ? "the group " : "", one.holder, one.id);
  if (one.from_unix_ms > unix_ms)
    return fmt::format("{} in {}, for {}", text, span_text(one.from_unix_ms - unix_ms),
                       span_text(one.to_unix_ms - one.from_unix_ms));
  return fmt::format("{}, for {} more{}", text, span_text(one.to_unix_ms - unix_ms),
                     one.state == "lent" ? "; others have them until it submits a job" : "");
}

json Views::foreign_on(std::uint32_t gpu, Time now) const {
  json list = json::array();
  for (const GpuProcess& process : backend.foreign()) {
    if (process.gpu != gpu) continue;
    const JobId job = process.task.job;
    list.push_back({{"pid", process.pid},
                    {"name", process.name},
                    {"user", process.user},
                    {"job", job.is_none() ? json(nullptr) : json(job.row())},
                    {"remark", foreign_remark(backend, process, now)}});
  }
  return list;
}

json Views::node(NodeId node, const Gpus& of) const {
  const Cluster& cluster = tables.cluster;
  const Tables::NodeState& state = tables.nodes[node];
  json gpus = json::array();
  for (std::uint32_t i = 0; i < cluster.node_gpus[node]; ++i) {
    const std::uint32_t gpu = of.first[node] + i;
    const std::uint64_t bit = std::uint64_t{1} << i;
    const JobId job = of.jobs[node][i];
    const auto outage = std::ranges::find(of.outages, gpu, &BackendFacts::Outage::gpu);
    const std::string_view text = !job.is_none()                   ? "busy"
                                  : outage != of.outages.end()     ? outage->state
                                  : (state.up & bit) == 0          ? "down"
                                  : (state.closed & bit) != 0      ? "closed"
                                  : (of.stopping[node] & bit) != 0 ? "stopping"
                                                                   : "idle";
    gpus.push_back({{"index", gpu},
                    {"state", text},
                    {"foreign", foreign_on(gpu, of.now)},
                    {"outage", outage == of.outages.end() ? json(nullptr) : json(outage->reason)},
                    {"job", job.is_none() ? json(nullptr) : json(job.row())}});
  }
  return {{"name", cluster.node_names[node]},
          {"type", cluster.type_names[cluster.node_type[node]]},
          {"is_cordoned", tables.cordoned.contains(node)},
          {"gpus", std::move(gpus)}};
}

json Views::cluster(Time now) const {
  const Gpus gpus(*this, now);
  json nodes = json::array();
  for (NodeId id : ids<NodeId>(tables.cluster.nodes())) nodes.push_back(node(id, gpus));
  return {{"now_unix_ms", backend.unix_ms(now)},
          {"policy", policy},
          {"policy_options", policy_options},
          {"nodes", std::move(nodes)},
          {"reservations", reservations(now)},
          {"jobs_waiting", tables.waiting.members().size()},
          {"jobs_running",
           tables.running.members().size() + tables.running_without_gpus.members().size()}};
}

json Views::jobs(Time now, std::string_view user, bool all) const {
  const FirstOnHost first = first_gpus_on_host(tables.cluster);
  json list = json::array();
  for (JobId id : ids<JobId>(tables.jobs.size())) {
    if (!tables.jobs.has(id) || (!tables.jobs.is_here(id) && !all)) continue;
    if (!user.empty() && tables.users.names[tables.jobs.user[id]] != user) continue;
    list.push_back(job(id, now, first));
  }
  return {{"jobs", std::move(list)}};
}

json Views::job(JobId id, Time now) const {
  return job(id, now, first_gpus_on_host(tables.cluster));
}

json Views::job(JobId id, Time now, const FirstOnHost& first) const {
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
      on.push_back({{"node", tables.cluster.node_names[slice.node]},
                    {"gpus", numbers_of(first[slice.node], masks[i++])}});
    }
  }
  const BackendFacts::JobFacts facts = backend.of(id, now);
  const json left =
      facts.retries ? json(facts.retries->most - facts.retries->used()) : json(nullptr);
  const bool is_over = !jobs.is_here(id);
  const json exit_code =
      jobs.state[id] == JobState::kFinished ? json(0) : number_after(entry.reason, "exit code ");
  json view = {{"id", id.row()},
               {"name", tables.names[id]},
               {"user", tables.users.names[jobs.user[id]]},
               {"model", jobs.model[id].is_none() ? "" : tables.models[jobs.model[id]]},
               {"gpus", jobs.gpus[id]},
               {"state", state_text()},
               {"submitted_unix_ms", backend.unix_ms(jobs.arrival[id])},
               {"since_unix_ms", backend.unix_ms(entry.since)},
               {"finished_unix_ms", is_over ? json(backend.unix_ms(entry.done)) : json(nullptr)},
               {"gpu_s", gpu_seconds(gpu_time(tables, id, now))},
               {"on", std::move(on)},
               {"restarts", entry.restarts()},
               {"reason", reason_of(entry, facts)},
               {"exit_code", exit_code},
               {"signal", number_after(entry.reason, "signal ")},
               {"declared_s", seconds_or_null(entry.declared)},
               {"gpu_memory_mb", number_or_null(facts.gpu_memory_mb)},
               {"memory_mb", number_or_null(facts.memory_mb)},
               {"cpus", facts.cpu_milli > 0 ? json(facts.cpu_milli / 1000.0) : json(nullptr)},
               {"limit_s", seconds_or_null(facts.limit)},
               {"priority", facts.priority},
               {"notify", facts.notify},
               {"retries_left", left},
               {"idle_s", seconds_or_null(facts.idle)},
               {"progress", progress_of(facts)},
               {"speed", speed_of(facts)},
               {"load", load_of(facts)},
               {"moves", !jobs.keeps_no_work(id)}};
  const JobExtras extras = jobs.extras_of(id);
  JobExtras::each(extras, [&](const char* name, auto value, const auto&) { view[name] = value; });
  return view;
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
  for (JobId job : tables.running_without_gpus.members()) ++sums[tables.jobs.user[job]].running;
  for (const auto& [job, until] : tables.held_until) {
    sums[tables.jobs.user[job]].served += gpu_time(tables, job, now);
  }
  const IdVector<UserId, double> entitled = entitled_gpus(tables);
  json list = json::array();
  for (UserId user : ids<UserId>(tables.users.size())) {
    const Sum& sum = sums[user];
    const std::uint32_t most = backend.gpus_max(tables.users.names[user]);
    list.push_back({{"name", tables.users.names[user]},
                    {"tickets", tables.users.tickets[user]},
                    {"gpu_s", gpu_seconds(sum.served + book.served(user))},
                    {"entitled_gpus", entitled[user]},
                    {"held_gpus", sum.allocated},
                    {"max_gpus", number_or_null(most)},
                    {"jobs_waiting", sum.waiting},
                    {"jobs_running", sum.running}});
  }
  json groups = json::array();
  for (const BackendFacts::Group& group : backend.groups()) {
    std::uint32_t allocated = 0;
    json names = json::array();
    for (const UserId user : group.users) {
      allocated += sums[user].allocated;
      names.push_back(tables.users.names[user]);
    }
    groups.push_back({{"name", group.name},
                      {"max_gpus", group.gpus_max},
                      {"held_gpus", allocated},
                      {"users", std::move(names)}});
  }
  return {{"users", std::move(list)}, {"groups", std::move(groups)}};
}

json usage_json(const Tables& tables, const UsageBook::Times& times) {
  json list = json::array();
  for (const auto& [of, time] : times) {
    list.push_back({{"user", tables.users.names[of.user]},
                    {"model", of.model.is_none() ? "" : tables.models[of.model]},
                    {"gpu_type", tables.cluster.type_names[of.type]},
                    {"foreign", of.is_foreign},
                    {"gpu_s", gpu_seconds(time)}});
  }
  return {{"usage", std::move(list)}};
}

json Views::usage(Time now, Duration span) const {
  const Time from = now - Time{} > span ? now - span : Time{};
  return usage_json(tables, book.usage().between(from, now));
}

void Views::add_gpu_metrics(PrometheusText& text, Time now) const {
  text.family("gpu_out_of_service", "gauge", "GPUs that no job may have, with the cause.");
  for (const BackendFacts::Outage& outage : backend.outages(now))
    text.value({{"gpu", fmt::format("{}", outage.gpu)}, {"cause", outage.cause}}, 1);
}

json Views::reservations(Time now) const {
  const std::int64_t unix_ms = backend.unix_ms(now);
  json list = json::array();
  for (const BackendFacts::Reservation& one : backend.reservations(now)) {
    list.push_back({{"id", one.id},
                    {"user", one.is_group ? json(nullptr) : json(one.holder)},
                    {"group", one.is_group ? json(one.holder) : json(nullptr)},
                    {"gpus", one.gpus},
                    {"gpu_type", one.type},
                    {"from_unix_ms", one.from_unix_ms},
                    {"to_unix_ms", one.to_unix_ms},
                    {"state", one.state},
                    {"text", reservation_text(one, unix_ms)}});
  }
  return list;
}

void Views::add_reservation_metrics(PrometheusText& text, Time now) const {
  text.family("reserved_gpus", "gauge", "GPUs that are reserved now or later, by reservation.");
  for (const BackendFacts::Reservation& one : backend.reservations(now)) {
    text.value({{"reservation", fmt::format("{}", one.id)},
                {one.is_group ? "group" : "user", one.holder},
                {"gpu_type", one.type},
                {"state", one.state}},
               one.gpus);
  }
}

// Returns null if no profile of the model was seen.
json profile_json(const JobProfile& profile) {
  if (profile.gradients_kb == 0) return nullptr;
  return {{"parameters_mb", profile.parameters_kb / 1e3},
          {"gradients_mb", profile.gradients_kb / 1e3},
          {"largest_tensor_mb", profile.largest_tensor_kb / 1e3},
          {"workers", profile.workers},
          {"samples", number_or_null(profile.samples)},
          {"step_ms", profile.step_us / 1e3}};
}

// The confidence is the probability that the next measurement agrees, by Laplace's rule of succession.
json Views::models() const {
  json list = json::array();
  for (const LearnedSpeed& speed : speeds.learned()) {
    const double agreeing = speed.measured.agreeing;
    list.push_back({{"user", tables.users.names[speed.user]},
                    {"model", speed.model.is_none() ? "" : tables.models[speed.model]},
                    {"gpu_type", tables.cluster.type_names[speed.type]},
                    {"gpus", speed.measured.gpus},
                    {"tier", tier_name(speed.measured.tier)},
                    {"speed", speed.per_gpu},
                    {"measurements", speed.measured.measurements},
                    {"confidence", (agreeing + 1) / (agreeing + 2)},
                    {"measured_unix_ms", backend.unix_ms(speed.measured.last)},
                    {"profile", profile_json(speed.profile)}});
  }
  return {{"models", std::move(list)}};
}

void Views::add_decision_metrics(PrometheusText& text) const {
  text.family("decisions_cut_total", "counter",
              "Decisions that ended because their budget was used up.");
  text.value(static_cast<double>(tables.cuts));
}

void Views::add_user_metrics(PrometheusText& text, Time now) const {
  const json list = users(now)["users"];
  const auto family = [&](const char* name, const char* kind, const char* help, const char* field) {
    text.family(name, kind, help);
    for (const json& user : list) {
      text.value({{"user", user["name"].get<std::string>()}}, user[field].get<double>());
    }
  };
  family("user_gpu_seconds_total", "counter", "GPU time served to each user's jobs.", "gpu_s");
  family("user_entitled_gpus", "gauge", "GPUs that each user is entitled to now.", "entitled_gpus");
  family("user_held_gpus", "gauge", "GPUs that each user's jobs have.", "held_gpus");
}

}  // namespace fairlead
