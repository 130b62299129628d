#include "fairlead/report/report_runs.h"

#include "fairlead/base/parse.h"
#include "fairlead/journal/journal.h"
#include "fairlead/report/result_files.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <set>
#include <system_error>

namespace fairlead {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

bool is_result_folder(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "summary.json", ignored) && fs::exists(folder / kJournalName, ignored);
}

std::vector<std::string> folders_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->is_directory(ignored)) names.push_back(at->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

// Returns the seeds that ran below a policy's folder, smallest first.
std::vector<std::int64_t> seeds_in(const fs::path& folder) {
  constexpr std::string_view kPrefix = "seed-";
  std::vector<std::int64_t> seeds;
  for (const std::string& name : folders_in(folder)) {
    if (!name.starts_with(kPrefix) || !is_result_folder(folder / name)) continue;
    const auto seed = parse_integer(std::string_view(name).substr(kPrefix.size()));
    if (seed && fmt::format("{}{}", kPrefix, *seed) == name) seeds.push_back(*seed);
  }
  std::ranges::sort(seeds);
  return seeds;
}

// Returns compare.json, or null if there is none.
json read_comparison(const fs::path& folder) {
  std::ifstream file(folder / "compare.json");
  json value = json::parse(file, nullptr, false);
  return value.is_object() ? value : json();
}

std::string text_of(const json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

// Returns the folders of the policies in the order of compare.json, otherwise all.
std::vector<ReportedRun> candidates(const fs::path& folder, const json& comparison) {
  std::vector<ReportedRun> policies;
  if (comparison.contains("policies")) {
    for (const json& policy : comparison["policies"]) {
      policies.push_back({text_of(policy, "folder"), text_of(policy, "policy")});
    }
  } else {
    for (const std::string& name : folders_in(folder)) policies.push_back({name, name});
  }
  return policies;
}

// Returns a point in the page's form: its settings, and the figures of its policies.
json point_of(const json& point) {
  json policies = json::array();
  for (const json& policy : point.value("policies", json::array())) {
    if (!policy.contains("mean") || !policy.contains("runs")) continue;
    policies.push_back({{"policy", policy.value("policy", "")},
                        {"seeds", policy["runs"].size()},
                        {"mean", policy["mean"]},
                        {"min", policy.value("min", json())},
                        {"max", policy.value("max", json())}});
  }
  return {{"point", point.value("point", json::object())}, {"policies", std::move(policies)}};
}

// Returns {"points": [...]}, or nothing for one point and one seed of each policy.
std::string points_text(const json& points) {
  json kept = json::array();
  bool several = points.size() > 1;
  for (const json& point : points) {
    if (!point.is_object()) continue;
    kept.push_back(point_of(point));
    for (const json& policy : kept.back()["policies"]) several |= policy["seeds"] > 1;
  }
  if (!several) return {};
  return json({{"points", std::move(kept)}}).dump(-1, ' ', false, json::error_handler_t::replace);
}

// Returns the sentences of compare.json as JSON; empty if there are none.
std::string answer_text(const json& comparison) {
  const auto answer = comparison.find("answer");
  if (answer == comparison.end() || !answer->is_array() || answer->empty()) return {};
  return answer->dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string label_of_single(const fs::path& folder) {
  const auto summary = read_summary(folder);
  return summary ? text_of(*summary, "policy") : std::string();
}

// Returns all points, and the runs of the first.
Result<ReportedRuns> find_first_point(const fs::path& folder, const json& points) {
  const std::string first = text_of(points.front(), "folder");
  FL_TRY_ASSIGN(found, find_runs(folder / first));
  for (ReportedRun& run : found.runs) run.folder = fmt::format("{}/{}", first, run.folder);
  found.points = points_text(points);
  found.first_point = first;
  return found;
}

}  // namespace

Result<ReportedRuns> find_runs(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    return input_error("{}: no such folder", folder.string());
  }
  if (is_result_folder(folder)) return ReportedRuns{{{".", label_of_single(folder)}}};

  const json comparison = read_comparison(folder);
  if (comparison.contains("points") && !comparison["points"].empty()) {
    return find_first_point(folder, comparison["points"]);
  }
  ReportedRuns found;
  found.points = points_text(json::array({comparison}));
  if (comparison.is_object()) found.answer = answer_text(comparison);
  std::set<std::string> labels;
  for (const ReportedRun& policy : candidates(folder, comparison)) {
    ReportedRun run = policy;
    if (policy.folder.empty()) continue;
    if (!is_result_folder(folder / policy.folder)) {
      const std::vector<std::int64_t> seeds = seeds_in(folder / policy.folder);
      if (seeds.empty()) continue;
      run.folder = fmt::format("{}/seed-{}", policy.folder, seeds.front());
      run.label = fmt::format("{}, seed {}", policy.label, seeds.front());
      found.seeds_left_out += static_cast<std::int64_t>(seeds.size()) - 1;
    }
    // A second run of the same policy gets its folder's name as well.
    if (!labels.insert(run.label).second) run.label += fmt::format(" ({})", policy.folder);
    found.runs.push_back(std::move(run));
  }
  if (found.runs.empty()) {
    const fs::path first_case = folder / "case-1";
    if (fs::is_directory(first_case, ignored)) {
      return input_error(
          "{}: it has several cases, and each needs its own report; for example, report {}",
          folder.string(), first_case.string());
    }
    return input_error("{}: neither results of simulate nor of compare are in it", folder.string());
  }
  return found;
}

}  // namespace fairlead
