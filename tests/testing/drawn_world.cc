#include "testing/drawn_world.h"

#include "fairlead/base/rng.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace fairlead {
namespace {

// Draws whether this world has an optional ingredient.
bool has(Rng& rng, bool may) { return rng.below(2) == 0 && may; }

// One of 0 and up to `most`.
Duration drawn_cost(Rng& rng, Duration most) {
  if (rng.below(2) == 0) return {};
  return {1 + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(most.ms)))};
}

// The overhead of one run of a job is at most 2 s, and at most 4 GPU-seconds of the largest gang.
Costs drawn_costs(Rng& rng, std::uint32_t gang_max) {
  const Duration whole = {std::min<std::int64_t>(2'000, 4'000 / gang_max)};
  const Duration half = {std::max<std::int64_t>(whole.ms / 2, 1)};
  Costs costs = Costs::none();
  costs.start = drawn_cost(rng, whole);
  costs.suspend = drawn_cost(rng, half);
  costs.resume = drawn_cost(rng, half);
  for (Duration& cost : costs.checkpoint) cost = drawn_cost(rng, half);
  for (Duration& cost : costs.migrate) cost = drawn_cost(rng, half);
  costs.copies_exchange = drawn_cost(rng, seconds(2));
  return costs;
}

FaultOptions drawn_faults(Rng& rng) {
  constexpr std::array<std::int64_t, 3> kIntervals_s = {0, 1, 7};
  FaultOptions faults;
  faults.mtbf_h = 0.02 * static_cast<double>(1 + rng.below(5));
  faults.mttr_h = 0.005;
  faults.checkpoint_interval = seconds(kIntervals_s[rng.below(kIntervals_s.size())]);
  return faults;
}

UnreliableOptions drawn_unreliable(Rng& rng) {
  UnreliableOptions options;
  const auto duration = [&](std::uint64_t most_ms) {
    return Duration{static_cast<std::int64_t>(rng.below(2) * rng.below(most_ms))};
  };
  const auto rate = [&](double most) { return rng.below(2) == 0 ? 0 : most * rng.uniform(); };
  options.late_max = duration(5'000);
  options.start_max = duration(20'000);
  options.stop_max = duration(20'000);
  options.repeat = rate(0.5);
  options.shuffle = rate(1);
  options.start_fails = rate(0.5);
  options.stop_fails = rate(0.5);
  options.gpu_losses_per_h = rate(60);
  options.gpus_back_max = duration(200'000);
  options.operators_per_h = rate(200);
  options.users_come = static_cast<double>(rng.below(2));
  options.calm_from = kCalm;
  return options;
}

struct DrawnCluster {
  std::string text;
  std::uint64_t gpus = 0;
  std::uint64_t node_gpus = 0;
};

DrawnCluster drawn_cluster(Rng& rng, const Ingredients& may) {
  constexpr std::array<std::string_view, 3> kTypes = {"V100", "K80", "P100"};
  DrawnCluster cluster;
  cluster.node_gpus = std::uint64_t{1} << rng.below(4);
  const std::uint64_t racks = has(rng, may.racks) ? 2 + rng.below(2) : 1;
  const std::uint64_t types = has(rng, may.types) ? 2 + rng.below(2) : 1;
  for (std::uint64_t rack = 0; rack < racks; ++rack) {
    std::string groups;
    for (std::uint64_t type = 0; type < types; ++type) {
      const std::uint64_t nodes = rng.below(racks * types > 1 ? 3 : 7);
      if (nodes == 0) continue;
      groups += fmt::format("{}{}x{}:{}", groups.empty() ? "" : ",", nodes, kTypes[type],
                            cluster.node_gpus);
      cluster.gpus += nodes * cluster.node_gpus;
    }
    if (groups.empty()) continue;
    cluster.text += (cluster.text.empty() ? "" : " | ") + groups;
  }
  if (cluster.gpus > 0) return cluster;
  return {fmt::format("1xV100:{}", cluster.node_gpus), cluster.node_gpus, cluster.node_gpus};
}

void draw_elastic(Rng& rng, WorldJob& job) {
  job.gpus_min = std::max(1U, job.gpus / (1U << rng.below(3)));
  job.gpus_max = job.gpus << rng.below(3);
}

// Makes the gangs multiples of a task that some node has room for, mostly.
void draw_tasks(Rng& rng, WorldJob& job, std::uint32_t node_gpus) {
  job.task_gpus = 1 + static_cast<std::uint32_t>(rng.below(std::min(job.gpus, node_gpus)));
  if (rng.below(20) == 0) job.task_gpus = job.gpus;
  const auto whole = [&](std::uint32_t gpus) {
    return gpus == 0 ? 0 : std::max(whole_tasks(gpus, job.task_gpus), job.task_gpus);
  };
  job.gpus = whole(job.gpus);
  job.gpus_min = whole(job.gpus_min);
  job.gpus_max = whole(job.gpus_max);
}

void draw_levels(Rng& rng, WorldJob& job) {
  constexpr std::array<std::string_view, 3> kLevels = {"", "host", "rack"};
  job.require_level = kLevels[rng.below(kLevels.size())];
  job.prefer_level = kLevels[rng.below(kLevels.size())];
}

// Limits are mostly generous; some jobs outlive theirs.
void draw_log(Rng& rng, WorldJob& job) {
  constexpr std::array<std::string_view, 3> kPartitions = {"", "gpu", "debug"};
  if (rng.below(2) == 0)
    job.time_limit = {1 + job.work.ms * static_cast<std::int64_t>(rng.below(8)) / 2};
  job.priority = static_cast<std::int64_t>(rng.below(3)) - 1;
  job.partition = kPartitions[rng.below(kPartitions.size())];
  if (rng.below(2) == 0)
    job.logged_start = job.submit + Duration{static_cast<std::int64_t>(rng.below(50'000))};
}

// Nodes of up to 4 CPUs and GB for each GPU, some of which do not limit. Some jobs need more than any node has.
void draw_resources(Rng& rng, World& world, std::uint64_t node_gpus) {
  const auto drawn = [&](std::uint64_t most) {
    return Thousandths{static_cast<std::int64_t>(500 * rng.below(2 * most + 1))};
  };
  for (std::uint64_t kinds = 1 + rng.below(3); kinds > 0; --kinds)
    world.nodes_have.push_back({drawn(4 * node_gpus), drawn(4 * node_gpus)});
  for (WorldJob& job : world.jobs) {
    const std::uint64_t each = rng.below(10) == 0 ? 8 : 3;  // CPUs and GB for a GPU
    if (rng.below(4) != 0) job.asks.cpus = drawn(each * job.gpus);
    if (rng.below(2) != 0) job.asks.memory_gb = drawn(each * job.gpus);
  }
}

}  // namespace

World drawn_world(std::uint64_t seed, const Ingredients& may) {
  constexpr std::array<std::string_view, 5> kModels = {"", "VAE", "GRU", "ResNeXt50", "ResNet50"};
  Rng rng(seed);
  const DrawnCluster cluster = drawn_cluster(rng, may);
  World world{.cluster = cluster.text, .until = kWorldEnd};
  world.settings.faults.checkpoint_interval = {};
  const bool costs = has(rng, may.costs);
  if (may.faults) world.settings.faults = drawn_faults(rng);
  if (may.unreliable) world.settings.unreliable = drawn_unreliable(rng);
  world.sim_seed = rng.below(1'000);
  const bool models = has(rng, may.models);
  const bool elastic = has(rng, may.elastic);
  // Coarse times make equal times frequent; one world in three has odd milliseconds.
  const std::int64_t grain = rng.below(3) == 0 ? 1 : 1'000;
  const std::uint64_t span = 1 + rng.below(200);
  const std::uint64_t jobs = 1 + rng.below(40);
  for (std::uint64_t i = 0; i < jobs; ++i) {
    std::uint64_t gpus = std::uint64_t{1} << rng.below(4);
    if (rng.below(4) == 0) gpus = 1 + rng.below(cluster.gpus);
    WorldJob job;
    job.submit = {static_cast<std::int64_t>(rng.below(span)) * grain};
    job.gpus = static_cast<std::uint32_t>(std::min(gpus, cluster.gpus));
    job.work = {(1 + static_cast<std::int64_t>(rng.below(rng.below(5) == 0 ? 1'000 : 60))) * grain};
    job.user = fmt::format("u{}", rng.below(4));
    if (models) job.model = kModels[rng.below(kModels.size())];
    if (elastic && rng.below(2) == 0) draw_elastic(rng, job);
    world.jobs.push_back(job);
  }
  // Drawn separately, so that worlds without them do not change.
  Rng tasks = Rng(seed).split(1);
  if (has(tasks, may.tasks)) {
    for (WorldJob& job : world.jobs) {
      if (tasks.below(2) == 0)
        draw_tasks(tasks, job, static_cast<std::uint32_t>(cluster.node_gpus));
    }
  }
  Rng levels = Rng(seed).split(2);
  if (has(levels, may.levels)) {
    for (WorldJob& job : world.jobs) {
      if (levels.below(2) == 0) draw_levels(levels, job);
    }
  }
  Rng logs = Rng(seed).split(3);
  if (has(logs, may.logs)) {
    for (WorldJob& job : world.jobs) {
      if (logs.below(4) != 0) draw_log(logs, job);
    }
  }
  Rng resources = Rng(seed).split(4);
  if (may.resources && resources.below(4) != 0) draw_resources(resources, world, cluster.node_gpus);
  const std::uint32_t gang_max = std::ranges::max(world.jobs, {}, &WorldJob::gpus).gpus;
  if (costs) world.settings.costs = drawn_costs(rng, gang_max);
  return world;
}

}  // namespace fairlead
