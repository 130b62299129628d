// The daemon on Kubernetes: waits until it leads, then schedules until it no longer does.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/kube/door.h"
#include "fairlead/pods/http_listener.h"
#include "fairlead/pods/pods_options.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fairlead {

struct PodsServeOptions {
  std::string policy = "fairlead";  // name and options
  std::uint64_t seed = 0;
  PodsOptions world{};
  std::string identity;  // unique to this process

  // Listener of the status endpoint (pods/outlook.h); null: there is none. It must outlive the call.
  HttpPort* http = nullptr;
  // Returns seconds since any instant, to measure decisions; null: they are not measured.
  std::function<double()> stopwatch{};
};

// Serves until the program is asked to leave (kTerminate). `say`: writes a log line for operators. Errors:
// no such policy or option, or one that needs information no real cluster has; the API server does not
// report all objects; another process leads now, so this one must start again.
Status serve_pods(KubeDoor& door, const PodsServeOptions& options,
                  const std::function<void(const std::string&)>& say);

}  // namespace fairlead
