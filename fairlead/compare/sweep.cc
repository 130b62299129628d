#include "fairlead/compare/sweep.h"

#include "fairlead/base/nearest.h"
#include "fairlead/base/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <set>

namespace fairlead {
namespace {

// Parses "0.1..0.9/5": both ends and evenly spaced values between them. None: it has another form.
std::optional<std::vector<std::string>> evenly_spaced(std::string_view text) {
  const std::size_t dots = text.find("..");
  const std::size_t slash = text.rfind('/');
  if (dots == std::string_view::npos || slash == std::string_view::npos || slash < dots) {
    return std::nullopt;
  }
  const auto first = parse_number(text.substr(0, dots));
  const auto last = parse_number(text.substr(dots + 2, slash - dots - 2));
  const auto count = parse_integer(text.substr(slash + 1));
  if (!first || !last || !count) return std::nullopt;
  std::vector<std::string> values;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(*count, kSweepValuesMax + 1); ++i) {
    const double part = *count < 2 ? 0 : static_cast<double>(i) / static_cast<double>(*count - 1);
    // Ten digits: 0.1..0.9/9 has a point 0.3, not 0.30000000000000004.
    values.push_back(fmt::format("{:.10g}", *first + (*last - *first) * part));
  }
  return values;
}

std::vector<std::string> split_commas(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t at = std::min(text.find(','), text.size());
    parts.emplace_back(trimmed(text.substr(0, at)));
    if (at == text.size()) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string_view name_of(std::string_view policy) { return policy.substr(0, policy.find(':')); }

// Sets the option of each policy of that name.
Status set_option(std::vector<std::string>& policies, std::string_view name,
                  std::string_view option, std::string_view value) {
  std::vector<std::string_view> names;
  bool found = false;
  for (std::string& policy : policies) {
    names.push_back(name_of(policy));
    if (name_of(policy) != name) continue;
    found = true;
    const bool has_options = policy.size() > name.size();
    const std::string start = fmt::format("{}{}=", has_options ? "," : ":", option);
    if (policy.find(fmt::format(":{}=", option)) != std::string::npos ||
        policy.find(fmt::format(",{}=", option)) != std::string::npos) {
      return input_error("--sweep {}.{}: --policies sets the option already: {}", name, option,
                         policy);
    }
    policy += start;
    policy += value;
  }
  if (found) return {};
  return input_error("--sweep: no such policy is compared (there are: {}): {}",
                     nearest_first(names, name), name);
}

Status add_value(SweepPoint& point, const std::string& key, const std::string& value) {
  point.values.emplace_back(key, value);
  if (key == "cluster") {
    point.cluster = value;
    return {};
  }
  const std::size_t dot = key.find('.');
  if (dot == std::string::npos) {
    point.settings.push_back(fmt::format("{}={}", key, value));
    return {};
  }
  return set_option(point.policies, key.substr(0, dot), key.substr(dot + 1), value);
}

Status check_keys(const std::vector<Sweep>& sweeps) {
  std::set<std::string> keys;
  for (const Sweep& sweep : sweeps) {
    if (!keys.insert(sweep.key).second)
      return input_error("--sweep names a key twice: {}", sweep.key);
  }
  return {};
}

// Returns each point once for every value.
Result<std::vector<SweepPoint>> widened(const std::vector<SweepPoint>& points, const Sweep& sweep) {
  std::vector<std::string> texts;
  for (const std::string& value : sweep.values) texts.push_back(sweep.key + "=" + value);
  const std::vector<std::string> names = folder_names(texts);
  std::vector<SweepPoint> wider;
  for (const SweepPoint& point : points) {
    for (std::size_t i = 0; i < sweep.values.size(); ++i) {
      wider.push_back(point);
      wider.back().folder += (point.folder.empty() ? "" : "/") + names[i];
      FL_TRY(add_value(wider.back(), sweep.key, sweep.values[i]));
    }
  }
  return wider;
}

}  // namespace

Result<Sweep> parse_sweep(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) {
    return input_error("--sweep takes KEY=A..B/N or KEY=V,V,...: {}", text);
  }
  Sweep sweep{std::string(text.substr(0, equals)), {}};
  const std::string_view values = text.substr(equals + 1);
  sweep.values = evenly_spaced(values).value_or(split_commas(values));
  if (sweep.values.empty() || sweep.values.size() > kSweepValuesMax) {
    return input_error("--sweep {} takes from 1 to {} values: {}", sweep.key, kSweepValuesMax,
                       values);
  }
  std::set<std::string> seen;
  for (const std::string& value : sweep.values) {
    if (!seen.insert(value).second) {
      return input_error("--sweep {} has a value twice: {}", sweep.key, value);
    }
  }
  return sweep;
}

Result<std::vector<SweepPoint>> points_of(const std::vector<Sweep>& sweeps,
                                          const std::vector<std::string>& policies) {
  FL_TRY(check_keys(sweeps));
  std::vector<SweepPoint> points = {SweepPoint{.policies = policies}};
  for (const Sweep& sweep : sweeps) {
    if (points.size() * sweep.values.size() > kSweepPointsMax) {
      return input_error("--sweep: more than {} combinations: {}", kSweepPointsMax, sweep.key);
    }
    FL_TRY_ASSIGN(wider, widened(points, sweep));
    points = std::move(wider);
  }
  return points;
}

std::vector<std::string> folder_names(const std::vector<std::string>& texts) {
  constexpr std::size_t kLengthMax = 80;
  std::set<std::string> taken;
  std::vector<std::string> names;
  for (const std::string& text : texts) {
    std::string name = text.substr(0, kLengthMax);
    for (char& c : name) {
      const bool safe = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' ||
                        c == '=' || c == '+';
      if (!safe) c = '-';
    }
    if (name.starts_with('.')) name[0] = '-';
    std::string unique = name;
    for (int i = 2; !taken.insert(unique).second; ++i) unique = fmt::format("{}~{}", name, i);
    names.push_back(unique);
  }
  return names;
}

}  // namespace fairlead
