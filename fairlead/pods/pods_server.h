// The daemon on Kubernetes: waits until it leads, then schedules until it no longer does.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/kube/door.h"
#include "fairlead/pods/http_listener.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fairlead {

struct PodsServeOptions {
  std::string policy = "fairlead";  // with its options
  std::uint64_t seed = 0;
  std::string name_space = "fairlead";  // of its Lease and its ConfigMap
  std::string identity;                 // of this process: no two are the same
  // Of nodes: the first of them that a node has says which rack it is in. None: the usual ones.
  std::vector<std::string> rack_labels{};

  // What is seen from outside (pods/outlook.h) is answered there; null: nowhere. It must outlive the
  // call.
  HttpListener* http = nullptr;
  // Seconds since any instant, to measure decisions by; null: they are not measured.
  std::function<double()> stopwatch{};
};

// `say`: what operators read, a line each. Returns once the program is asked to leave (kTerminate).
// Errors: no such policy or option, or one that needs what no real cluster tells; the API server does
// not say what there is; another process leads from now on, so this one is to begin anew.
Status serve_pods(KubeDoor& door, const PodsServeOptions& options,
                  const std::function<void(const std::string&)>& say);

}  // namespace fairlead
