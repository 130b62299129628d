// Hadar: jobs bid for GPUs in rounds (auction.h); the objective sets the weights (Utility).
#include "fairlead/model/known_work.h"
#include "fairlead/policy/hadar/auction.h"
#include "fairlead/policy/hadar/early_finishes.h"
#include "fairlead/policy/policies.h"

#include <algorithm>

namespace fairlead {
namespace {

using Between = HadarAuction::Between;
using Prices = HadarAuction::Prices;

enum class Utility : std::uint8_t {
  kJct,         // the value of a step for early finishes (early_finishes.h)
  kThroughput,  // work per time since arrival, as in the paper
  kMakespan,    // work left
  kFtf,         // time in the system per running time alone, to the fourth: the worst comes first
};

struct HadarOptions {
  Utility utility;
  HadarAuction::Options auction;
};

class Hadar : public Policy {
 public:
  explicit Hadar(const HadarOptions& options)
      : utility_(options.utility), auction_(options.auction) {}

  std::string_view name() const override { return kHadar.name; }
  Needs needs() const override { return {.rates = RatesNeeded::kTable, .work = kAnyWork}; }
  void decide(const View& view, Plan& plan) override;
  void fields(Archive& archive) override;

 private:
  void weigh(const View& view, std::span<HadarBidder> bidders) const;
  void weigh_early_finishes(const View& view, const Plan& plan, std::span<HadarBidder> bidders);

  const Utility utility_;
  HadarAuction auction_;
  EarlyFinishes early_finishes_;  // from the view and the plan alone, so it is not saved
};

void Hadar::decide(const View& view, Plan& plan) {
  const auto weigh_all = [&](std::vector<HadarBidder>& bidders, bool /*all*/) {
    if (utility_ == Utility::kJct) return weigh_early_finishes(view, plan, bidders);
    weigh(view, bidders);
  };
  auction_.decide(view, plan, weigh_all, [](JobId) { return true; });
}

// DEVIATION: for the average completion time, the paper's family maximises work / time, which serves short jobs no
// sooner than long ones.
void Hadar::weigh_early_finishes(const View& view, const Plan& plan,
                                 std::span<HadarBidder> bidders) {
  early_finishes_.clear();
  for (HadarBidder& bidder : bidders) {
    const std::uint32_t gang = view.jobs.gpus[bidder.job];
    const JobKinds::Speeds& speeds =
        auction_.kinds().speeds(view, plan, bidder.job, bidder.kind, gang);
    early_finishes_.add(bidder, gang, speeds, to_seconds(bidder.remaining));
  }
  for (const EarlyFinishes::Row& row : early_finishes_.order(plan.free().capacity())) {
    row.bidder->weight = row.value / row.speed;
  }
}

void Hadar::weigh(const View& view, std::span<HadarBidder> bidders) const {
  for (HadarBidder& bidder : bidders) {
    const double remaining_s = to_seconds(bidder.remaining);
    const auto slowdown = [&] {
      const double age_s = to_seconds(view.now - view.jobs.arrival[bidder.job]);
      return (age_s + remaining_s) / to_seconds(view.work.total(bidder.job));
    };
    switch (utility_) {
      case Utility::kJct:
        break;  // weighed by weigh_early_finishes()
      case Utility::kThroughput:
        bidder.weight = 1 / slowdown();
        break;
      case Utility::kMakespan:
        bidder.weight = remaining_s / 3600;
        break;
      case Utility::kFtf:
        bidder.weight = slowdown() * slowdown() * slowdown() * slowdown();
        break;
    }
  }
}

void Hadar::fields(Archive& archive) { archive(auction_); }

constexpr OptionSpec kOptions[] = {
    choice_option("utility", "jct", "jct/throughput/makespan/ftf",
                  "Objective: completion times (jct, ours), throughput (the paper's), makespan, or "
                  "finish-time fairness (ftf)."),
    integer_option("round_s", "360", "seconds", 1, 86'400,
                   "Interval of decisions; the default is Gavel's."),
    kHadarSwitchOption,
    kHadarBeamOption,
    choice_option("prices", "clearing", "clearing/paper/none",
                  "Price of a GPU type in full use: the bid of the first job that gets none "
                  "(clearing, ours), the highest bid (paper), or zero at any use (none)."),
    flag_option("mixed", "true",
                "Allow gangs of several GPU types, as in the paper; false: only gangs larger than "
                "every type."),
    flag_option("preempt", "true",
                "Let running jobs bid again in each round, as in the paper; false: a job keeps its "
                "gang to the end."),
    flag_option("work_conserving", "true",
                "Give GPUs that no job would buy to jobs that fit, in order, at any price; ours."),
    choice_option(
        "between_rounds", "bid", "bid/fill/wait",
        "Between rounds idle GPUs are sold to waiting jobs at once, and all jobs bid again if an "
        "arriving job gets none of them (bid, ours); idle GPUs are sold, but no running job bids "
        "(fill, ours); or GPUs stay idle (wait)."),
};

}  // namespace

const PolicyEntry kHadar = {
    .name = "hadar",
    .summary = "Jobs bid for gangs, also of mixed GPU types, at prices that rise as GPUs run out.",
    .paper = "Sultana et al., Hadar, IPDPS 2024",
    .options = kOptions,
    .make = [](const PolicyOptions& options) -> Result<std::unique_ptr<Policy>> {
      return std::make_unique<Hadar>(HadarOptions{
          .utility = options.choice(
              "utility", {Utility::kJct, Utility::kThroughput, Utility::kMakespan, Utility::kFtf}),
          .auction = {.round = options.duration("round_s"),
                      .switch_cost = options.duration("switch_s"),
                      .search = {.beam = static_cast<std::uint32_t>(options.integer("beam")),
                                 .mixed = options.flag("mixed"),
                                 .work_conserving = options.flag("work_conserving")},
                      .prices = options.choice("prices",
                                               {Prices::kClearing, Prices::kPaper, Prices::kNone}),
                      .preempt = options.flag("preempt"),
                      .between = options.choice("between_rounds",
                                                {Between::kBid, Between::kFill, Between::kWait})}});
    },
    // Even with mixed=false it mixes types where none has enough.
    .traits =
        [](const PolicyOptions& options) {
          return PlacementTraits{.round = options.duration("round_s")};
        }};

}  // namespace fairlead
