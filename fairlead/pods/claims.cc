#include "fairlead/pods/claims.h"

#include <fmt/format.h>

#include <utility>

namespace fairlead {

ClaimAsks parse_claim_asks(const Json& claim_spec) {
  ClaimAsks asks{.storage_class = text_at(claim_spec, {"storageClassName"}),
                 .modes = {},
                 .form = text_at(claim_spec, {"volumeMode"}),
                 .selector = json_at(claim_spec, {"selector"})};
  for (const Json& mode : json_at(claim_spec, {"accessModes"})) {
    asks.modes.push_back(text_at(mode, {}));
  }
  if (asks.form.empty()) asks.form = "Filesystem";
  const Resources requests = parse_resources(json_at(claim_spec, {"resources", "requests"}));
  if (const auto found = requests.find("storage"); found != requests.end()) {
    asks.storage = found->second;
  }
  return asks;
}

std::vector<UsedClaim> parse_used_claims(const Json& pod_spec, std::string_view pod) {
  std::vector<UsedClaim> claims;
  for (const Json& volume : json_at(pod_spec, {"volumes"})) {
    const std::string& name = text_at(volume, {"persistentVolumeClaim", "claimName"});
    if (!name.empty()) claims.push_back({.name = name});
    const Json& made = json_at(volume, {"ephemeral", "volumeClaimTemplate", "spec"});
    if (!made.is_object()) continue;
    const std::string& own = text_at(volume, {"name"});
    claims.push_back({.name = pod.empty() ? own : fmt::format("{}-{}", pod, own),
                      .is_ephemeral = true,
                      .asks = parse_claim_asks(made)});
  }
  return claims;
}

}  // namespace fairlead
