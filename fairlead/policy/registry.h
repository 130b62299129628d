// The policies by name, with their options: what `fairlead policies` prints and what
// "NAME:opt=value,opt=value" is checked against.
//
// An option's default, unit and range stand in its spec alone: the structs that make() fills from
// PolicyOptions have no defaults, and the table of docs/policies/NAME.md is compared with the specs
// (option_pages_test). parse_policy is the only maker of PolicyOptions, so make() never meets an
// option that is missing or out of range.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/base/units.h"
#include "fairlead/policy/placement_traits.h"
#include "fairlead/policy/policy.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlead {

enum class OptionType : std::uint8_t {
  kFlag,  // true, false
  kInteger,
  kReal,
  kChoice,  // one of `choices`
  kList,    // numbers separated by '/'
  kNamed,   // NAME:NUMBER, separated by '/'; may be empty
  kFile,    // a path, or empty
};

struct OptionSpec {
  // Ends in _s, _h, _gpu_s or _quanta if the unit is seconds, hours, GPU-seconds or quanta.
  std::string_view name;
  OptionType type;
  std::string_view fallback;  // the default, as text
  std::string_view unit{};    // "GPU-seconds", "" for none
  double min = 0;             // minimum of kInteger, kReal and each number of kList and kNamed
  double max = 0;
  std::string_view choices{};  // choices of kChoice: "count/first-fit/..."
  std::string_view help{};     // one sentence: what it does, and the source of the default
};

constexpr OptionSpec flag_option(std::string_view name, std::string_view fallback,
                                 std::string_view help) {
  return {.name = name, .type = OptionType::kFlag, .fallback = fallback, .help = help};
}
constexpr OptionSpec choice_option(std::string_view name, std::string_view fallback,
                                   std::string_view choices, std::string_view help) {
  return {.name = name,
          .type = OptionType::kChoice,
          .fallback = fallback,
          .choices = choices,
          .help = help};
}
constexpr OptionSpec number_option(OptionType type, std::string_view name,
                                   std::string_view fallback, std::string_view unit, double min,
                                   double max, std::string_view help) {
  return {.name = name,
          .type = type,
          .fallback = fallback,
          .unit = unit,
          .min = min,
          .max = max,
          .help = help};
}
constexpr OptionSpec integer_option(std::string_view name, std::string_view fallback,
                                    std::string_view unit, double min, double max,
                                    std::string_view help) {
  return number_option(OptionType::kInteger, name, fallback, unit, min, max, help);
}
constexpr OptionSpec real_option(std::string_view name, std::string_view fallback,
                                 std::string_view unit, double min, double max,
                                 std::string_view help) {
  return number_option(OptionType::kReal, name, fallback, unit, min, max, help);
}
constexpr OptionSpec list_option(std::string_view name, std::string_view fallback,
                                 std::string_view unit, double min, double max,
                                 std::string_view help) {
  return number_option(OptionType::kList, name, fallback, unit, min, max, help);
}
constexpr OptionSpec named_option(std::string_view name, std::string_view fallback, double min,
                                  double max, std::string_view help) {
  return number_option(OptionType::kNamed, name, fallback, {}, min, max, help);
}
// The placement= option that every policy that places has.
constexpr OptionSpec placement_option(std::string_view fallback, std::string_view help) {
  return choice_option("placement", fallback, kPlacementChoices, help);
}
// Whether gangs mix GPU types.
inline constexpr OptionSpec kMixedOption =
    flag_option("mixed", "false",
                "Let a gang mix GPU types where no type has enough, under a placement that can; by "
                "default it waits for GPUs of one type (ours).");

// Whether jobs are placed on and moved to the fastest free GPU types: kit/upgrading.h. Policies that have this option are
// wrapped by the registry.
inline constexpr OptionSpec kUpgradeOption = flag_option(
    "upgrade", "false",
    "Start jobs on the fastest free GPU type, and move a job when a faster one is free; "
    "by default any type will do, as published (ours).");

// An option of every policy, beside PolicyEntry::options (decision_budget.h). The canonical form leaves it out if there is
// no limit.
inline constexpr OptionSpec kBudgetOption =
    integer_option("decision_budget", "0", "evaluations", 0, 1e15,
                   "How many searches for a place for a waiting job a decision makes, the most "
                   "important first; the rest follow at "
                   "the next decision, at once; 0: no limit.");

// Options that were checked against their specs; every spec has a value.
class PolicyOptions {
 public:
  bool has(std::string_view name) const;
  // REQUIRES (all below): the policy has an option of that name, of the type that is read.
  bool flag(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  double real(std::string_view name) const;
  std::vector<double> list(std::string_view name) const;
  // The names, which live as long as this, and their numbers.
  std::vector<std::pair<std::string_view, double>> named(std::string_view name) const;
  // An integer whose unit is seconds or hours.
  Duration duration(std::string_view name) const;
  // Returns whether a choice is `value`. REQUIRES: `value` is one of the choices.
  bool is(std::string_view name, std::string_view value) const;
  // The element of `values` that stands where the chosen value stands among the choices.
  // REQUIRES: as many elements as choices.
  template <typename T, std::size_t count>
  T choice(std::string_view name, const T (&values)[count]) const {
    return values[chosen(name, count)];
  }
  // Returns the choice "placement"; types are mixed by kMixedOption if the policy has that option.
  Placement placement() const;
  // The value of an option of any type as normalised text.
  std::string_view text(std::string_view name) const;
  std::uint64_t seed() const { return seed_; }
  // "limits=3250/7200,placement=count" in the order of the specs; what summary.json records.
  std::string canonical() const;

 private:
  friend Result<struct PolicyChoice> parse_policy(std::string_view text, std::uint64_t seed);
  struct Value {
    const OptionSpec* spec;
    std::string text;
  };
  const Value& value(std::string_view name) const;
  const Value& value(std::string_view name, OptionType type) const;
  std::size_t chosen(std::string_view name, std::size_t count) const;

  std::vector<Value> values_;  // in the order of the specs; last kBudgetOption's
  std::uint64_t seed_ = 0;
};

// Reads the placement from the options `placement` and `mixed`, if there are any.
PlacementTraits placement_traits(const PolicyOptions& options);
// The same, and the round from that option.
PlacementTraits placement_traits(const PolicyOptions& options, std::string_view round_option);

struct PolicyEntry {
  std::string_view name;
  std::string_view summary;  // one sentence
  std::string_view paper;    // "Gu et al., Tiresias, NSDI 2019"
  std::span<const OptionSpec> options;
  // Errors: what only the policy can check, such as the contents of a file.
  Result<std::unique_ptr<Policy>> (*make)(const PolicyOptions&);
  PlacementTraits (*traits)(const PolicyOptions&) = placement_traits;
};

// All policies, by name.
std::span<const PolicyEntry* const> all_policies();
// Null if there is none of that name.
const PolicyEntry* find_policy(std::string_view name);

struct PolicyChoice {
  const PolicyEntry* entry;
  PolicyOptions options;

  // Makes the policy, with the traits of its entry and its budget.
  Result<std::unique_ptr<Policy>> make() const;
};

// Returns "NAME:option=value,..." with the value of kBudgetOption, unless the text has one.
std::string with_budget(std::string_view policy, std::int64_t evaluations);

// Parses "tiresias:limits=3250/7200". Values are normalised: "limits=03250/7200.0" means the same.
// Errors name the policy or option and what would be valid, nearest name first.
Result<PolicyChoice> parse_policy(std::string_view text, std::uint64_t seed);

}  // namespace fairlead
