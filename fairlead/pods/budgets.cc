#include "fairlead/pods/budgets.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace fairlead {
namespace {

bool expression_matches(const Json& expression, const std::map<std::string, std::string>& labels) {
  const auto label = labels.find(text_at(expression, {"key"}));
  const bool has = label != labels.end();
  const std::string& how = text_at(expression, {"operator"});
  if (how == "Exists") return has;
  if (how == "DoesNotExist") return !has;
  const Json& values = json_at(expression, {"values"});
  const bool is_in = has && std::ranges::any_of(values, [&](const Json& value) {
                       return value.is_string() && value == label->second;
                     });
  return how == "NotIn" ? !is_in : is_in;
}

// Returns whether the selector matches. A missing selector matches nothing, an empty one everything.
bool selects(const Json& selector, const std::map<std::string, std::string>& labels) {
  if (!selector.is_object()) return false;
  const Json& wanted = json_at(selector, {"matchLabels"});
  if (wanted.is_object()) {
    for (const auto& [name, value] : wanted.items()) {
      const auto label = labels.find(name);
      if (label == labels.end() || !value.is_string() || value != label->second) return false;
    }
  }
  return std::ranges::all_of(json_at(selector, {"matchExpressions"}), [&](const Json& expression) {
    return expression_matches(expression, labels);
  });
}

}  // namespace

void Budgets::on(const ReflectedChange& change) {
  if (change.kind == ReflectedChange::Kind::kSynced) return;
  if (change.kind == ReflectedChange::Kind::kDeleted) {
    budgets_.erase(change.name);
  } else {
    budgets_[change.name] = change.object;
  }
}

std::string Budgets::objection(const std::map<std::string, Pod>& pods) const {
  if (budgets_.empty() || pods.empty()) return {};
  const std::string& name_space = pods.begin()->second.name_space;
  std::set<std::string> covered;
  for (auto at = budgets_.lower_bound({name_space, ""});
       at != budgets_.end() && at->first.first == name_space; ++at) {
    std::int64_t count = 0;
    for (const auto& [uid, pod] : pods) {
      const bool is_counted = pod.state == Pod::State::kRunning && !pod.is_leaving &&
                              selects(json_at(*at->second, {"spec", "selector"}), pod.labels);
      if (!is_counted) continue;
      ++count;
      // The server does not evict a pod that two budgets select.
      if (!covered.insert(uid).second)
        return "more than one PodDisruptionBudget selects one of its pods";
    }
    const std::int64_t allowed = integer_at(*at->second, {"status", "disruptionsAllowed"});
    if (count > allowed) {
      return fmt::format("PodDisruptionBudget {} allows {} of its {} pods to stop",
                         at->first.second, allowed, count);
    }
  }
  return {};
}

}  // namespace fairlead
