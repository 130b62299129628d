#include "fairlead/compare/plan.h"

#include "fairlead/base/parse.h"
#include "fairlead/compare/margins.h"
#include "fairlead/compare/read_trace.h"
#include "fairlead/compare/run_inputs.h"
#include "fairlead/compare/sweep.h"
#include "fairlead/input/cluster_file.h"
#include "fairlead/policy/registry.h"
#include "fairlead/trace/resample.h"

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
  if (flags.clusters.size() > 1) sweeps.push_back({"cluster", flags.clusters});
  for (const std::string& text : flags.sweeps) {
    FL_TRY_ASSIGN(sweep, parse_sweep(text));
    sweeps.push_back(std::move(sweep));
  }
  FL_TRY_ASSIGN(points, points_of(sweeps, policies));
  if (flags.decision_budget == 0) return points;
  for (SweepPoint& point : points) {
    for (std::string& policy : point.policies) {
      policy = with_budget(policy, flags.decision_budget);
    }
  }
  return points;
}

Status check_size(const CompareFlags& flags, std::size_t points, std::size_t policies) {
  // Each factor is bounded, so the product fits.
  const std::size_t runs = points * policies * (flags.seeds + flags.resamples);
  if (runs <= kPlannedRunsMax) return {};
  return input_error("a comparison has at most {} runs: {}", kPlannedRunsMax, runs);
}

// The flags of the runs at a point.
Result<RunFlags> flags_at(const CompareFlags& flags, const SweepPoint& point) {
  RunFlags at = flags;
  if (!point.cluster.empty()) at.cluster = point.cluster;
  FL_TRY(load_cluster(at.cluster));
  at.settings.insert(at.settings.end(), point.settings.begin(), point.settings.end());
  FL_TRY(run_config(at, {}));
  for (const std::string& policy : point.policies) FL_TRY(parse_policy(policy, flags.seed));
  return at;
}

std::string name_of(const ComparedPoint& point, const std::string& policy) {
  std::string name = policy;
  for (const auto& [key, value] : point.values) name += fmt::format(" {}={}", key, value);
  return name;
}

// Adds runs to a plan.
class Planner {
 public:
  Planner(const CompareFlags& flags, ComparePlan& plan) : flags_(flags), plan_(plan) {}

  // Plans the runs at one point, the last of the comparison.
  void add(const RunFlags& at, const SweepPoint& swept) {
    const ComparedPoint& point = plan_.comparison.points.back();
    for (std::size_t i = 0; i < point.policies.size(); ++i) {
      const std::string name = name_of(point, point.policies[i].policy);
      for (std::uint64_t n = 0; n < flags_.seeds; ++n) {
        PlannedRun run{.policy = i, .seed = flags_.seed + n};  // wraps to 0 after the largest
        run.folder = run_folder(point, point.policies[i], run.seed, flags_.seeds);
        run.child.name = flags_.seeds == 1 ? name : fmt::format("{} seed {}", name, run.seed);
        add(std::move(run), at, swept.policies[i]);
      }
    }
  }
  // Plans the resamples there, after the runs of the trace itself.
  void add_resamples(RunFlags at, const SweepPoint& swept) {
    const ComparedPoint& point = plan_.comparison.points.back();
    at.settings.emplace_back("resample=yes");
    at.only_summary = true;
    for (std::size_t i = 0; i < point.policies.size(); ++i) {
      const ComparedPolicy& policy = point.policies[i];
      if (!has_resamples(policy.policy)) continue;
      for (std::uint64_t n = 1; n <= plan_.comparison.resampling.resamples; ++n) {
        PlannedRun run{.policy = i, .seed = flags_.seed + n, .is_resample = true};
        run.folder = resample_folder(point, policy, n);
        run.child.name = fmt::format("{} resample {}", name_of(point, policy.policy), n);
        add(std::move(run), at, swept.policies[i]);
      }
    }
  }

 private:
  void add(PlannedRun run, const RunFlags& at, const std::string& policy) {
    run.point = plan_.comparison.points.size() - 1;
    run.folder = flags_.out / run.folder;
    run.complete = !flags_.again && has_results_of(run.folder, inputs_.hash(at, policy, run.seed));
    run.child.kind = run.point * plan_.comparison.points.back().policies.size() + run.policy;
    run.child.arguments = simulate_arguments(at, policy, run.seed, run.folder.string());
    plan_.runs.push_back(std::move(run));
  }

  const CompareFlags& flags_;
  RunInputs inputs_;
  ComparePlan& plan_;
};

bool sets_resample(const CompareFlags& flags) {
  const auto is_resample = [](const std::string& text) { return text.starts_with("resample="); };
  return std::ranges::any_of(flags.settings, is_resample) ||
         std::ranges::any_of(flags.sweeps, is_resample);
}

// Returns how the trace is resampled. Errors: those of reading it.
Result<Resampling> resampling_of(const CompareFlags& flags) {
  if (sets_resample(flags))
    return input_error("compare has --resample N in place of: --set resample");
  if (flags.resamples == 0) return Resampling();
  if (flags.seeds > 1)
    return input_error("--resample draws a seed for each resample, so it excludes: --seeds {}",
                       flags.seeds);
  FL_TRY_ASSIGN(config, run_config(flags, {}));
  FL_TRY_ASSIGN(trace, read_trace_of(config));
  // A run of such a trace ends with an error that names the cause.
  if (trace.jobs() == 0) return Resampling();
  const TraceDays days = trace_days(trace.workload());
  if (days.days >= kResampledDaysMin) return Resampling{flags.resamples, days.days, days.block};
  return Resampling{
      .refused = fmt::format("{} has {} days of submissions; days are drawn again from {} on",
                             trace.name(), days.days, kResampledDaysMin)};
}

}  // namespace

Result<ComparePlan> plan_comparison(const CompareFlags& given) {
  CompareFlags flags = given;
  if (!flags.clusters.empty()) flags.cluster = flags.clusters.front();
  FL_TRY(run_config(flags, {}));
  if (flags.trace == "-") {
    return input_error("compare reads the trace once per policy, so it takes a file: -");
  }
  FL_TRY_ASSIGN(policies, split_policies(flags.policies, flags.seed));
  FL_TRY_ASSIGN(points, read_sweeps(flags, policies));
  FL_TRY(check_size(flags, points.size(), policies.size()));
  const std::vector<std::string> folders = folder_names(policies);
  FL_TRY_ASSIGN(resampling, resampling_of(flags));
  ComparePlan plan;
  plan.comparison.seeds = flags.seeds;
  plan.comparison.resampling = std::move(resampling);
  Planner planner(flags, plan);
  for (const SweepPoint& swept : points) {
    FL_TRY_ASSIGN(at, flags_at(flags, swept));
    ComparedPoint& point = plan.comparison.points.emplace_back();
    point.values = swept.values;
    point.folder = swept.folder;
    for (std::size_t i = 0; i < policies.size(); ++i) {
      point.policies.push_back({policies[i], folders[i]});
    }
    planner.add(at, swept);
    planner.add_resamples(std::move(at), swept);
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
