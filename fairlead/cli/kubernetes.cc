#include "fairlead/cli/kubernetes.h"

#include "fairlead/input/yaml_reader.h"
#include "fairlead/kube/failure.h"
#include "fairlead/kube/json.h"
#include "fairlead/kube/open_cluster.h"
#include "fairlead/pods/pods_server.h"
#include "fairlead/pods/resume_all.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <unistd.h>

namespace fairlead {
namespace {

constexpr Duration kCensusLimit = seconds(60);
constexpr Duration kLeaveLimit = seconds(120);

Result<NodeLevels> levels_of(const KubernetesFlags& flags) {
  if (!flags.levels.empty()) return NodeLevels::of_levels(flags.levels);
  return flags.rack_labels.empty() ? NodeLevels() : NodeLevels::of_racks(flags.rack_labels);
}

GangSource source_of(const KubernetesFlags& flags) {
  return flags.is_kueue ? GangSource::kKueue : GangSource::kKubernetes;
}

KubeEvent answer_to(CurlDoor& door, KubeRequest request) {
  const CallId call = door.call(std::move(request));
  for (;;) {
    KubeEvent event = door.wait(door.now() + kKubeCallLimit);
    if (event.call == call) return event;
  }
}

Result<std::string> text_of(const KubeEvent& event) {
  if (event.status == 200) return event.text;
  return run_error("{}", failure_text(event));
}

// The way to the scheduler that leads.
struct Scheduler {
  std::unique_ptr<CurlDoor> door;
  std::string prefix;  // start of all paths there

  KubeEvent get(const std::string& path) const { return answer_to(*door, {"GET", prefix + path}); }
};

Result<Scheduler> find_scheduler(const SchedulerFlags& flags) {
  KubeTarget target;
  target.cluster.server = "http://" + flags.http;
  if (flags.http.empty()) {
    FL_TRY_ASSIGN(found, find_kube_target(flags.context));
    target = std::move(found);
  }
  FL_TRY_ASSIGN(door, CurlDoor::open(std::move(target)));
  if (!flags.http.empty()) return Scheduler{std::move(door), ""};
  FL_TRY_ASSIGN(lease, text_of(answer_to(*door, {"GET", fmt::format("/apis/coordination.k8s.io/v1/"
                                                                    "namespaces/{}/leases/fairlead",
                                                                    flags.name_space)})));
  const Json object = parsed_json(lease).value_or(Json());
  const std::string& holder = text_at(object, {"spec", "holderIdentity"});
  if (holder.empty()) return run_error("no scheduler leads");
  // A process's identity starts with its host, which is its pod's name.
  return Scheduler{std::move(door),
                   fmt::format("/api/v1/namespaces/{}/pods/{}:8080/proxy", flags.name_space,
                               holder.substr(0, holder.rfind('_')))};
}

// Returns the response of the scheduler. Error: another program answered, or none.
Result<HttpMessage> response_of(const KubeEvent& event) {
  const Json body = parsed_json(event.text).value_or(Json());
  const bool is_its = event.status == 200 || (body.is_object() && body.contains("error"));
  if (!is_its) return run_error("{}", failure_text(event));
  HttpMessage response;
  response.status = event.status;
  response.body = event.text;
  return response;
}

Result<std::string> word_of(const YamlNode& map, std::string_view key) {
  FL_TRY_ASSIGN(value, map.get(key));
  return value.text();
}

// Returns the namespace of a manifest's object; empty: it names none.
Result<std::string> namespace_of(const YamlNode& manifest) {
  const auto metadata = manifest.find("metadata");
  if (!metadata || !metadata->find("namespace")) return std::string();
  return word_of(*metadata, "namespace");
}

}  // namespace

std::vector<CLI::Option*> add_scheduler_flags(CLI::App& app, SchedulerFlags& flags) {
  return {
      app.add_option("--context", flags.context,
                     "context of the kubeconfig (default: the current one)"),
      app.add_option("--namespace", flags.name_space, "namespace of the scheduler on Kubernetes")
          ->capture_default_str(),
      app.add_option("--http", flags.http,
                     "address of that scheduler (serve --http); default: its pod, through the "
                     "API server")
          ->type_name("ADDRESS:PORT")};
}

void add_query_flags(CLI::App& app, QueryFlags& flags) {
  add_socket_flag(app, flags.socket);
  CLI::Option* from =
      app.add_option("--from", flags.from,
                     "the daemon of this machine, or the scheduler of a Kubernetes cluster")
          ->check(CLI::IsMember({"daemon", "kubernetes"}))
          ->capture_default_str();
  for (CLI::Option* option : add_scheduler_flags(app, flags.scheduler)) option->needs(from);
}

Result<DaemonQueries> connect(const QueryFlags& flags) {
  if (flags.is_kubernetes()) return connect_scheduler(flags.scheduler);
  FL_TRY_ASSIGN(daemon, Daemon::connect(flags.socket));
  return DaemonQueries(std::move(daemon));
}

Result<DaemonQueries> connect_scheduler(const SchedulerFlags& flags) {
  FL_TRY_ASSIGN(found, find_scheduler(flags));
  const auto scheduler = std::make_shared<Scheduler>(std::move(found));
  return DaemonQueries(
      [scheduler](const std::string& target) { return response_of(scheduler->get(target)); });
}

Status why_on_kubernetes(const SchedulerFlags& flags, const std::string& job) {
  FL_TRY_ASSIGN(scheduler, find_scheduler(flags));
  FL_TRY_ASSIGN(words, text_of(scheduler.get(fmt::format("/why/{}", job))));
  fmt::print("{}", words);
  return {};
}

Status serve_kubernetes(const KubernetesFlags& flags) {
  FL_TRY_ASSIGN(levels, levels_of(flags));
  FL_TRY_ASSIGN(cluster, open_cluster(flags.context));
  std::unique_ptr<HttpListener> http;
  if (!flags.http.empty()) {
    FL_TRY_ASSIGN(listener, HttpListener::open(flags.http));
    http = std::move(listener);
    cluster.door->also_wait_for(http->descriptor());
  }
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const auto say = [](const std::string& line) {
    fmt::print("fairlead: {}\n", line);
    std::fflush(stdout);
  };
  say(fmt::format("schedules by the API server at {}", cluster.server));
  return serve_pods(
      *cluster.door,
      {.policy = flags.policy,
       .seed = flags.seed,
       .world = {.name_space = flags.name_space,
                 .levels = std::move(levels),
                 .priority_scope = flags.priority_scope == "cluster" ? PriorityScope::kCluster
                                                                     : PriorityScope::kUser,
                 .source = source_of(flags),
                 .queues = flags.queues},
       .identity = fmt::format("{}_{:016x}", host.data(), cluster.door->random()),
       .http = http.get(),
       .stopwatch =
           [] {
             const auto now = std::chrono::steady_clock::now().time_since_epoch();
             return std::chrono::duration<double>(now).count();
           }},
      say);
}

Status leave_kubernetes(const KubernetesFlags& flags) {
  FL_TRY_ASSIGN(cluster, open_cluster(flags.context));
  const LeaseSettings lease{.name_space = flags.name_space,
                            .identity = fmt::format("uninstall_{:016x}", cluster.door->random())};
  FL_TRY_ASSIGN(
      names, resume_all(*cluster.door, lease, cluster.door->now() + kLeaveLimit, source_of(flags)));
  for (const std::string& name : names) fmt::print("resumed {}\n", name);
  fmt::print("fairlead: {} {}\n", names.size(),
             flags.is_kueue ? "Workloads were resumed; Kueue now starts them in its own order"
                            : "jobs were resumed; pods of scheduler fairlead now wait for one of "
                              "that name");
  return {};
}

Result<Census> kubernetes_census(const std::string& context, const CensusOptions& options) {
  FL_TRY_ASSIGN(target, find_kube_target(context));
  FL_TRY_ASSIGN(door, CurlDoor::open(std::move(target)));
  return take_census(*door, door->now() + kCensusLimit, options);
}

Result<CensusGang> gang_of_manifest(const std::string& context, const std::string& file) {
  FL_TRY_ASSIGN(source, ByteSource::open(file));
  FL_TRY_ASSIGN(text, yaml_text(source));
  FL_TRY_ASSIGN(manifest, YamlNode::parse(text, source.name()));
  FL_TRY_ASSIGN(version, word_of(manifest, "apiVersion"));
  FL_TRY_ASSIGN(kind_name, word_of(manifest, "kind"));
  const OwnerKind* kind = find_owner_kind(version, kind_name);
  if (kind == nullptr)
    return manifest.error(fmt::format("no kind of job that can be forecast: {}", kind_name));
  FL_TRY_ASSIGN(name_space, namespace_of(manifest));
  FL_TRY_ASSIGN(target, find_kube_target(context));
  if (name_space.empty()) name_space = target.name_space;
  FL_TRY_ASSIGN(door, CurlDoor::open(std::move(target)));
  // As `kubectl create` does, the server refuses unknown fields.
  const KubeEvent answer =
      answer_to(*door, {.method = "POST",
                        .path = fmt::format("{}/namespaces/{}/{}?dryRun=All&fieldValidation=Strict",
                                            kind->group_path(), name_space, kind->plural),
                        .body = std::string(text),
                        .content_type = "application/yaml"});
  if (answer.status != 201) return run_error("{}: {}", source.name(), failure_text(answer));
  auto gang = planned_gang(*kind, parsed_json(answer.text).value_or(Json()));
  if (!gang) return manifest.error(gang.error().message);
  return gang;
}

}  // namespace fairlead
