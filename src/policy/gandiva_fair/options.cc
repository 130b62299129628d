#include "fairlead/policy/gandiva_fair/gandiva_fair.h"
#include "fairlead/policy/policies.h"

namespace fairlead {
namespace {

constexpr OptionSpec kOptions[] = {
    integer_option("quantum", "60", "seconds", 1, 86'400,
                   "How long a turn lasts; the default is Gandiva's minute (OSDI 2018)."),
    choice_option(
        "tickets", "filling", "filling/equal",
        "How a user's tickets become its jobs': by progressive filling, each job capped at "
        "its gang, or the slides' plain equal split."),
    flag_option("trade", "true", "Trades fast for slow GPUs among users, as in the paper."),
    choice_option(
        "price", "slides", "slides/external",
        "The price of a trade: the second-highest speedup (the paper's), or one that no party "
        "of the trade can influence (ours)."),
    integer_option("epoch", "10", "quanta", 1, 100'000,
                   "Between two trades, as each causes migrations; chosen."),
    flag_option("balance", "true", "Moves jobs between servers and GPU types; off is an ablation."),
    integer_option("balance_every", "1", "quanta", 1, 100'000,
                   "Between two rounds of balancing; chosen."),
    real_option("gain", "0.05", "GPUs per GPU moved", 0, 100,
                "What a move must gain; chosen, as 30 s of moving are that part of ten minutes."),
    real_option("moves", "0.25", "per server and round", 0, 100,
                "The most moves in one round of balancing, beyond one; chosen."),
    integer_option("cool_down", "10", "quanta", 0, 100'000,
                   "How long a job that was moved stays where it is; chosen."),
    integer_option("horizon", "600", "seconds", 1, 86'400,
                   "Within which a user that was served too little would be paid back; chosen."),
    flag_option("skip", "true",
                "A gang that does not fit is passed over, as in the paper; off is an ablation."),
    flag_option("cap", "true",
                "Bounds passes, so that nobody pays for ever for GPUs that no one else could use."),
    real_option("jobs_per_gpu_max", "4", "GPUs of gangs per GPU", 1, 1000,
                "How much of its jobs a user has in, per GPU it is entitled to (a server: twice as "
                "many per GPU); others wait outside, as suspended jobs fill host memory; chosen."),
};

Result<std::unique_ptr<Policy>> make(const PolicyOptions& options) {
  return std::make_unique<GandivaFair>(GandivaFairOptions{
      .quantum = seconds(options.integer("quantum")),
      .skip = options.flag("skip"),
      .cap = options.flag("cap"),
      .balance = options.flag("balance"),
      .balance_quanta = options.integer("balance_every"),
      .cool_down_quanta = options.integer("cool_down"),
      .gain = options.real("gain"),
      .moves = options.real("moves"),
      .epoch_quanta = options.integer("epoch"),
      .jobs_per_gpu_max = options.real("jobs_per_gpu_max"),
      .entitlements = {.filling = options.text("tickets") == "filling",
                       .price = options.text("price") == "slides" ? TradePrice::kSlides
                                                                  : TradePrice::kExternal,
                       .quantum = seconds(options.integer("quantum")),
                       .horizon = seconds(options.integer("horizon"))},
      .trade = options.flag("trade")});
}

}  // namespace

const PolicyEntry kGandivaFair = {
    .name = "gandiva-fair",
    .summary = "GPU time in proportion to tickets by split stride, balancing and trading.",
    .paper = "Chaudhary et al., Gandiva_fair, EuroSys 2020",
    .options = kOptions,
    .make = make};

}  // namespace fairlead
