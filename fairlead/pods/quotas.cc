#include "fairlead/pods/quotas.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace fairlead {
namespace {

constexpr std::string_view kRequests = "requests.";

// Returns the amount of a pod that counts for that entry of a quota.
Amount counted(const Resources& each, std::string_view entry) {
  if (entry == "count/pods") entry = "pods";
  if (entry.starts_with(kRequests)) entry.remove_prefix(kRequests.size());
  const auto found = each.find(entry);
  return found == each.end() ? 0 : found->second;
}

// Returns "8" or "0.5".
std::string amount_text(Amount amount) {
  return fmt::format("{}", static_cast<double>(amount) / 1000);
}

}  // namespace

void Quotas::on(const ReflectedChange& change) {
  const bool is_gone = change.kind == ReflectedChange::Kind::kDeleted;
  const Json& spec = is_gone ? Json() : json_at(*change.object, {"spec"});
  const bool is_scoped =
      !json_at(spec, {"scopes"}).empty() || !json_at(spec, {"scopeSelector"}).empty();
  if (is_gone || is_scoped) {
    quotas_.erase(change.name);
    return;
  }
  quotas_[change.name] = {parse_resources(json_at(spec, {"hard"})),
                          parse_resources(json_at(*change.object, {"status", "used"}))};
}

std::string Quotas::objection(const std::string& name_space, const Resources& each,
                              std::uint32_t pods) const {
  for (auto at = quotas_.lower_bound({name_space, ""});
       at != quotas_.end() && at->first.first == name_space; ++at) {
    const Quota& quota = at->second;
    for (const auto& [entry, hard] : quota.hard) {
      const auto found = quota.used.find(entry);
      const Amount left = hard - (found == quota.used.end() ? 0 : std::min(found->second, hard));
      const Amount one = counted(each, entry);
      if (one == 0 || left / one >= pods) continue;
      return fmt::format("ResourceQuota {} leaves {} of {}, and {} are needed", at->first.second,
                         amount_text(left), entry, amount_text(one * pods));
    }
  }
  return {};
}

}  // namespace fairlead
