#include "fairlead/policy/dally/dally.h"
#include "fairlead/policy/policies.h"

#include <algorithm>
#include <functional>

namespace fairlead {
namespace {

constexpr double kDay = 86'400;

constexpr OptionSpec kOptions[] = {
    choice_option("mode", "auto", "auto/manual/no-wait/fully-consolidated",
                  "The delay timers: tuned, fixed, zero, or without end."),
    integer_option(
        "machine_s", "300", "seconds", 0, 30 * kDay,
        "Waiting time until a job accepts a rack; with auto, where nothing is known; chosen."),
    integer_option("rack_s", "900", "seconds", 0, 30 * kDay,
                   "Waiting time until a job accepts GPUs anywhere, at least machine_s; chosen."),
    integer_option("least_s", "1", "seconds", 0, kDay, "With auto: the shortest timer; chosen."),
    integer_option("most_s", "43200", "seconds", 1, 30 * kDay,
                   "With auto: the longest timer; chosen."),
    integer_option("samples", "30", "jobs", 1, 1000,
                   "With auto: how many past waits count; chosen."),
    integer_option("age_h", "24", "hours", 1, 720,
                   "With auto: for how long a past wait counts; chosen."),
    real_option("quantile", "0", "", 0, 1,
                "With auto: a timer is this quantile of the past waits; 0: their mean; chosen."),
    real_option("patience", "1", "", 0, 1000,
                "With auto: a job waits at least this many times what it would lose further apart "
                "(ours)."),
    choice_option("preempt", "both", "none/las/network/both",
                  "Who may take GPUs from whom: nobody, by attained service, by sensitivity to the "
                  "network, or by service and then sensitivity."),
    choice_option("score", "nw-sens", "nw-sens/slowdown",
                  "Sensitivity: slowdown x communication x work left, or slowdown alone."),
    list_option(
        "limits", "3250/13000/52000/208000/832000", "GPU-seconds", 1, 1e9,
        "Service at which a job leaves each class but the last, increasing; the first is that of "
        "Tiresias' artefact, each other four times the one before (ours)."),
    integer_option("round", "300", "seconds", 1, kDay,
                   "Time between looks at who should make room or move; the default is Blox'."),
    integer_option(
        "switch_s", "30", "seconds", 0, 3600,
        "Dead time expected of a restart; the default is that of Helios' migration of 2 to 8 "
        "GPUs."),
};

DallyTimerOptions::Mode mode_named(std::string_view name) {
  using Mode = DallyTimerOptions::Mode;
  if (name == "manual") return Mode::kManual;
  if (name == "no-wait") return Mode::kNoWait;
  return name == "auto" ? Mode::kAuto : Mode::kFullyConsolidated;
}

DallyPreempt preempt_named(std::string_view name) {
  if (name == "none") return DallyPreempt::kNone;
  if (name == "las") return DallyPreempt::kLas;
  return name == "network" ? DallyPreempt::kNetwork : DallyPreempt::kBoth;
}

Result<std::unique_ptr<Policy>> make(const PolicyOptions& options) {
  std::vector<std::int64_t> limits;
  for (double limit : options.list("limits")) limits.push_back(static_cast<std::int64_t>(limit));
  if (std::ranges::adjacent_find(limits, std::greater_equal<>()) != limits.end()) {
    return input_error("policy dally: limits must increase by whole numbers: {}",
                       options.text("limits"));
  }
  if (options.integer("least_s") > options.integer("most_s")) {
    return input_error("policy dally: least_s is above most_s: {}", options.integer("least_s"));
  }
  return std::make_unique<Dally>(DallyOptions{
      .timers = {.mode = mode_named(options.text("mode")),
                 .machine = seconds(options.integer("machine_s")),
                 .rack = seconds(options.integer("rack_s")),
                 .least = seconds(options.integer("least_s")),
                 .most = seconds(options.integer("most_s")),
                 .samples = static_cast<std::size_t>(options.integer("samples")),
                 .age = hours(options.integer("age_h")),
                 .quantile = options.real("quantile")},
      .patience = options.real("patience"),
      .preempt = preempt_named(options.text("preempt")),
      .score = options.text("score") == "slowdown" ? DallyScore::kSlowdown : DallyScore::kNwSens,
      .limits_s = std::move(limits),
      .round = seconds(options.integer("round")),
      .dead = seconds(options.integer("switch_s"))});
}

}  // namespace

const PolicyEntry kDally = {
    .name = "dally",
    .summary = "Jobs wait for GPUs close together as long as it lately paid, then accept wider.",
    .paper = "Sharma et al., Dally, arXiv 2401.16492",
    .options = kOptions,
    .make = make};

}  // namespace fairlead
