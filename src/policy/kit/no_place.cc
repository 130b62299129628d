#include "fairlead/policy/kit/no_place.h"

#include "fairlead/policy/kit/domains.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairlead {
namespace {

struct Question {
  Placement placement;
  const Cluster& cluster;
  const FreeIndex& free;
  std::uint32_t gpus;
  TypeMask types;
};

// Asks the placement itself, on a draft with the same GPUs free.
bool fits(const Question& ask) {
  constexpr std::size_t kHolder = 0;  // of all that is not free
  constexpr std::size_t kAsker = 1;
  Jobs jobs;
  for (std::size_t job : {kHolder, kAsker}) {
    jobs.add({.job = JobId(job), .user = UserId(0)}, ModelId());
  }
  for (JobState& state : jobs.state) state = JobState::kWaiting;
  Plan plan(ask.cluster, jobs);
  bool any_is_held = false;
  for (NodeId node : ids<NodeId>(ask.cluster.nodes())) {
    const std::uint32_t held = ask.cluster.node_gpus[node] - ask.free.on(node);
    if (held > 0) plan.take(node, held);
    any_is_held |= held > 0;
  }
  if (any_is_held) plan.place(JobId(kHolder));
  return place(ask.placement, ask.cluster, plan, JobId(kAsker), ask.gpus, ask.types);
}

// The most that is free of one of the types in one domain of the tier.
std::uint32_t most_together(const Question& ask, Tier tier) {
  std::uint32_t most = 0;
  for (GpuTypeId type : ids<GpuTypeId>(ask.cluster.type_names.size())) {
    const TypeMask allowed = ask.types & type_bit(type);
    most = std::max(most, most_in_domain(ask.cluster, tier, allowed,
                                         [&](NodeId node) { return ask.free.on(node); }));
  }
  return most;
}

// True if the placement has the gang on one node or not at all.
bool insists_on_one_node(const Question& ask) {
  if (ask.placement != Placement::kYarn && ask.placement != Placement::kConsolidate) return false;
  std::uint32_t largest = 0;
  for (GpuTypeId type : ids<GpuTypeId>(ask.cluster.type_names.size())) {
    if ((ask.types & type_bit(type)) == 0) continue;
    largest = std::max(largest, ask.cluster.type_node_gpus_max[type]);
  }
  return ask.gpus <= largest;
}

struct Reason {
  Misfit why;
  std::string text;
};

// REQUIRES: it does not fit.
Reason reason(const Question& ask) {
  if (ask.free.total() < ask.gpus) return {Misfit::kTooFew, ""};
  const std::uint32_t of_types = ask.free.of(ask.types);
  if (of_types < ask.gpus) {
    return {Misfit::kOtherTypes, fmt::format(", but only {} of its types", of_types)};
  }
  const auto at_most = [&](Tier tier, std::string_view where) {
    return fmt::format(", but at most {} {}", most_together(ask, tier), where);
  };
  if (most_together(ask, Tier::kSpine) < ask.gpus) {
    return {Misfit::kManyTypes, at_most(Tier::kSpine, "of one type")};
  }
  if (insists_on_one_node(ask)) return {Misfit::kManyNodes, at_most(Tier::kNode, "on one node")};
  if (ask.placement != Placement::kConsolidate && most_together(ask, Tier::kRack) < ask.gpus) {
    return {Misfit::kManyRacks, at_most(Tier::kRack, "in one rack")};
  }
  return {Misfit::kManyNodes, ", but not on whole nodes"};
}

}  // namespace

NoPlace why_no_place(Placement placement, const Cluster& cluster, const FreeIndex& free,
                     std::uint32_t gpus, TypeMask types) {
  const Question now{placement, cluster, free, gpus, types};
  if (fits(now)) return {Misfit::kNone, false, "it fits"};
  const FreeIndex idle(cluster);
  const Question ever{placement, cluster, idle, gpus, types};
  const bool never = !fits(ever);
  const Reason found = reason(never ? ever : now);
  const std::string have = never ? fmt::format("the idle cluster has {}", idle.total())
                                 : fmt::format("{} are free", free.total());
  return {found.why, never, fmt::format("needs {} GPUs; {}{}", gpus, have, found.text)};
}

}  // namespace fairlead
