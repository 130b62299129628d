#include "fairlead/compare/plan.h"

#include "fairlead/base/parse.h"
#include "fairlead/compare/run_inputs.h"
#include "fairlead/compare/sweep.h"
#include "fairlead/input/cluster_file.h"
#include "fairlead/policy/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace fairlead {
namespace {

// Returns the policies between semicolons. Errors: none, or an invalid one.
Result<std::vector<std::string>> split_policies(std::string_view text, std::uint64_t seed) {
  std::vector<std::string> policies;
  while (!text.empty()) {
    const std::size_t at = std::min(text.find(';'), text.size());
    const std::string policy(trimmed(text.substr(0, at)));
    if (!policy.empty()) {
      FL_TRY(parse_policy(policy, seed));
      policies.push_back(policy);
    }
    text.remove_prefix(std::min(at + 1, text.size()));
  }
  if (policies.empty()) return input_error("--policies takes policies separated by ';'");
  return policies;
}

Result<std::vector<SweepPoint>> read_sweeps(const CompareFlags& flags,
                                            const std::vector<std::string>& policies) {
  std::vector<Sweep> sweeps;
  for (const std::string& text : flags.sweeps) {
    FL_TRY_ASSIGN(sweep, parse_sweep(text));
    sweeps.push_back(std::move(sweep));
  }
  return points_of(sweeps, policies);
}

Status check_size(const CompareFlags& flags, std::size_t points, std::size_t policies) {
  // Each factor is bounded, so the product fits.
  const std::size_t runs = points * policies * flags.seeds;
  if (runs <= kPlannedRunsMax) return {};
  return input_error("a comparison has at most {} runs: {}", kPlannedRunsMax, runs);
}

// The flags of the runs at a point.
Result<RunFlags> flags_at(const CompareFlags& flags, const SweepPoint& point) {
  RunFlags at = flags;
  at.settings.insert(at.settings.end(), point.settings.begin(), point.settings.end());
  FL_TRY(run_config(at, {}));
  for (const std::string& policy : point.policies) FL_TRY(parse_policy(policy, flags.seed));
  return at;
}

std::string name_of(const ComparedPoint& point, const std::string& policy, std::uint64_t seed,
                    std::uint64_t seeds) {
  std::string name = policy;
  for (const auto& [key, value] : point.values) name += fmt::format(" {}={}", key, value);
  return seeds == 1 ? name : fmt::format("{} seed {}", name, seed);
}

// Plans the runs at one point, the last of the comparison.
void add_runs(const CompareFlags& flags, const RunFlags& at, const SweepPoint& swept,
              RunInputs& inputs, ComparePlan& plan) {
  const ComparedPoint& point = plan.comparison.points.back();
  for (std::size_t i = 0; i < point.policies.size(); ++i) {
    for (std::uint64_t n = 0; n < flags.seeds; ++n) {
      PlannedRun run;
      run.point = plan.comparison.points.size() - 1;
      run.policy = i;
      run.seed = flags.seed + n;  // wraps to 0 after the largest
      run.folder = flags.out / run_folder(point, point.policies[i], run.seed, flags.seeds);
      const std::string& policy = swept.policies[i];
      run.complete = !flags.again && has_results_of(run.folder, inputs.hash(at, policy, run.seed));
      run.child.arguments = simulate_arguments(at, policy, run.seed, run.folder.string());
      run.child.name = name_of(point, point.policies[i].policy, run.seed, flags.seeds);
      plan.runs.push_back(std::move(run));
    }
  }
}

}  // namespace

Result<ComparePlan> plan_comparison(const CompareFlags& flags) {
  FL_TRY(run_config(flags, {}));
  FL_TRY(load_cluster(flags.cluster));
  if (flags.trace == "-") {
    return input_error("compare reads the trace once per policy, so it takes a file: -");
  }
  FL_TRY_ASSIGN(policies, split_policies(flags.policies, flags.seed));
  FL_TRY_ASSIGN(points, read_sweeps(flags, policies));
  FL_TRY(check_size(flags, points.size(), policies.size()));
  const std::vector<std::string> folders = folder_names(policies);
  RunInputs inputs;
  ComparePlan plan;
  plan.comparison.seeds = flags.seeds;
  for (const SweepPoint& swept : points) {
    FL_TRY_ASSIGN(at, flags_at(flags, swept));
    ComparedPoint& point = plan.comparison.points.emplace_back();
    point.values = swept.values;
    point.folder = swept.folder;
    for (std::size_t i = 0; i < policies.size(); ++i) {
      point.policies.push_back({policies[i], folders[i]});
    }
    add_runs(flags, at, swept, inputs, plan);
  }
  return plan;
}

std::vector<std::string> other_results(const std::filesystem::path& out, const ComparePlan& plan) {
  namespace fs = std::filesystem;
  std::set<fs::path> planned;
  for (const PlannedRun& run : plan.runs) planned.insert(run.folder.lexically_normal());
  std::vector<std::string> others;
  std::error_code error;
  constexpr auto kOptions = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator at(out, kOptions, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().filename() != "summary.json") continue;
    const fs::path folder = at->path().parent_path();
    if (planned.contains(folder.lexically_normal())) continue;
    others.push_back(folder.lexically_relative(out).string());
  }
  std::ranges::sort(others);
  return others;
}

}  // namespace fairlead
