// Compares the table of options in docs/policies/NAME.md with the registry. Every cell must agree
// with the policy's OptionSpecs. UPDATE_GOLDEN=1 rewrites the tables.
#include "fairlead/policy/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace fairlead {
namespace {

using Lines = std::vector<std::string>;

constexpr std::string_view kTitles = "| option | default | unit | range | meaning |";

// 86400 as "86,400", 0.5 as "0.5".
std::string bound_text(double bound) {
  std::string text = fmt::format("{}", bound);
  if (text.find('.') != std::string::npos) return text;
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

// Returns "true/false" as "`true`, `false`". The placements that many policies share become a link.
std::string choices_text(std::string_view choices) {
  std::string text;
  if (choices.starts_with(kPlacementChoices)) {
    choices.remove_prefix(kPlacementChoices.size());
    text = "a [placement](README.md#placements-placement)";
  }
  while (!choices.empty()) {
    const std::string_view choice = choices.substr(0, choices.find('/'));
    choices.remove_prefix(std::min(choice.size() + 1, choices.size()));
    if (choice.empty()) continue;
    text += fmt::format("{}`{}`", text.empty() ? "" : ", ", choice);
  }
  return text;
}

std::string range_text(const OptionSpec& option) {
  const std::string range = bound_text(option.min) + " to " + bound_text(option.max);
  switch (option.type) {
    case OptionType::kFlag:
      return choices_text("true/false");
    case OptionType::kChoice:
      return choices_text(option.choices);
    case OptionType::kInteger:
    case OptionType::kReal:
      return range;
    case OptionType::kList:
      return "each " + range;
    case OptionType::kNamed:
      return "`NAME:NUMBER`, each " + range;
    case OptionType::kFile:
      return "a file";
  }
  return "";
}

Lines table_of(const PolicyEntry& entry) {
  Lines lines = {std::string(kTitles), "|---|---|---|---|---|"};
  for (const OptionSpec& option : entry.options) {
    const std::string fallback =
        option.fallback.empty() ? "none" : fmt::format("`{}`", option.fallback);
    lines.push_back(fmt::format("| `{}` | {} | {} | {} | {} |", option.name, fallback, option.unit,
                                range_text(option), option.help));
  }
  return lines;
}

Lines read_lines(const std::filesystem::path& path) {
  std::ifstream file(path);
  Lines lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

TEST(OptionPages, TablesAreWhatTheRegistrySays) {
  for (const PolicyEntry* entry : all_policies()) {
    const std::filesystem::path path = fmt::format("docs/policies/{}.md", entry->name);
    Lines page = read_lines(path);
    const auto begin = std::ranges::find(page, kTitles);
    ASSERT_NE(begin, page.end()) << path << " has no table of options";
    const auto end =
        std::find_if(begin, page.end(), [](const auto& line) { return !line.starts_with('|'); });
    ASSERT_EQ(std::find(end, page.end(), kTitles), page.end()) << path << " has two";
    const Lines expected = table_of(*entry);
    if (std::getenv("UPDATE_GOLDEN") == nullptr) {
      EXPECT_EQ(Lines(begin, end), expected) << path << ": UPDATE_GOLDEN=1 rewrites the table";
      continue;
    }
    page.insert(page.erase(begin, end), expected.begin(), expected.end());
    std::ofstream file(path);
    for (const std::string& line : page) file << line << '\n';
  }
}

// The name of an option ends in its unit, so a reader needs no description to know it.
TEST(OptionPages, NamesEndInTheirUnit) {
  constexpr std::pair<std::string_view, std::string_view> kSuffixes[] = {
      {"seconds", "_s"}, {"hours", "_h"}, {"GPU-seconds", "_gpu_s"}, {"quanta", "_quanta"}};
  for (const PolicyEntry* entry : all_policies()) {
    for (const OptionSpec& option : entry->options) {
      const auto suffix =
          std::ranges::find(kSuffixes, option.unit, [](auto of) { return of.first; });
      const std::string label = fmt::format("{}:{}", entry->name, option.name);
      if (suffix != std::end(kSuffixes)) {
        EXPECT_TRUE(option.name.ends_with(suffix->second)) << label;
      } else {
        for (const auto& [unit, ending] : kSuffixes) {
          EXPECT_FALSE(option.name.ends_with(ending)) << label;
        }
      }
    }
  }
}

}  // namespace
}  // namespace fairlead
