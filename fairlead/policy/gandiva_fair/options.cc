#include "fairlead/policy/gandiva_fair/gandiva_fair.h"
#include "fairlead/policy/policies.h"

namespace fairlead {
namespace {

// Time in which a user with less than its entitlement is compensated; chosen.
constexpr std::int64_t kHorizonQuanta = 2;

constexpr OptionSpec kOptions[] = {
    integer_option("quantum_s", "60", "seconds", 1, 86'400,
                   "Time slice; the default is Gandiva's (OSDI 2018)."),
    choice_option("tickets", "filling", "filling/equal",
                  "How a user's tickets are divided among its jobs: by progressive filling, each "
                  "job capped at its gang (ours), or equally (the slides')."),
    flag_option("trade", "true",
                "Let users trade GPUs of fast types for more GPUs of slow types, as in the paper."),
    choice_option("price", "slides", "slides/external",
                  "Price of a trade: the second-highest speedup (the paper's), or one that no "
                  "party of the trade can influence (ours)."),
    integer_option("trade_quanta", "10", "quanta", 1, 100'000,
                   "Interval of trades; chosen, because trades cause migrations."),
    flag_option("balance", "true",
                "Migrate jobs between nodes and GPU types to balance load; false is an ablation."),
    real_option("gain", "0.05", "GPUs per GPU moved", 0, 100,
                "Minimum gain of a migration, twice this between GPU types; chosen: 30 s of "
                "overhead in ten minutes."),
    flag_option(
        "resident", "false",
        "Keep suspended jobs on the GPUs that they had, unless they fall behind by two turns: for "
        "machines on which they keep their GPU memory. If false, any GPU of their node will do, "
        "as in Gandiva, which moves their memory to the host."),
    flag_option(
        "notes", "false",
        "Leave a note of each user's share of each GPU type in the journal when it has changed by "
        "a hundredth, for `fairlead why`; a simulated journal may grow by a sixth."),
    choice_option(
        "turns", "weight", "weight/stride/strict",
        "How a node chooses among its jobs: the fitting set with the users furthest behind "
        "(ours), gang-aware stride (the slides'), or stride in which a gang that does not "
        "fit blocks the gangs behind it (an ablation)."),
    real_option("jobs_per_gpu_max", "4", "GPUs of gangs per GPU", 1, 1000,
                "Maximum of a user's jobs on nodes per GPU of its entitlement (of a node: twice "
                "as many per GPU), because suspended jobs fill host memory; chosen."),
};

}  // namespace

GandivaFairOptions gandiva_fair_options(const PolicyOptions& options) {
  const Duration quantum = options.duration("quantum_s");
  const bool filling = options.is("tickets", "filling");
  return {
      .quantum = quantum,
      .notes = options.flag("notes"),
      .balance = options.flag("balance"),
      .gain = options.real("gain"),
      .jobs_per_gpu_max = options.real("jobs_per_gpu_max"),
      .entitlements = {.filling = filling,
                       .price =
                           options.choice("price", {TradePrice::kSlides, TradePrice::kExternal})},
      .ledger = {.corrects = filling, .quantum = quantum, .horizon = {kHorizonQuanta * quantum.ms}},
      .turns = {.rule = filling ? options.choice("turns", {TurnRule::kWeight, TurnRule::kStride,
                                                           TurnRule::kStrict})
                                : TurnRule::kStride,
                .resident = options.flag("resident"),
                .quantum = quantum},
      .trades = {.trade = options.flag("trade"),
                 .interval = {quantum.ms * options.integer("trade_quanta")}}};
}

const PolicyEntry kGandivaFair = {
    .name = "gandiva-fair",
    .summary = "GPU time in proportion to tickets by split stride, balancing and trading.",
    .paper = "Chaudhary et al., Gandiva_fair, EuroSys 2020",
    .options = kOptions,
    .make = [](const PolicyOptions& options) -> Result<std::unique_ptr<Policy>> {
      return std::make_unique<GandivaFair>(gandiva_fair_options(options));
    },
    .traits =
        [](const PolicyOptions& options) {
          return PlacementTraits{.placement = Placement::kBestFit,
                                 .one_node = true,
                                 .one_type = true,
                                 .goes_home = true,
                                 .round = options.duration("quantum_s")};
        }};

}  // namespace fairlead
