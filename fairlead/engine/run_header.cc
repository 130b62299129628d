#include "fairlead/engine/run_header.h"

namespace fairlead {

record::Run run_record(const RunLabel& label, const Cluster& cluster) {
  return {.seed = label.seed,
          .jobs = label.jobs,
          .policy = label.policy,
          .options = label.options,
          .cluster = label.cluster,
          .trace = label.trace,
          .gpu_types = {cluster.type_names.begin(), cluster.type_names.end()}};
}

record::Group group_record(const Groups& groups, GroupId group) {
  return {group, groups.names[group], groups.tickets[group], groups.quota[group]};
}

record::User user_record(const Users& users, UserId user) {
  return {user, users.names[user], users.tickets[user], users.group_of(user)};
}

record::Node node_record(const Cluster& cluster, NodeId node) {
  return {.node = node,
          .name = cluster.node_names[node],
          .type = cluster.node_type[node],
          .host = cluster.node_host[node],
          .rack = cluster.node_rack[node],
          .gpus = cluster.node_gpus[node]};
}

}  // namespace fairlead
