#include "fairlead/pods/budgets.h"

#include "fairlead/pods/label_selector.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <set>

namespace fairlead {

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
