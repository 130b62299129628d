// The one policy interface: decide(view, plan).
//
// The engine calls decide once per distinct event time, after the events of that time have been
// applied to the tables. A policy reads the view, edits the plan, and returns. Its only clock is
// view.now and its only random numbers come from its own seed; it does no I/O. Doing nothing is
// correct.
#pragma once

#include "fairlead/base/units.h"
#include "fairlead/model/cluster.h"
#include "fairlead/model/event.h"
#include "fairlead/model/jobs.h"
#include "fairlead/model/knowledge.h"
#include "fairlead/policy/plan.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace fairlead {

class Archive;           // base/archive.h
class KnownSpeed;        // model/known_speed.h
class KnownWork;         // model/known_work.h
struct PlacementTraits;  // policy/placement_traits.h

// Everything a policy may know.
struct View {
  Time now;
  const Cluster& cluster;
  const Users& users;
  const Jobs& jobs;
  const KnownSpeed& speed;         // as much as needs().rates asks for
  const KnownWork& work;           // as much as needs().work asks for
  std::span<const Event> news;     // since the last call, in event order
  std::span<const JobId> waiting;  // unordered: a policy that needs an order keeps its own
  std::span<const JobId> running;
};

// The knowledge of the remaining work of jobs that a policy uses. With less than `least` a policy
// runs, but no better than one that uses none. It has no use for more than `best`.
struct WorkNeeded {
  WorkSource least = WorkSource::kNone;
  WorkSource best = WorkSource::kNone;  // none: the policy does not use it
};
// kAnyWork: for policies that do well on a guess. kEstimatedWork: for the others.
constexpr WorkNeeded kAnyWork = {.least = WorkSource::kNone, .best = WorkSource::kExact};
constexpr WorkNeeded kEstimatedWork = {.least = WorkSource::kHistory, .best = WorkSource::kExact};

struct Needs {
  RatesNeeded rates = RatesNeeded::kNone;
  WorkNeeded work{};
  bool elastic = false;  // the policy may place gangs from gpus_min to gpus_max
  bool limits = true;    // limits hold its jobs; false: it repeats a schedule that kept them
  bool copies = false;   // the policy may place several copies of a job (Plan::place_copy)
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::string_view name() const = 0;
  virtual Needs needs() const { return {}; }
  virtual void decide(const View& view, Plan& plan) = 0;
  // Archives everything that decide() remembers between calls. Saving it, and loading it into a new
  // policy with the same options, at any moment between calls, changes no later step.
  virtual void fields(Archive& archive) = 0;

  // Returns the facts on its placement; null: a gang may have any GPUs. A job is rejected at its arrival
  // if its gang would have no place on the whole idle cluster. The registry sets the traits of its
  // policies; any other policy may set its own in its constructor.
  const PlacementTraits* traits() const { return traits_.get(); }
  void set_traits(std::shared_ptr<const PlacementTraits> traits) { traits_ = std::move(traits); }

  // The evaluations of a decision at most (decision_budget.h); 0: no limit. The registry sets the number of its policies,
  // from the option decision_budget.
  std::int64_t decision_budget() const { return decision_budget_; }
  void set_decision_budget(std::int64_t evaluations) { decision_budget_ = evaluations; }

 private:
  std::shared_ptr<const PlacementTraits> traits_;
  std::int64_t decision_budget_ = 0;
};

}  // namespace fairlead
