// PriorityPolicy: the preemptive policies that keep all jobs, running and waiting, in one order.
// The key changes while a job runs. The cluster goes to the first jobs that fit (Preemption).
//
// Cost of a decision: O(news) when no job waits or all fit, else O(running + classes). The key of a
// waiting job is fixed, so waiting jobs are in a ClassQueue. Running jobs are in one sorted array,
// and a decision merges the two.
//
// TieOrder. The Tiresias simulator keeps one list, stably sorted by key at every decision, with
// newcomers at its tail. TieOrder::kStable gives the same order without the list, for keys that
// fall at a steady pace while a job runs:
//  1. A running job reaches a waiting one's key from above: the waiting job is ahead, unless it
//     arrived just now. So the labels of running jobs lie between the labels of old and of new
//     waiting jobs.
//  2. If the keys of two running jobs meet, the job whose key falls more slowly was ahead.
//  3. If both keys fall at the same pace, they met when the later job started. By rule 1 the
//     later job is ahead if it had waited, and behind if it had just arrived; `started` records
//     this.
#pragma once

#include "fairlead/policy/kit/preemption.h"
#include "fairlead/policy/placement_traits.h"

#include <memory>
#include <vector>

namespace fairlead {

enum class TieOrder : std::uint8_t {
  kStable,     // as in a stably sorted list
  kByArrival,  // by arrival, then in input order
};

class PriorityPolicy : public Policy {
 public:
  // `quantum`: while jobs wait, the order is checked again at every multiple of it; zero: only when
  // jobs come or go. `returns`: a job first tries the gang of its last run.
  PriorityPolicy(Placement placement, TieOrder ties, Duration quantum, bool returns = false)
      : placement_(placement), ties_(ties), quantum_(quantum), returns_(returns) {
    set_traits(std::make_shared<const PlacementTraits>(
        PlacementTraits{.placement = placement, .round = quantum}));
  }

  void decide(const View& view, Plan& plan) override;
  void fields(Archive& archive) override;

 protected:
  // Returns the job's key now; the smallest key runs first. For a waiting job, the key at the time
  // when it began to wait.
  virtual std::int64_t key(const View& view, JobId job) const = 0;

 private:
  struct Running {
    OrderKey order;            // as of `seen`
    std::int64_t started = 0;  // the number of the decision, negative if the job had waited before
    std::int64_t label_at_start = 0;
    Time seen;
    // The decrease of the key before `seen`, and its duration: the pace. Used within a decision.
    std::int64_t fallen = 0;
    Duration during{};
    void fields(Archive& archive) { archive(order, started, label_at_start, seen); }
  };

  void apply_news(const View& view);
  bool any_returns(const View& view) const;
  OrderKey newcomer(const View& view, JobId job);
  void wait(const View& view, const OrderKey& key);
  void start(const View& view, const OrderKey& key);
  void drop_ended(const Plan& plan);
  void refresh_running(const View& view, const Plan& plan);
  bool is_ahead(const Running& a, const Running& b) const;
  void choose(const View& view, const Plan& plan);
  void carry_out(const View& view, Plan& plan);
  void start_fitting(const View& view, Plan& plan);

  const Placement placement_;
  const TieOrder ties_;
  const Duration quantum_;
  const bool returns_;

  ClassQueue waiting_;
  std::vector<Running> running_;  // may include jobs that have ended
  std::int64_t next_label_ = 0;
  std::int64_t decisions_ = 0;

  // State of the present decision.
  std::int64_t running_label_ = 0;   // running jobs' labels begin here
  std::int64_t newcomer_label_ = 0;  // newcomers' labels begin here
  Preemption preemption_;
};

}  // namespace fairlead
