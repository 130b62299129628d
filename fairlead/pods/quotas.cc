#include "fairlead/pods/quotas.h"

#include "fairlead/pods/kinds.h"
#include "fairlead/pods/label_selector.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace fairlead {
namespace {

constexpr std::string_view kRequests = "requests.";

// Scopes of quotas. Pods with a deadline are Terminating; pods with requests, as for GPUs, are NotBestEffort.
constexpr std::string_view kNotBestEffort = "NotBestEffort";
constexpr std::string_view kTerminating = "Terminating";
constexpr std::string_view kNotTerminating = "NotTerminating";
constexpr std::array<std::string_view, 5> kScopes = {kPriorityClass, kNotBestEffort, "BestEffort",
                                                     kTerminating, kNotTerminating};

// Returns the amount of a pod that counts for that entry of a quota.
Amount counted(const Resources& each, std::string_view entry) {
  if (entry == "count/pods") entry = "pods";
  if (entry.starts_with(kRequests)) entry.remove_prefix(kRequests.size());
  const auto found = each.find(entry);
  return found == each.end() ? 0 : found->second;
}

// Returns the scopes of a quota as a selector of labels that have the names of scopes; null: it has none.
Json scopes_of(const Json& spec) {
  Json expressions = Json::array();
  for (const Json& scope : json_at(spec, {"scopes"})) {
    expressions.push_back({{"key", scope}, {"operator", "Exists"}});
  }
  for (const Json& rule : json_at(spec, {"scopeSelector", "matchExpressions"})) {
    expressions.push_back({{"key", json_at(rule, {"scopeName"})},
                           {"operator", json_at(rule, {"operator"})},
                           {"values", json_at(rule, {"values"})}});
  }
  if (expressions.empty()) return {};
  return {{"matchExpressions", std::move(expressions)}};
}

// Returns "8" or "0.5".
std::string amount_text(Amount amount) {
  return fmt::format("{}", static_cast<double>(amount) / 1000);
}

}  // namespace

void Quotas::on(const ReflectedChange& change) {
  const bool is_gone = change.kind == ReflectedChange::Kind::kDeleted;
  const Json& spec = is_gone ? Json() : json_at(*change.object, {"spec"});
  Json scopes = scopes_of(spec);
  const bool is_known =
      std::ranges::all_of(json_at(scopes, {"matchExpressions"}), [](const Json& rule) {
        return std::ranges::find(kScopes, text_at(rule, {"key"})) != kScopes.end();
      });
  if (is_gone || !is_known) {
    quotas_.erase(change.name);
    return;
  }
  quotas_[change.name] = {parse_resources(json_at(spec, {"hard"})),
                          parse_resources(json_at(*change.object, {"status", "used"})),
                          std::move(scopes)};
}

std::string Quotas::objection(const Pods& pods) const {
  Labels scopes = {{std::string(kNotBestEffort), ""},
                   {std::string(pods.have_deadline ? kTerminating : kNotTerminating), ""}};
  if (!pods.priority_class.empty()) scopes.emplace(kPriorityClass, pods.priority_class);
  for (auto at = quotas_.lower_bound({pods.name_space, ""});
       at != quotas_.end() && at->first.first == pods.name_space; ++at) {
    const Quota& quota = at->second;
    if (!quota.scopes.is_null() && !selects(quota.scopes, scopes)) continue;
    for (const auto& [entry, hard] : quota.hard) {
      const auto found = quota.used.find(entry);
      const Amount left = hard - (found == quota.used.end() ? 0 : std::min(found->second, hard));
      const Amount one = counted(pods.each, entry);
      if (one == 0 || left / one >= pods.count) continue;
      return fmt::format("ResourceQuota {} leaves {} of {}, and {} are needed", at->first.second,
                         amount_text(left), entry, amount_text(one * pods.count));
    }
  }
  return {};
}

}  // namespace fairlead
