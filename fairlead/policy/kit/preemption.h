// Preemption: chooses again which jobs run. All preemptive-priority policies share this step.
//
// A policy walks all its jobs, running and waiting, in its order of priority. First it chooses by
// number of GPUs, as if every GPU could serve every gang: keep() for a running job, admit() for a
// waiting one. Each takes from the rest of the cluster (per GPU type), and a job that does not fit
// is skipped. Then carry_out() edits the plan:
//
//  1. Running jobs that were not kept (victims) are stopped.
//  2. Chosen jobs are placed, in order, on the GPU types that the choice assumed if possible. If jobs return, a job
//     gets its last gang if that is free and of these types; under placement count all such jobs come before the
//     others, so that none takes another's gang.
//     With a placement other than count some may find no place (fragmentation); they go on waiting.
//  3. Each victim gets its gang back if that is still free, in order, so that no useful GPU idles:
//     its stop is undone and costs nothing. The policy then offers the remaining GPUs to all
//     waiting jobs (start_waiting), victims included. If the decision was cut (decision_budget.h), victims come
//     before those jobs.
//
// With placement count and one GPU type, steps 2 and 3 find nothing to repair. The outcome is then
// the same as freeing all GPUs and giving them out in order: the semantics of the Tiresias
// simulator.
//
// On clusters with several types a waiting job claims idle GPUs before GPUs of running jobs of
// lower priority. It claims GPUs of one type; a mix only if no type has enough and the placement
// mixes. A running job keeps its own GPUs or none.
//
// Cost: O(1) per keep and admit, O(slices) on clusters with several GPU types.
#pragma once

#include "fairlead/policy/kit/class_queue.h"
#include "fairlead/policy/kit/placement.h"
#include "fairlead/policy/policy.h"

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace fairlead {

class Preemption {
 public:
  struct Chosen {
    OrderKey key;
    std::uint32_t level;
    std::uint32_t gpus;
    TypeMask types;  // allowed
    TypeMask claim;  // the types that the choice assumed
  };

  // Starts a choice: nothing is chosen yet and the whole cluster is left. O(1), or O(running) with
  // several GPU types.
  void begin(const View& view, const Plan& plan, bool mixes);

  // Empties the choice; nothing is left to choose for.
  void clear();

  // Returns the GPUs that are left to choose for.
  std::uint32_t left() const;
  // Keeps a running job, or makes it a victim.
  void keep(const View& view, JobId job);
  // Keeps running jobs that have `gpus` GPUs together. REQUIRES: one GPU type; gpus <= left().
  void keep_all(std::uint32_t gpus) { left_[0] -= gpus; }
  // Takes the head of the class out of the queue and chooses it, or blocks the class.
  void admit(ClassQueue& waiting, ClassQueue::Class& from);

  // Returns the placement of the jobs of a level.
  using PlacementOf = std::function<Placement(std::uint32_t level)>;
  void carry_out(const PlacementOf& placement_of, const View& view, Plan& plan,
                 bool jobs_return = false);
  void carry_out(Placement placement, const View& view, Plan& plan, bool jobs_return) {
    carry_out([placement](std::uint32_t) { return placement; }, view, plan, jobs_return);
  }

  // In order. After carry_out, Plan::has_gang is true for the jobs that run.
  std::span<const JobId> victims() const { return victims_; }
  std::span<const Chosen> chosen() const { return chosen_; }

 private:
  bool take_gpus_of(const View& view, JobId job);
  TypeMask claim(std::uint32_t gpus, TypeMask types);

  std::size_t types_ = 0;
  bool mixes_ = false;  // GPU types in a gang
  std::array<std::uint32_t, kGpuTypesMax> left_ = {};
  std::array<std::uint32_t, kGpuTypesMax> idle_ = {};  // the part of left_ that is idle
  std::vector<JobId> victims_;
  std::vector<Chosen> chosen_;
};

// Gives the job its last gang, if that has so many GPUs, all of these types, and they are free. Returns false, without a
// change, if not. O(slices). REQUIRES: as place_back().
bool place_back_on(const View& view, Plan& plan, JobId job, std::uint32_t gpus, TypeMask types);

}  // namespace fairlead
