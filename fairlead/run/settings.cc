#include "fairlead/run/settings.h"

#include "fairlead/base/nearest.h"
#include "fairlead/base/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace fairlead {
namespace {

struct Setting {
  std::string_view key;
  std::string_view takes;  // what a value must be: "seconds, at least 0.001"
  std::string_view help;
  // Returns false if the value is invalid.
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

bool set_number(std::string_view value, double min, double max, double& number) {
  const auto parsed = parse_number(value);
  if (!parsed || *parsed < min || *parsed > max) return false;
  number = *parsed;
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

// Sets a fixed bin width, which is kept up to a million bins.
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
    if (!set_number(part.substr(colon + 1), 1, kFactorMax, congestion[tier])) return false;
    if (part.size() == value.size()) return true;
    value.remove_prefix(part.size() + 1);
  }
}

// Calls `take` with each "NAME:TEXT" of a list; a part without a colon has an empty name. Returns false as soon as one
// call does.
template <class Take>
bool for_each_named(std::string_view list, const Take& take) {
  for (;;) {
    const std::string_view part = list.substr(0, list.find(','));
    const std::size_t colon = part.find(':');
    const bool is_named = colon != part.npos && colon > 0;
    if (!take(is_named ? part.substr(0, colon) : "", is_named ? part.substr(colon + 1) : part))
      return false;
    if (part.size() == list.size()) return true;
    list.remove_prefix(part.size() + 1);
  }
}

bool set_prices(std::string_view value, std::map<std::string, double>& prices) {
  return for_each_named(value, [&](std::string_view type, std::string_view price) {
    double number = 0;
    return !type.empty() && set_number(price, 0, 1e9, number) &&
           prices.emplace(type, number).second;
  });
}

bool set_power(std::string_view value, PowerOptions& power) {
  return for_each_named(value, [&](std::string_view type, std::string_view text) {
    if (type.empty()) return text == "published" && !std::exchange(power.published, true);
    const std::size_t slash = text.find('/');
    GpuPower watts;
    if (!set_number(text.substr(0, slash), 0, 1e6, watts.busy_w)) return false;
    if (slash != text.npos && !set_number(text.substr(slash + 1), 0, 1e6, watts.idle_w.emplace()))
      return false;
    return power.of_type.emplace(type, watts).second;
  });
}

bool set_text(std::string_view value, std::string& text) {
  text = value;
  return !value.empty();
}

bool set_work(std::string_view value, WorkSource& source) {
  using Source = std::pair<std::string_view, WorkSource>;
  constexpr std::array<Source, 4> kSources = {Source{"exact", WorkSource::kExact},
                                              {"declared", WorkSource::kDeclared},
                                              {"history", WorkSource::kHistory},
                                              {"none", WorkSource::kNone}};
  const auto* found = std::ranges::find(kSources, value, &Source::first);
  if (found == kSources.end()) return false;
  source = found->second;
  return true;
}

bool set_age(std::string_view value, std::optional<Duration>& age) {
  Duration duration;
  if (!set_duration(value, duration) || duration.ms < 1) return false;
  age = duration;
  return true;
}

constexpr std::string_view kSeconds = "seconds, at least 0";

// By topic: the trace, speeds, the network, costs, faults, knowledge, output.
constexpr Setting kSettings[] = {
    {"reading", "strict or lenient",
     "whether a bad row of the trace is an error (strict) or is counted and skipped (lenient) "
     "(default: strict for the native format, lenient for others)",
     [](std::string_view v, Settings& s) { return set_reading(v, s.reading); }},
    {"rejected", "refuse or allow",
     "whether a trace with more than 1 % unusable rows is an error; rows that are not meant to be "
     "jobs do not count (default: refuse)",
     [](std::string_view v, Settings& s) {
       return set_choice(v, {"refuse", "allow"}, s.rejects_allowed);
     }},
    {"tasks", "gpu or trace",
     "whether a job of a trace by others may be split over nodes GPU by GPU (gpu) or only between "
     "its tasks, which Helios, Acme, PAI and Slurm list (trace) (default: gpu)",
     [](std::string_view v, Settings& s) {
       return set_choice(v, {"gpu", "trace"}, s.tasks);
     }},
    {"places", "stated, recorded or any",
     "GPU types on which a job may run: those in its column runs_on, or any if that is empty "
     "(stated); the same, but the type of its duration instead of any (recorded); any (any) "
     "(default: stated)",
     [](std::string_view v, Settings& s) {
       return set_choice(v, {"stated", "recorded", "any"}, s.places);
     }},
    {"resources", "honour or ignore",
     "whether the CPU and memory that jobs ask for limit placements on nodes that state theirs "
     "(default: honour)",
     [](std::string_view v, Settings& s) {
       return set_choice(v, {"honour", "ignore"}, s.resources_ignored);
     }},
    {"limits", "a file",
     "limits on the GPUs and jobs that a user, a QOS or an account may have at once: a table with "
     "the columns name, qos, account, user, per, gpus and jobs; excludes faults (default: none)",
     [](std::string_view v, Settings& s) { return set_text(v, s.limits); }},
    {"resample", "no or yes",
     "whether blocks of days of the trace are drawn again by the seed: another trace of the same "
     "length, without "
     "recorded starts; a trace of 7 days or more (default: no)",
     [](std::string_view v, Settings& s) {
       return set_choice(v, {"no", "yes"}, s.resample);
     }},
    {"load", "a number from 0.001 to 1000",
     "rescale interarrival times to this offered load (GPU time requested / capacity) (default: "
     "those of the trace)",
     [](std::string_view v, Settings& s) { return set_number(v, 0.001, 1000, s.load); }},
    {"reference_gpu", "a GPU type",
     "type on which durations were measured, for jobs whose row names none (default: the fastest "
     "type of the cluster)",
     [](std::string_view v, Settings& s) { return set_text(v, s.reference_gpu); }},
    {"models", "a built-in table or a file",
     "speeds of models by GPU type; jobs that name no model get one, drawn by weight (default: the "
     "built-in table slides, and no model is drawn)",
     [](std::string_view v, Settings& s) { return set_text(v, s.models); }},
    {"unknown_speed", "error, generic, slowest or 1",
     "speed of a model on a GPU type without a row in the table, if a job needs it: an error "
     "(error); scaled by the table of GPU types (generic); the model's slowest known speed "
     "(slowest); the speed on the reference type (1) (default: error); generic also gives the "
     "factors of that table to models that the table of models lacks, which else have speed 1",
     [](std::string_view v, Settings& s) {
       return set_choice(v, {"error", "generic", "slowest", "1"}, s.unknown_speed);
     }},
    {"network", "profiled, analytic or contention",
     "locality factor of a gang: measured per model and tier (profiled); computed from the "
     "model's communication and the bandwidth of the links (analytic); also computed, with links "
     "shared among the gangs that cross them (contention) (default: profiled)",
     [](std::string_view v, Settings& s) {
       return set_choice(v, {"profiled", "analytic", "contention"}, s.network.kind);
     }},
    {"exchange", "ring or parameter-servers",
     "how workers exchange gradients: ring all-reduce, or a parameter server beside each worker, "
     "of which the one with the largest tensor is the bottleneck; needs network=analytic or "
     "contention (default: ring)",
     [](std::string_view v, Settings& s) {
       return set_choice(v, {"ring", "parameter-servers"}, s.network.exchange);
     }},
    {"congestion", "tier:factor,... of pair, node, rack and spine with factors from 1 to 1000000",
     "divide the bandwidth available to a gang at each named tier by this factor; durations of the "
     "trace are without congestion; needs network=analytic or contention (default: 1)",
     [](std::string_view v, Settings& s) { return set_congestion(v, s.network.congestion); }},
    {"contention_penalty_ms_per_mb", "milliseconds from 0 to 1000000",
     "extra time per MB for each other gang on the busiest link of a gang; needs "
     "network=contention (default: 0)",
     [](std::string_view v, Settings& s) {
       return set_number(v, 0, 1e6, s.network.penalty_ms_per_mb);
     }},
    {"costs", "none or default",
     "overheads of starting, resuming and migrating jobs; none: all 0, also the models' own; the "
     "keys below replace single ones (default: default)",
     [](std::string_view v, Settings& s) { return set_costs(v, s); }},
    {"start_s", kSeconds,
     "overhead of a first start, and of a restart after the loss of a node (default: 10)",
     [](std::string_view v, Settings& s) { return set_duration(v, s.costs.start); }},
    {"suspend_s", kSeconds,
     "time to suspend a job, charged when it resumes on the GPUs it had (default: 0.5)",
     [](std::string_view v, Settings& s) { return set_duration(v, s.costs.suspend); }},
    {"resume_s", kSeconds,
     "time to resume a job on the GPUs it had, charged in addition to suspend_s (default: 0.5)",
     [](std::string_view v, Settings& s) { return set_duration(v, s.costs.resume); }},
    {"checkpoint_s", kSeconds,
     "time to save a job, charged when it migrates (default: 3.5 for gangs of 1 GPU, 15 for 2 to "
     "8, 30 for more)",
     [](std::string_view v, Settings& s) { return set_duration(v, s.costs.checkpoint); }},
    {"migrate_s", kSeconds,
     "time to move and load a job, charged in addition to checkpoint_s (default: 3.5, 15 or 30, "
     "as for checkpoint_s)",
     [](std::string_view v, Settings& s) { return set_duration(v, s.costs.migrate); }},
    {"copies_exchange_s", kSeconds,
     "pause of the copies of a job while they exchange parameters (default: 7)",
     [](std::string_view v, Settings& s) { return set_duration(v, s.costs.copies_exchange); }},
    {"copies_every_s", "seconds, at least 0.001",
     "training time of copies between two exchanges (default: 360)",
     [](std::string_view v, Settings& s) {
       return set_duration(v, s.costs.copies_every) && s.costs.copies_every.ms >= 1;
     }},
    {"copies_efficiency", "a fraction from 0.01 to 1",
     "fraction of its speed that each of several copies of a job contributes (default: 1)",
     [](std::string_view v, Settings& s) {
       return set_number(v, 0.01, 1, s.costs.copies_efficiency);
     }},
    {"faults", "NAME:VALUE/NAME:VALUE...",
     "faults of the simulated world (docs/formats.md): late_s, start_s, stop_s, repeat, shuffle, "
     "start_fails, stop_fails, gpu_losses_per_h, gpus_back_s, operators_per_h, users_come, calm_s "
     "(default: nothing)",
     [](std::string_view v, Settings& s) { return parse_unreliable(v, s.unreliable); }},
    {"mtbf_h", "hours from 0 to 1000000",
     "mean time between failures of a node, exponential; 0: no failures (default: 0)",
     [](std::string_view v, Settings& s) { return set_hours(v, 0, s.faults.mtbf_h); }},
    {"rack_mtbf_h", "hours from 0 to 1000000",
     "mean time between failures of a rack, exponential; its nodes fail and come back together; "
     "0: no such failures (default: 0)",
     [](std::string_view v, Settings& s) { return set_hours(v, 0, s.faults.rack_mtbf_h); }},
    {"mttr_h", "hours from 0.001 to 1000000",
     "mean time to repair a node or a rack, exponential (default: 1)",
     [](std::string_view v, Settings& s) { return set_hours(v, 0.001, s.faults.mttr_h); }},
    {"outages", "a file",
     "nodes, or some of their GPUs, that are down for a while: a table with the columns node, "
     "down_s, up_s and, if wanted, gpus; instead of mtbf_h and rack_mtbf_h (default: none)",
     [](std::string_view v, Settings& s) { return set_text(v, s.outages); }},
    {"checkpoint_interval_s", kSeconds,
     "time between periodic checkpoints: a job that loses a node loses its work since the last; 0: "
     "no work is lost (default: 1800)",
     [](std::string_view v, Settings& s) { return set_duration(v, s.faults.checkpoint_interval); }},
    {"speeds", "table or measured",
     "speeds that policies get: those of the table, for policies that profile only after profiling "
     "(table); only speeds measured on the gangs of jobs (measured) (default: table)",
     [](std::string_view v, Settings& s) {
       return set_choice(v, {"table", "measured"}, s.profiles.source);
     }},
    {"profile_s", kSeconds,
     "running time on a GPU type after which a job's speed there is known to policies that profile "
     "(default: 10)",
     [](std::string_view v, Settings& s) { return set_duration(v, s.profiles.length); }},
    {"profile_noise", "a fraction from 0 to 0.9",
     "largest relative error of a profiled speed, drawn uniformly from the seed (default: 0)",
     [](std::string_view v, Settings& s) { return set_number(v, 0, 0.9, s.profiles.noise); }},
    {"profile_age_s", "seconds, at least 0.001",
     "time after which a measured speed counts as unknown, from the end of the last run of a job "
     "that measured it; needs speeds=measured (default: never)",
     [](std::string_view v, Settings& s) { return set_age(v, s.profiles.age); }},
    {"work", "exact, declared, history or none",
     "knowledge of policies about the remaining work of jobs: exact (exact); from durations in the "
     "trace times an error (declared); from finished jobs of the same user and model (history); "
     "only the work that each job has done (none) (default: exact)",
     [](std::string_view v, Settings& s) { return set_work(v, s.work.source); }},
    {"work_error", "a number from 0 to 3",
     "error of declared work: standard deviation of the logarithm of a factor drawn for each job "
     "from the seed; needs work=declared (default: 0)",
     [](std::string_view v, Settings& s) { return set_number(v, 0, 3, s.work.error); }},
    {"power", "published, or TYPE:WATTS or TYPE:WATTS/WATTS-AT-IDLE, ...",
     "power of a GPU of each type under load and at idle, for figures of energy: published ones "
     "(`fairlead models gpu-types`), your own, or both: published,MI100:300/40 (default: none)",
     [](std::string_view v, Settings& s) { return set_power(v, s.power); }},
    {"prices", "TYPE:NUMBER,...",
     "price of one GPU of each type for an hour, for figures of cost (default: none)",
     [](std::string_view v, Settings& s) { return set_prices(v, s.prices); }},
    {"bin_s", "seconds, at least 0.001",
     "width of the bins of timeline.csv (default: 60, doubled until there are at most 512 bins)",
     [](std::string_view v, Settings& s) { return set_bin(v, s.timeline); }},
};

tl::unexpected<Error> unknown_key(std::string_view key) {
  std::vector<std::string_view> keys;
  for (const Setting& setting : kSettings) keys.push_back(setting.key);
  return input_error("--set: no such key (there are: {}): {}", nearest_first(keys, key), key);
}

// Splits "a=1,b=2" into "--set a=1 --set b=2" if b is a key; else returns an empty text, because values may have
// commas.
std::string one_by_one(std::string_view assignment) {
  std::string split = "--set ";
  bool several = false;
  for (std::size_t at = 0; at < assignment.size(); ++at) {
    const std::string_view rest = assignment.substr(at + 1);
    const bool ends =
        assignment[at] == ',' && std::ranges::any_of(kSettings, [&](const Setting& setting) {
          return rest.starts_with(fmt::format("{}=", setting.key));
        });
    several = several || ends;
    split += ends ? " --set " : std::string(1, assignment[at]);
  }
  return several ? split : "";
}

// A setting without effect is most likely a mistake.
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

Status check_faults(const Settings& settings) {
  if (!settings.limits.empty() && settings.unreliable.any())
    return input_error("--set limits excludes faults: {}", settings.limits);
  if (settings.outages.empty()) return {};
  if (settings.faults.mtbf_h > 0 || settings.faults.rack_mtbf_h > 0) {
    return input_error("--set outages excludes mtbf_h and rack_mtbf_h: {}", settings.outages);
  }
  return {};
}

Status check_speeds(const ProfileOptions& profiles) {
  if (!profiles.age || profiles.source == SpeedSource::kMeasured) return {};
  return input_error("--set profile_age_s needs speeds=measured: table");
}

Status check_work(const WorkOptions& work) {
  if (work.error == 0 || work.source == WorkSource::kDeclared) return {};
  return input_error("--set work_error needs work=declared: {}",
                     work.source == WorkSource::kExact     ? "exact"
                     : work.source == WorkSource::kHistory ? "history"
                                                           : "none");
}

}  // namespace

Result<Settings> parse_settings(const std::vector<std::string>& assignments) {
  Settings settings;
  // `costs` is the base of the other costs, so it is applied first wherever it is given.
  std::vector<std::string_view> ordered(assignments.begin(), assignments.end());
  std::stable_sort(ordered.begin(), ordered.end(), [](std::string_view a, std::string_view b) {
    return a.starts_with("costs=") && !b.starts_with("costs=");
  });
  for (std::string_view assignment : ordered) {
    const std::size_t at = assignment.find('=');
    if (at == std::string_view::npos) {
      return input_error("--set takes key=value: {}", assignment);
    }
    if (const std::string split = one_by_one(assignment); !split.empty()) {
      return input_error("--set takes one key=value; write {}: {}", split, assignment);
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
  FL_TRY(check_speeds(settings.profiles));
  FL_TRY(check_work(settings.work));
  FL_TRY(check_faults(settings));
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
