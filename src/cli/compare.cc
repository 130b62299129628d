#include "cli/child_runs.h"
#include "cli/commands.h"
#include "cli/comparison.h"
#include "cli/run_flags.h"
#include "model/cluster_file.h"
#include "policy/registry.h"
#include "report/result_files.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cctype>
#include <set>

namespace fairlead {
namespace {

struct Flags : RunFlags {
  std::string policies;
  std::uint64_t seeds = 1;
};

constexpr std::string_view kExamples =
    "Examples:\n"
    "  fairlead compare --cluster 4xV100:8 --trace jobs.csv --policies \"fifo;tiresias\" --out "
    "out\n"
    "  fairlead compare --cluster slides --trace jobs.csv --policies "
    "\"fifo;tiresias:limits=500;las\" \\\n"
    "      --seeds 5 --out out\n"
    "\n"
    "Each policy's files go to a folder of its own below DIR, with --seeds one per seed below "
    "that;\n"
    "DIR/compare.json has the figures of all. Policies run at the same time, one per core.\n";

// The policies between semicolons. Errors: none, or one that cannot be.
Result<std::vector<std::string>> split_policies(std::string_view text, std::uint64_t seed) {
  std::vector<std::string> policies;
  while (!text.empty()) {
    const std::size_t at = std::min(text.find(';'), text.size());
    const std::string policy = CLI::detail::trim_copy(std::string(text.substr(0, at)));
    if (!policy.empty()) {
      FL_TRY(parse_policy(policy, seed));
      policies.push_back(policy);
    }
    text.remove_prefix(std::min(at + 1, text.size()));
  }
  if (policies.empty()) return input_error("--policies takes policies separated by ';'");
  return policies;
}

// A folder name for each policy: its text with nothing that a path or a shell could mistake.
std::vector<std::string> folder_names(const std::vector<std::string>& policies) {
  constexpr std::size_t kLengthMax = 80;
  std::set<std::string> taken;
  std::vector<std::string> names;
  for (const std::string& policy : policies) {
    std::string name = policy.substr(0, kLengthMax);
    for (char& c : name) {
      const bool safe = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' ||
                        c == '=' || c == '+';
      if (!safe) c = '-';
    }
    std::string unique = name;
    for (int i = 2; !taken.insert(unique).second; ++i) unique = fmt::format("{}~{}", name, i);
    names.push_back(unique);
  }
  return names;
}

struct Runs {
  std::vector<std::string> policies;
  std::vector<std::string> folders;  // of each policy, below --out
  std::vector<ChildRun> children;    // policy by policy, seed by seed
};

std::filesystem::path folder_of(const Flags& flags, const Runs& runs, std::size_t policy,
                                std::uint64_t seed) {
  const auto folder = std::filesystem::path(flags.out) / runs.folders[policy];
  return flags.seeds == 1 ? folder : folder / fmt::format("seed-{}", seed);
}

Result<Runs> plan_runs(const Flags& flags) {
  FL_TRY_ASSIGN(policies, split_policies(flags.policies, flags.seed));
  Runs runs{policies, folder_names(policies), {}};
  for (std::size_t i = 0; i < policies.size(); ++i) {
    for (std::uint64_t n = 0; n < flags.seeds; ++n) {
      const std::uint64_t seed = flags.seed + n;  // goes on at 0 after the largest
      ChildRun child;
      child.arguments =
          simulate_arguments(flags, policies[i], seed, folder_of(flags, runs, i, seed).string());
      runs.children.push_back(std::move(child));
    }
  }
  return runs;
}

Result<Comparison> collect(const Flags& flags, const Runs& runs) {
  Comparison comparison;
  for (std::size_t i = 0; i < runs.children.size(); ++i) {
    const std::size_t policy = i / flags.seeds;
    const std::uint64_t seed = flags.seed + i % flags.seeds;
    if (i % flags.seeds == 0) {
      comparison.policies.push_back({runs.policies[policy], runs.folders[policy], {}});
    }
    const ChildRun& child = runs.children[i];
    if (child.exit_code != 0) {
      comparison.failures.push_back(
          {runs.policies[policy], seed, child.exit_code, message_of(child)});
      continue;
    }
    FL_TRY_ASSIGN(summary, read_summary(folder_of(flags, runs, policy, seed)));
    comparison.policies.back().summaries.push_back(std::move(summary));
  }
  return comparison;
}

// What went wrong, each message once; exit code 2 if every failure is one of input.
Status failure_of(const Comparison& comparison) {
  if (comparison.failures.empty()) return {};
  Error error;
  std::set<std::string> seen;
  for (const FailedRun& failure : comparison.failures) {
    if (failure.exit_code != 2) error.kind = Error::Kind::kRun;
    if (!seen.insert(failure.message).second) continue;
    if (!error.message.empty()) error.message += "\nfairlead: ";
    error.message += fmt::format("{} (seed {}): {}", failure.policy, failure.seed, failure.message);
  }
  return tl::unexpected(std::move(error));
}

Status compare(const Flags& flags) {
  FL_TRY(run_config(flags, {}));
  FL_TRY(load_cluster(flags.cluster));
  if (flags.trace == "-") {
    return input_error("compare reads the trace once per policy, so it takes a file: -");
  }
  FL_TRY_ASSIGN(runs, plan_runs(flags));
  FL_TRY_ASSIGN(folder, ResultFolder::open(flags.out));
  FL_TRY(run_children(runs.children));
  FL_TRY_ASSIGN(comparison, collect(flags, runs));
  if (comparison.failures.size() == runs.children.size()) return failure_of(comparison);

  FL_TRY_ASSIGN(file, OutputFile::create(folder.file("compare.json")));
  const std::string json = comparison_json(comparison);
  file.write(json);
  FL_TRY(folder.add(std::move(file), "compare.json"));
  folder.keep();
  fmt::print("{}", flags.json ? json : comparison_text(comparison, stdout_style()));
  return failure_of(comparison);
}

}  // namespace

Command add_compare(CLI::App& root) {
  CLI::App* app = root.add_subcommand("compare", "Run several policies on one trace");
  const auto flags = std::make_shared<Flags>();
  add_run_flags(*app, *flags);
  app->add_option("--policies", flags->policies, "policies with options, separated by ';'")
      ->required()
      ->type_name("\"A;B:OPT=V;...\"");
  constexpr std::uint64_t kSeedsMax = 1000;
  app->add_option("--seeds", flags->seeds, "run each with so many seeds, from --seed on")
      ->check(CLI::Range(std::uint64_t{1}, kSeedsMax))
      ->type_name("N");
  app->footer(std::string(kExamples) + "\n" + settings_help());
  return {app, [flags] { return compare(*flags); }};
}

}  // namespace fairlead
