#include "fairlead/engine/tables_difference.h"

#include <algorithm>
#include <vector>

namespace fairlead {
namespace {

std::vector<Slice> slices(Gang gang) { return {gang.begin(), gang.end()}; }

bool have_equal_groups(const Users& a, const Users& b) {
  return a.group == b.group && a.groups.names == b.groups.names &&
         a.groups.tickets == b.groups.tickets && a.groups.quota == b.groups.quota;
}

bool have_equal_nodes(const Cluster& a, const Cluster& b) {
  return a.node_names == b.node_names && a.node_type == b.node_type && a.node_gpus == b.node_gpus &&
         a.node_host == b.node_host && a.node_rack == b.node_rack && a.gpus == b.gpus;
}

}  // namespace

std::string difference(const Tables& a, const Tables& b) {
  if (a.users.names != b.users.names || a.users.tickets != b.users.tickets) return "users";
  if (!have_equal_groups(a.users, b.users)) return "groups of users";
  if (a.models != b.models) return "models";
  if (!have_equal_nodes(a.cluster, b.cluster)) return "nodes";
  const Jobs& one = a.jobs;
  const Jobs& two = b.jobs;
  if (one.size() != two.size()) return "the number of jobs";
  if (one.user != two.user || one.model != two.model || one.gpus != two.gpus ||
      one.gpus_min != two.gpus_min || one.gpus_max != two.gpus_max ||
      one.task_gpus != two.task_gpus || one.closeness != two.closeness ||
      one.arrival != two.arrival || one.types != two.types || one.extras != two.extras ||
      one.logged != two.logged || one.partition != two.partition ||
      one.partitions != two.partitions) {
    return "what jobs ask for";
  }
  if (one.attained_settled != two.attained_settled || one.run_since != two.run_since ||
      one.allocated_gpus != two.allocated_gpus || one.state != two.state || one.run != two.run ||
      one.works_from != two.works_from) {
    return "what jobs were served";
  }
  for (JobId job : ids<JobId>(one.size())) {
    if (slices(one.last_gang(job)) != slices(two.last_gang(job))) return "gangs";
    if (!std::ranges::equal(one.gangs.gpu_masks(one.last[job]),
                            two.gangs.gpu_masks(two.last[job]))) {
      return "GPUs";
    }
    if (a.names[job] != b.names[job]) return "names of jobs";
  }
  const auto differ = [&](JobSet Tables::*set) {
    return !std::ranges::equal((a.*set).members(), (b.*set).members());
  };
  if (differ(&Tables::waiting) || differ(&Tables::running) ||
      differ(&Tables::waiting_without_gpus) || differ(&Tables::running_without_gpus)) {
    return "who waits or runs";
  }
  for (NodeId node : ids<NodeId>(a.nodes.size())) {
    const Tables::NodeState& x = a.nodes[node];
    const Tables::NodeState& y = b.nodes[node];
    if (x.has != y.has || x.up != y.up || x.free != y.free || x.closed != y.closed) {
      return "the state of nodes";
    }
  }
  if (a.held_until != b.held_until || a.cordoned != b.cordoned ||
      a.failed_starts != b.failed_starts || a.failed_on != b.failed_on ||
      a.stopping.size() != b.stopping.size() || !(a.counts == b.counts)) {
    return "holds, failures or counts";
  }
  return "";
}

}  // namespace fairlead
