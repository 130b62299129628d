// `fairlead policies` and `fairlead clusters`.

#include "fairlead/cli/commands.h"
#include "fairlead/input/cluster_file.h"
#include "fairlead/policy/registry.h"
#include "fairlead/report/table.h"

#include <fmt/format.h>

namespace fairlead {
namespace {

// 1000000 as "1,000,000", 0.5 as "0.5".
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

void print_policies() {
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

Status print_policy(const std::string& name) {
  const PolicyEntry* entry = find_policy(name);
  if (entry == nullptr) {
    const auto choice = parse_policy(name, 0);  // its error names what is near
    if (!choice) return tl::unexpected(choice.error());
    entry = choice->entry;
  }
  fmt::print("{}: {}\npaper: {}\n", entry->name, entry->summary, entry->paper);
  fmt::print("{}", entry->options.empty() ? "It has no options.\n" : "options:\n");
  for (const OptionSpec& spec : entry->options) print_option(spec);
  return {};
}

Status print_clusters() {
  Table table({{"cluster", Align::kLeft}, {"size", Align::kLeft}, {"about", Align::kLeft}});
  for (const ClusterPreset& preset : preset_clusters()) {
    FL_TRY_ASSIGN(cluster, load_cluster(preset.name));
    table.add_row({preset.name, describe(cluster), preset.about});
  }
  fmt::print("{}", table.text(stdout_style()));
  return {};
}

}  // namespace

Command add_policies(CLI::App& root) {
  CLI::App* app = root.add_subcommand("policies", "List the policies, or one policy's options");
  const auto name = std::make_shared<std::string>();
  app->add_option("NAME", *name, "a policy");
  app->footer("Examples:\n  fairlead policies\n  fairlead policies tiresias\n");
  return {app, [name]() -> Status {
            if (!name->empty()) return print_policy(*name);
            print_policies();
            return {};
          }};
}

Command add_clusters(CLI::App& root) {
  CLI::App* app = root.add_subcommand("clusters", "List the preset clusters");
  app->footer(
      "Any of them is a NAME for --cluster; so is a shorthand such as 12xV100:4,6xP100:4 or a\n"
      "file, see docs/formats.md.\n");
  return {app, print_clusters};
}

}  // namespace fairlead
