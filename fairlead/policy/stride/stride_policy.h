// StridePolicy: the policies that let all jobs of the cluster take turns by pass (gang_stride.h).
// Every quantum all jobs are sorted again; a job that is chosen again keeps its gang.
//
// Passes are charged by GPU time used, so a turn cut short by an arrival or an end costs its
// fraction. GPU time that a user takes outside of its jobs is charged to its present jobs. A job's tickets are its
// user's, divided equally among the user's present jobs; the tickets of a group are divided among its users first
// (effective_tickets.h).
//
// The walk counts GPUs. If a chosen job then finds no place (GPU types, strict placements), the
// turn is decided again: in order of pass, with real placements, all gangs being free. GPUs that
// become free between turns are offered at once, in order of pass.
//
// A job ahead of all chosen jobs may be unable to run even alone (nodes are down, or the placement
// refuses it). It then waits without saving up: its pass rises with the pass of the first job that
// can run.
//
// Cost of a decision: O(present jobs), at a turn x log. These policies are baselines: they show
// that one queue for the whole cluster does not scale.
#pragma once

#include "fairlead/policy/kit/gang_stride.h"
#include "fairlead/policy/kit/placement.h"
#include "fairlead/policy/kit/rounds.h"
#include "fairlead/policy/policy.h"

#include <vector>

namespace fairlead {

struct StrideOptions {
  Placement placement;
  Duration quantum;
  bool one_at_a_time;  // a turn is for the whole cluster, whatever the gang
  bool skip;           // jobs behind one that does not fit are tried
  bool cap;            // cap_passes
};

class StridePolicy : public Policy {
 public:
  explicit StridePolicy(StrideOptions options) : options_(options), rounds_(options.quantum) {}

  void decide(const View& view, Plan& plan) override;
  void fields(Archive& archive) override;

 protected:
  // Updates the pass to now; `service` is the job's service since the last decision.
  virtual void update(const View& view, StrideClient& client, GpuTime service);
  // Sets the pass of a job that arrives now and is not in the queue yet. `mean`: of the queue.
  virtual void join(StrideClient& newcomer, const MeanPass& mean);

  // Charges the present jobs of a user for GPU time that it took outside of them, in proportion to their tickets.
  virtual void charge_user(const View& view, UserId user, GpuTime attained);

  // All present jobs, in an order that survives save and load.
  const std::vector<StrideClient>& queue() const { return queue_; }

 private:
  struct Account {
    GpuTime charged;  // the service included in the pass
    GpuTime noted;    // the service included when it was last noted
    void fields(Archive& archive) { archive(charged, noted); }
  };

  std::uint32_t pool(const Plan& plan) const;
  void charge_running(const View& view, const Plan& plan);
  void apply_news(const View& view);
  void divide_tickets(const View& view);
  void take_turns(const View& view, Plan& plan);
  void return_running(const View& view, Plan& plan) const;
  void lift_those_who_cannot_run(const Plan& plan);
  void note_passes(Plan& plan);
  bool keep_and_place(const View& view, Plan& plan) const;
  void place_in_order(const View& view, Plan& plan) const;
  void offer_idle(const View& view, Plan& plan) const;
  bool is_possible(const View& view, JobId job) const;
  bool give_place(const View& view, Plan& plan, const StrideClient& client) const;

  const StrideOptions options_;
  Rounds rounds_;
  std::vector<StrideClient> queue_;
  IdVector<JobId, Account> accounts_;
  IdVector<UserId, std::int64_t> jobs_of_;  // used within a decision
  IdVector<UserId, double> tickets_;        // effective tickets of users
};

}  // namespace fairlead
