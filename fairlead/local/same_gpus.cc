#include "fairlead/local/same_gpus.h"

#include "fairlead/model/cluster_build.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fairlead {
namespace {

struct Gpu {
  std::string name;
  std::string type;
  std::string node;
  bool is_taken = false;
};

std::vector<Gpu> gpus_of(const Machine& machine) {
  std::vector<Gpu> gpus;
  const Cluster& cluster = machine.cluster;
  for (NodeId node : ids<NodeId>(cluster.nodes())) {
    for (std::uint32_t i = 0; i < cluster.node_gpus[node]; ++i) {
      gpus.push_back({.name = machine.gpu_names[gpus.size()],
                      .type = cluster.type_names[cluster.node_type[node]],
                      .node = cluster.node_names[node]});
    }
  }
  return gpus;
}

// Returns a node's name that the nodes do not have: "V100", "V100-1".
std::string free_name(const std::string& name, const std::vector<NodeSpec>& nodes) {
  std::string other = name;
  for (int i = 1; std::ranges::find(nodes, other, &NodeSpec::name) != nodes.end(); ++i)
    other = fmt::format("{}-{}", name, i);
  return other;
}

// Gives each known number its GPU. An older daemon has kept no names, so the GPUs of a type have their order.
void take_known(std::vector<Gpu>& present, const KnownGpus& known, Machine& machine) {
  for (const KnownGpus::Node& node : known.nodes) {
    const std::string& type = known.types[node.type.row()];
    for (std::uint32_t i = 0; i < node.gpus; ++i) {
      const std::size_t number = machine.gpu_names.size();
      const auto found = std::ranges::find_if(present, [&](const Gpu& gpu) {
        const bool is_it = known.names.empty() ? !gpu.is_taken : gpu.name == known.names[number];
        return is_it && gpu.type == type;
      });
      if (found == present.end()) {
        machine.absent.insert(static_cast<std::uint32_t>(number));
        machine.gpu_names.push_back(known.names.empty() ? fmt::format("absent {}", number)
                                                        : known.names[number]);
        continue;
      }
      found->is_taken = true;
      machine.gpu_names.push_back(found->name);
    }
  }
}

}  // namespace

Result<SameGpus> same_gpus(const Machine& present, const KnownGpus& known) {
  SameGpus same;
  Machine& machine = same.machine;
  std::vector<Gpu> gpus = gpus_of(present);
  std::uint32_t count = 0;
  std::vector<NodeSpec> nodes;
  for (const KnownGpus::Node& node : known.nodes) {
    count += node.gpus;
    nodes.push_back({.name = node.name,
                     .gpu_type = known.types[node.type.row()],
                     .gpus = node.gpus,
                     .host = "this"});
  }
  FL_TRY_ASSIGN(before, build_cluster(present.cluster.name, {}, nodes));
  same.cluster = std::move(before);
  // New GPUs may have a name already, and no place in the journal yet.
  if (!known.names.empty() && known.names.size() < count)
    return run_error("the folder has names of {} GPUs, and its journal has {} GPUs",
                     known.names.size(), count);
  take_known(gpus, known, machine);
  std::string of;  // the present node of the GPUs of the last new node
  for (const Gpu& gpu : gpus) {
    if (gpu.is_taken) continue;
    if (std::ranges::find(known.types, gpu.type) == known.types.end()) {
      if (std::ranges::find(same.unknown_types, gpu.type) == same.unknown_types.end())
        same.unknown_types.push_back(gpu.type);
      continue;
    }
    if (nodes.size() == known.nodes.size() || of != gpu.node) {
      nodes.push_back(
          {.name = free_name(gpu.node, nodes), .gpu_type = gpu.type, .gpus = 0, .host = "this"});
      of = gpu.node;
    }
    ++nodes.back().gpus;
    machine.gpu_names.push_back(gpu.name);
  }
  FL_TRY_ASSIGN(cluster, build_cluster(present.cluster.name, {}, nodes));
  machine.cluster = std::move(cluster);
  machine.host = present.host;
  machine.visible_devices = present.visible_devices;
  for (const std::string& type : machine.cluster.type_names) {
    const GpuTypeId as_present = present.cluster.type_named(type);
    machine.speed.push_back(as_present.is_none() ? 1 : present.speed[as_present]);
  }
  for (const std::uint32_t gpu : present.not_served) {
    const auto number = std::ranges::find(machine.gpu_names, present.gpu_names[gpu]);
    if (number != machine.gpu_names.end())
      machine.not_served.insert(static_cast<std::uint32_t>(number - machine.gpu_names.begin()));
  }
  return same;
}

}  // namespace fairlead
