#include "fairlead/measure/command_model.h"

#include "fairlead/base/hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string_view>
#include <vector>

namespace fairlead {
namespace {

// Returns whether the command is a wrapper of Fairlead's, whose own command follows --.
bool is_wrapper(std::span<const std::string> command) {
  return command.size() > 1 && (command[1] == "tracker" || command[1] == "container");
}

// Returns the words of a command. A shell's command line, as in `bash -c "python train.py"`, is split into its words.
std::vector<std::string> words_of(std::span<const std::string> command) {
  const auto dashes = std::ranges::find(command, "--");
  if (is_wrapper(command) && command.end() - dashes > 1) command = {dashes + 1, command.end()};
  std::vector<std::string> words = {command.front()};
  for (const std::string& argument : command.subspan(1)) {
    std::istringstream parts(argument);
    for (std::string word; parts >> word;) words.push_back(word);
  }
  return words;
}

std::string last_part(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

// Returns the position of the script; 0: there is none.
std::size_t script_in(const std::vector<std::string>& words) {
  const auto script = std::ranges::find_if(words, [](const std::string& word) {
    return word.ends_with(".py") || word.ends_with(".sh");
  });
  return script == words.end() ? 0 : static_cast<std::size_t>(script - words.begin());
}

// Also a list of numbers, such as "0.9,0.99", and a span, such as "1:30".
bool is_number(std::string_view word) {
  constexpr std::string_view kDigits = "0123456789";
  return word.find_first_of(kDigits) != std::string_view::npos &&
         word.find_first_not_of("0123456789.,:eE+-") == std::string_view::npos;
}

bool is_path(std::string_view word) { return word.find('/') != std::string_view::npos; }

// Returns the word, the name of "--lr=3", or nothing for a number or a path.
std::string_view without_value(std::string_view word) {
  const std::size_t begin = std::min(word.find('='), word.size() - 1) + 1;
  if (begin == word.size()) return is_number(word) || is_path(word) ? "" : word;
  const std::string_view value = word.substr(begin);
  return is_number(value) || is_path(value) ? word.substr(0, begin) : word;
}

}  // namespace

std::string program_of(std::span<const std::string> command) {
  const std::vector<std::string> words = words_of(command);
  std::string name = last_part(words[script_in(words)]);
  return name.empty() ? "job" : name;
}

std::string model_of(std::span<const std::string> command, std::string_view image) {
  const std::vector<std::string> words = words_of(command);
  std::string kept(image);
  if (!image.empty()) kept += '\n';
  for (const std::string& word : std::span(words).subspan(script_in(words) + 1)) {
    const std::string_view left = without_value(word);
    if (!left.empty()) kept.append(left) += '\n';
  }
  if (kept.empty()) return program_of(command);
  StreamHash hash;
  hash.add({reinterpret_cast<const std::uint8_t*>(kept.data()), kept.size()});
  constexpr std::uint64_t kSixDigits = 0xffffff;
  return fmt::format("{}#{:06x}", program_of(command), hash.value() & kSixDigits);
}

}  // namespace fairlead
