// HadarAuction: rounds in which jobs bid for GPUs, and gangs may mix GPU types (IPDPS 2024; only its
// abstract and accounts by others were at hand, the rest is reconstructed).
//
// Every round each job, running or waiting, says what gangs are worth to it, the dual subroutine
// (dual.h) chooses at prices that rise with what is given out (prices.h), and a job that keeps its
// gang goes on undisturbed. A round in which all jobs run on their fastest gangs is skipped. Between rounds idle GPUs are sold among the waiting jobs. If a job that
// arrives then gets none of them, all jobs bid again at once: a short job would else wait for most of
// a round, many times as long as it runs.
//
// What a gang is worth: its job's weight x GPUs x rate, and the switch that is saved if it is held
// already. Weights are the policy's; progress is what a round can add to it. A move to a faster place on
// the same GPU type is paid over all the time that is left there, as places, unlike types, are not
// divided anew in each round.
//
// Copies: a job that trains as several (HadarE) bids for each; those beyond the first are each on one
// node, and no two on the same.
//
// Residents: where suspended jobs keep their GPU memory, one that waits saves a switch where that is,
// and needs those very GPUs there. GPUs that are idle after all have bid go to any that wait.
//
// Cost of a round, and of an arrival that is not served by what is idle: that of weighing, O(jobs log
// jobs x types) and that of the search; of other decisions the same for the jobs that wait, if a GPU
// is idle; else O(news).
#pragma once

#include "fairlead/policy/hadar/dual.h"
#include "fairlead/policy/hadar/settled.h"
#include "fairlead/policy/kit/rounds.h"
#include "fairlead/policy/policy.h"
#include "fairlead/policy/registry.h"

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace fairlead {

// A job that bids.
struct HadarBidder {
  JobId job;
  Duration remaining;      // at speed 1
  double weight = 0;       // what progress at speed 1 of one GPU is worth; 0: it is to have none
  std::uint32_t gpus = 0;  // of the gang that it bids for: what it asks for, or as the policy says
  bool stays = false;      // of a resident: of its types it bids for its own GPUs alone
  // For which of the job's copies, of how many it may have; those that it has count from the fastest.
  std::uint32_t copy = 0;
  std::uint32_t copies = 1;
};

// Of the job on that gang: of its slowest member; 0 where the gang is empty. O(slices).
double rate_on(const View& view, JobId job, Gang gang);
// Calls f(copy) with each copy of those held, which may be one.
template <typename F>
void for_each_copy(Gang held, F f) {
  while (!held.empty()) {
    const Gang copy = first_copy(held);
    f(copy);
    held = held.subspan(copy.size());
  }
}

class HadarAuction {
 public:
  enum class Between : std::uint8_t {
    kBid,   // as kFill; and all jobs bid if one that arrives gets nothing
    kFill,  // idle GPUs are sold to jobs that wait
    kWait,
  };
  // The price of a type in full use: what the first job that gets none would pay; the most that any
  // would; or none, at any use.
  enum class Prices : std::uint8_t { kClearing, kPaper, kNone };

  struct Options {
    Duration round;
    Duration switch_cost;  // expected
    HadarSearch search;
    Prices prices;
    bool preempt;  // running jobs bid again in each round
    Between between;
    bool returns = false;   // a job that waits saves a switch where it ran last, too
    bool resident = false;  // suspended jobs keep their GPU memory; implies that
    // Rounds that change nothing at any weights are skipped, without weighing. REQUIRES: no job bids for
    // more than one copy.
    bool skips = true;
  };

  explicit HadarAuction(const Options& options) : options_(options), rounds_(options.round) {}

  // Sets the weights of the bidders; `all`: those that run are among them.
  using Weigh = std::function<void(std::vector<HadarBidder>& bidders, bool all)>;
  // One decision: chooses gangs where it is time to, and asks to be woken for the next round.
  void decide(const View& view, Plan& plan, const Weigh& weigh);

  // Whether the decision under way begins a round.
  bool in_round() const { return in_round_; }
  // The jobs that the decision under way has placed or stopped so far; a job may come twice.
  std::span<const JobId> edited() const { return edited_; }

  void fields(Archive& archive);

 private:
  struct Rank {
    double density = 0;  // best worth per GPU
    JobId job;
    std::uint32_t bid = 0;
  };

  bool choose(const View& view, const Plan& plan, const Weigh& weigh, bool all);
  bool serves_newcomers(const View& view, bool chosen) const;
  void collect_bidders(const View& view, const Plan& plan, bool all);
  void collect_bids(const View& view, const Plan& plan, const Weigh& weigh, bool all);
  Gang held_by(const View& view, const Plan& plan, const HadarBidder& bidder) const;
  void add_bid(const View& view, const Plan& plan, const HadarBidder& bidder);
  void add_held(const View& view, const Plan& plan, Gang held, double rate,
                const HadarBidder& bidder, HadarBid& bid);
  void sort_bids();
  void measure_reach(const View& view, const Plan& plan);
  double worth(const View& view, const HadarBidder& bidder, double rate, double saved_s) const;
  double to_move_on_s(const HadarBidder& bidder, double rate, double best) const;
  double saved_by_moving_s(const HadarBidder& bidder, double rate) const;
  bool keeps(const Plan& plan, const HadarBid& bid, Gang gang) const;
  bool all_are_content(const Plan& plan) const;
  void collect_free(const View& view, const Plan& plan, bool all);
  void collect_kept(const View& view, const Plan& plan, bool all);
  void set_prices(const View& view);
  void carry_out(Plan& plan);
  void note_prices(Plan& plan);

  const Options options_;
  Rounds rounds_;
  std::vector<std::int64_t> noted_prices_;  // by type, as last noted

  // Of the decision under way.
  bool in_round_ = false;
  std::vector<JobId> edited_;
  SettledJobs settled_;  // from the view and the plan alone, so it is not saved
  std::optional<HadarDual> dual_;
  std::vector<HadarBidder> bidders_;
  std::vector<HadarBid> bids_, sorted_bids_;
  std::vector<Rank> order_;
  IdVector<GpuTypeId, std::array<std::uint32_t, kTiers>> reach_;
  std::size_t reach_nodes_ =
      0;  // nodes of the cluster when reach_ was measured; 0: reach_ is out of date
  std::vector<double> worths_;           // the bids point here
  std::vector<Slice> held_;              // and here
  std::vector<std::uint32_t> capacity_;  // by type: GPUs on nodes that are up
  HadarFree free_;
  HadarClearing clearing_;
  std::vector<HadarPrices::Range> ranges_;
  HadarPrices prices_;
};

// Options of policies that hold auctions.
inline constexpr OptionSpec kHadarSwitchOption =
    integer_option("switch_s", "30", "seconds", 0, 3600,
                   "Expected overhead of a migration, which a job that keeps its gang saves; the "
                   "default is Helios' for 2 to 8 GPUs.");
inline constexpr OptionSpec kHadarBeamOption =
    integer_option("beam", "64", "drafts", 1, 1024,
                   "Beam width of the search: how many partial assignments it keeps; chosen.");

}  // namespace fairlead
