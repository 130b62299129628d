// HadarAuction: rounds in which jobs bid for GPUs, and gangs may mix GPU types (IPDPS 2024; only
// its abstract and accounts by others were available, the rest is reconstructed).
//
// Every round each job, running or waiting, bids a worth for each gang. The dual subroutine
// (dual.h) chooses at prices that rise with the GPUs given out (prices.h). A job that keeps its
// gang goes on undisturbed. A round in which all jobs run on their fastest gangs is skipped.
// Between rounds idle GPUs are sold among the waiting jobs. If an arriving job then gets none of
// them, all jobs bid again at once, unless the policy lets it wait: a short job would else wait for
// most of a round, many times as long as it runs.
//
// The worth of a gang: its job's weight x GPUs x rate, plus the saved switch if the job already has
// it. Weights are the policy's; progress counts within a round. A policy may give a second weight for
// the gang that a job already has: the larger worth counts. A move to a faster place on the same GPU
// type is paid over all the remaining time there. The reason: places, unlike types, are not divided
// again in each round.
//
// Copies: a job that trains as several copies (HadarE) bids for each. Every copy after the first is
// on one node, and no two are on the same.
//
// Residents: if suspended jobs keep their GPU memory, a waiting job saves a switch on the GPUs with
// its memory, and needs those very GPUs there. GPUs that are idle after all have bid go to any
// waiting jobs.
//
// Budget of a decision (decision_budget.h): a bid of a waiting job is an evaluation. The bids without a budget are left
// out of the search; they are the last in order of worth per GPU.
//
// Cost of a round, and of an arrival that idle GPUs do not serve: weighing, O(jobs log jobs x
// types), and the search. Other decisions: the same for the waiting jobs, if a GPU is idle; else
// O(news).
#pragma once

#include "fairlead/base/key_order.h"
#include "fairlead/policy/hadar/dual.h"
#include "fairlead/policy/hadar/settled.h"
#include "fairlead/policy/kit/job_kinds.h"
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
  std::uint32_t kind = 0;  // JobKinds::row() of the job
  Duration remaining{};    // at speed 1
  double weight = 0;       // worth of progress at speed 1 of one GPU; 0: it gets no GPUs
  double kept_weight = 0;  // the same on the GPUs that it has or had last, if larger
  std::uint32_t gpus = 0;  // size of the gang that it bids for: its request, or set by the policy
  bool stays = false;      // a resident that bids among its own types only for its own GPUs
  // The copy of the job to bid for, and the number of copies allowed; its present copies count from
  // the fastest.
  std::uint32_t copy = 0;
  std::uint32_t copies = 1;
};

// Returns the rate of the job on that gang: the rate of its slowest member; 0 if the gang is empty.
// O(slices).
double rate_on(const View& view, JobId job, Gang gang);
// Calls f(copy) with each copy of `present`, which may be one.
template <typename F>
void for_each_copy(Gang present, F f) {
  while (!present.empty()) {
    const Gang copy = first_copy(present);
    f(copy);
    present = present.subspan(copy.size());
  }
}

class HadarAuction {
 public:
  enum class Between : std::uint8_t {
    kBid,   // as kFill; and all jobs bid if an arriving job gets no GPUs
    kFill,  // idle GPUs are sold to waiting jobs
    kWait,
  };
  // The price of a type in full use: the bid of the first job that gets none; the highest bid of
  // any; or no price, at any use.
  enum class Prices : std::uint8_t { kClearing, kPaper, kNone };

  struct Options {
    Duration round;
    Duration switch_cost;  // expected
    HadarSearch search;
    Prices prices;
    bool preempt;  // running jobs bid again in each round
    Between between;
    bool returns = false;   // a waiting job saves a switch on its last GPUs, too
    bool resident = false;  // suspended jobs keep their GPU memory; implies `returns`
    // Rounds that change nothing at any weights are skipped, without weighing. REQUIRES: no job
    // bids for more than one copy.
    bool skips = true;
  };

  explicit HadarAuction(const Options& options) : options_(options), rounds_(options.round) {}

  // Sets the weights of the bidders; `all`: running jobs are among them.
  using Weigh = std::function<void(std::vector<HadarBidder>& bidders, bool all)>;
  // Returns true if all jobs bid again for that new job, which gets no idle GPUs.
  using Interrupts = std::function<bool(JobId job)>;
  // Makes one decision: chooses gangs if it is time, and asks for a wake-up for the next round. `must_bid`: running
  // jobs bid again as in a round, if they ever do.
  void decide(const View& view, Plan& plan, const Weigh& weigh, const Interrupts& interrupts,
              bool must_bid = false);

  // Returns true if the present decision starts a round.
  bool in_round() const { return in_round_; }
  // The kinds of the jobs, up to date during a decision.
  JobKinds& kinds() { return kinds_; }
  // The jobs that the decision under way has placed or stopped so far; a job may come twice.
  std::span<const JobId> edited() const { return edited_; }

  void fields(Archive& archive);

 private:
  // The worths of new gangs per GPU in all bids.
  struct Offered {
    double least = 0;                    // above 0; infinity: there is none
    IdVector<GpuTypeId, double> most{};  // by type
  };
  struct Sorting {
    KeyOrder order;  // by falling worth per GPU
    std::vector<HadarBid> bids;
    Offered offered;
  };
  // The present gangs of the bidders, and the slices that the bids point to.
  struct Present {
    struct Of {
      Gang gang;
      bool runs = false;  // it has a gang in the plan
    };
    std::vector<Of> of;  // by bidder
    std::vector<Slice> slices;
  };

  bool choose(const View& view, Plan& plan, const Weigh& weigh, bool all);
  bool serves_newcomers(const View& view, bool chosen, const Interrupts& interrupts) const;
  void collect_bidders(const View& view, const Plan& plan, bool all);
  void collect_bids(const View& view, const Plan& plan, const Weigh& weigh, bool all);
  Gang present_gang(const View& view, const Plan& plan, const HadarBidder& bidder) const;
  void add_bid(const View& view, const Plan& plan, const HadarBidder& bidder,
               const Present::Of& now);
  double present_rate(const View& view, const Plan& plan, const HadarBidder& bidder, Gang present);
  void add_present(const View& view, const Plan& plan, Gang present, double rate,
                   const HadarBidder& bidder, HadarBid& bid);
  void note_offer(const HadarBid& bid);
  void sort_bids();
  void measure_reach(const View& view, const Plan& plan);
  double worth(const View& view, const HadarBidder& bidder, double rate, double saved_s) const;
  double to_move_on_s(const HadarBidder& bidder, double rate, double best) const;
  double saved_work_s(const View& view, const HadarBidder& bidder, double rate) const;
  double saved_by_moving_s(const HadarBidder& bidder, double rate) const;
  bool keeps(const Plan& plan, const HadarBid& bid, Gang gang) const;
  bool all_are_content(const Plan& plan) const;
  void collect_free(const View& view, const Plan& plan, bool all);
  void collect_kept(const View& view, const Plan& plan, bool all);
  void set_prices(const View& view);
  void carry_out(const View& view, Plan& plan);
  void keep_running(const View& view, Plan& plan) const;
  void note_prices(Plan& plan);

  const Options options_;
  Rounds rounds_;
  std::vector<std::int64_t> noted_prices_;  // by type, as last noted

  // State of the present decision.
  bool in_round_ = false;
  std::vector<JobId> edited_;
  JobKinds kinds_;       // from the view and the plan alone, so it is not saved
  SettledJobs settled_;  // from the view and the plan alone, so it is not saved
  std::optional<HadarDual> dual_;
  std::vector<HadarBidder> bidders_;
  std::vector<HadarBid> bids_;
  Sorting sorting_;
  IdVector<GpuTypeId, std::array<std::uint32_t, kTiers>> reach_;
  std::size_t reach_nodes_ =
      0;  // nodes of the cluster when reach_ was measured; 0: reach_ is out of date
  Present present_;
  std::vector<double> worths_;           // the bids point here
  std::vector<std::uint32_t> capacity_;  // by type: GPUs on nodes that are up
  HadarFree free_;
  HadarClearing clearing_;
  std::vector<HadarPrices::Range> ranges_;
  HadarPrices prices_;
};

// Options of policies with auctions.
inline constexpr OptionSpec kHadarSwitchOption =
    integer_option("switch_s", "30", "seconds", 0, 3600,
                   "Expected overhead of a migration, which a job that keeps its gang saves; the "
                   "default is Helios' for 2 to 8 GPUs.");
inline constexpr OptionSpec kHadarBeamOption =
    integer_option("beam", "64", "drafts", 1, 1024,
                   "Beam width of the search: how many partial assignments it keeps; chosen.");

}  // namespace fairlead
