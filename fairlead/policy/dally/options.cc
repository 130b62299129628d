#include "fairlead/policy/dally/dally.h"
#include "fairlead/policy/policies.h"

#include <algorithm>
#include <functional>

namespace fairlead {
namespace {

constexpr double kDay = 86'400;

constexpr OptionSpec kOptions[] = {
    choice_option("mode", "auto", "auto/manual/no-wait/fully-consolidated",
                  "Delay timers: tuned from past waits (auto), fixed (manual), zero (no-wait) or "
                  "infinite (fully-consolidated)."),
    integer_option("node_s", "300", "seconds", 0, 30 * kDay,
                   "How long a job waits for GPUs of one node before it accepts a rack; with "
                   "auto, until waits are recorded; chosen."),
    integer_option("rack_s", "900", "seconds", 0, 30 * kDay,
                   "How long a job waits before it accepts GPUs anywhere, at least node_s; with "
                   "auto, until waits are recorded; chosen."),
    integer_option("least_s", "1", "seconds", 0, to_seconds(DallyTimers::kMost),
                   "With auto: lower bound of a timer; chosen."),
    choice_option("preempt", "both", "none/las/network/both",
                  "Which running jobs a job may stop: none, jobs of a later class (las), jobs less "
                  "sensitive to the network (network), or either (both)."),
    choice_option("score", "nw-sens", "nw-sens/slowdown",
                  "Sensitivity to the network: slowdown x communication x work left (nw-sens), or "
                  "slowdown alone."),
    choice_option(
        "classes", "attained", "attained/left",
        "Classes by the GPU time that a job had (attained), or by the GPU time that it has "
        "left (left; ours)."),
    list_option(
        "limits_gpu_s", "3250/13000/52000/208000/832000", "GPU-seconds", 1, 1e9,
        "GPU time at which each class except the first begins, increasing; the first "
        "is the Tiresias artefact's, each of the others four times the previous one (ours)."),
    integer_option(
        "round_s", "300", "seconds", 1, kDay,
        "Interval at which preemptions and migrations are decided; the default is Blox's."),
    integer_option(
        "switch_s", "30", "seconds", 0, 3600,
        "Expected overhead of a restart; the default is Helios' for a migration of 2 to 8 GPUs."),
};

}  // namespace

Result<DallyOptions> dally_options(const PolicyOptions& options) {
  using Mode = DallyTimerOptions::Mode;
  using Preempt = DallyPreempt;
  std::vector<std::int64_t> limits;
  for (double limit : options.list("limits_gpu_s"))
    limits.push_back(static_cast<std::int64_t>(limit));
  if (std::ranges::adjacent_find(limits, std::greater_equal<>()) != limits.end()) {
    return input_error("policy dally: limits_gpu_s must increase by whole numbers: {}",
                       options.text("limits_gpu_s"));
  }
  return DallyOptions{
      .timers = {.mode = options.choice(
                     "mode", {Mode::kAuto, Mode::kManual, Mode::kNoWait, Mode::kFullyConsolidated}),
                 .node = options.duration("node_s"),
                 .rack = options.duration("rack_s"),
                 .least = options.duration("least_s")},
      .preempt = options.choice("preempt",
                                {Preempt::kNone, Preempt::kLas, Preempt::kNetwork, Preempt::kBoth}),
      .score = options.choice("score", {DallyScore::kNwSens, DallyScore::kSlowdown}),
      .classes = options.choice("classes", {DallyClasses::kAttained, DallyClasses::kLeft}),
      .limits_gpu_s = std::move(limits),
      .round = options.duration("round_s"),
      .switch_cost = options.duration("switch_s")};
}

const PolicyEntry kDally = {
    .name = "dally",
    .summary =
        "Jobs wait for GPUs close together as long as waiting paid lately, then accept "
        "wider gangs.",
    .paper = "Sharma et al., Dally, arXiv 2401.16492",
    .options = kOptions,
    .make = [](const PolicyOptions& options) -> Result<std::unique_ptr<Policy>> {
      FL_TRY_ASSIGN(made, dally_options(options));
      return std::make_unique<Dally>(std::move(made));
    },
    .traits = [](const PolicyOptions& options) { return placement_traits(options, "round_s"); }};

}  // namespace fairlead
