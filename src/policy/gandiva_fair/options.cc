#include "fairlead/policy/gandiva_fair/gandiva_fair.h"
#include "fairlead/policy/policies.h"

namespace fairlead {
namespace {

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
    integer_option("balance_quanta", "1", "quanta", 1, 100'000,
                   "Interval of load balancing; chosen."),
    real_option("gain", "0.05", "GPUs per GPU moved", 0, 100,
                "Minimum gain of a migration, twice this between GPU types; chosen: 30 s of "
                "overhead in ten minutes."),
    real_option("moves", "0.25", "per node and round", 0, 100,
                "Maximum number of migrations between nodes in a round of balancing, beyond one; "
                "chosen."),
    integer_option("cool_down_quanta", "10", "quanta", 0, 100'000,
                   "How long a migrated job is not migrated again; chosen."),
    integer_option(
        "horizon_s", "600", "seconds", 1, 86'400,
        "Time in which a user that received less than its entitlement is compensated; chosen."),
    flag_option("skip", "true",
                "Skip gangs that do not fit, as in the paper; false is head-of-line blocking, an "
                "ablation."),
    flag_option("cap", "true",
                "Keep a job's pass within a few turns of the mean, so that it does not pay for "
                "ever for GPUs that no other job could use; ours."),
    real_option("jobs_per_gpu_max", "4", "GPUs of gangs per GPU", 1, 1000,
                "Maximum of a user's jobs on nodes per GPU of its entitlement (of a node: "
                "twice as many per GPU), as suspended jobs fill host memory; chosen."),
};

}  // namespace

GandivaFairOptions gandiva_fair_options(const PolicyOptions& options) {
  return {.quantum = options.duration("quantum_s"),
          .skip = options.flag("skip"),
          .cap = options.flag("cap"),
          .balance = options.flag("balance"),
          .balance_quanta = options.integer("balance_quanta"),
          .cool_down_quanta = options.integer("cool_down_quanta"),
          .gain = options.real("gain"),
          .moves = options.real("moves"),
          .trade_quanta = options.integer("trade_quanta"),
          .jobs_per_gpu_max = options.real("jobs_per_gpu_max"),
          .entitlements = {.filling = options.is("tickets", "filling"),
                           .price = options.choice("price",
                                                   {TradePrice::kSlides, TradePrice::kExternal}),
                           .quantum = options.duration("quantum_s"),
                           .horizon = options.duration("horizon_s")},
          .trade = options.flag("trade")};
}

const PolicyEntry kGandivaFair = {
    .name = "gandiva-fair",
    .summary = "GPU time in proportion to tickets by split stride, balancing and trading.",
    .paper = "Chaudhary et al., Gandiva_fair, EuroSys 2020",
    .options = kOptions,
    .make = [](const PolicyOptions& options) -> Result<std::unique_ptr<Policy>> {
      return std::make_unique<GandivaFair>(gandiva_fair_options(options));
    }};

}  // namespace fairlead
