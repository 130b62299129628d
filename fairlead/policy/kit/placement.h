// Placements: how a policy that thinks in numbers of GPUs gets nodes for them.
//
// place() takes GPUs of the draft and gives them to a waiting job, or leaves the draft unchanged.
// Nodes are tried in index order and the lowest node wins every tie, so equal drafts give equal
// gangs.
//
//   count        any free GPUs, in node order
//   first-fit    the first node with room for the whole gang; a gang that no free node can take
//                fills nodes in index order
//   best-fit     the node with the fewest free GPUs that has room; else the freest nodes first
//   yarn         Tiresias' "yarn" scheme: a gang of at most a node's size on the first node with
//                room; a larger one on the first whole nodes of one rack, and its remainder on the
//                first other node of that rack with room
//   consolidate  Helios' placer: a gang of at most a node's size on the tightest node with room; a
//                larger one on whole nodes, and its remainder on the freest other node
//   rack-first   as consolidate, but the whole nodes and the remainder come from one rack if one has
//                them, the one with the fewest free GPUs; else from anywhere
//   rack         as best-fit, but a gang that spans nodes stays in one rack, the first with enough
//   spread       task by task, each on the node with the most free GPUs then: what Kubernetes does
//                by default
//
// Levels of the network: a job that requires a level gets a gang within one section of it: the
// section with the fewest free GPUs that has a place. A job that prefers a level is tried there
// first, then in one section of each wider level.
//
// GPU types: a node has one. A gang goes to one node of any allowed type if the placement finds
// one; a gang that spans nodes takes them of one type, trying the allowed types in the cluster's
// order. It waits for enough of one type, because a mixed gang runs at the pace of its slowest GPU;
// only a placement that `mixes` then takes what there is, and yarn, consolidate, rack-first and rack
// never do.
//
// Node sizes: "a node's size" is the size of the largest node of the type, and a whole node is an
// idle node of that size. Smaller nodes of the type can take a small gang or the remainder of a
// large one.
//
// Tasks: each of a job's tasks has task_gpus GPUs on one node. A placement therefore takes a
// multiple of task_gpus of any node, and counts a node by the whole tasks that fit. spread goes
// task by task. Tasks of one GPU restrict nothing.
//
// Other resources: if the world limits tasks by CPU, memory or the like (Plan::room), a node counts for a
// job as if it had only the GPUs that the job's tasks can use there.
//
// All placements are monotone: a gang that finds no place finds none after more GPUs are taken
// either. Policies use this to try each gang size once per decision.
//
// Cost: O(words of the free index that are scanned), per slice of the gang. In addition: O(nodes x
// levels) for a job that asks for a level; O(nodes) for a job with limited tasks; per task of it under spread; O(nodes) for rack and
// rack-first if no node has room; O(words of the whole index) for tasks of several GPUs.
#pragma once

#include "fairlead/model/cluster.h"
#include "fairlead/model/task_limits.h"
#include "fairlead/policy/plan.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace fairlead {

struct Placement {
  enum class Scheme : std::uint8_t {
    kCount,
    kFirstFit,
    kBestFit,
    kYarn,
    kConsolidate,
    kRack,
    kSpread,
    kRackFirst
  };
  Scheme scheme = Scheme::kCount;
  bool mixes = false;  // GPU types in a gang, if no allowed type has enough

  constexpr Placement mixing(bool asked = true) const { return {scheme, asked}; }
  friend constexpr auto operator<=>(const Placement&, const Placement&) = default;

  // These take GPUs of one type.
  static const Placement kCount;
  static const Placement kFirstFit;
  static const Placement kBestFit;
  static const Placement kYarn;
  static const Placement kConsolidate;
  static const Placement kRack;
  static const Placement kSpread;
  static const Placement kRackFirst;
};

inline constexpr Placement Placement::kCount{Scheme::kCount};
inline constexpr Placement Placement::kFirstFit{Scheme::kFirstFit};
inline constexpr Placement Placement::kBestFit{Scheme::kBestFit};
inline constexpr Placement Placement::kYarn{Scheme::kYarn};
inline constexpr Placement Placement::kConsolidate{Scheme::kConsolidate};
inline constexpr Placement Placement::kRack{Scheme::kRack};
inline constexpr Placement Placement::kSpread{Scheme::kSpread};
inline constexpr Placement Placement::kRackFirst{Scheme::kRackFirst};

// The names above separated by '/': the choices of an option. placement_named(): the placement of a
// name, which does not mix.
constexpr std::string_view kPlacementChoices =
    "count/first-fit/best-fit/yarn/consolidate/rack/spread/rack-first";
std::optional<Placement> placement_named(std::string_view name);

// How many GPUs, and in tasks of which size.
struct GangAsked {
  std::uint32_t gpus = 0;       // a multiple of task_gpus
  std::uint32_t task_gpus = 1;  // on one node each
  Closeness closeness{};
  JobId pinned{};  // a job that returns to the GPUs of its last run; none: any GPUs will do
  std::uint32_t limited = 0;  // TaskLimits::kind_of() the job; 0: GPUs alone limit its tasks
  friend bool operator==(GangAsked, GangAsked) = default;
};
inline GangAsked gang_asked(const Jobs& jobs, JobId job) {
  return {jobs.gpus[job], jobs.task_gpus[job], jobs.closeness[job],
          jobs.is_pinned(job) ? job : JobId(),
          jobs.limits == nullptr ? 0 : jobs.limits->kind_of(job)};
}

// Returns true if the idle cluster has enough GPUs of the allowed types for the gang, as near each
// other as it requires: of one type, unless the placement mixes. O(types) for tasks of one GPU that may
// be anywhere, else O(nodes x types).
bool has_types_for(Placement placement, const Cluster& cluster, GangAsked gang, TypeMask types);

// Gives `job` a gang of `gpus` GPUs of the allowed types, or a pinned job the GPUs of its last run.
// Returns false, without a change, if there is no place, or no budget for a search (Plan::examine). REQUIRES: the job has
// no GPUs in the draft; gpus is a multiple of its task_gpus, and
// above 0; the draft has no open gang.
bool place(Placement placement, const Cluster& cluster, Plan& plan, JobId job, std::uint32_t gpus,
           TypeMask types);

// The same without a plan: takes the GPUs from `free` and lists them, by node, in `gang`. Returns
// false, without a change of `free`, if there is no place. REQUIRES: asked.gpus > 0; asked.pinned is
// none.
bool take_gang(Placement placement, const Cluster& cluster, FreeIndex& free, GangAsked asked,
               TypeMask types, std::vector<Slice>& gang);

// Returns `free` without the GPUs of nodes of these types that lack other resources for the job's tasks, beside the gangs
// that have taken `room`. O(nodes).
FreeIndex limited_free(const Cluster& cluster, const FreeIndex& free, const TaskRoom& room,
                       JobId job, std::uint32_t task_gpus, TypeMask types = kAllTypes);

// The GPUs that a job's tasks can use, if other resources limit them.
struct LimitedGpus {
  FreeIndex free;                            // free GPUs of each node
  IdVector<GpuTypeId, std::uint32_t> sizes;  // GPUs of the largest idle node of each type
};
// Returns the GPUs that the job's tasks can use beside the gangs that have taken `room`. O(nodes).
LimitedGpus limited_gpus(const Cluster& cluster, const FreeIndex& free, const TaskRoom& room,
                         JobId job, std::uint32_t task_gpus);

// Returns true if take_gang() finds such a gang in `free`, if the largest idle nodes of each type have `sizes` GPUs for
// it. REQUIRES: as take_gang().
bool has_place(Placement placement, const Cluster& cluster, FreeIndex free,
               const IdVector<GpuTypeId, std::uint32_t>& sizes, GangAsked asked, TypeMask types);

// Gives `job` its present or last gang in the world, if those GPUs are free in the draft. Returns
// false, without a change, if they are not or there is no such gang. O(slices). REQUIRES: the job
// has no GPUs in the draft, and no copies; the draft has no open gang.
bool place_back(const Jobs& jobs, Plan& plan, JobId job);

}  // namespace fairlead
