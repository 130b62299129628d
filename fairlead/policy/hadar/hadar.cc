// Hadar: jobs bid for GPUs in rounds (auction.h); the objective sets the weights (Utility).
#include "fairlead/model/known_work.h"
#include "fairlead/policy/hadar/auction.h"
#include "fairlead/policy/hadar/critical.h"
#include "fairlead/policy/policies.h"

#include <algorithm>

namespace fairlead {
namespace {

using Between = HadarAuction::Between;
using Prices = HadarAuction::Prices;

enum class Utility : std::uint8_t {
  kJct,         // one over the work left
  kThroughput,  // work per time since arrival, as in the paper
  kMakespan,    // work left
  kFtf,         // time in the system per running time alone, to the fourth: the worst comes first
};

// Less work counts as this much, so that weights are finite.
constexpr Duration kLeastWork = seconds(1);

struct HadarOptions {
  Utility utility;
  double critical;  // fraction of the makespan lower bound; 1: no job is critical
  HadarAuction::Options auction;
};

class Hadar : public Policy {
 public:
  explicit Hadar(const HadarOptions& options)
      : utility_(options.utility),
        auction_(options.auction),
        critical_(options.utility == Utility::kJct ? options.critical : 1) {}

  std::string_view name() const override { return kHadar.name; }
  Needs needs() const override { return {.rates = RatesNeeded::kTable, .work = kAnyWork}; }
  void decide(const View& view, Plan& plan) override;
  void fields(Archive& archive) override;

 private:
  void weigh(const View& view, std::vector<HadarBidder>& bidders) const;
  void put_critical_first(const View& view, const Plan& plan, std::span<HadarBidder> bidders);

  const Utility utility_;
  HadarAuction auction_;
  HadarCritical critical_;
};

void Hadar::decide(const View& view, Plan& plan) {
  critical_.hear(view);
  const auto weigh_all = [&](std::vector<HadarBidder>& bidders, bool all) {
    weigh(view, bidders);
    if (all) put_critical_first(view, plan, bidders);
  };
  auction_.decide(view, plan, weigh_all, [](JobId) { return true; });
}

void Hadar::weigh(const View& view, std::vector<HadarBidder>& bidders) const {
  for (HadarBidder& bidder : bidders) {
    const double remaining_s = to_seconds(bidder.remaining);
    const auto slowdown = [&] {
      const double age_s = to_seconds(view.now - view.jobs.arrival[bidder.job]);
      return (age_s + remaining_s) / to_seconds(view.work.total(bidder.job));
    };
    switch (utility_) {
      case Utility::kJct:
        // DEVIATION: for the average completion time, the paper's family maximises work / time,
        // which serves short jobs no sooner than long ones.
        bidder.weight =
            3600 / (std::max(remaining_s, to_seconds(kLeastWork)) * view.jobs.gpus[bidder.job]);
        break;
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

void Hadar::put_critical_first(const View& view, const Plan& plan, std::span<HadarBidder> bidders) {
  const auto critical = critical_.find(view, plan, auction_.kinds(), bidders);
  if (critical.empty()) return;
  const double most = std::ranges::max(bidders, {}, &HadarBidder::weight).weight;
  for (const HadarCritical::Critical& first : critical) first.bidder->weight = most * first.weight;
}

void Hadar::fields(Archive& archive) { archive(auction_, critical_); }

constexpr OptionSpec kOptions[] = {
    choice_option("utility", "jct", "jct/throughput/makespan/ftf",
                  "Objective: completion times (jct, ours), throughput (the paper's), makespan, or "
                  "finish-time fairness (ftf)."),
    integer_option("round_s", "360", "seconds", 1, 86'400,
                   "Interval of decisions; the default is Gavel's."),
    kHadarSwitchOption,
    real_option("critical", "0.8", "", 0, 1,
                "With jct, when no jobs keep arriving: run a job first if its remaining time alone "
                "exceeds this fraction of the makespan lower bound; 1: none; ours."),
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
          .critical = options.real("critical"),
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
