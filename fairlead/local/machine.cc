#include "fairlead/local/machine.h"

#include "fairlead/base/parse.h"
#include "fairlead/model/cluster_build.h"
#include "fairlead/model/gpu_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <unistd.h>
#include <utility>

namespace fairlead {
namespace {

struct Gpu {
  std::string type;
  std::string name;
};

// GPUs of one type are one node, or several if there are too many for one.
Result<Machine> machine_of(std::string name, const std::vector<Gpu>& gpus,
                           std::uint32_t node_gpus) {
  std::vector<NodeSpec> nodes;
  Machine machine;
  std::vector<std::string> types;
  for (const Gpu& gpu : gpus) {
    if (std::ranges::find(types, gpu.type) == types.end()) types.push_back(gpu.type);
  }
  for (const std::string& type : types) {
    std::uint32_t count = 0;
    int parts = 0;
    for (const Gpu& gpu : gpus) {
      if (gpu.type != type) continue;
      if (count == 0 || count == node_gpus) {
        count = 0;
        nodes.push_back({.name = parts == 0 ? type : fmt::format("{}-{}", type, parts),
                         .gpu_type = type,
                         .host = "this"});
        ++parts;
      }
      nodes.back().gpus = ++count;
      machine.gpu_names.push_back(gpu.name);
      machine.driver_numbers.push_back(static_cast<std::uint32_t>(&gpu - gpus.data()));
    }
    machine.speed.push_back(1);
  }
  FL_TRY_ASSIGN(cluster, build_cluster(std::move(name), {}, nodes));
  machine.cluster = std::move(cluster);
  return machine;
}

struct Part {
  std::uint32_t gpus = 0;
  std::string type;
  double speed = 1;
};

// "4xV100@0.5" or "1xV100:4@0.5".
Result<Part> parse_part(std::string_view text) {
  const auto wrong = [&] {
    return input_error("--nodes: like 4xV100 or 4xK80@0.25, with commas between them: {}", text);
  };
  std::string_view left = text;
  Part part;
  if (const std::size_t at = left.find('@'); at != std::string_view::npos) {
    const auto speed = parse_number(left.substr(at + 1));
    if (!speed || !(*speed > 0 && *speed <= 1000)) return wrong();
    part.speed = *speed;
    left = left.substr(0, at);
  }
  const std::size_t x = left.find('x');
  if (x == std::string_view::npos) return wrong();
  const auto nodes = parse_integer(left.substr(0, x));
  left.remove_prefix(x + 1);
  std::int64_t each = 1;
  if (const std::size_t colon = left.find(':'); colon != std::string_view::npos) {
    const auto gpus = parse_integer(left.substr(colon + 1));
    if (!gpus) return wrong();
    each = *gpus;
    left = left.substr(0, colon);
  }
  if (!nodes || *nodes < 1 || *nodes > 1024 || each < 1 || each > 1024 || left.empty()) {
    return wrong();
  }
  part.gpus = static_cast<std::uint32_t>(*nodes * each);
  part.type = left;
  return part;
}

}  // namespace

Result<Machine> stand_in_machine(std::string_view text, std::uint32_t node_gpus) {
  std::vector<Gpu> gpus;
  std::vector<Part> parts;
  for (std::string_view left = text;;) {
    const std::size_t comma = std::min(left.find(','), left.size());
    FL_TRY_ASSIGN(part, parse_part(left.substr(0, comma)));
    for (std::uint32_t i = 0; i < part.gpus; ++i) {
      gpus.push_back({part.type, fmt::format("{}", gpus.size())});
    }
    parts.push_back(std::move(part));
    if (comma == left.size()) break;
    left.remove_prefix(comma + 1);
  }
  FL_TRY_ASSIGN(machine, machine_of(std::string(text), gpus, node_gpus));
  for (const Part& part : parts) machine.speed[machine.cluster.type_named(part.type)] = part.speed;
  return machine;
}

Result<Machine> driver_machine(const GpuLibraries& libraries, std::uint32_t node_gpus) {
  FL_TRY_ASSIGN(driver, open_gpu_driver(libraries));
  std::vector<Gpu> gpus;
  for (const GpuDriver::Gpu& gpu : driver->gpus())
    gpus.push_back({short_gpu_name(gpu.name), gpu.uuid});
  FL_TRY_ASSIGN(machine, machine_of("this machine", gpus, node_gpus));
  machine.visible_devices = driver->visible_devices();
  return machine;
}

FirstGpus first_gpus(const Cluster& cluster) {
  FirstGpus first;
  first.push_back(0);
  for (NodeId node : ids<NodeId>(cluster.nodes())) {
    first.push_back(first[node] + cluster.node_gpus[node]);
  }
  return first;
}

NodeId node_of(const FirstGpus& first, std::uint32_t gpu) {
  const auto after = std::upper_bound(first.begin(), first.end(), gpu);
  return NodeId(static_cast<std::size_t>(after - first.begin() - 1));
}

std::vector<std::uint32_t> machine_gpus(const FirstGpus& first, Gang gang,
                                        std::span<const std::uint64_t> gpu_masks) {
  std::vector<std::uint32_t> gpus;
  std::size_t i = 0;
  for (Slice slice : gang) {
    for (std::uint64_t left = gpu_masks[i++]; left != 0; left &= left - 1) {
      gpus.push_back(first[slice.node] + static_cast<std::uint32_t>(std::countr_zero(left)));
    }
  }
  return gpus;
}

HostSize host_size() {
  constexpr std::uint64_t kMb = 1'000'000;
  const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                     static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return {.cpus = static_cast<std::uint32_t>(::sysconf(_SC_NPROCESSORS_ONLN)),
          .memory_mb = static_cast<std::uint32_t>(bytes / kMb)};
}

Status serve_only(std::string_view list, Machine& machine) {
  std::set<std::uint32_t> served;
  const auto add = [&](std::string_view text) -> Status {
    const auto named = std::ranges::find(machine.gpu_names, text);
    if (named != machine.gpu_names.end()) {
      served.insert(static_cast<std::uint32_t>(named - machine.gpu_names.begin()));
      return {};
    }
    const std::size_t dash = std::min(text.find('-'), text.size());
    const auto first = parse_integer(text.substr(0, dash));
    const auto last = dash == text.size() ? first : parse_integer(text.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first ||
        !std::cmp_less(*last, machine.gpu_names.size())) {
      return input_error("--gpus: like 0-5,7 with numbers up to {}, or UUIDs: {}",
                         machine.gpu_names.size() - 1, text);
    }
    for (std::uint32_t i = 0; i < machine.driver_numbers.size(); ++i) {
      if (machine.driver_numbers[i] >= *first && machine.driver_numbers[i] <= *last)
        served.insert(i);
    }
    return {};
  };
  for (std::string_view left = list; !left.empty();) {
    const std::size_t comma = std::min(left.find(','), left.size());
    FL_TRY(add(left.substr(0, comma)));
    left.remove_prefix(std::min(comma + 1, left.size()));
  }
  if (served.empty()) return {};
  for (std::uint32_t i = 0; i < machine.gpu_names.size(); ++i) {
    if (!served.contains(i)) machine.not_served.insert(i);
  }
  return {};
}

std::string gpus_text(const Machine& machine) {
  std::vector<std::string> types;
  for (GpuTypeId type : ids<GpuTypeId>(machine.cluster.type_names.size())) {
    types.push_back(
        fmt::format("{} {}", machine.cluster.type_gpus[type], machine.cluster.type_names[type]));
  }
  return fmt::format("{}", fmt::join(types, ", "));
}

}  // namespace fairlead
