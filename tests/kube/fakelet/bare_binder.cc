// fairlead-bare-binder SCHEDULER: binds all pods that wait for that scheduler, to nodes in turn, as
// fast as the API server accepts. It measures the limit of a client that decides nothing. Prints a
// JSON object.

#include "fairlead/kube/curl_door.h"
#include "fairlead/kube/reflector.h"
#include "fairlead/pods/members.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <set>

namespace fairlead {
namespace {

constexpr std::size_t kOpenMax = 200;  // calls on their way at once

std::vector<Json> list(KubeDoor& door, const std::string& path, const std::string& selector) {
  Reflector reflector(door, path, selector, [](const ReflectedChange&) {});
  while (!reflector.is_synced()) {
    reflector.wake();
    (void)reflector.handle(door.wait(reflector.wake_at()));
  }
  std::vector<Json> found;
  found.reserve(reflector.objects().size());
  for (const auto& [name, object] : reflector.objects()) found.push_back(*object);
  return found;
}

KubeRequest binding_of(const Pod& pod, const std::string& node) {
  const Json binding = {{"metadata", {{"name", pod.name}, {"uid", pod.uid}}},
                        {"target", {{"kind", "Node"}, {"name", node}}}};
  return {.method = "POST",
          .path = fmt::format("/api/v1/namespaces/{}/pods/{}/binding", pod.name_space, pod.name),
          .body = compact_text(binding)};
}

Status bind_all(const std::string& scheduler) {
  FL_TRY_ASSIGN(target, find_kube_target(""));
  FL_TRY_ASSIGN(door, CurlDoor::open(std::move(target)));
  const std::vector<Json> nodes = list(*door, "/api/v1/nodes", "");
  const std::vector<Json> pods = list(
      *door, "/api/v1/pods", "fieldSelector=spec.nodeName%3D,spec.schedulerName%3D" + scheduler);
  if (nodes.empty()) return input_error("there are no nodes");
  const Time start = door->now();
  std::set<CallId> open;
  std::size_t next = 0;
  std::size_t bound = 0;
  while (next < pods.size() || !open.empty()) {
    while (next < pods.size() && open.size() < kOpenMax) {
      const std::string& node = text_at(nodes[next % nodes.size()], {"metadata", "name"});
      open.insert(door->call(binding_of(parse_pod(pods[next++]), node)));
    }
    const KubeEvent event = door->wait(door->now() + seconds(60));
    if (open.erase(event.call) > 0 && event.status == 201) ++bound;
  }
  fmt::print("{{\"pods\": {}, \"bound\": {}, \"took_s\": {:.3f}}}\n", pods.size(), bound,
             static_cast<double>((door->now() - start).ms) / 1000);
  return {};
}

}  // namespace
}  // namespace fairlead

int main(int count, char** words) {
  const auto done = fairlead::bind_all(count > 1 ? words[1] : "bare");
  if (!done) fmt::print(stderr, "fairlead-bare-binder: {}\n", done.error().message);
  return done ? 0 : 1;
}
