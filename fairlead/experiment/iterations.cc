#include "fairlead/experiment/iterations.h"

#include "fairlead/base/parallel.h"
#include "fairlead/base/parse.h"
#include "fairlead/experiment/yaml.h"
#include "fairlead/input/cluster_file.h"
#include "fairlead/iteration/sim.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace fairlead {
namespace {

constexpr IntegerBounds kCount = {1, 1'000'000};
constexpr RealBounds kPhaseMs = {0.001, 1e6};
constexpr RealBounds kSizeMb = {0.001, 1e5};
constexpr RealBounds kCostMs = {0.001, 30};  // per MB
constexpr double kNsPerS = 1e9;

// Reads a value that is stored as a whole number of thousandths (or of another part).
Status read_parts(const YamlNode& map, std::string_view key, RealBounds bounds, double parts,
                  std::int64_t& value) {
  double given = static_cast<double>(value) / parts;
  FL_TRY(read(map, key, bounds, given));
  value = std::llround(given * parts);
  return {};
}

Result<IterationModel> read_model(const YamlNode& map) {
  constexpr const char* kKeys[] = {"name", "size_mb", "forward_ms", "backward_ms", "memory_mb"};
  FL_TRY(map.expect_keys({"name", "size_mb", "forward_ms", "backward_ms", "memory_mb"}));
  for (const char* key : kKeys) FL_TRY(map.get(key));
  IterationModel model;
  FL_TRY(read(map, "name", model.name));
  FL_TRY(read_parts(map, "size_mb", kSizeMb, 1000, model.size_kb));
  FL_TRY(read_parts(map, "forward_ms", kPhaseMs, kNsPerMs, model.forward_ns));
  FL_TRY(read_parts(map, "backward_ms", kPhaseMs, kNsPerMs, model.backward_ns));
  FL_TRY(read(map, "memory_mb", kCount, model.memory_mb));
  return model;
}

Status read_models(const YamlNode& map, IterationOptions& options) {
  FL_TRY_ASSIGN(list, map.get("models"));
  FL_TRY_ASSIGN(items, list.items());
  for (const YamlNode& item : items) {
    FL_TRY_ASSIGN(model, read_model(item));
    options.models.push_back(std::move(model));
  }
  return {};
}

Status read_gangs(const YamlNode& map, IterationOptions& options) {
  const auto gangs = map.find("gangs");
  if (!gangs) return {};
  FL_TRY_ASSIGN(pairs, gangs->pairs());
  options.gangs.clear();
  for (const YamlNode::Pair& pair : pairs) {
    const auto gpus = parse_integer(pair.key);
    if (!gpus || *gpus < 1) {
      return pair.value.error(fmt::format("a gang has a number of GPUs: {}", pair.key));
    }
    FL_TRY_ASSIGN(weight, pair.value.integer(kCount));
    options.gangs.emplace_back(*gpus, weight);
  }
  return {};
}

Status read_iteration_range(const YamlNode& map, IterationOptions& options) {
  std::vector<std::int64_t> range = {options.iterations_min, options.iterations_max};
  FL_TRY(read(map, "iterations", kCount, range));
  if (range.size() != 2 || range[0] > range[1]) {
    return map.find("iterations")->bad_value("expected [least, most]");
  }
  options.iterations_min = range[0];
  options.iterations_max = range[1];
  return {};
}

double seconds_of(double ns) { return ns / kNsPerS; }

constexpr IterationFigure kFigures[] = {
    {"jct_avg_s", FigureUnit::kSeconds},     {"queue_avg_s", FigureUnit::kSeconds},
    {"makespan_s", FigureUnit::kSeconds},    {"gpu_busy", FigureUnit::kFraction},
    {"network_busy", FigureUnit::kFraction}, {"network_shared", FigureUnit::kFraction},
};

std::map<std::string, double, std::less<>> summary_of(const Cluster& cluster,
                                                      const std::vector<IterationJob>& jobs,
                                                      const IterationOutcome& outcome) {
  double jct_ns = 0;
  double queue_ns = 0;
  std::int64_t first_ns = jobs.front().submit_ns;
  for (const JobId job : ids<JobId>(jobs.size())) {
    const std::int64_t submit_ns = jobs[job.row()].submit_ns;
    jct_ns += static_cast<double>(outcome.finish_ns[job] - submit_ns);
    queue_ns += static_cast<double>(outcome.placed_ns[job] - submit_ns);
    first_ns = std::min(first_ns, submit_ns);
  }
  const auto count = static_cast<double>(jobs.size());
  const auto end_ns = *std::ranges::max_element(outcome.finish_ns);
  const auto part_of = [end_ns](std::int64_t ns, std::size_t of) {
    return static_cast<double>(ns) / (static_cast<double>(end_ns) * static_cast<double>(of));
  };
  return {{"jct_avg_s", seconds_of(jct_ns / count)},
          {"queue_avg_s", seconds_of(queue_ns / count)},
          {"makespan_s", seconds_of(static_cast<double>(end_ns - first_ns))},
          {"gpu_busy", part_of(outcome.computing_ns, cluster.gpus)},
          {"network_busy", part_of(outcome.transfer_ns, cluster.nodes())},
          {"network_shared", part_of(outcome.shared_ns, cluster.nodes())}};
}

struct IterationRun {
  std::string cluster;
  std::string policy;
  std::uint64_t seed = 0;
};

Result<RunFigures> run_one(const IterationOptions& options, const IterationRun& run) {
  FL_TRY_ASSIGN(cluster, load_cluster(run.cluster));
  FL_TRY_ASSIGN(policy, parse_iteration_policy(run.policy));
  FL_TRY_ASSIGN(jobs, draw_iteration_jobs(options, run.seed));
  const IterationWorld world = {cluster, options.gpu_memory_mb, options.cost};
  FL_TRY_ASSIGN(outcome, simulate_iterations(world, jobs, policy, run.seed));
  RunFigures figures;
  figures.summary = summary_of(cluster, jobs, outcome);
  return figures;
}

// Runs as many at a time as there are cores, independently.
std::vector<Result<RunFigures>> run_each(const IterationOptions& options,
                                         const std::vector<IterationRun>& runs) {
  std::vector<Result<RunFigures>> figures(runs.size());
  in_parallel(runs.size(), [&](std::size_t i) { figures[i] = run_one(options, runs[i]); });
  return figures;
}

Status read_jobs(const YamlNode& map, IterationOptions& options) {
  FL_TRY(read(map, "jobs", kCount, options.jobs));
  FL_TRY(read_gangs(map, options));
  FL_TRY(read_iteration_range(map, options));
  return read_parts(map, "submit_span_s", {0.001, 1e6}, 1000, options.submit_span_ms);
}

Status read_world(const YamlNode& map, IterationOptions& options) {
  FL_TRY(read(map, "gpu_memory_mb", kCount, options.gpu_memory_mb));
  FL_TRY(read_parts(map, "transfer_ms_per_mb", kCostMs, 1000, options.cost.alone_ns));
  return read_parts(map, "penalty_ms_per_mb", {0, kCostMs.max}, 1000, options.cost.penalty_ns);
}

}  // namespace

std::span<const IterationFigure> iteration_figures() { return kFigures; }

Result<IterationOptions> read_iterations(const YamlNode& map) {
  FL_TRY(map.expect_keys({"jobs", "gangs", "iterations", "submit_span_s", "gpu_memory_mb",
                          "transfer_ms_per_mb", "penalty_ms_per_mb", "models"}));
  IterationOptions options;
  FL_TRY(read_jobs(map, options));
  FL_TRY(read_world(map, options));
  FL_TRY(read_models(map, options));
  const auto drawn = draw_iteration_jobs(options, 1);  // its errors are the same for any seed
  if (!drawn) return map.error(drawn.error().message);
  return options;
}

std::vector<Result<RunFigures>> run_iterations(const Experiment& experiment,
                                               std::span<const std::uint64_t> seeds) {
  std::vector<IterationRun> runs;
  std::vector<std::size_t> which;            // positions in `runs`, in the order of the answer
  std::map<std::string, std::size_t> known;  // cases may have runs in common
  for (const std::uint64_t seed : seeds) {
    for (const Case& one : experiment.cases) {
      for (const auto& [label, policy] : one.policies) {
        const auto [run, is_new] =
            known.emplace(fmt::format("{}|{}|{}", one.cluster, policy, seed), runs.size());
        if (is_new) runs.push_back({one.cluster, policy, seed});
        which.push_back(run->second);
      }
    }
  }
  const std::vector<Result<RunFigures>> figures = run_each(*experiment.iterations, runs);
  std::vector<Result<RunFigures>> all;
  all.reserve(which.size());
  for (std::size_t run : which) all.push_back(figures[run]);
  return all;
}

}  // namespace fairlead
