// Opens the API server of a program.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/kube/curl_door.h"

#include <memory>
#include <string>

namespace fairlead {

struct OpenedCluster {
  std::unique_ptr<CurlDoor> door;
  std::string server;  // "https://host:port"
};

// Uses a context of the kubeconfig. If it is empty, uses the current context, or the pod's service account. From then
// on SIGTERM and SIGINT no longer end the process: they become the door's kTerminate. Error: no way to an API server.
Result<OpenedCluster> open_cluster(const std::string& context);

}  // namespace fairlead
