// Gandiva_fair: users have tickets; GPU time is shared in proportion (Chaudhary et al., EuroSys
// 2020). docs/policies/gandiva-fair.md separates the paper's rules from ours.
//
// The parts, from the facts to the decisions:
//   Accounts     the dues of users (Entitlements, with the facts that they follow from) and their
//                debts (Ledger)
//   Homes        every job is kept on one node (NodeBooks), or, if larger, on slices of several
//                (SpreadJobs)
//   HomeChoice   the GPU type and the node that a job is kept on
//   Admission    jobs outside of all homes, and the order in which they are admitted
//   Turns        every quantum each node chooses among its jobs, and a centre among the jobs of
//                several nodes: the jobs of the greatest Weights that fit
//   Balancer     moves between nodes that cannot serve the dues of their jobs (Tiling, crowds.h)
//   Matching     moves between GPU types if a user has fewer jobs than it is entitled to GPUs
//   Trades       when users trade, and on which speeds
// Each part uses only the parts above it. The policy passes the events to them, queries them in
// every quantum, and carries out their decisions: it alone starts and stops jobs.
//
// A node runs all its jobs and is never looked at if all of them fit. Between quanta, GPUs that
// become free go to the next jobs of the same node.
//
// Cost: an event O(log users + jobs of the node), and O(nodes) to find a home in a full
// cluster; a quantum O(jobs on nodes with waiting jobs + users x types); a round of balancing
// O(nodes log nodes + moves x jobs of a node).
#pragma once

#include "fairlead/model/step.h"
#include "fairlead/policy/gandiva_fair/admission.h"
#include "fairlead/policy/gandiva_fair/balancer.h"
#include "fairlead/policy/gandiva_fair/matching.h"
#include "fairlead/policy/gandiva_fair/trades.h"
#include "fairlead/policy/gandiva_fair/turns.h"
#include "fairlead/policy/registry.h"

#include <vector>

namespace fairlead {

struct GandivaFairOptions {
  Duration quantum;
  bool notes;
  bool balance;
  double gain;              // GPUs that a move must gain per GPU that it moves
  double jobs_per_gpu_max;  // limit of a user's admitted jobs, in their GPUs per GPU it is entitled
                            // to
  EntitlementOptions entitlements;
  LedgerOptions ledger;
  Turns::Options turns;
  Trades::Options trades;
};

// REQUIRES: they are options of "gandiva-fair".
GandivaFairOptions gandiva_fair_options(const PolicyOptions& options);

class GandivaFair : public Policy {
 public:
  explicit GandivaFair(const GandivaFairOptions& options);
  GandivaFair(const GandivaFair&) = delete;  // its parts refer to each other
  GandivaFair& operator=(const GandivaFair&) = delete;

  std::string_view name() const override;
  Needs needs() const override { return {.rates = RatesNeeded::kProfiled}; }
  void decide(const View& view, Plan& plan) override;
  void fields(Archive& archive) override;

 private:
  void begin(const View& view, const Plan& plan);
  // Events.
  void apply_event(const View& view, Plan& plan, const Event& event);
  void arrive(const View& view, JobId job);
  void evict(const View& view, JobId job);
  void put_out(const View& view, Plan& plan, JobId job, StopCause cause);
  void leave(const View& view, JobId job);
  void empty_node(const View& view, Plan& plan, NodeId node);
  void resize_node(const View& view, Plan& plan, NodeId node);
  // The quantum.
  bool is_contended() const { return homes_.is_contended() || admission_.has_jobs(); }
  bool may_match_types() const;
  bool begin_contention(const View& view);
  void rotate(const View& view, Plan& plan);
  void run_quantum(const View& view, Plan& plan);
  void match_types(const View& view, Plan& plan);
  void balance(const View& view, Plan& plan);
  static void find_blocked(const Plan& plan, std::span<StrideClient> queue);
  void find_blocked(const Plan& plan);
  void take_turns(const View& view, Plan& plan);
  void note_entitlements(Plan& plan);
  Time next_boundary(Time now) const;
  void ask_to_be_woken(const View& view, Plan& plan);
  // Starts and stops.
  bool start(const View& view, Plan& plan, JobId job);
  void stop(const View& view, Plan& plan, JobId job, StopCause cause);
  void stop_unless_chosen(const View& view, Plan& plan, const StrideClient& client);
  void start_if_chosen(const View& view, Plan& plan, const StrideClient& client);
  CarryOut mover(const View& view, Plan& plan);
  void fill_touched(const View& view, Plan& plan);
  std::vector<Slice> home_slices(const View& view, JobId job) const;
  bool lacks_room(const View& view, const Plan& plan, std::span<const JobId> jobs) const;
  NodeId node_with_room(const View& view, const Plan& plan, JobId job) const;
  void start_where_room_is(const View& view, Plan& plan);

  const GandivaFairOptions options_;
  Accounts accounts_;
  Homes homes_;
  HomeChoice choice_;
  Admission admission_;
  Turns turns_;
  CoolDown cool_down_;
  Balancer balancer_;
  Matching matching_;
  Trades trades_;
  Time next_quantum_;
  Time wake_ = {-1};
  bool was_contended_ = false;

  std::vector<JobId> leaving_;  // workspace
};

}  // namespace fairlead
