// Compares the policy `gavel` in the product's world with the simulator's mechanism
// (gavel_replay.h) with the same objective, on the same generated jobs. They differ in deliberate
// choices of the product: time is in milliseconds, work is not cut to whole steps, newcomers may
// run before they have a share, and no job is dropped. So averages agree, not jobs. gavel_test
// shows that the mechanism is the simulator's.
#include "fairlead/input/cluster_file.h"
#include "fairlead/input/models_file.h"
#include "fairlead/metrics/metrics.h"
#include "fairlead/model/speed.h"
#include "fairlead/policy/gavel/objectives.h"
#include "fairlead/policy/registry.h"
#include "fairlead/run/simulation.h"
#include "fairlead/trace/gavel_workload.h"

#include "gavel_replay.h"
#include <gtest/gtest.h>

#include <cmath>

namespace fairlead {
namespace {

constexpr std::uint32_t kGpusOfEachType = 12;

// Jobs on one node of each type, because the simulator ignores placement, and their speeds.
struct Scene {
  Cluster cluster = *load_cluster("1xV100:12,1xP100:12,1xK80:12");
  Workload workload;
  Speed speed;
};

Scene scene_of(std::uint64_t seed) {
  Scene scene;
  JobStream stream;
  stream.jobs = 400;
  stream.jobs_per_hour = 0.7;
  stream.seed = seed;
  scene.workload = *generate_gavel(stream);
  scene.speed = *Speed::make(scene.cluster, *load_models("gavel"), scene.workload, "V100");
  return scene;
}

// By job.
std::vector<double> product_finish_s(std::uint64_t seed, const std::string& policy) {
  Scene scene = scene_of(seed);
  Settings settings{.reference_gpu = "V100"};
  settings.costs = Costs::none();
  Simulation simulation = Simulation::make({.cluster = scene.cluster,
                                            .trace = Trace(scene.workload),
                                            .policy = parse_policy(policy, 1)->make().value(),
                                            .settings = settings,
                                            .models = *load_models("gavel")})
                              .value();
  FL_CHECK(simulation.run().has_value());
  std::vector<double> finish_s;
  for (Time finish : simulation.metrics().jobs().finish) finish_s.push_back(to_seconds(finish));
  return finish_s;
}

// The simulator counts steps; a step here is the work of the job's reference gang in 10 ms.
GavelWorld world_of(const Scene& scene) {
  constexpr double kStepsPerS = 100;
  GavelWorld world{.types = {"k80", "p100", "v100"},
                   .gpus = {kGpusOfEachType, kGpusOfEachType, kGpusOfEachType},
                   .jobs = {}};
  for (JobId id : ids<JobId>(scene.workload.jobs.size())) {
    const std::uint32_t gang = scene.workload.jobs.gpus[id];
    GavelJob job{.model = "",
                 .gang = gang,
                 .steps = std::llround(to_seconds(scene.workload.durations[id]) * kStepsPerS),
                 .arrival_s = to_seconds(scene.workload.jobs.arrival[id])};
    for (const std::string& type : world.types) {
      const GpuTypeId column = scene.cluster.type_named(type);
      const Tier tier = scene.cluster.best_tier(gang);
      job.throughputs.push_back(scene.speed.rate(id, column, gang, tier).value() * kStepsPerS);
    }
    world.jobs.push_back(std::move(job));
  }
  return world;
}

GavelOutcome simulate(const GavelWorld& world, GavelObjective objective) {
  const auto allocate = [&](const GavelReset& reset) {
    GavelJobs jobs;
    jobs.gpus.assign(world.gpus.begin(), world.gpus.end());
    for (const GavelReset::Active& active : reset.active) {
      const GavelJob& job = world.jobs[active.job];
      jobs.gangs.push_back(job.gang);
      jobs.weights.push_back(1);
      jobs.throughputs.insert(jobs.throughputs.end(), job.throughputs.begin(),
                              job.throughputs.end());
    }
    jobs.shares.assign(jobs.throughputs.size(), 0);
    Rng rng(0);
    return gavel_shares({.objective = objective, .aware = true, .water_filling = false}, jobs, rng);
  };
  const GavelRules rules{.fill_idle = objective != GavelObjective::kFifo};
  return replay(world, rules, allocate);
}

TEST(GavelProduct, AverageCompletionTimesAreThoseOfTheSimulatorsMechanism) {
  const std::pair<GavelObjective, std::string> objectives[] = {
      {GavelObjective::kMaxMin, "gavel"}, {GavelObjective::kFifo, "gavel:objective=fifo"}};
  for (const auto& [objective, policy] : objectives) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      const GavelWorld world = world_of(scene_of(seed));
      const GavelOutcome simulator = simulate(world, objective);
      const std::vector<double> product = product_finish_s(seed, policy);
      double product_s = 0;
      double simulator_s = 0;
      std::size_t dropped = 0;
      for (std::size_t i = 0; i < world.jobs.size(); ++i) {
        if (!simulator.finish_s[i]) {
          ++dropped;
          continue;
        }
        product_s += product[i] - world.jobs[i].arrival_s;
        simulator_s += *simulator.finish_s[i] - world.jobs[i].arrival_s;
      }
      EXPECT_LE(dropped, 2U);
      EXPECT_NEAR(product_s / simulator_s, 1, 0.03) << policy << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace fairlead
