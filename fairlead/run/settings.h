// The settings of a run other than cluster, trace and policy: `--set key=value`.
//
// One table has every key with its unit, its help and its effect, so that parsing, error messages and `--help`
// cannot disagree.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/input/gpu_power.h"
#include "fairlead/metrics/timeline.h"
#include "fairlead/model/communication.h"
#include "fairlead/model/job_limits.h"
#include "fairlead/model/job_row.h"
#include "fairlead/model/known_speed.h"
#include "fairlead/model/known_work.h"
#include "fairlead/model/profile_options.h"
#include "fairlead/model/unknown_speed.h"
#include "fairlead/sim/costs.h"
#include "fairlead/sim/faults.h"
#include "fairlead/sim/unreliable_options.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// The GPU types on which a job may run.
enum class PlacesRule : std::uint8_t {
  kStated,  // those that its row names in runs_on; any, if it names none
  kRecorded,  // the same, but a job that names none stays on the product of its duration, if the cluster has it
  kAny,
};

// The power that energy is computed from; neither: no energy.
struct PowerOptions {
  bool published = false;                   // the table of published figures
  std::map<std::string, GpuPower> of_type;  // instead of the table's, by GPU type
};

struct Settings {
  std::map<std::string, std::string> given;  // the original texts, by key
  std::string reference_gpu;                 // empty: the cluster's fastest type
  std::string models;                        // empty: the built-in table, and no model is drawn
  UnknownSpeed unknown_speed = UnknownSpeed::kError;  // if `models` has no row for a GPU type
  bool rejects_allowed = false;                       // more than 1 % of the rows may be unusable
  std::optional<Reading> reading{};  // none: strict for the native format, else lenient
  Tasks tasks = Tasks::kOfOneGpu;    // size of tasks in foreign formats
  PlacesRule places = PlacesRule::kStated;
  bool resources_ignored = false;  // CPU and memory of jobs do not count
  std::string limits;              // a file of limits (input/limits_file.h); empty: limit_rules
  std::vector<LimitRule> limit_rules;
  bool resample =
      false;        // a resample of the trace by the run's seed in its place (trace/resample.h)
  double load = 0;  // offered load to rescale to (trace/load.h); 0: interarrival times stay
  Costs costs;
  bool model_costs = true;  // models' own costs take precedence over `costs`
  FaultOptions faults;
  std::string outages;  // a file of them (input/outages_file.h); empty: faults.outages
  UnreliableOptions unreliable;
  NetworkOptions network;
  ProfileOptions profiles;
  WorkOptions work;
  TimelineOptions timeline;
  PowerOptions power;
  std::map<std::string, double> prices;  // prices of one GPU for an hour, by type; empty: unknown
};

// Applies "key=value" texts in order, except that costs comes before all others. An error names the key, the allowed
// values, and the given value last; the error for an unknown key lists the known keys, nearest first. A setting that
// has no effect with the other settings is an error too, for example `exchange` with network=profiled.
Result<Settings> parse_settings(const std::vector<std::string>& assignments);

// Returns one line per key for `--help`.
std::string settings_help();

}  // namespace fairlead
