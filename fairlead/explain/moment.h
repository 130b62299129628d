// The state at one moment, as far as it explains why a job waits: the tables, the free GPUs, and the GPUs
// that later jobs have. It follows the records of a run, or is made from the tables of a running one.
//
// A record costs O(slices x log jobs). REQUIRES: records that a CheckedJournal passes on.
#pragma once

#include "fairlead/engine/tables.h"
#include "fairlead/model/free_index.h"
#include "fairlead/policy/placement_traits.h"

#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace fairlead {

// The GPUs of running jobs, by the order in which the jobs arrived.
class AllocatedByOrder {
 public:
  void add(std::size_t rank, std::int64_t gpus);
  std::int64_t after(std::size_t rank) const;  // the sum over later ranks

 private:
  std::vector<std::int64_t> tree_ = {
      0};  // a Fenwick tree, from 1; its size is a power of 2, plus 1
  std::int64_t total_ = 0;
};

// Whether a waiting gang fits into the free GPUs.
enum class Fit : std::uint8_t {
  kFits,
  kTooFew,        // not enough GPUs of its types are free
  kScattered,     // enough are free, but not in a placement that its policy accepts
  kTooLittleCpu,  // the GPUs alone would do, but their nodes have too little CPU left for its tasks
  kTooLittleMemory,  // the same of memory
  kReserved,         // the GPUs alone would do, but too many of them are reserved for others
  kNever,            // the cluster has no placement for it that its policy accepts
};

class Moment {
 public:
  // `tables`, which must outlive this object, are those before the first record. The owner of the tables
  // calls before() and after() for each record, before and after it applies it.
  explicit Moment(const Tables& tables) : tables_(tables) {}
  // The present, `now`, of these tables, under a policy with these traits. It is valid until they change.
  // O(nodes + present jobs x log).
  Moment(const Tables& tables, const PlacementTraits& traits, Time now);
  Moment(const Moment&) = delete;
  Moment& operator=(const Moment&) = delete;

  void set_traits(const PlacementTraits& traits) { traits_ = traits; }
  void before(const Record& record);
  void after(const Record& record);

  Time now() const { return present_.value_or(tables_.now); }
  const Tables& tables() const { return tables_; }
  const PlacementTraits& traits() const { return traits_; }

  // Returns whether a job has arrived or GPUs have failed. All functions below require it.
  bool has_come() const { return free_.has_value(); }
  const FreeIndex& free() const { return *free_; }
  // Returns the GPUs of these types, free or in use, that are up and open; down() returns the others.
  std::int64_t usable(TypeMask types) const;
  std::int64_t down(TypeMask types) const;
  // The smallest gang that the policy would start the job with.
  GangAsked wanted(JobId job) const;
  // Its policy wants GPUs near to each other for a job that has waited since then.
  bool is_patient(Time since) const;
  // Allocated to jobs that came later, of the types that the job can run on.
  std::int64_t allocated_later(JobId job) const;
  bool came_later(JobId job, JobId than) const { return order_[job] > order_[than]; }
  std::int64_t held_by(UserId user) const { return held_[user]; }
  // As it is now, for fitted().
  void keep_free() { free_before_ = free_; }
  // Whether the job would have fitted at the last keep_free(). `since`: when it began to wait.
  bool fitted(JobId job, Time since) const;
  // O(1) where counting GPUs will do; else a placement, O(nodes), once for each kind of gang while the
  // same GPUs are free. `since`: when the job began to wait.
  Fit fit(JobId job, Time since);

 private:
  // GPUs, GPUs of a task, types, placement, kind of limits by other resources
  using Kind = std::tuple<std::uint32_t, std::uint32_t, TypeMask, Placement, std::uint32_t>;
  void come(JobId job, Time arrival);
  void set_usable(NodeId node);
  void run(JobId job, Gang gang, std::int64_t sign);
  Kind kind_of(JobId job, Time since) const;
  Placement placement_of(JobId job, Time since) const;
  Fit fit_of(const FreeIndex& free, const Kind& kind) const;
  // Returns the fit of a job with limits by other resources. REQUIRES: its GPUs alone would fit.
  Fit fit_of_limited(JobId job, const Kind& kind);
  void add_room(JobId job, Gang gang, bool takes);
  const TaskRoom& room();
  Fit fit_of_types(const FreeIndex& free, GangAsked gang, TypeMask types,
                   Placement placement) const;

  const Tables& tables_;
  PlacementTraits traits_;
  std::optional<Time> present_;  // if it is later than the last record
  std::optional<FreeIndex> free_;
  std::optional<FreeIndex> free_before_;
  // The moments at which jobs came, numbered.
  IdVector<JobId, std::size_t> order_;
  std::size_t came_ = 0;
  Time last_came_ = Time::never();
  IdVector<GpuTypeId, AllocatedByOrder> allocated_by_order_;
  IdVector<UserId, std::int64_t> held_;
  TaskRoom room_;             // read room()
  std::map<Kind, Fit> fits_;  // for the GPUs that are free now
};

}  // namespace fairlead
