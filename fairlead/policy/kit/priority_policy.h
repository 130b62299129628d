// PriorityPolicy: the preemptive policies that keep all jobs, running and waiting, in one order by
// a key that changes while a job runs, and give the cluster to the first that fit (Preemption).
//
// Cost of a decision: O(news) when no job waits or all fit, else O(running + classes): a
// waiting job's key is not asked for again, so waiting jobs stand in a ClassQueue, running ones in
// one sorted array, and a decision merges the two.
//
// TieOrder. The Tiresias simulator keeps one list, stably sorted by key at every decision, newcomers at
// its tail. TieOrder::kStable gives the same order without keeping the list, for keys that fall while a
// job runs, at a steady pace:
//  1. A running job reaches a waiting one's key from above: the waiting job is ahead, unless it
//     came just now. So the labels of running jobs lie between those of old and of new waiting
//     jobs.
//  2. Of two running jobs whose keys meet, the one whose key falls more slowly was ahead.
//  3. Two that fall at one pace met when the later one started. By rule 1 that one is ahead if it
//     had waited, and behind if it had just come: `started` says so.
#pragma once

#include "fairlead/policy/kit/preemption.h"

#include <vector>

namespace fairlead {

enum class TieOrder : std::uint8_t {
  kStable,     // as in a stably sorted list
  kByArrival,  // by arrival, then in input order
};

class PriorityPolicy : public Policy {
 public:
  // `quantum`: while jobs wait, the order is looked at again at every multiple of it; zero: only
  // when jobs come or go.
  PriorityPolicy(Placement placement, TieOrder ties, Duration quantum)
      : placement_(placement), ties_(ties), quantum_(quantum) {}

  void decide(const View& view, Plan& plan) override;
  void fields(Archive& archive) override;

 protected:
  // The job's key now; the smallest runs first. Of a job that waits, it is the key that it had when
  // it began to.
  virtual std::int64_t key(const View& view, JobId job) const = 0;

 private:
  struct Running {
    OrderKey order;            // as of `seen`
    std::int64_t started = 0;  // the number of the decision, negative if it had waited before
    std::int64_t label_at_start = 0;
    Time seen;
    // By how much the key fell before `seen`, and during what time: its pace. Used within a
    // decision.
    std::int64_t fallen = 0;
    Duration during{};
    void fields(Archive& archive) { archive(order, started, label_at_start, seen); }
  };

  void apply_news(const View& view);
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

  ClassQueue waiting_;
  std::vector<Running> running_;  // may hold jobs that have ended
  std::int64_t next_label_ = 0;
  std::int64_t decisions_ = 0;

  // Of the decision under way.
  std::int64_t running_label_ = 0;   // running jobs' labels begin here
  std::int64_t newcomer_label_ = 0;  // newcomers' labels begin here
  Preemption preemption_;
};

}  // namespace fairlead
