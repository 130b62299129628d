// Upgrading: a policy that counts GPUs, with its jobs on the fastest GPU types that are free (ours).
//
// srsf, tiresias, themis and others give a job any GPUs and never move it to faster ones. That is faithful to their
// papers, which have one GPU type, but a handicap on mixed clusters. Upgrading lets the policy decide. Then, in the
// order of their arrival,
//
//  - the jobs that get GPUs share all these GPUs: each has the fastest allowed type with room for its gang;
//  - a job that runs moves to a faster type that has room.
//
// The policy chooses which jobs run; Upgrading changes only where. A gang never spreads over more nodes by it, and a
// pinned job stays. Only GPUs that the policy left free are used, so a job that waits for them is not delayed by more
// than the policy's own choice.
//
// Cost of a decision: O(jobs with GPUs x types), and a placement per move.
#pragma once

#include "fairlead/policy/kit/placement.h"
#include "fairlead/policy/policy.h"

#include <memory>
#include <vector>

namespace fairlead {

class Upgrading final : public Policy {
 public:
  // REQUIRES: the policy places gangs of the requested size, one per job.
  Upgrading(std::unique_ptr<Policy> policy, Placement placement)
      : policy_(std::move(policy)), placement_(placement) {}

  std::string_view name() const override { return policy_->name(); }
  Needs needs() const override;
  void decide(const View& view, Plan& plan) override;
  void fields(Archive& archive) override { policy_->fields(archive); }

 private:
  bool keeps_gang(const View& view, JobId job, const Plan& plan) const;
  void place_new(const View& view, Plan& plan);
  void move_up(const View& view, JobId job, Plan& plan);
  bool place_faster(const View& view, JobId job, Rate than, std::size_t nodes_max, Plan& plan);

  const std::unique_ptr<Policy> policy_;
  const Placement placement_;
  // Used within decide().
  std::vector<JobId> new_;    // get GPUs, or others
  std::vector<JobId> stays_;  // keep theirs
  std::vector<std::size_t> nodes_;
  std::vector<GpuTypeId> faster_;
};

}  // namespace fairlead
