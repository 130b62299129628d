#include "fairlead/kube/fake_quotas.h"

#include "fairlead/kube/fake_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace fairlead {

double quantity_of(const Json& value) {
  if (value.is_number()) return value.get<double>() * 1000;
  const std::string text = value.is_string() ? value.get<std::string>() : "0";
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  constexpr std::string_view kPowers = "KMGTPE";
  double factor = unit == "m" ? 1 : 1000;
  if (!unit.empty() && unit != "m") {
    const double step = unit.ends_with('i') ? 1024 : 1000;
    for (std::size_t i = 0; i <= std::min(kPowers.find(unit.front()), kPowers.size()); ++i)
      factor *= step;
  }
  return static_cast<double>(number) * factor;
}

namespace {

FakeAmounts amounts_of(const Json& requests) {
  FakeAmounts amounts;
  if (!requests.is_object()) return amounts;
  for (const auto& [name, value] : requests.items()) amounts[name] = quantity_of(value);
  return amounts;
}

}  // namespace

FakeAmounts requests_of(const Json& pod) {
  FakeAmounts sum;
  for (const Json& container : json_at(pod, {"spec", "containers"})) {
    for (const auto& [name, amount] : amounts_of(json_at(container, {"resources", "requests"}))) {
      sum[name] += amount;
    }
  }
  for (const Json& container : json_at(pod, {"spec", "initContainers"})) {
    for (const auto& [name, amount] : amounts_of(json_at(container, {"resources", "requests"}))) {
      sum[name] = std::max(sum[name], amount);
    }
  }
  for (const auto& [name, amount] : amounts_of(json_at(pod, {"spec", "overhead"}))) {
    sum[name] += amount;
  }
  sum["pods"] = 1000;
  return sum;
}

FakeAmounts FakeQuotas::used(const std::string& name_space) const {
  FakeAmounts sum;
  for (const FakeObject& pod : store_.list({std::string(kPods), name_space, "", ""})) {
    if (is_over(*pod)) continue;
    for (const auto& [name, amount] : requests_of(*pod)) {
      sum[name == "pods" ? name : "requests." + name] += amount;
    }
  }
  return sum;
}

bool FakeQuotas::exceeded_by(const std::string& name_space, const Json& pod) const {
  const auto quotas = store_.list({std::string(kQuotas), name_space, "", ""});
  if (quotas.empty()) return false;
  FakeAmounts sum = used(name_space);
  for (const auto& [name, amount] : requests_of(pod)) {
    sum[name == "pods" ? name : "requests." + name] += amount;
  }
  return std::ranges::any_of(quotas, [&](const FakeObject& quota) {
    return std::ranges::any_of(amounts_of(json_at(*quota, {"spec", "hard"})),
                               [&](const auto& entry) { return sum[entry.first] > entry.second; });
  });
}

void FakeQuotas::count(const std::string& name_space) {
  for (const FakeObject& quota : store_.list({std::string(kQuotas), name_space, "", ""})) {
    Json counted = *quota;
    FakeAmounts sum = used(name_space);
    for (const auto& [name, amount] : amounts_of(json_at(*quota, {"spec", "hard"}))) {
      counted["status"]["used"][name] = fmt::format("{}m", static_cast<std::int64_t>(sum[name]));
    }
    if (counted != *quota) store_.put(key_of(kQuotas, *quota), counted, planner_.unix_ms());
  }
}

}  // namespace fairlead
