// PriorityPolicy: the preemptive policies that keep all jobs, running and waiting, in one order by
// a key that changes while a job runs, and give the cluster to the first that fit (Preemption).
//
// The order is that of a list which is stably sorted by key at every decision, with newcomers at
// its tail, as the Tiresias simulator keeps it. It is not kept as a list: a waiting job's key does
// not change, so waiting jobs stand in a ClassQueue, running ones in one sorted array, and a
// decision merges the two. The label says since when a job has had its key: among equal keys the
// older label stood further ahead.
//
// Cost of a decision: O(news) when nobody waits or everybody fits, else O(running + classes).
#pragma once

#include "policy/preemption.h"

#include <vector>

namespace fairlead {

enum class Ties : std::uint8_t {
  kStable,  // as in a stably sorted list; for keys that never grow
  kById,    // in input order
};

class PriorityPolicy : public Policy {
 public:
  // `quantum`: while jobs wait, the order is looked at again at every multiple of it; zero: only
  // when jobs come or go.
  PriorityPolicy(Placement placement, Ties ties, Duration quantum)
      : placement_(placement), ties_(ties), quantum_(quantum) {}

  void decide(const View& view, Plan& plan) override;
  void save(Writer& writer) const override;
  void load(Reader& reader) override;

 protected:
  // The job's key now; the smallest runs first. It must not change while the job waits.
  virtual std::int64_t key(const View& view, JobId job) const = 0;

 private:
  void apply_news(const View& view);
  void return_to_queue(const View& view, JobId job);
  OrderKey newcomer(const View& view, JobId job);
  void wait(const View& view, const OrderKey& key);
  void refresh_running(const View& view, const Plan& plan, std::int64_t first_label);
  void drop_ended(const Plan& plan);
  void choose(const View& view, const Plan& plan);
  void carry_out(const View& view, Plan& plan);
  void start_fitting(const View& view, Plan& plan);

  const Placement placement_;
  const Ties ties_;
  const Duration quantum_;

  ClassQueue waiting_;
  std::vector<OrderKey> running_;  // keys as of the last refresh; may hold jobs that have ended
  std::int64_t next_label_ = 0;
  Preemption preemption_;
};

}  // namespace fairlead
