#include "fairlead/cli/kubernetes.h"

#include "fairlead/kube/failure.h"
#include "fairlead/kube/json.h"
#include "fairlead/kube/open_cluster.h"
#include "fairlead/pods/pods_server.h"

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

// One answer's text.
Result<std::string> get(CurlDoor& door, const std::string& path) {
  const CallId call = door.call({"GET", path});
  for (;;) {
    const KubeEvent event = door.wait(door.now() + kKubeCallLimit);
    if (event.call != call) continue;
    if (event.status == 200) return event.text;
    return run_error("{}", failure_text(event));
  }
}

}  // namespace

Status why_on_kubernetes(const KubernetesFlags& flags, const std::string& job) {
  const std::string path = fmt::format("/why/{}", job);
  KubeTarget target;
  target.cluster.server = "http://" + flags.http;
  std::string prefix;
  if (flags.http.empty()) {
    FL_TRY_ASSIGN(found, find_kube_target(flags.context));
    target = std::move(found);
  }
  FL_TRY_ASSIGN(door, CurlDoor::open(std::move(target)));
  if (flags.http.empty()) {
    FL_TRY_ASSIGN(lease, get(*door, fmt::format("/apis/coordination.k8s.io/v1/namespaces/{}/leases/"
                                                "fairlead",
                                                flags.name_space)));
    const Json object = parsed_json(lease).value_or(Json());
    const std::string& holder = text_at(object, {"spec", "holderIdentity"});
    if (holder.empty()) return run_error("no scheduler leads");
    // A process's identity starts with its host, which is its pod's name.
    prefix = fmt::format("/api/v1/namespaces/{}/pods/{}:8080/proxy", flags.name_space,
                         holder.substr(0, holder.rfind('_')));
  }
  FL_TRY_ASSIGN(words, get(*door, prefix + path));
  fmt::print("{}", words);
  return {};
}

Status serve_kubernetes(const KubernetesFlags& flags) {
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
  return serve_pods(*cluster.door,
                    {.policy = flags.policy,
                     .seed = flags.seed,
                     .name_space = flags.name_space,
                     .identity = fmt::format("{}_{:016x}", host.data(), cluster.door->random()),
                     .rack_labels = flags.rack_labels,
                     .http = http.get(),
                     .stopwatch =
                         [] {
                           const auto now = std::chrono::steady_clock::now().time_since_epoch();
                           return std::chrono::duration<double>(now).count();
                         }},
                    say);
}

Result<Census> kubernetes_census(const std::string& context, const CensusOptions& options) {
  FL_TRY_ASSIGN(target, find_kube_target(context));
  FL_TRY_ASSIGN(door, CurlDoor::open(std::move(target)));
  return take_census(*door, door->now() + kCensusLimit, options);
}

}  // namespace fairlead
