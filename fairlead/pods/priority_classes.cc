#include "fairlead/pods/priority_classes.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace fairlead {

void PriorityClasses::on(const OwnerKind& kind, const ReflectedChange& change) {
  const std::string& name = change.name.second;
  auto& classes = kind.kind == kPriorityClass ? of_pods_ : of_workloads_;
  classes.erase(name);
  if (kind.kind == kPriorityClass) defaults_.erase(name);
  if (change.kind == ReflectedChange::Kind::kDeleted) return;
  const Json& value = json_at(*change.object, {"value"});
  const GangPriority priority{.value = value.is_number_integer() ? value.get<std::int64_t>() : 0,
                              .preempts = text_at(*change.object, {"preemptionPolicy"}) != "Never"};
  classes[name] = priority;
  if (kind.kind == kPriorityClass && is_true_at(*change.object, {"globalDefault"}))
    defaults_[name] = priority;
}

GangPriority PriorityClasses::of(const Owner& owner) const {
  // Kueue itself preempts, by the rules of the queue.
  if (owner.priority) return {.value = *owner.priority, .preempts = false};
  if (const auto found = of_workloads_.find(owner.workload_class); found != of_workloads_.end())
    return found->second;
  const auto found = of_pods_.find(class_of_pods(owner));
  return found == of_pods_.end() ? GangPriority{} : found->second;
}

std::string PriorityClasses::class_of_pods(const Owner& owner) const {
  if (of_pods_.contains(owner.priority_class)) return owner.priority_class;
  // The API server takes the lowest of several defaults.
  const auto least =
      std::ranges::min_element(defaults_, {}, [](const auto& entry) { return entry.second.value; });
  return least == defaults_.end() ? std::string() : least->first;
}

}  // namespace fairlead
