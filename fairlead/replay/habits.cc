#include "fairlead/replay/habits.h"

#include "fairlead/policy/registry.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairlead {
namespace {

// Those of policies without an option for it, by what their pages say.
Habits habits_named(std::string_view policy) {
  if (policy == "gandiva" || policy == "gandiva-fair")
    return {
        .placement = Placement::kBestFit, .one_node = true, .one_type = true, .goes_home = true};
  if (policy == "gavel") return {.one_type = true};
  if (policy == "optimus")
    return {.placement = Placement::kBestFit, .one_type = true, .smallest = true};
  if (policy == "hadare") return {.one_node = true};
  if (policy == "stride") return {.one_at_a_time = true};
  return {};
}

constexpr std::string_view kRounds[] = {"round_s", "quantum_s", "lease_s"};

bool has_option(const PolicyEntry& entry, std::string_view name) {
  return std::ranges::find(entry.options, name, &OptionSpec::name) != entry.options.end();
}

}  // namespace

Habits habits_of(std::string_view policy, std::string_view options) {
  Habits habits = habits_named(policy);
  const auto choice = parse_policy(
      options.empty() ? std::string(policy) : fmt::format("{}:{}", policy, options), 0);
  if (!choice) return habits;
  const PolicyEntry& entry = *choice->entry;
  if (has_option(entry, "placement")) {
    const auto placement = placement_named(choice->options.text("placement"));
    habits.placement = placement.value_or(habits.placement);  // ffdl has names of its own
  }
  if (has_option(entry, kMixedOption.name)) {
    habits.placement = habits.placement.mixing(choice->options.flag(kMixedOption.name));
  }
  if (has_option(entry, "relax_s")) habits.near = choice->options.duration("relax_s");
  for (std::string_view name : kRounds) {
    if (has_option(entry, name)) habits.round = choice->options.duration(name);
  }
  return habits;
}

}  // namespace fairlead
