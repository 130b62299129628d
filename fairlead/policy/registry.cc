#include "fairlead/policy/registry.h"

#include "fairlead/base/nearest.h"
#include "fairlead/base/parse.h"
#include "fairlead/base/split.h"
#include "fairlead/policy/kit/upgrading.h"
#include "fairlead/policy/policies.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace fairlead {
namespace {

Parsed<double> parse_real(std::string_view text) {
  if (text == "inf") return std::numeric_limits<double>::infinity();
  return parse_number(text);
}

// Returns the number in the shortest text that reads back as the same number; none if it is not a
// number in range.
std::optional<std::string> normalised_number(const OptionSpec& spec, std::string_view value) {
  if (spec.type == OptionType::kInteger) {
    const auto number = parse_integer(value);
    if (!number) return std::nullopt;
    const auto real = static_cast<double>(*number);
    if (real < spec.min || real > spec.max) return std::nullopt;
    return fmt::format("{}", *number);
  }
  const auto number = parse_real(value);
  if (!number || !(*number >= spec.min && *number <= spec.max)) return std::nullopt;
  return fmt::format("{}", *number);
}

std::optional<std::string> normalised_list(const OptionSpec& spec, std::string_view value) {
  std::string list;
  for (std::string_view part : split(value, '/')) {
    const std::optional<std::string> number = normalised_number(spec, part);
    if (!number) return std::nullopt;
    if (!list.empty()) list += '/';
    list += *number;
  }
  return list;
}

// A name may have colons: the last one ends it.
std::optional<std::string> normalised_named(const OptionSpec& spec, std::string_view value) {
  std::string list;
  if (value.empty()) return list;
  for (std::string_view part : split(value, '/')) {
    const std::size_t colon = part.rfind(':');
    if (colon == std::string_view::npos || colon == 0) return std::nullopt;
    const std::optional<std::string> number = normalised_number(spec, part.substr(colon + 1));
    if (!number) return std::nullopt;
    if (!list.empty()) list += '/';
    list.append(part.substr(0, colon + 1)).append(*number);
  }
  return list;
}

std::optional<std::string> normalised(const OptionSpec& spec, std::string_view value) {
  switch (spec.type) {
    case OptionType::kFlag:
      if (value != "true" && value != "false") return std::nullopt;
      return std::string(value);
    case OptionType::kChoice:
      if (std::ranges::count(split(spec.choices, '/'), value) == 0) return std::nullopt;
      return std::string(value);
    case OptionType::kInteger:
    case OptionType::kReal:
      return normalised_number(spec, value);
    case OptionType::kList:
      return normalised_list(spec, value);
    case OptionType::kNamed:
      return normalised_named(spec, value);
    case OptionType::kFile:
      return std::string(value);
  }
  return std::nullopt;
}

std::string valid_values(const OptionSpec& spec, std::string_view value) {
  const std::string unit = spec.unit.empty() ? "" : fmt::format(" {}", spec.unit);
  switch (spec.type) {
    case OptionType::kFlag:
      return "true or false";
    case OptionType::kChoice:
      return "one of " + nearest_first(split(spec.choices, '/'), value);
    case OptionType::kInteger:
      return fmt::format("a whole number from {} to {}{}", spec.min, spec.max, unit);
    case OptionType::kReal:
      return fmt::format("a number from {} to {}{}", spec.min, spec.max, unit);
    case OptionType::kList:
      return fmt::format("numbers from {} to {}{}, separated by '/'", spec.min, spec.max, unit);
    case OptionType::kNamed:
      return fmt::format("NAME:NUMBER with numbers from {} to {}, separated by '/'", spec.min,
                         spec.max);
    case OptionType::kFile:
      return "a path";
  }
  return "";
}

// Returns the place of the option among a policy's values; none if there is no such option.
std::optional<std::size_t> find_option(const PolicyEntry& entry, std::string_view name) {
  if (name == kBudgetOption.name) return entry.options.size();
  const auto found = std::ranges::find(entry.options, name, &OptionSpec::name);
  if (found == entry.options.end()) return std::nullopt;
  return static_cast<std::size_t>(found - entry.options.begin());
}

tl::unexpected<Error> unknown_policy(std::string_view name) {
  std::vector<std::string_view> names;
  for (const PolicyEntry* entry : all_policies()) names.push_back(entry->name);
  return input_error("no such policy (there are: {}): {}", nearest_first(names, name), name);
}

tl::unexpected<Error> unknown_option(const PolicyEntry& entry, std::string_view name) {
  std::vector<std::string_view> names;
  for (const OptionSpec& option : entry.options) names.push_back(option.name);
  names.push_back(kBudgetOption.name);
  return input_error("policy {} has no such option (it has: {}): {}", entry.name,
                     nearest_first(names, name), name);
}

}  // namespace

std::span<const PolicyEntry* const> all_policies() { return kPolicies; }

const PolicyEntry* find_policy(std::string_view name) {
  const auto found = std::ranges::find(all_policies(), name, &PolicyEntry::name);
  return found == all_policies().end() ? nullptr : *found;
}

Result<PolicyChoice> parse_policy(std::string_view text, std::uint64_t seed) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const PolicyEntry* const entry = find_policy(name);
  if (entry == nullptr) return unknown_policy(name);

  PolicyChoice choice{entry, {}};
  choice.options.seed_ = seed;
  for (const OptionSpec& option : entry->options) {
    choice.options.values_.push_back({&option, std::string(option.fallback)});
  }
  choice.options.values_.push_back({&kBudgetOption, std::string(kBudgetOption.fallback)});
  if (colon == std::string_view::npos) return choice;

  std::vector<std::string_view> given;
  for (std::string_view assignment : split(text.substr(colon + 1), ',')) {
    const std::size_t equals = assignment.find('=');
    const std::string_view option_name = assignment.substr(0, equals);
    const std::optional<std::size_t> place = find_option(*entry, option_name);
    if (!place) return unknown_option(*entry, option_name);
    if (equals == std::string_view::npos) {
      return input_error("policy {}: write {}=VALUE: {}", name, option_name, assignment);
    }
    if (std::ranges::count(given, option_name) > 0) {
      return input_error("policy {}: the option is given twice: {}", name, option_name);
    }
    given.push_back(option_name);
    const std::string_view value = assignment.substr(equals + 1);
    PolicyOptions::Value& option = choice.options.values_[*place];
    std::optional<std::string> checked = normalised(*option.spec, value);
    if (!checked) {
      return input_error("policy {}: option {} must be {}: {}", name, option_name,
                         valid_values(*option.spec, value), value);
    }
    option.text = *std::move(checked);
  }
  return choice;
}

std::string with_budget(std::string_view policy, std::int64_t evaluations) {
  const std::size_t colon = policy.find(':');
  if (colon == policy.npos) return fmt::format("{}:{}={}", policy, kBudgetOption.name, evaluations);
  const auto is_budget = [](std::string_view assignment) {
    return assignment.substr(0, assignment.find('=')) == kBudgetOption.name;
  };
  if (std::ranges::any_of(split(policy.substr(colon + 1), ','), is_budget)) {
    return std::string(policy);
  }
  return fmt::format("{},{}={}", policy, kBudgetOption.name, evaluations);
}

const PolicyOptions::Value& PolicyOptions::value(std::string_view name) const {
  const auto found =
      std::ranges::find(values_, name, [](const Value& value) { return value.spec->name; });
  FL_CHECK(found != values_.end(), "no option {}", name);
  return *found;
}

const PolicyOptions::Value& PolicyOptions::value(std::string_view name, OptionType type) const {
  const Value& found = value(name);
  FL_CHECK(found.spec->type == type, "option {} has another type", name);
  return found;
}

bool PolicyOptions::has(std::string_view name) const {
  return std::ranges::any_of(values_, [&](const Value& value) { return value.spec->name == name; });
}

bool PolicyOptions::flag(std::string_view name) const {
  return value(name, OptionType::kFlag).text == "true";
}

std::int64_t PolicyOptions::integer(std::string_view name) const {
  return parse_integer(value(name, OptionType::kInteger).text).value();
}

double PolicyOptions::real(std::string_view name) const {
  return parse_real(value(name, OptionType::kReal).text).value();
}

std::vector<double> PolicyOptions::list(std::string_view name) const {
  std::vector<double> numbers;
  for (std::string_view part : split(value(name, OptionType::kList).text, '/')) {
    numbers.push_back(parse_number(part).value());
  }
  return numbers;
}

std::vector<std::pair<std::string_view, double>> PolicyOptions::named(std::string_view name) const {
  std::vector<std::pair<std::string_view, double>> pairs;
  const std::string_view given = value(name, OptionType::kNamed).text;
  if (given.empty()) return pairs;
  for (std::string_view part : split(given, '/')) {
    const std::size_t colon = part.rfind(':');
    pairs.emplace_back(part.substr(0, colon), parse_number(part.substr(colon + 1)).value());
  }
  return pairs;
}

Duration PolicyOptions::duration(std::string_view name) const {
  const std::string_view unit = value(name).spec->unit;
  FL_CHECK(unit == "seconds" || unit == "hours", "option {} is not a duration", name);
  return unit == "hours" ? hours(integer(name)) : seconds(integer(name));
}

bool PolicyOptions::is(std::string_view name, std::string_view value_asked) const {
  const Value& found = value(name, OptionType::kChoice);
  FL_CHECK(std::ranges::count(split(found.spec->choices, '/'), value_asked) == 1,
           "option {} is never {}", name, value_asked);
  return found.text == value_asked;
}

std::size_t PolicyOptions::chosen(std::string_view name, std::size_t count) const {
  const Value& found = value(name, OptionType::kChoice);
  const std::vector<std::string_view> choices = split(found.spec->choices, '/');
  FL_CHECK(choices.size() == count, "option {} has {} choices, not {}", name, choices.size(),
           count);
  return static_cast<std::size_t>(std::ranges::find(choices, found.text) - choices.begin());
}

Placement PolicyOptions::placement() const {
  const Placement named = placement_named(text("placement")).value();
  return named.mixing(has(kMixedOption.name) && flag(kMixedOption.name));
}

PlacementTraits placement_traits(const PolicyOptions& options) {
  PlacementTraits traits;
  if (options.has("placement")) {
    traits.placement = options.placement();
  } else if (options.has(kMixedOption.name)) {
    traits.placement = traits.placement.mixing(options.flag(kMixedOption.name));
  }
  return traits;
}

PlacementTraits placement_traits(const PolicyOptions& options, std::string_view round_option) {
  PlacementTraits traits = placement_traits(options);
  traits.round = options.duration(round_option);
  return traits;
}

Result<std::unique_ptr<Policy>> PolicyChoice::make() const {
  FL_TRY_ASSIGN(policy, entry->make(options));
  const PlacementTraits traits = entry->traits(options);
  if (options.has(kUpgradeOption.name) && options.flag(kUpgradeOption.name)) {
    policy = std::make_unique<Upgrading>(std::move(policy), traits.placement);
  }
  policy->set_traits(std::make_shared<const PlacementTraits>(traits));
  policy->set_decision_budget(options.integer(kBudgetOption.name));
  return policy;
}

std::string_view PolicyOptions::text(std::string_view name) const { return value(name).text; }

std::string PolicyOptions::canonical() const {
  std::string all;
  for (const auto& [spec, text] : values_) {
    if (spec == &kBudgetOption && text == kBudgetOption.fallback) continue;
    if (!all.empty()) all += ',';
    all += fmt::format("{}={}", spec->name, text);
  }
  return all;
}

}  // namespace fairlead
