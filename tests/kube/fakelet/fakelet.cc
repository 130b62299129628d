#include "fakelet.h"

#include "fairlead/base/parse.h"
#include "fairlead/kube/backoff.h"
#include "fairlead/pods/owner.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <utility>

namespace fairlead {
namespace {

constexpr std::string_view kDown = "bed/down";
constexpr std::string_view kGang = "bed/gang";
constexpr std::string_view kWork = "bed/work-s";
// Steps in a simulated second of the reference gang. Real programs print about as many.
constexpr double kStepsPerS = 10;
constexpr Duration kPrint = seconds(1);

bool is_terminal(std::string_view phase) { return phase == "Succeeded" || phase == "Failed"; }

Json condition(std::string_view type, bool is_true, const std::string& now) {
  return {{"type", type}, {"status", is_true ? "True" : "False"}, {"lastTransitionTime", now}};
}

}  // namespace

Fakelet::Fakelet(KubeDoor& door, const TrainingWorld& world, FakeletOptions options, Log log)
    : door_(door),
      world_(world),
      options_(options),
      log_(std::move(log)),
      reflected_nodes_(door, "/api/v1/nodes", "",
                       [this](const ReflectedChange& change) { on_node(change); }),
      reflected_pods_(door, "/api/v1/pods", "fieldSelector=spec.nodeName%21%3D",
                      [this](const ReflectedChange& change) { on_pod(change); }) {
  for (NodeId node : ids<NodeId>(world.cluster.nodes())) {
    rows_[world.cluster.node_names[node]] = node;
  }
  if (!options_.logs.empty()) print_at_ = door.now();
}

void Fakelet::make_nodes() {
  const std::string now = timestamp(door_.unix_ms());
  const Cluster& cluster = world_.cluster;
  for (const auto& [name, row] : rows_) {
    const Json has = {{"cpu", "96"},
                      {"memory", "1Ti"},
                      {"pods", "110"},
                      {kGpuResource, std::to_string(cluster.node_gpus[row])}};
    const Json node = {{"metadata",
                        {{"name", name},
                         {"labels",
                          {{"kubernetes.io/hostname", name},
                           {kGpuProduct, cluster.type_names[cluster.node_type[row]]},
                           {"network.topology.nvidia.com/leaf",
                            fmt::format("r{}", cluster.node_rack[row].row())}}}}},
                       {"status",
                        {{"capacity", has},
                         {"allocatable", has},
                         {"conditions", Json::array({condition("Ready", true, now)})}}}};
    KubeRequest request{.method = "POST", .path = "/api/v1/nodes", .body = compact_text(node)};
    const CallId call = door_.call(request);
    node_calls_[call] = std::move(request);
  }
}

bool Fakelet::run(Time until) {
  while (!leaves_ && door_.now() < until) {
    reflected_nodes_.wake();
    reflected_pods_.wake();
    take(door_.wait(std::min(until, deadline())));
    const Time now = door_.now();
    for (auto& [uid, fake] : pods_) {
      if (fake.retry <= now) settle(fake);
    }
    finish_what_is_done();
    if (print_at_ <= now) print_steps();
  }
  return !leaves_;
}

Time Fakelet::simulated() const {
  const double ms = static_cast<double>(door_.now().ms) * options_.factor;
  return {static_cast<std::int64_t>(ms)};
}

Time Fakelet::deadline() const {
  Time due = std::min({reflected_nodes_.wake_at(), reflected_pods_.wake_at(), print_at_});
  for (const auto& [uid, fake] : pods_) due = std::min(due, fake.retry);
  for (const auto& [uid, gang] : gangs_) {
    if (!gang.training || gang.is_done || gang.training->done_at() == Time::never()) continue;
    const double ms = static_cast<double>(gang.training->done_at().ms) / options_.factor;
    due = std::min(due, Time{static_cast<std::int64_t>(std::ceil(ms))});
  }
  return due;
}

void Fakelet::take(const KubeEvent& event) {
  if (event.kind == KubeEvent::Kind::kTerminate) leaves_ = true;
  if (reflected_nodes_.handle(event) || reflected_pods_.handle(event)) return;
  if (event.kind == KubeEvent::Kind::kAnswer) answer(event);
}

void Fakelet::answer(const KubeEvent& event) {
  if (const auto node = node_calls_.extract(event.call); !node.empty()) {
    const bool is_taken = event.status == 409 || (event.status >= 200 && event.status < 300);
    if (is_taken || node.mapped().method != "POST") return;
    const CallId again = door_.call(node.mapped());
    node_calls_[again] = node.mapped();
    return;
  }
  const auto call = calls_.extract(event.call);
  const auto found = call.empty() ? pods_.end() : pods_.find(call.mapped());
  if (found == pods_.end()) return;
  FakePod& fake = found->second;
  fake.call = 0;
  const bool is_done = event.status >= 200 && event.status < 300;
  fake.failures = is_done ? 0 : fake.failures + 1;
  // A successful write is seen soon; a failed one is tried again.
  fake.retry = door_.now() + (is_done ? seconds(5) : backoff(fake.failures, door_.random()));
}

// --- Nodes ------------------------------------------------------------------------------------

void Fakelet::on_node(const ReflectedChange& change) {
  if (change.object == nullptr) return;
  const std::string& name = change.name.second;
  const Json& marks = json_at(*change.object, {"metadata", "annotations"});
  const bool is_gone = change.kind == ReflectedChange::Kind::kDeleted;
  const bool is_down = is_gone || (marks.is_object() && marks.contains(kDown));
  if (is_down == is_silent(name)) return;
  if (is_down) {
    silent_.insert(name);
  } else {
    silent_.erase(name);
  }
  log({{"what", is_down ? "node down" : "node up"}, {"node", name}});
  const Json patch = {
      {"status",
       {{"conditions", Json::array({condition("Ready", !is_down, timestamp(door_.unix_ms()))})}}}};
  if (!is_gone) {
    KubeRequest request{.method = "PATCH",
                        .path = fmt::format("/api/v1/nodes/{}/status", name),
                        .body = compact_text(patch),
                        .content_type = std::string(kStrategicMergePatch)};
    const CallId call = door_.call(request);
    node_calls_[call] = std::move(request);
  }
  for (const std::string& uid : pods_on_[name]) {
    FakePod& fake = pods_.at(uid);
    if (is_down) {
      leave(fake, false);
    } else {
      settle(fake);
    }
  }
}

// --- Pods -------------------------------------------------------------------------------------

void Fakelet::see(FakePod& fake, const Json& object) {
  fake.pod = parse_pod(object);
  fake.phase = text_at(object, {"status", "phase"});
  const auto mark = [&](std::string_view name) -> const std::string& {
    return text_at(object, {"metadata", "annotations", name});
  };
  fake.gang_pods = static_cast<std::uint32_t>(parse_integer(mark(kGang)).value_or(1));
  fake.work = {parse_seconds(mark(kWork)).value_or(0)};
  fake.model = mark(kModelOf);
}

void Fakelet::on_pod(const ReflectedChange& change) {
  if (change.object == nullptr) return;
  const std::string& uid = text_at(*change.object, {"metadata", "uid"});
  if (!rows_.contains(text_at(*change.object, {"spec", "nodeName"}))) return;
  if (change.kind == ReflectedChange::Kind::kDeleted) {
    const auto found = pods_.find(uid);
    if (found == pods_.end()) return;
    leave(found->second, true);
    log(found->second, "gone");
    calls_.erase(found->second.call);
    pods_on_[found->second.pod.node].erase(uid);
    pods_.erase(found);
    return;
  }
  FakePod& fake = pods_[uid];
  see(fake, *change.object);
  pods_on_[fake.pod.node].insert(uid);
  settle(fake);
}

std::uint32_t Fakelet::taken(const std::string& node) const {
  std::uint32_t gpus = 0;
  const auto found = pods_on_.find(node);
  if (found == pods_on_.end()) return 0;
  for (const std::string& uid : found->second) {
    const FakePod& fake = pods_.at(uid);
    if (fake.is_admitted && !is_terminal(fake.phase)) gpus += fake.pod.gpus;
  }
  return gpus;
}

void Fakelet::admit(FakePod& fake) {
  const std::string& node = fake.pod.node;
  fake.is_admitted = taken(node) + fake.pod.gpus <= world_.cluster.node_gpus[rows_.at(node)];
  fake.wanted = fake.is_admitted ? "Running" : "Failed";
  if (!fake.is_admitted) fake.reason = fmt::format("OutOf{}", kGpuResource);
  log(fake, fake.is_admitted ? "admitted" : "refused");
}

void Fakelet::settle(FakePod& fake) {
  fake.retry = Time::never();
  if (is_silent(fake.pod.node)) return;
  const bool is_over = is_terminal(fake.phase);
  if (fake.wanted.empty() && !is_over && !fake.pod.is_leaving) admit(fake);
  if (fake.pod.is_leaving && !is_over && !is_terminal(fake.wanted)) {
    leave(fake, true);
    fake.wanted = "Failed";  // its process was asked to end
    fake.reason.clear();
    log(fake, "stopped");
  }
  if (fake.phase == "Running" && fake.wanted == "Running") join(fake);
  if (fake.call != 0) return;
  if (fake.pod.is_leaving && is_over) {
    const Json body = {{"gracePeriodSeconds", 0}, {"preconditions", {{"uid", fake.pod.uid}}}};
    return send(fake, {.method = "DELETE",
                       .path = fmt::format("/api/v1/namespaces/{}/pods/{}", fake.pod.name_space,
                                           fake.pod.name),
                       .body = compact_text(body)});
  }
  if (!is_over && !fake.wanted.empty() && fake.phase != fake.wanted) {
    send(fake, status_request(fake));
  }
}

void Fakelet::send(FakePod& fake, KubeRequest request) {
  fake.call = door_.call(std::move(request));
  calls_[fake.call] = fake.pod.uid;
}

KubeRequest Fakelet::status_request(const FakePod& fake) const {
  const std::string now = timestamp(door_.unix_ms());
  const bool runs = fake.wanted == "Running";
  const Json state =
      runs ? Json{{"running", {{"startedAt", now}}}}
           : Json{{"terminated",
                   {{"exitCode", fake.wanted == "Succeeded" ? 0 : 143}, {"finishedAt", now}}}};
  Json status = {{"phase", fake.wanted},
                 {"conditions", Json::array({condition("Ready", runs, now)})}};
  if (fake.is_admitted) {
    status["startTime"] = now;
    status["containerStatuses"] = Json::array({{{"name", "train"},
                                                {"image", "none"},
                                                {"imageID", ""},
                                                {"ready", runs},
                                                {"restartCount", 0},
                                                {"state", state}}});
  }
  if (!fake.reason.empty()) status["reason"] = fake.reason;
  const Json patch = {{"metadata", {{"uid", fake.pod.uid}}}, {"status", status}};
  return {.method = "PATCH",
          .path = fmt::format("/api/v1/namespaces/{}/pods/{}/status", fake.pod.name_space,
                              fake.pod.name),
          .body = compact_text(patch),
          .content_type = std::string(kStrategicMergePatch)};
}

// --- Gangs ------------------------------------------------------------------------------------

void Fakelet::join(FakePod& fake) {
  if (fake.work == Duration{} || fake.pod.owner.empty()) return;
  Gang& gang = gangs_[fake.pod.owner];
  if (gang.is_done) {  // it finds nothing left to do
    fake.wanted = "Succeeded";
    return log(fake, "succeeded");
  }
  if (!gang.running.insert(fake.pod.uid).second) return;
  if (gang.running.size() == fake.gang_pods) start(gang, fake);
}

void Fakelet::start(Gang& gang, const FakePod& any) {
  if (!gang.training) {
    gang.name =
        fmt::format("{}/{}", any.pod.name_space, any.pod.name.substr(0, any.pod.name.rfind('-')));
    if (any.pod.index >= 0) gang.name.resize(gang.name.rfind('-'));
    auto made = Training::make(
        world_, {.model = any.model, .gpus = any.gang_pods * any.pod.gpus, .work = any.work});
    if (!made)
      return log({{"what", "no training"}, {"job", gang.name}, {"why", made.error().message}});
    gang.training = *std::move(made);
  }
  std::map<NodeId, std::uint32_t> on;
  for (const std::string& uid : gang.running) {
    const Pod& pod = pods_.at(uid).pod;
    on[rows_.at(pod.node)] += pod.gpus;
  }
  std::vector<Slice> slices;
  Json nodes;
  for (const auto& [node, gpus] : on) {
    slices.push_back({.node = node, .gpus = static_cast<std::uint16_t>(gpus)});
    nodes[world_.cluster.node_names[node]] = gpus;
  }
  Training& training = *gang.training;
  training.begin(simulated(), std::move(slices));
  log({{"what", "begins"},
       {"job", gang.name},
       {"uid", any.pod.owner},
       {"nodes", nodes},
       {"place", place_kind_name(training.place())},
       {"overhead_s", static_cast<double>(training.overhead().ms) / 1000},
       {"speed", training.rate().value()},
       {"progress", training.progress(simulated())}});
}

void Fakelet::leave(const FakePod& fake, bool saved) {
  const auto found = gangs_.find(fake.pod.owner);
  if (found == gangs_.end() || found->second.running.erase(fake.pod.uid) == 0) return;
  Gang& gang = found->second;
  if (gang.is_done || !gang.training || !gang.training->trains()) return;
  gang.training->end(simulated(), saved);
  log({{"what", "ends"},
       {"job", gang.name},
       {"uid", fake.pod.owner},
       {"saved", saved},
       {"progress", gang.training->progress(simulated())}});
}

void Fakelet::finish_what_is_done() {
  for (auto& [uid, gang] : gangs_) {
    if (gang.is_done || !gang.training || gang.training->done_at() > simulated()) continue;
    gang.is_done = true;
    log({{"what", "done"}, {"job", gang.name}, {"uid", uid}});
    for (const std::string& member : gang.running) {
      FakePod& fake = pods_.at(member);
      fake.wanted = "Succeeded";
      log(fake, "succeeded");
      settle(fake);
    }
  }
}

// A gang prints nothing while it loads its checkpoint.
void Fakelet::print_steps() {
  print_at_ = door_.now() + kPrint;
  for (auto& [uid, gang] : gangs_) {
    if (gang.is_done || !gang.training || !gang.training->trains()) continue;
    const FakePod& first =
        pods_.at(*std::ranges::min_element(gang.running, {}, [this](const std::string& member) {
          return pods_.at(member).pod.index;
        }));
    const double total = static_cast<double>(first.work.ms) / 1000 * kStepsPerS;
    const auto steps = static_cast<std::int64_t>(gang.training->progress(simulated()) * total);
    if (std::exchange(gang.printed, steps) == steps) continue;
    print(first, fmt::format("step {}/{:.0f}: loss 0.5", steps, total));
  }
}

void Fakelet::print(const FakePod& fake, const std::string& line) const {
  const std::filesystem::path folder =
      options_.logs / fmt::format("{}_{}_{}", fake.pod.name_space, fake.pod.name, fake.pod.uid) /
      "train";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "0.log", std::ios::app)
      << fmt::format("{} stdout F {}\n", timestamp(door_.unix_ms()), line);
}

void Fakelet::log(const FakePod& fake, std::string_view what) {
  log({{"what", what},
       {"pod", fmt::format("{}/{}", fake.pod.name_space, fake.pod.name)},
       {"uid", fake.pod.uid},
       {"owner", fake.pod.owner},
       {"node", fake.pod.node},
       {"gpus", fake.pod.gpus}});
}

void Fakelet::log(Json line) {
  line["at_ms"] = door_.unix_ms();
  log_(compact_text(line));
}

}  // namespace fairlead
