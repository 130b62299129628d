// Hadar: rounds in which all jobs bid for all GPUs, and gangs may mix GPU types (IPDPS 2024; only
// its abstract and accounts by others were at hand, the rest is reconstructed).
//
// Every round each job, running or waiting, says what gangs are worth to it, the dual subroutine
// (dual.h) chooses at prices that rise with what is given out (prices.h), and a job that
// keeps its gang goes on undisturbed. Between rounds no job is stopped; idle GPUs are sold among
// the waiting jobs.
//
// What a gang is worth: its job's weight x GPUs x rate, and the switch that is saved if it is held
// already. The weight is the objective (Utility); progress is what a round can add to it.
//
// Cost of a round: O(jobs log jobs x types) and that of the search; between rounds the same for the
// jobs that wait, if a GPU is idle; else O(news).
#include "fairlead/policy/hadar/dual.h"
#include "fairlead/policy/kit/rounds.h"
#include "fairlead/policy/policies.h"
#include "fairlead/solve/time_shares.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace fairlead {
namespace {

enum class Utility : std::uint8_t {
  kJct,         // progress lets through all jobs that have more left: their number
  kThroughput,  // work per time since arrival, as in the paper
  kMakespan,    // work left
  kFtf,         // time in the system per running time alone, to the fourth: the worst comes first
};
enum class Prices : std::uint8_t { kClearing, kPaper, kNone };

// Hysteresis: a running job counts as that much more critical, so that a small difference stops
// no job.
constexpr double kAhead = 0.05;

struct HadarOptions {
  Utility utility;
  Duration round;
  Duration switch_cost;  // expected
  double critical;       // fraction of the makespan lower bound; 1: no job is critical
  HadarSearch search;
  Prices prices;
  bool preempt;
  bool fill;  // between rounds
};

class Hadar : public Policy {
 public:
  explicit Hadar(const HadarOptions& options) : options_(options), rounds_(options.round) {}

  std::string_view name() const override { return kHadar.name; }
  Needs needs() const override { return {.rates = RatesNeeded::kTable, .work = kAnyWork}; }
  void decide(const View& view, Plan& plan) override;
  void save(Writer& writer) const override;
  void load(Reader& reader) override;

 private:
  // A job that bids.
  struct Bidder {
    JobId job;
    Duration remaining;  // at speed 1
    double area = 0;     // GPUs x remaining seconds
    double weight = 0;   // what progress at speed 1 of one GPU is worth
    double alone_s = 0;  // time left on its fastest type
  };

  struct Rank {
    double density = 0;  // best worth per GPU
    JobId job;
    std::uint32_t bid = 0;
  };

  void collect_bidders(const View& view, bool all);
  void weigh(const View& view);
  void put_critical_first(const View& view, const Plan& plan);
  void collect_bids(const View& view, const Plan& plan, bool all);
  void add_bid(const View& view, Gang held, const Bidder& bidder);
  void sort_bids();
  double worth(const Bidder& bidder, std::uint32_t gpus, double rate, Duration saved) const;
  bool all_are_content() const;
  void collect_free(const View& view, const Plan& plan, bool all);
  void set_prices(const View& view);
  void carry_out(Plan& plan);
  void note_prices(Plan& plan);

  const HadarOptions options_;
  Rounds rounds_;
  std::vector<std::int64_t> noted_prices_;  // by type, as last noted

  // Of the decision under way.
  std::optional<HadarDual> dual_;
  std::vector<Bidder> bidders_;
  std::vector<HadarBid> bids_, sorted_bids_;
  std::vector<Rank> order_;
  std::vector<double> worths_;           // the bids point here
  std::vector<Slice> held_;              // and here
  std::vector<std::uint32_t> capacity_;  // by type: GPUs on nodes that are up
  HadarFree free_;
  HadarClearing clearing_;
  std::vector<HadarPrices::Range> ranges_;
  HadarPrices prices_;
};

void Hadar::decide(const View& view, Plan& plan) {
  if (!dual_) dual_.emplace(view.cluster, options_.search);
  const bool is_round = rounds_.due(view.now);
  const bool all = is_round && options_.preempt;
  const bool is_time = all || ((is_round || options_.fill) && plan.free().total() > 0);
  if (is_time) collect_bids(view, plan, all);
  if (is_time && !all_are_content()) {
    collect_free(view, plan, all);
    clearing_.fit(view.cluster, bids_, free_);
    set_prices(view);
    dual_->solve({bids_, free_, prices_, clearing_});
    carry_out(plan);
    if (is_round) note_prices(plan);
  }
  const bool any_runs = !plan.free().all_free();
  const bool any_waits =
      std::ranges::any_of(view.waiting, [&](JobId job) { return !plan.holds(job); });
  const bool is_of_use =
      any_runs ? any_waits || options_.preempt : any_waits && !is_round && !options_.fill;
  if (is_of_use) rounds_.wake(view.now, plan);
}

void Hadar::collect_bidders(const View& view, bool all) {
  bidders_.clear();
  const auto add = [&](JobId job) {
    // One that is known to be done has not been heard to have ended: it bids for its last moment.
    const Duration remaining = std::max(view.work.remaining(job), milliseconds(1));
    // One that runs counts as a round shorter: a smaller lead is not worth two switches.
    const Duration head_start =
        view.jobs.state[job] == JobState::kRunning ? options_.round : Duration{};
    bidders_.push_back({.job = job,
                        .remaining = remaining,
                        .area = to_seconds(remaining - head_start) * view.jobs.gpus[job]});
  };
  for (JobId job : view.waiting) add(job);
  if (!all) return;
  for (JobId job : view.running) add(job);
}

void Hadar::weigh(const View& view) {
  // DEVIATION: the paper's family maximises work / time for the average completion time, which
  // serves short jobs no sooner than long ones. What a step of one job saves in the sum of all
  // completion times is a step of its own and of each job that comes after it.
  std::ranges::sort(bidders_, [](const Bidder& a, const Bidder& b) {
    return a.area != b.area ? a.area < b.area : a.job < b.job;
  });
  double behind = static_cast<double>(bidders_.size());
  for (Bidder& bidder : bidders_) {
    const double remaining_s = to_seconds(bidder.remaining);
    const double age_s = to_seconds(view.now - view.jobs.arrival[bidder.job]);
    const double slowdown = (age_s + remaining_s) / to_seconds(view.work.total(bidder.job));
    switch (options_.utility) {
      case Utility::kJct:
        bidder.weight = behind--;
        break;
      case Utility::kThroughput:
        bidder.weight = 1 / slowdown;
        break;
      case Utility::kMakespan:
        bidder.weight = remaining_s / 3600;
        break;
      case Utility::kFtf:
        bidder.weight = slowdown * slowdown * slowdown * slowdown;
        break;
    }
  }
}

// Short jobs first leave the longest ones for the end, each on as many GPUs as its gang has, and
// the others idle (ours). A job that needs nearly all the time in which everything could be done
// goes before all others, so that it does not last beyond that.
void Hadar::put_critical_first(const View& view, const Plan& plan) {
  const std::size_t types = view.cluster.type_names.size();
  ShareProblem everything;
  for (GpuTypeId type : ids<GpuTypeId>(types)) {
    everything.gpus.push_back(plan.free().capacity(type));
  }
  for (Bidder& bidder : bidders_) {
    const std::uint32_t gpus = view.jobs.gpus[bidder.job];
    double fastest = 0;
    for (GpuTypeId type : ids<GpuTypeId>(types)) {
      const bool can_run = (view.jobs.types[bidder.job] & type_bit(type)) != 0 &&
                           gpus <= everything.gpus[type.row()];
      const double rate = can_run ? view.speed.best_rate(bidder.job, type, gpus).value() : 0;
      everything.rate.push_back(rate);
      fastest = std::max(fastest, rate);
    }
    const bool runs_on_one_type = fastest > 0;
    bidder.alone_s = runs_on_one_type ? to_seconds(bidder.remaining) / fastest : 0;
    everything.gang.push_back(gpus);
    everything.count.push_back(1);
    everything.floor.push_back(0);
    everything.part.push_back(runs_on_one_type ? to_seconds(bidder.remaining) : 0);
  }
  const Result<Shares> shares = raise_level(everything);
  FL_CHECK(shares.has_value(), "{}", shares.error().message);
  const auto fraction_of = [&](const Bidder& bidder) {  // of the time for all jobs
    return bidder.alone_s * shares->objective + (plan.holds(bidder.job) ? kAhead : 0);
  };
  std::ranges::stable_sort(bidders_, std::greater<>(), fraction_of);
  // Not at the cost of all other jobs: at most half of the GPUs.
  std::uint32_t left = view.cluster.gpus / 2;
  const auto all = static_cast<double>(bidders_.size());
  for (Bidder& bidder : bidders_) {
    const double fraction = fraction_of(bidder);
    if (fraction <= options_.critical) return;
    const std::uint32_t gpus = view.jobs.gpus[bidder.job];
    if (gpus > left) continue;
    left -= gpus;
    bidder.weight = all * (1 + fraction);
  }
}

void Hadar::collect_bids(const View& view, const Plan& plan, bool all) {
  collect_bidders(view, all);
  weigh(view);
  const bool has_horizon = options_.utility == Utility::kJct && options_.critical < 1;
  if (has_horizon && all && !bidders_.empty()) put_critical_first(view, plan);
  bids_.clear();
  held_.clear();
  worths_.clear();
  // Bids point into both.
  worths_.reserve(bidders_.size() * view.cluster.type_names.size() * kTiers);
  std::size_t slices = 0;
  for (const Bidder& bidder : bidders_) slices += plan.gang(bidder.job).size();
  held_.reserve(slices);
  for (const Bidder& bidder : bidders_) add_bid(view, plan.gang(bidder.job), bidder);
  sort_bids();
}

// By falling worth per GPU.
void Hadar::sort_bids() {
  order_.clear();
  for (std::uint32_t i = 0; i < bids_.size(); ++i) {
    order_.push_back({.density = bids_[i].best() / bids_[i].gpus, .job = bids_[i].job, .bid = i});
  }
  std::ranges::sort(order_, [](const Rank& a, const Rank& b) {
    return a.density != b.density ? a.density > b.density : a.job < b.job;
  });
  sorted_bids_.clear();
  for (const Rank& rank : order_) sorted_bids_.push_back(bids_[rank.bid]);
  std::swap(bids_, sorted_bids_);
}

void Hadar::add_bid(const View& view, Gang held, const Bidder& bidder) {
  const JobId job = bidder.job;
  const std::uint32_t gpus = view.jobs.gpus[job];
  const auto rate = [&](GpuTypeId type, Tier tier) {
    return view.speed.rate(job, type, gpus, tier).value_or(Rate{0}).value();
  };
  HadarBid bid{.job = job, .gpus = gpus, .held = {}, .held_worth = 0, .worth = {}};
  const std::size_t first = worths_.size();
  for (GpuTypeId type : ids<GpuTypeId>(view.cluster.type_names.size())) {
    const bool can_run = (view.jobs.types[job] & type_bit(type)) != 0;
    for (std::size_t tier = 0; tier < kTiers; ++tier) {
      const bool exists = can_run && Tier(tier) >= view.speed.best_tier(gpus);
      worths_.push_back(exists ? worth(bidder, gpus, rate(type, Tier(tier)), {}) : 0);
    }
  }
  bid.worth = std::span(worths_).subspan(first);
  if (!held.empty()) {
    const Tier tier = view.cluster.tier_of(held);
    double slowest = std::numeric_limits<double>::infinity();
    for (Slice slice : held) {
      slowest = std::min(slowest, rate(view.cluster.node_type[slice.node], tier));
    }
    bid.held_worth = worth(bidder, gpus, slowest, options_.switch_cost);
    const std::size_t first_held = held_.size();
    held_.insert(held_.end(), held.begin(), held.end());
    bid.held = Gang(held_).subspan(first_held);
  }
  bids_.push_back(bid);
}

// Of a round on a gang of that rate. A job that goes on where it is saves a switch, of its own
// if it would move, or of its next start if it would wait. It may have to be saved every round, or
// once if the job ends sooner. A job that waits must start some time, so it is not charged for
// that.
double Hadar::worth(const Bidder& bidder, std::uint32_t gpus, double rate, Duration saved) const {
  if (!(rate > 0)) return 0;
  const double running_s =
      std::min(to_seconds(options_.round), to_seconds(bidder.remaining) / rate);
  return bidder.weight * gpus * rate * (running_s + to_seconds(saved)) / running_s;
}

// Every job runs, and none could have anything better.
bool Hadar::all_are_content() const {
  return std::ranges::all_of(
      bids_, [](const HadarBid& bid) { return !bid.held.empty() && bid.held_worth >= bid.best(); });
}

void Hadar::collect_free(const View& view, const Plan& plan, bool all) {
  free_.on.resize(view.cluster.nodes());
  for (NodeId node : ids<NodeId>(free_.on.size())) {
    free_.on[node] = static_cast<std::uint16_t>(plan.free().on(node));
  }
  free_.of_type.resize(view.cluster.type_names.size());
  capacity_.resize(free_.of_type.size());
  for (GpuTypeId type : ids<GpuTypeId>(free_.of_type.size())) {
    free_.of_type[type] = plan.free().of(type);
    capacity_[type.row()] = plan.free().capacity(type);
  }
  if (!all) return;
  for (JobId job : view.running) free_.give(view.cluster, plan.gang(job));
}

void Hadar::set_prices(const View& view) {
  ranges_.assign(view.cluster.type_names.size(), {});
  if (options_.prices == Prices::kNone) return prices_.set(ranges_, capacity_);
  // When idle, a quarter of the least that any job would pay for anything: so every job buys.
  double idle = std::numeric_limits<double>::infinity();
  for (const HadarBid& bid : bids_) {
    double least = std::numeric_limits<double>::infinity();
    for (double worth : bid.worth) {
      if (worth > 0) least = std::min(least, worth);
    }
    idle = std::min(idle, least / bid.gpus / 4);
  }
  for (GpuTypeId type : ids<GpuTypeId>(ranges_.size())) {
    double full = 0;
    for (const HadarBid& bid : bids_) full = std::max(full, bid.best_on(type) / bid.gpus);
    // DEVIATION: a full type costs what the first job that gets none would pay, not the most that
    // any would: at that price the last GPUs are bought by no job but the first in order.
    if (options_.prices == Prices::kClearing) full = std::min(full, clearing_.price(type));
    ranges_[type.row()] = {.idle = std::min(idle, full), .full = full};
  }
  prices_.set(ranges_, capacity_);
}

void Hadar::carry_out(Plan& plan) {
  const auto keeps = [&](std::size_t i) {
    return std::ranges::equal(bids_[i].held, dual_->gang(i));
  };
  for (std::size_t i = 0; i < bids_.size(); ++i) {
    if (!bids_[i].held.empty() && !keeps(i)) plan.stop(bids_[i].job);
  }
  for (std::size_t i = 0; i < bids_.size(); ++i) {
    const Gang gang = dual_->gang(i);
    if (gang.empty() || keeps(i)) continue;
    for (Slice slice : gang) plan.take(slice.node, slice.gpus);
    plan.place(bids_[i].job);
    plan.note(note::Payoff{bids_[i].job, note::Millionths::of(dual_->payoff(i))});
  }
}

void Hadar::note_prices(Plan& plan) {
  noted_prices_.resize(capacity_.size());
  for (GpuTypeId type : ids<GpuTypeId>(capacity_.size())) {
    const double price = prices_.price(type, dual_->free().of_type[type]);
    const note::Millionths noted = note::Millionths::of(price);
    if (noted.steps == noted_prices_[type.row()]) continue;
    noted_prices_[type.row()] = noted.steps;
    plan.note(note::Price{UserId::none(), UserId::none(), type, noted});
  }
}

void Hadar::save(Writer& writer) const {
  rounds_.save(writer);
  writer.u64(noted_prices_.size());
  for (std::int64_t price : noted_prices_) writer.i64(price);
}

void Hadar::load(Reader& reader) {
  rounds_.load(reader);
  noted_prices_.clear();
  for (std::uint64_t left = reader.u64(); left > 0 && reader.ok(); --left) {
    noted_prices_.push_back(reader.i64());
  }
}

constexpr OptionSpec kOptions[] = {
    choice_option("utility", "jct", "jct/throughput/makespan/ftf",
                  "Objective: completion times (jct, ours), throughput (the paper's), makespan, or "
                  "finish-time fairness (ftf)."),
    integer_option("round_s", "360", "seconds", 1, 86'400,
                   "Interval of decisions; the default is Gavel's."),
    integer_option("switch_s", "30", "seconds", 0, 3600,
                   "Expected overhead of a migration, which a job that keeps its gang saves; the "
                   "default is Helios' for 2 to 8 GPUs."),
    real_option("critical", "0.8", "", 0, 1,
                "With jct: run a job first if its remaining time alone exceeds this fraction of "
                "the makespan lower bound; 1: none; ours."),
    integer_option("beam", "64", "drafts", 1, 1024,
                   "Beam width of the search: how many partial assignments it keeps; chosen."),
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
    choice_option("between_rounds", "fill", "fill/wait",
                  "GPUs that are idle between rounds are sold to waiting jobs at once (fill, "
                  "ours), or stay idle (wait)."),
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
          .round = options.duration("round_s"),
          .switch_cost = options.duration("switch_s"),
          .critical = options.real("critical"),
          .search = {.beam = static_cast<std::uint32_t>(options.integer("beam")),
                     .mixed = options.flag("mixed"),
                     .work_conserving = options.flag("work_conserving")},
          .prices = options.choice("prices", {Prices::kClearing, Prices::kPaper, Prices::kNone}),
          .preempt = options.flag("preempt"),
          .fill = options.is("between_rounds", "fill")});
    }};

}  // namespace fairlead
