#include "fairlead/iteration/placement.h"

#include "fairlead/base/parse.h"
#include "fairlead/base/units.h"

#include <algorithm>
#include <array>
#include <utility>

namespace fairlead {
namespace {

constexpr std::string_view kLwfPrefix = "lwf-";
constexpr std::array<std::pair<std::string_view, GpuRule::Kind>, 3> kPlainRules = {{
    {"random", GpuRule::Kind::kRandom},
    {"first-fit", GpuRule::Kind::kFirstFit},
    {"least-loaded", GpuRule::Kind::kLeastLoaded},
}};

using GpuIds = std::vector<GpuId>;

GpuIds with_room(const IdVector<GpuId, GpuLoad>& loads, std::int64_t memory_mb) {
  GpuIds found;
  for (GpuId gpu : ids<GpuId>(loads.size())) {
    if (loads[gpu].memory_mb >= memory_mb) found.push_back(gpu);
  }
  return found;
}

// The first `count` of a random order.
void shuffle(GpuIds& gpus, std::size_t count, Rng& rng) {
  for (std::size_t i = 0; i < count; ++i) {
    std::swap(gpus[i], gpus[i + rng.below(gpus.size() - i)]);
  }
}

void sort_by_workload(GpuIds& gpus, const IdVector<GpuId, GpuLoad>& loads) {
  std::ranges::stable_sort(gpus, {}, [&](GpuId gpu) { return loads[gpu].workload_ns; });
}

// Sorts nodes by the mean workload of all of their GPUs, including GPUs without room.
void sort_by_node(GpuIds& gpus, const IdVector<GpuId, GpuLoad>& loads) {
  struct Mean {
    Int128 sum = 0;
    Int128 count = 0;
  };
  IdVector<NodeId, Mean> nodes;
  for (const GpuLoad& load : loads) {
    if (!nodes.has(load.node)) nodes.resize(load.node.row() + std::size_t{1});
    nodes[load.node].sum += load.workload_ns;
    nodes[load.node].count += 1;
  }
  std::ranges::stable_sort(gpus, [&](GpuId a, GpuId b) {
    const auto [a_node, b_node] = std::pair(loads[a].node, loads[b].node);
    const Int128 left = nodes[a_node].sum * nodes[b_node].count;
    const Int128 right = nodes[b_node].sum * nodes[a_node].count;
    return left == right ? a_node < b_node : left < right;
  });
}

}  // namespace

Result<GpuRule> parse_gpu_rule(std::string_view text) {
  const auto plain =
      std::ranges::find(kPlainRules, text, &decltype(kPlainRules)::value_type::first);
  if (plain != kPlainRules.end()) return GpuRule{.kind = plain->second};
  if (text.starts_with(kLwfPrefix)) {
    const auto kappa = parse_integer(text.substr(kLwfPrefix.size()));
    if (kappa && *kappa >= 0) return GpuRule{.kind = GpuRule::Kind::kLwf, .kappa = *kappa};
  }
  return input_error(
      "no such placement (there are: random, first-fit, least-loaded, lwf-KAPPA): {}", text);
}

std::vector<GpuId> choose_gpus(const GpuRule& rule, const IdVector<GpuId, GpuLoad>& loads,
                               std::size_t count, std::int64_t memory_mb, Rng& rng) {
  GpuIds gpus = with_room(loads, memory_mb);
  if (gpus.size() < count) return {};
  switch (rule.kind) {
    case GpuRule::Kind::kRandom:
      shuffle(gpus, count, rng);
      break;
    case GpuRule::Kind::kFirstFit:
      break;
    case GpuRule::Kind::kLeastLoaded:
      sort_by_workload(gpus, loads);
      break;
    case GpuRule::Kind::kLwf:
      if (static_cast<std::int64_t>(count) <= rule.kappa) {
        sort_by_workload(gpus, loads);
      } else {
        sort_by_node(gpus, loads);
      }
      break;
  }
  gpus.resize(count);
  return gpus;
}

}  // namespace fairlead
