// Dally: delay scheduling over the tiers of the network (arXiv 2401.16492).
//
// A job accepts GPUs as close together as its gang can be here at once; a rack only after it has
// waited for its node timer, and GPUs anywhere after its rack timer (timers.h). A job that
// does not accept is skipped. In rounds, jobs that suffer most from the network take GPUs from
// those that do not, and move closer together or to faster GPUs, where that saves more than the
// restarts that it costs.
//
// Invariants:
//  1. Every job that is here holds a gang in the plan, or stands in waiting_ once, in OrderKey
//     order.
//  2. A gang has one GPU type, unless no type has enough GPUs.
//
// Cost of a decision: O(news + waiting), or O(running) if no job waits; O(nodes) per newcomer and
// per kind of gang that finds no node. A round in addition: O(nodes + slices held) per job that
// waits or could be faster elsewhere.
#pragma once

#include "fairlead/policy/dally/timers.h"
#include "fairlead/policy/kit/class_queue.h"
#include "fairlead/policy/kit/rounds.h"
#include "fairlead/policy/registry.h"

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace fairlead {

enum class DallyPreempt : std::uint8_t {
  kNone,
  kLas,      // jobs served less, by classes as in Tiresias, go first
  kNetwork,  // jobs that suffer more from the network go first
  kBoth,     // by class, then by sensitivity
};
enum class DallyScore : std::uint8_t {
  kNwSens,    // (slow - 1) x fraction of time spent on communication x fraction of work left
  kSlowdown,  // slow - 1
};

// How far apart the nodes of a domain of that tier are.
constexpr Tier domain_tier(DallyTier tier) {
  if (tier == DallyTier::kNetwork) return Tier::kSpine;
  return tier == DallyTier::kRack ? Tier::kRack : Tier::kNode;
}

struct DallyOptions {
  DallyTimerOptions timers;
  double patience;  // of tuned timers: a job waits at least this multiple of what it would lose
  DallyPreempt preempt;
  DallyScore score;
  std::vector<std::int64_t> limits_gpu_s;  // at which a job leaves its class, increasing
  Duration round;
  Duration switch_cost;  // expected of a restart
};

// Errors: limits that do not increase, bounds of the timers that contradict each other.
// REQUIRES: they are options of "dally".
Result<DallyOptions> dally_options(const PolicyOptions& options);

class Dally : public Policy {
 public:
  explicit Dally(DallyOptions options)
      : options_(std::move(options)), rounds_(options_.round), timers_(options_.timers) {}

  std::string_view name() const override { return "dally"; }
  Needs needs() const override { return {.rates = RatesNeeded::kTable, .work = kAnyWork}; }
  void decide(const View& view, Plan& plan) override;
  void save(Writer& writer) const override;
  void load(Reader& reader) override;

 private:
  using TierTypes = std::array<TypeMask, kDallyTiers>;
  using TierRates = std::array<double, kDallyTiers>;

  // When a waiting job begins to accept what is further apart; never if it accepts all it can have.
  struct NextTier {
    DallyTier tier = DallyTier::kNetwork;
    Time at = Time::never();
  };
  struct State {
    Time since;                    // while it waits: when it last held GPUs, or came
    NextTier noted{.at = {-1}};    // while it waits: as last noted
    Time moved{-1};                // the round that last touched it
    DallyTimers::Timers patience;  // while it waits: the least timers that its losses are worth
    IdVector<GpuTypeId, TierRates> rates;
    TierTypes runs{};       // by tier: types that have room there for its gang, if idle
    TierRates fastest{};    // by tier: of these types
    bool is_known = false;  // `rates`, `runs` and `fastest` are filled in
  };
  // What a waiting job takes now.
  struct Want {
    std::uint32_t gpus = 0;
    TypeMask types = 0;
    TierTypes at{};  // 0 where it refuses the tier
    friend bool operator==(const Want&, const Want&) = default;
  };
  // A job that holds a gang at the beginning of a round.
  struct Runner {
    OrderKey key;
    std::uint32_t gpus = 0;
    double loss = 0;  // GPU-seconds that it would lose in the slowest place for it
  };
  struct Holder {
    std::size_t runner;
    std::uint32_t gpus;
  };
  // A job that looks for a better place in a round: one that waits, or would run faster there.
  struct Seeker {
    OrderKey key;
    bool is_running = false;
    Want want;               // where it would go
    double alternative = 0;  // its rate otherwise: now, or on what is free; 0: it has none
    double best = 0;         // of one that waits: its rate at its best tier
  };
  struct Offer {
    DallyTier tier = DallyTier::kNode;
    GpuTypeId type;
    NodeRange range{};
    double gain = 0;  // what it saves beyond its cost, GPU-seconds
    std::vector<std::size_t> victims{};
  };

  // Of jobs.
  const State& state(const View& view, JobId job) {
    return states_[job].is_known ? states_[job] : know(view, job);
  }
  const State& know(const View& view, JobId job);
  static IdVector<GpuTypeId, TierRates> all_rates(const View& view, JobId job);
  static TierTypes types_with_room(const View& view, JobId job, const State& state);
  static Tier tier_for(DallyTier tier, std::uint32_t gpus);
  static DallyTier best_tier(const State& state);
  static TierRates fastest_rates(const State& state);
  double rate(const View& view, JobId job, GpuTypeId type, DallyTier tier);
  double fastest(const View& view, JobId job, DallyTier tier);
  double widest(const View& view, JobId job);
  double slowest(const View& view, JobId job);
  double score(const View& view, JobId job);
  std::int64_t service_class(const View& view, JobId job) const;
  OrderKey order(const View& view, JobId job);
  OrderKey order_in_round(const View& view, JobId job);

  // The life of a job.
  void apply_news(const View& view);
  void enqueue(const View& view, JobId job);
  void dequeue(JobId job);
  void refresh_timers(Time now);
  Duration worth_waiting(const View& view, JobId job, DallyTier tier);
  DallyTimers::Timers timers_of(const View& view, JobId job);
  Want want(const View& view, JobId job);
  NextTier next_tier(const View& view, JobId job);
  void start_waiting(const View& view, Plan& plan);
  bool start(const View& view, Plan& plan, JobId job, const Want& want);
  Time note_timers(const View& view, Plan& plan);
  void ask_to_be_woken(const View& view, Plan& plan, Time next_tier);

  // Where to.
  static std::optional<NodeRange> domain(const View& view, const Plan& plan, GpuTypeId type,
                                         DallyTier tier, std::uint32_t gpus);
  bool place_at(const View& view, Plan& plan, JobId job, DallyTier tier, TypeMask types);
  static void fill(Plan& plan, GpuTypeId type, NodeRange range, std::uint32_t gpus);

  // A round (round.cc).
  bool moves_for_speed() const {
    return options_.preempt == DallyPreempt::kNetwork || options_.preempt == DallyPreempt::kBoth;
  }
  static DallyTier tier_of(const View& view, Gang gang);
  double held_rate(const View& view, const Plan& plan, JobId job);
  double gpu_seconds(const View& view, JobId job, double slow, double fast) const;
  bool could_be_faster(const View& view, const Plan& plan, JobId job);
  TypeMask faster_than(const View& view, JobId job, DallyTier tier, double rate);
  void run_round(const View& view, Plan& plan);
  void collect_runners(const View& view, const Plan& plan);
  double rate_of_what_is_free(const View& view, const Plan& plan, JobId job);
  bool may_gain_by_preemption(const View& view, const OrderKey& key);
  void collect_seekers(const View& view, const Plan& plan);
  void improve(const View& view, Plan& plan, const Seeker& seeker);
  std::optional<Offer> best_offer(const View& view, const Plan& plan, const Seeker& seeker);
  bool choose_victims(const View& view, const Plan& plan, const Seeker& seeker, Offer& offer);
  void look_for_better(const View& view, const Plan& plan, const Seeker& seeker, Offer offer,
                       std::optional<Offer>& best);
  static std::uint32_t held_in(const View& view, const Plan& plan, JobId job, const Offer& offer);
  double saving(const View& view, const Seeker& seeker, const Offer& offer);
  double value_of_turn(const View& view, const Seeker& seeker) const;
  double gain(const View& view, const Seeker& seeker, const Offer& offer);
  bool may_stop(const View& view, const Plan& plan, const Seeker& seeker,
                const Runner& runner) const;
  void carry_out(const View& view, Plan& plan, const Seeker& seeker, const Offer& offer);

  const DallyOptions options_;
  Rounds rounds_;
  DallyTimers timers_;
  IdVector<JobId, State> states_;
  std::uint64_t rates_revision_ = 0;  // of the rates in states_
  std::vector<OrderKey> waiting_;
  Time wake_{-1};  // the last timer's end asked for

  // Of the decision under way.
  std::array<DallyTimers::Timers, DallyTimers::kSizeClasses> now_{};
  std::vector<Want> refused_;
  std::vector<Runner> runners_;  // the last in order first
  std::vector<Seeker> seekers_;
  IdVector<NodeId, std::vector<Holder>> holders_;
  std::vector<Holder> chosen_;  // victims, until it is known who is needed
};

}  // namespace fairlead
