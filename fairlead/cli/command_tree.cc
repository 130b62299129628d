#include "fairlead/cli/command_tree.h"

#include "fairlead/experiment/experiment.h"
#include "fairlead/input/cluster_file.h"
#include "fairlead/input/models_file.h"
#include "fairlead/policy/registry.h"
#include "fairlead/run/settings.h"
#include "fairlead/trace/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace fairlead {
namespace {

using Words = std::vector<std::string>;

Words policy_words() {
  Words words;
  for (const PolicyEntry* entry : all_policies()) words.emplace_back(entry->name);
  return words;
}

Words cluster_words() {
  Words words;
  for (const ClusterPreset& preset : preset_clusters()) words.push_back(preset.name);
  return words;
}

Words format_words() {
  Words words;
  for (const TraceFormat* format : all_formats()) words.emplace_back(format->name);
  return words;
}

Words experiment_words() {
  Words words;
  for (const ExperimentTitle& one : builtin_experiments()) words.push_back(one.name);
  return words;
}

Words table_words() {
  Words words = model_tables();
  words.emplace_back("gpu-types");
  return words;
}

// "costs=" and the others: a line of the help begins with two blanks and a key.
Words setting_words() {
  Words words;
  std::istringstream help(settings_help());
  for (std::string line; std::getline(help, line);) {
    if (line.size() < 3 || !line.starts_with("  ") || line[2] == ' ') continue;
    words.push_back(line.substr(2, line.find(' ', 2) - 2) + "=");
  }
  return words;
}

Words no_words() { return {}; }

struct Known {
  std::string_view takes;  // a flag's type, or a command with an argument of it
  Words (*words)();
  PathKind paths = PathKind::kNone;
};

constexpr Known kKnown[] = {
    {"FILE|NAME|SHORTHAND", cluster_words, PathKind::kFile},
    {"FORMAT", format_words},
    {"NAME[:OPT=V,...]", policy_words},
    {"\"A;B:OPT=V;...\"", policy_words},
    {"KEY=VALUE", setting_words},
    {"KEY=A..B/N|V,V,...", setting_words},
    {"FILE", no_words, PathKind::kFile},
    {"PATH", no_words, PathKind::kFile},
    {"DIR|JOURNAL", no_words, PathKind::kFile},
    {"DIR", no_words, PathKind::kFolder},
    {"JOB|DIR", no_words, PathKind::kFolder},
    {"fairlead policies NAME", policy_words},
    {"fairlead models NAME", table_words, PathKind::kFile},
    {"fairlead reproduce NAME", experiment_words, PathKind::kFile},
};

// Parses "{slurm,kubernetes}" at the end of a type: the description by CLI::IsMember.
Words choices_of(std::string_view type) {
  const std::size_t begin = type.rfind(":{");
  if (begin == std::string_view::npos || !type.ends_with('}')) return {};
  Words words;
  std::istringstream list(std::string(type.substr(begin + 2, type.size() - begin - 3)));
  for (std::string word; std::getline(list, word, ',');) words.push_back(word);
  return words;
}

// Returns the type without the additions of CLI11's checks.
std::string without_checks(const std::string& type) {
  std::size_t end = type.size();
  for (const char* check :
       {":{", ":POSITIVE", ":NONNEGATIVE", ":INT in [", ":UINT in [", ":FLOAT in ["}) {
    end = std::min(end, type.find(check));
  }
  return type.substr(0, end);
}

Argument argument_of(const CLI::Option& option, const std::string& command) {
  Argument argument{.help = option.get_description(),
                    .required = option.get_required(),
                    .many = option.get_expected_max() > 1};
  for (const std::string& name : option.get_snames()) argument.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) argument.names.push_back("--" + name);
  if (option.get_expected_max() == 0) return argument;
  const std::string type = option.get_type_name();
  std::string key = without_checks(type);
  if (argument.names.empty()) {
    key = option.get_name();
    argument.names.push_back(key);
  } else {
    argument.takes = key;
  }
  if (Words choices = choices_of(type); !choices.empty()) {
    if (!argument.takes.empty()) argument.takes = fmt::format("{}", fmt::join(choices, "|"));
    argument.values.words = std::move(choices);
    return argument;
  }
  const std::string of_command = fmt::format("{} {}", command, key);
  for (const Known& known : kKnown) {
    if (known.takes != key && known.takes != of_command) continue;
    argument.values = {.words = known.words(), .paths = known.paths};
  }
  return argument;
}

CommandPage page_of(const CLI::App& app, const std::string& above) {
  CommandPage page{.name = above + app.get_name(), .about = app.get_description()};
  page.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    const bool is_positional = option->get_positional();
    (is_positional ? page.positionals : page.flags).push_back(argument_of(*option, page.name));
  }
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    page.commands.push_back(page_of(*sub, page.name + " "));
  }
  return page;
}

}  // namespace

CommandPage command_tree(const CLI::App& app) { return page_of(app, ""); }

std::vector<const CommandPage*> all_pages(const CommandPage& root) {
  std::vector<const CommandPage*> pages = {&root};
  for (const CommandPage& below : root.commands) {
    const std::vector<const CommandPage*> more = all_pages(below);
    pages.insert(pages.end(), more.begin(), more.end());
  }
  return pages;
}

}  // namespace fairlead
