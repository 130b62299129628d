// `fairlead policies` and `fairlead clusters`.

#include "fairlead/cli/commands.h"
#include "fairlead/input/cluster_file.h"
#include "fairlead/policy/registry.h"
#include "fairlead/report/json.h"
#include "fairlead/report/table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace fairlead {
namespace {

using nlohmann::json;

// Writes 1000000 as "1,000,000", 0.5 as "0.5".
std::string bound_text(double bound) {
  const auto whole = static_cast<std::int64_t>(bound);
  return static_cast<double>(whole) == bound ? count_text(whole) : fmt::format("{}", bound);
}

std::string type_text(const OptionSpec& spec) {
  switch (spec.type) {
    case OptionType::kFlag:
      return "true or false";
    case OptionType::kInteger:
      return fmt::format("whole number from {} to {}", bound_text(spec.min), bound_text(spec.max));
    case OptionType::kReal:
      return fmt::format("number from {} to {}", bound_text(spec.min), bound_text(spec.max));
    case OptionType::kChoice:
      return fmt::format("one of {}", spec.choices);
    case OptionType::kList:
      return fmt::format("numbers from {} to {} separated by /", bound_text(spec.min),
                         bound_text(spec.max));
    case OptionType::kNamed:
      return fmt::format("NAME:NUMBER from {} to {}, separated by /", bound_text(spec.min),
                         bound_text(spec.max));
    case OptionType::kFile:
      return "file";
  }
  return {};
}

std::string_view type_name(OptionType type) {
  constexpr std::string_view kNames[] = {"flag", "integer", "real", "choice",
                                         "list", "named",   "file"};
  return kNames[static_cast<std::size_t>(type)];
}

json choices_json(std::string_view choices) {
  json list = json::array();
  for (std::size_t begin = 0; begin <= choices.size();) {
    const std::size_t end = std::min(choices.find('/', begin), choices.size());
    list.push_back(choices.substr(begin, end - begin));
    begin = end + 1;
  }
  return list;
}

json option_json(const OptionSpec& spec) {
  json value = {{"name", spec.name},
                {"type", type_name(spec.type)},
                {"default", spec.fallback},
                {"unit", spec.unit},
                {"help", spec.help}};
  if (spec.type == OptionType::kChoice) value["choices"] = choices_json(spec.choices);
  const bool has_range = spec.type == OptionType::kInteger || spec.type == OptionType::kReal ||
                         spec.type == OptionType::kList;
  if (has_range) value["range"] = {spec.min, spec.max};
  return value;
}

json policy_json(const PolicyEntry& entry) {
  json options = json::array();
  for (const OptionSpec& spec : entry.options) options.push_back(option_json(spec));
  options.push_back(option_json(kBudgetOption));
  return {{"policy", entry.name},
          {"summary", entry.summary},
          {"paper", entry.paper},
          {"options", std::move(options)}};
}

void print_policies(bool as_json) {
  if (as_json) {
    json policies = json::array();
    for (const PolicyEntry* entry : all_policies()) policies.push_back(policy_json(*entry));
    fmt::print("{}", json_text(policies));
    return;
  }
  Table table({{"policy", Align::kLeft}, {"what it does", Align::kLeft}});
  for (const PolicyEntry* entry : all_policies()) {
    table.add_row({std::string(entry->name), std::string(entry->summary)});
  }
  fmt::print("{}", table.text(stdout_style()));
}

void print_option(const OptionSpec& spec) {
  const std::string unit = spec.unit.empty() ? "" : fmt::format(", in {}", spec.unit);
  const std::string fallback = spec.fallback.empty() ? "none" : std::string(spec.fallback);
  fmt::print("\n  {}  {}{} (default: {})\n      {}\n", spec.name, type_text(spec), unit, fallback,
             spec.help);
}

Status print_policy(const std::string& name, bool as_json) {
  const PolicyEntry* entry = find_policy(name);
  if (entry == nullptr) {
    const auto choice = parse_policy(name, 0);  // its error suggests near names
    if (!choice) return tl::unexpected(choice.error());
    entry = choice->entry;
  }
  if (as_json) {
    fmt::print("{}", json_text(policy_json(*entry)));
    return {};
  }
  fmt::print("{}: {}\npaper: {}\n", entry->name, entry->summary, entry->paper);
  fmt::print("options:\n");
  for (const OptionSpec& spec : entry->options) print_option(spec);
  print_option(kBudgetOption);
  return {};
}

json cluster_json(const ClusterPreset& preset, const Cluster& cluster) {
  json types = json::object();
  for (GpuTypeId type : ids<GpuTypeId>(cluster.type_names.size()))
    types[cluster.type_names[type]] = cluster.type_gpus[type];
  return {{"cluster", preset.name},
          {"about", preset.about},
          {"nodes", cluster.nodes()},
          {"gpus", cluster.gpus},
          {"gpus_by_type", std::move(types)}};
}

Status print_clusters(bool as_json) {
  json clusters = json::array();
  Table table({{"cluster", Align::kLeft}, {"size", Align::kLeft}, {"about", Align::kLeft}});
  for (const ClusterPreset& preset : preset_clusters()) {
    FL_TRY_ASSIGN(cluster, load_cluster(preset.name));
    table.add_row({preset.name, describe(cluster), preset.about});
    clusters.push_back(cluster_json(preset, cluster));
  }
  fmt::print("{}", as_json ? json_text(clusters) : table.text(stdout_style()));
  return {};
}

}  // namespace

Command add_policies(CLI::App& root) {
  CLI::App* app = root.add_subcommand("policies", "List the policies, or one policy's options");
  struct Flags {
    std::string name;
    bool json = false;
  };
  const auto flags = std::make_shared<Flags>();
  app->add_option("NAME", flags->name, "a policy");
  app->add_flag("--json", flags->json, "print JSON, with all options, instead of a table");
  app->footer("Examples:\n  fairlead policies\n  fairlead policies tiresias\n");
  return {app, [flags]() -> Status {
            if (!flags->name.empty()) return print_policy(flags->name, flags->json);
            print_policies(flags->json);
            return {};
          }};
}

Command add_clusters(CLI::App& root) {
  CLI::App* app = root.add_subcommand("clusters", "List the preset clusters");
  const auto as_json = std::make_shared<bool>(false);
  app->add_flag("--json", *as_json, "print JSON instead of a table");
  app->footer(
      "Any of them is a NAME for --cluster; so is a shorthand such as 12xV100:4,6xP100:4 or a\n"
      "file, see docs/formats.md.\n");
  return {app, [as_json] { return print_clusters(*as_json); }};
}

}  // namespace fairlead
