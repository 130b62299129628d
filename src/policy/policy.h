// The one policy interface: decide(view, plan).
//
// The engine calls decide once per distinct event time, after the events of that time have been
// applied to the tables. A policy reads the view, edits the plan, and returns. It has no clock but
// view.now, does no I/O, and draws no random number but from its own seed. Doing nothing is
// correct.
#pragma once

#include "fairlead/base/bytes.h"
#include "fairlead/base/units.h"
#include "fairlead/model/cluster.h"
#include "fairlead/model/event.h"
#include "fairlead/model/jobs.h"
#include "fairlead/model/known_speed.h"
#include "fairlead/policy/plan.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace fairlead {

// What only a simulator can know.
class Oracle {
 public:
  virtual ~Oracle() = default;
  // Running time left on the job's reference gang, rounded up; at least 1 ms until it finishes.
  virtual Duration remaining(JobId job) const = 0;
};

// Everything a policy may know.
struct View {
  Time now;
  const Cluster& cluster;
  const Users& users;
  const Jobs& jobs;
  const KnownSpeed& speed;         // as much as needs().rates asks for
  const Oracle* oracle;            // null unless needs().remaining_work
  std::span<const Event> news;     // since the last call, in event order
  std::span<const JobId> waiting;  // unordered: a policy that needs an order keeps its own
  std::span<const JobId> running;
};

struct Needs {
  RatesNeeded rates = RatesNeeded::kNone;
  bool remaining_work = false;
  bool elastic = false;  // it may place gangs from gpus_min to gpus_max, not just the one asked for
  bool copies = false;   // it may place several copies of a job (Plan::place_copy)
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::string_view name() const = 0;
  virtual Needs needs() const { return {}; }
  virtual void decide(const View& view, Plan& plan) = 0;
  // Everything that decide() remembers between calls. Saving, and loading into a new policy with
  // the same options, at any moment between calls, changes no later step.
  virtual void save(Writer& writer) const = 0;
  virtual void load(Reader& reader) = 0;
};

}  // namespace fairlead
