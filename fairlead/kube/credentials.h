// Our credentials for the API server: a token or a client certificate, from files that others replace, or from a plugin
// that prints them (client.authentication.k8s.io/v1 and v1beta1).
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/kube/kubeconfig.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace fairlead {

struct KubeCredentials {
  std::string token;
  std::string certificate;           // PEM
  std::string key;                   // PEM
  std::int64_t expires_unix_ms = 0;  // 0: not given
  friend bool operator==(const KubeCredentials&, const KubeCredentials&) = default;
};

// Reads files, or runs the plugin, for which it waits up to `limit_ms`. Error: a file cannot be read;
// the plugin cannot be run, fails, takes longer, or prints something else.
Result<KubeCredentials> read_credentials(const KubeTarget& target, int limit_ms = 20'000);

// Parses the output of a plugin.
Result<KubeCredentials> parse_plugin_output(std::string_view text, const KubePlugin& plugin);

}  // namespace fairlead
