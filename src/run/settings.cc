#include "fairlead/run/settings.h"

#include "fairlead/base/nearest.h"
#include "fairlead/base/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fairlead {
namespace {

struct Setting {
  std::string_view key;
  std::string_view takes;  // what a value must be: "seconds, at least 0.001"
  std::string_view help;
  // False: the value is not what it takes.
  bool (*apply)(std::string_view value, Settings& settings);
};

bool set_duration(std::string_view value, Duration& duration) {
  const auto ms = parse_seconds(value);
  if (ms) duration = {*ms};
  return ms.has_value();
}

bool set_duration(std::string_view value, std::array<Duration, 3>& durations) {
  Duration duration;
  if (!set_duration(value, duration)) return false;
  durations.fill(duration);
  return true;
}

bool set_hours(std::string_view value, double min, double& hours_out) {
  constexpr double kHoursMax = 1e6;
  const auto parsed = parse_number(value);
  if (!parsed || *parsed < min || *parsed > kHoursMax) return false;
  hours_out = *parsed;
  return true;
}

bool set_part(std::string_view value, double min, double max, double& part) {
  const auto parsed = parse_number(value);
  if (!parsed || *parsed < min || *parsed > max) return false;
  part = *parsed;
  return true;
}

bool set_reading(std::string_view value, std::optional<Reading>& reading) {
  if (value == "strict") reading = Reading::kStrict;
  if (value == "lenient") reading = Reading::kLenient;
  return value == "strict" || value == "lenient";
}

bool set_costs(std::string_view value, Settings& settings) {
  if (value != "none" && value != "default") return false;
  settings.model_costs = value == "default";
  settings.costs = value == "default" ? Costs() : Costs::none();
  return true;
}

// The more bins there may be, the longer the timeline; a million is enough for anyone who asks.
bool set_bin(std::string_view value, TimelineOptions& timeline) {
  constexpr std::int64_t kBinsMax = 1'000'000;
  Duration bin;
  if (!set_duration(value, bin) || bin.ms < 1) return false;
  timeline = {.bin = bin, .bins_max = kBinsMax};
  return true;
}

// One of the names, in the order of the enumerators.
template <typename Enum>
bool set_choice(std::string_view value, std::initializer_list<std::string_view> names, Enum& into) {
  const auto* name = std::ranges::find(names, value);
  if (name == names.end()) return false;
  into = Enum(name - names.begin());
  return true;
}

// "rack:4,spine:8"; tiers that are not named are not congested.
bool set_congestion(std::string_view value, std::array<double, kTiers>& congestion) {
  constexpr double kFactorMax = 1e6;
  congestion.fill(1);
  std::array<bool, kTiers> is_named = {};
  while (true) {
    const std::string_view part = value.substr(0, value.find(','));
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos) return false;
    std::size_t tier = 0;
    while (tier < kTiers && tier_name(Tier(tier)) != part.substr(0, colon)) ++tier;
    if (tier == kTiers || std::exchange(is_named[tier], true)) return false;
    if (!set_part(part.substr(colon + 1), 1, kFactorMax, congestion[tier])) return false;
    if (part.size() == value.size()) return true;
    value.remove_prefix(part.size() + 1);
  }
}

bool set_text(std::string_view value, std::string& text) {
  text = value;
  return !value.empty();
}

constexpr std::string_view kSeconds = "seconds, at least 0";

// By topic: the trace, speeds, the network, costs, faults, output.
constexpr Setting kSettings[] = {
    {"reading", "strict or lenient",
     "what a bad row of the trace is: an error, or counted and left out (default: strict for the "
     "native format, lenient for others)",
     [](std::string_view v, Settings& s) { return set_reading(v, s.reading); }},
    {"load", "a number from 0.001 to 1000",
     "stretches or squeezes the times between submissions, so that the GPU time asked for is so "
     "many times that of the cluster (default: as they are)",
     [](std::string_view v, Settings& s) { return set_part(v, 0.001, 1000, s.load); }},
    {"reference_gpu", "a GPU type",
     "the type that the trace's durations were measured on (default: the cluster's fastest)",
     [](std::string_view v, Settings& s) { return set_text(v, s.reference_gpu); }},
    {"models", "a built-in table or a file",
     "speeds of models by GPU type; jobs without a model get one of them by weight (default: "
     "slides, and no model is drawn)",
     [](std::string_view v, Settings& s) { return set_text(v, s.models); }},
    {"network", "profiled, analytic or contention",
     "where a gang's locality factor comes from: measured; what its model communicates and the "
     "cluster's links; the same, with links shared by the gangs that cross them (default: "
     "profiled)",
     [](std::string_view v, Settings& s) {
       return set_choice(v, {"profiled", "analytic", "contention"}, s.network.kind);
     }},
    {"exchange", "ring or parameter-servers",
     "how workers add up gradients: by a ring all-reduce; by a server beside each worker, where "
     "the largest tensor's server is the bottleneck; not with network=profiled (default: ring)",
     [](std::string_view v, Settings& s) {
       return set_choice(v, {"ring", "parameter-servers"}, s.network.exchange);
     }},
    {"congestion", "tier:factor,... of pair, node, rack and spine with factors from 1 to 1000000",
     "divides what one gang has at most on links of the tiers; the trace's durations are without; "
     "not with network=profiled",
     [](std::string_view v, Settings& s) { return set_congestion(v, s.network.congestion); }},
    {"contention_penalty_ms_per_mb", "milliseconds from 0 to 1000000",
     "what each MB takes longer for each other gang on the busiest link; with network=contention "
     "(default: 0)",
     [](std::string_view v, Settings& s) {
       return set_part(v, 0, 1e6, s.network.penalty_ms_per_mb);
     }},
    {"costs", "none or default",
     "dead time of starting and moving jobs; none drops that of models too (default: default)",
     [](std::string_view v, Settings& s) { return set_costs(v, s); }},
    {"start_s", kSeconds, "dead time of a first start (default: 10)",
     [](std::string_view v, Settings& s) { return set_duration(v, s.costs.start); }},
    {"suspend_s", kSeconds, "part of the dead time of a resume in place (default: 0.5)",
     [](std::string_view v, Settings& s) { return set_duration(v, s.costs.suspend); }},
    {"resume_s", kSeconds, "the rest of the dead time of a resume in place (default: 0.5)",
     [](std::string_view v, Settings& s) { return set_duration(v, s.costs.resume); }},
    {"checkpoint_s", kSeconds,
     "part of the dead time of a migration (default: 3.5, 15 or 30 for 1, up to 8 or more GPUs)",
     [](std::string_view v, Settings& s) { return set_duration(v, s.costs.checkpoint); }},
    {"migrate_s", kSeconds, "the rest of the dead time of a migration (default: as checkpoint_s)",
     [](std::string_view v, Settings& s) { return set_duration(v, s.costs.migrate); }},
    {"copies_exchange_s", kSeconds,
     "how long copies of a job take to exchange their parameters (default: 7)",
     [](std::string_view v, Settings& s) { return set_duration(v, s.costs.copies_exchange); }},
    {"copies_every_s", "seconds, at least 0.001",
     "how long copies train between exchanges (default: 360)",
     [](std::string_view v, Settings& s) {
       return set_duration(v, s.costs.copies_every) && s.costs.copies_every.ms >= 1;
     }},
    {"copies_efficiency", "a part from 0.01 to 1",
     "what the steps of one of several copies are worth (default: 1)",
     [](std::string_view v, Settings& s) {
       return set_part(v, 0.01, 1, s.costs.copies_efficiency);
     }},
    {"mtbf_h", "hours from 0 to 1000000",
     "mean time between failures of one node; 0: none fails (default: 0)",
     [](std::string_view v, Settings& s) { return set_hours(v, 0, s.faults.mtbf_h); }},
    {"mttr_h", "hours from 0.001 to 1000000", "mean time to repair a node (default: 1)",
     [](std::string_view v, Settings& s) { return set_hours(v, 0.001, s.faults.mttr_h); }},
    {"checkpoint_interval_s", kSeconds,
     "a job that loses a node loses the work since its last checkpoint; 0: none (default: 1800)",
     [](std::string_view v, Settings& s) { return set_duration(v, s.faults.checkpoint_interval); }},
    {"profile_s", kSeconds,
     "how long a job runs on a GPU type before policies that learn speeds know its speed there "
     "(default: 10)",
     [](std::string_view v, Settings& s) { return set_duration(v, s.profiles.length); }},
    {"profile_noise", "a part from 0 to 0.9",
     "each learnt speed is off by up to this part, seeded (default: 0)",
     [](std::string_view v, Settings& s) { return set_part(v, 0, 0.9, s.profiles.noise); }},
    {"bin_s", "seconds, at least 0.001",
     "width of the timeline's bins (default: 60, doubled as often as needed for at most 512 bins)",
     [](std::string_view v, Settings& s) { return set_bin(v, s.timeline); }},
};

tl::unexpected<Error> unknown_key(std::string_view key) {
  std::vector<std::string_view> keys;
  for (const Setting& setting : kSettings) keys.push_back(setting.key);
  return input_error("--set: no such key (there are: {}): {}", nearest_first(keys, key), key);
}

// A setting that would do nothing is more likely a mistake.
Status check_network(const NetworkOptions& network) {
  const std::array<double, kTiers> none = NetworkOptions().congestion;
  if (network.kind == NetworkKind::kProfiled && network.congestion != none) {
    return input_error("--set congestion needs network=analytic or contention: profiled");
  }
  if (network.kind == NetworkKind::kProfiled && network.exchange != Exchange::kRing) {
    return input_error("--set exchange needs network=analytic or contention: profiled");
  }
  if (network.kind != NetworkKind::kContention && network.penalty_ms_per_mb != 0) {
    return input_error("--set contention_penalty_ms_per_mb needs network=contention: {}",
                       network.kind == NetworkKind::kProfiled ? "profiled" : "analytic");
  }
  return {};
}

}  // namespace

Result<Settings> parse_settings(const std::vector<std::string>& assignments) {
  Settings settings;
  // The base of the other costs, wherever it stands.
  std::vector<std::string_view> ordered(assignments.begin(), assignments.end());
  std::stable_sort(ordered.begin(), ordered.end(), [](std::string_view a, std::string_view b) {
    return a.starts_with("costs=") && !b.starts_with("costs=");
  });
  for (std::string_view assignment : ordered) {
    const std::size_t at = assignment.find('=');
    if (at == std::string_view::npos) {
      return input_error("--set takes key=value: {}", assignment);
    }
    const std::string_view key = assignment.substr(0, at);
    const std::string_view value = assignment.substr(at + 1);
    const auto* setting = std::ranges::find(kSettings, key, &Setting::key);
    if (setting == std::end(kSettings)) return unknown_key(key);
    if (!setting->apply(value, settings)) {
      return input_error("--set {} takes {}: {}", key, setting->takes, value);
    }
    settings.given[std::string(key)] = value;
  }
  FL_TRY(check_network(settings.network));
  return settings;
}

std::string settings_help() {
  std::string help = "Keys of --set:\n";
  for (const Setting& setting : kSettings) {
    help += fmt::format("  {:<30}{}\n{:32}{}\n", setting.key, setting.takes, "", setting.help);
  }
  return help;
}

}  // namespace fairlead
