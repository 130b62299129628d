#include "fairlead/cli/run_file.h"

#include "fairlead/base/file.h"
#include "fairlead/base/nearest.h"
#include "fairlead/input/yaml_reader.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fairlead {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kConfig = "config";
constexpr const char* kSave = "save-config";
constexpr const char* kConfigFlag = "--config";
constexpr const char* kSaveFlag = "--save-config";

// Returns whether a file may give the flag: flags for files and help are not allowed.
bool is_of_the_run(const CLI::Option& option) {
  if (option.get_lnames().empty()) return false;
  const std::string& name = option.get_lnames().front();
  return name != kConfig && name != kSave && name != "help";
}

bool takes_no_value(const CLI::Option& option) { return option.get_expected_max() == 0; }
bool may_be_repeated(const CLI::Option& option) {
  return option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
}

// Returns the flag's values on the command line: "--name=VALUE", "--name VALUE", or an empty one at its end.
Words given_on(const Words& words, const std::string& name) {
  const std::string flag = "--" + name;
  Words values;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with(flag + "=")) values.push_back(words[i].substr(flag.size() + 1));
    if (words[i] == flag) values.push_back(i + 1 < words.size() ? words[i + 1] : "");
  }
  return values;
}

Result<const CLI::Option*> find_flag(const CLI::App& app, const YamlNode::Pair& pair) {
  Words names;
  for (const CLI::Option* option : app.get_options()) {
    if (!is_of_the_run(*option)) continue;
    names.push_back(option->get_lnames().front());
    if (names.back() == pair.key) return option;
  }
  return pair.value.error(fmt::format("no such flag of {} (there are: {}): {}", app.get_name(),
                                      nearest_first({names.begin(), names.end()}, pair.key),
                                      pair.key));
}

// Returns one value, the values of a list, or the pairs of a map as KEY=VALUE.
Result<Words> values_of(const YamlNode& node) {
  Words values;
  if (node.is_map()) {
    FL_TRY_ASSIGN(pairs, node.pairs());
    for (const YamlNode::Pair& pair : pairs) {
      FL_TRY_ASSIGN(text, pair.value.text());
      values.push_back(fmt::format("{}={}", pair.key, text));
    }
    return values;
  }
  if (node.is_list()) {
    FL_TRY_ASSIGN(items, node.items());
    for (const YamlNode& item : items) {
      FL_TRY_ASSIGN(text, item.text());
      values.push_back(std::move(text));
    }
    return values;
  }
  FL_TRY_ASSIGN(text, node.text());
  return Words{std::move(text)};
}

// Returns the command-line words for a pair of the file; none if the command line overrides it.
Result<Words> words_of(const CLI::App& app, const YamlNode::Pair& pair, const Words& command_line) {
  FL_TRY_ASSIGN(option, find_flag(app, pair));
  FL_TRY_ASSIGN(values, values_of(pair.value));
  const std::string flag = "--" + pair.key;
  if (values.size() > 1 && !may_be_repeated(*option)) {
    return pair.value.error(fmt::format("a flag with one value: {}", pair.key));
  }
  if (takes_no_value(*option)) {
    if (values.front() == "true") return Words{flag};
    if (values.front() == "false") return Words{};
    return pair.value.bad_value("true or false");
  }
  const bool is_replaced = !may_be_repeated(*option) || option->get_required();
  if (is_replaced && !given_on(command_line, pair.key).empty()) return Words{};
  Words words;
  for (const std::string& value : values) words.push_back(fmt::format("{}={}", flag, value));
  return words;
}

Result<Words> words_of_file(const CLI::App& app, const std::string& file,
                            const Words& command_line) {
  FL_TRY_ASSIGN(source, ByteSource::open(file));
  FL_TRY_ASSIGN(text, yaml_text(source));
  FL_TRY_ASSIGN(root, YamlNode::parse(text, file));
  FL_TRY_ASSIGN(pairs, root.pairs());
  Words words;
  for (const YamlNode::Pair& pair : pairs) {
    FL_TRY_ASSIGN(more, words_of(app, pair, command_line));
    words.insert(words.end(), more.begin(), more.end());
  }
  return words;
}

}  // namespace

void add_run_file_flags(CLI::App& app) {
  app.add_option(
         kConfigFlag, CLI::callback_t(),
         "YAML file with flags, such as `policy: fifo`; flags of the command line take precedence")
      ->type_name("FILE");
  app.add_option(kSaveFlag, CLI::callback_t(), "also write the flags to this file, for --config")
      ->type_name("FILE");
}

Result<Words> with_run_file(const CLI::App& root, Words words) {
  if (words.empty()) return words;
  const auto named = root.get_subcommands([&](const CLI::App* sub) {
    return sub->get_name() == words.front() && sub->get_option_no_throw(kConfigFlag) != nullptr;
  });
  if (named.empty()) return words;
  const Words files = given_on(words, kConfig);
  if (files.empty() || files.back().empty()) return words;
  FL_TRY_ASSIGN(more, words_of_file(*named.front(), files.back(), words));
  words.insert(words.begin() + 1, more.begin(), more.end());
  return words;
}

Status save_run_file(const CLI::App& app) {
  const CLI::Option* save = app.get_option_no_throw(kSaveFlag);
  if (save == nullptr || save->count() == 0) return {};
  std::string text;
  for (const CLI::Option* option : app.get_options()) {
    if (!is_of_the_run(*option) || option->count() == 0) continue;
    nlohmann::json value = option->results();  // JSON is YAML
    if (!may_be_repeated(*option)) value = option->results().back();
    if (takes_no_value(*option)) value = true;
    text += fmt::format("{}: {}\n", option->get_lnames().front(),
                        value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  FL_TRY_ASSIGN(file, OutputFile::create(save->results().back()));
  file.write(text);
  return file.commit();
}

}  // namespace fairlead
