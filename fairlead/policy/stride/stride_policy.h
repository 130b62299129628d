// StridePolicy: the policies that let all jobs of the cluster take turns by pass (gang_stride.h).
// Every quantum all jobs stand in order again; a job that is chosen again keeps its gang.
//
// Passes are charged by GPU time held, so a turn cut short by an arrival or an end costs its
// fraction. A job's tickets are its user's, divided equally among the user's jobs that are here; those of a
// group are divided among its users first (effective_tickets.h).
//
// From turn to turn. The walk counts GPUs; if a job that it chose then finds no place (GPU types,
// strict placements), the turn is decided again by walking in order of pass and placing for real,
// all gangs being free. What comes free between turns is offered in order of pass at once.
//
// A job ahead of all that were chosen cannot run even alone (nodes are down, or the placement
// refuses it): it waits without saving up, its pass rising with that of the first who can run.
//
// Cost of a decision: O(jobs here), at a turn x log. These policies are baselines: that one queue
// for the whole cluster does not scale is what they are there to show.
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
  // Brings the pass up to now; `held` is what the job was served since the last decision.
  virtual void update(const View& view, StrideClient& client, GpuTime held);
  // Sets the pass of a job that arrives now and is not in the queue yet.
  virtual void join(StrideClient& newcomer);

  // All jobs that are here, in an order that survives save and load.
  const std::vector<StrideClient>& queue() const { return queue_; }

 private:
  struct Account {
    GpuTime charged;  // the service that is in the pass
    GpuTime noted;    // that was in it when it was last noted
    void fields(Archive& archive) { archive(charged, noted); }
  };

  std::uint32_t pool(const Plan& plan) const;
  void charge_held(const View& view, const Plan& plan);
  void apply_news(const View& view);
  void divide_tickets(const View& view);
  void take_turns(const View& view, Plan& plan);
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
  IdVector<UserId, double> tickets_;        // likewise
};

}  // namespace fairlead
