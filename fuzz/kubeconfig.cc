// Kubeconfig: any text gives a configuration, or an error with its place. Choosing each of its
// contexts works or fails without a crash.

#include "fairlead/kube/kubeconfig.h"

#include "fairlead/base/check.h"

#include <string_view>

namespace fairlead {
namespace {

void check(std::string_view text) {
  const Result<KubeConfig> config = parse_kubeconfig(text, "fuzz.yaml");
  if (!config) {
    FL_CHECK(config.error().message.starts_with("fuzz.yaml:"), "{}", config.error().message);
    return;
  }
  for (const auto& [name, context] : config->contexts) {
    if (name.empty()) continue;
    const Result<KubeTarget> target = choose(*config, name);
    FL_CHECK(!target ||
             (target->cluster.server.starts_with("http") && target->user.refused.empty()));
  }
}

}  // namespace
}  // namespace fairlead

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fairlead::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
