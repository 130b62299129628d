// Dally: delay scheduling over the tiers of the network (arXiv 2401.16492).
//
// At once a job accepts only GPUs that are as close together as its gang can be here. It accepts a
// rack after its node timer, and GPUs anywhere after its rack timer (waiting.h, timers.h). A job
// that does not accept is skipped. In rounds, jobs that suffer most from the network take GPUs from
// less sensitive jobs. They move closer together, to faster GPUs or to less crowded links if that
// saves more than its restarts cost (moves.h).
//
// Invariants:
//  1. Every present job has a gang in the plan, or waits in waiting_.
//  2. A gang has one GPU type, unless no type has enough GPUs.
//
// Cost of a decision: O(news + waiting), or O(running) if no job waits; O(nodes) per kind of gang that
// finds no node; with shared links, O(slices in use). A round in addition: the cost of DallyMoves.
#pragma once

#include "fairlead/policy/dally/moves.h"
#include "fairlead/policy/kit/rounds.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace fairlead {

class Dally : public Policy {
 public:
  explicit Dally(DallyOptions options)
      : options_(std::move(options)),
        rounds_(options_.round),
        order_(options_, tiers_),
        waiting_(options_, tiers_),
        moves_(options_, tiers_, order_, waiting_, crowding_) {}

  std::string_view name() const override { return "dally"; }
  Needs needs() const override { return {.rates = RatesNeeded::kTable, .work = kAnyWork}; }
  void decide(const View& view, Plan& plan) override;
  void fields(Archive& archive) override;

 private:
  // The GPUs that a waiting job takes now.
  struct Want {
    GangAsked gang;
    TypeMask types = 0;
    DallyWaiting::Types at{};
    friend bool operator==(const Want&, const Want&) = default;
  };

  void apply_news(const View& view);
  void start_waiting(const View& view, Plan& plan);
  bool start(const View& view, Plan& plan, JobId job);
  bool return_to_gpus(const View& view, Plan& plan, JobId job);
  bool take(const View& view, Plan& plan, JobId job, const DallyPlace& place);
  void ask_to_be_woken(const View& view, Plan& plan, Time next_tier);

  const DallyOptions options_;
  Rounds rounds_;
  TierTable tiers_;
  Crowding crowding_;
  DallyOrder order_;
  DallyWaiting waiting_;
  DallyMoves moves_;
  Time wake_{-1};  // the last wake-up asked for, at the end of a timer

  std::vector<Want> refused_;  // in the present decision, for want of room
};

}  // namespace fairlead
