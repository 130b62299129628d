#include "fairlead/cli/tasks.h"

#include "fairlead/base/parse.h"
#include "fairlead/base/split.h"
#include "fairlead/cli/run_flags.h"
#include "fairlead/serve/job_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace fairlead {
namespace {

using nlohmann::json;

struct Param {
  std::string name;
  std::vector<std::string> values;
};

tl::unexpected<Error> too_many() {
  return input_error("at most {} tasks can be submitted at once", kTasksMax);
}

// Adds the indices of "7", "1-20" or "1-20:5".
Status add_indices(std::string_view text, std::vector<std::int64_t>& indices) {
  const std::vector<std::string_view> by_step = split(text, ':');
  const std::vector<std::string_view> bounds = split(by_step.front(), '-');
  const auto first = parse_integer(bounds.front());
  const auto last = parse_integer(bounds.back());
  const auto step = parse_integer(by_step.size() == 1 ? "1" : by_step.back());
  const bool is_range = first && last && step && by_step.size() <= 2 && bounds.size() <= 2 &&
                        *first >= 0 && *last >= *first && *step >= 1;
  if (!is_range)
    return input_error("--array is like 1-20, 0-90:10 or 1,3,7, and %4 may follow: {}", text);
  for (std::int64_t index = *first; index <= *last; index += *step) {
    if (indices.size() == kTasksMax) return too_many();
    indices.push_back(index);
  }
  return {};
}

// Returns the indices of --array; `at_once` becomes the number after %.
Result<std::vector<std::int64_t>> indices_of(const std::string& array, std::int64_t& at_once) {
  std::vector<std::int64_t> indices;
  if (array.empty()) return indices;
  const std::size_t percent = std::min(array.find('%'), array.size());
  if (percent < array.size()) {
    const auto number = parse_integer(std::string_view(array).substr(percent + 1));
    if (!number || *number < 1) return input_error("--array: a number from 1 follows %: {}", array);
    at_once = *number;
  }
  for (const std::string_view part : split(std::string_view(array).substr(0, percent), ','))
    FL_TRY(add_indices(part, indices));
  return indices;
}

Result<std::vector<Param>> params_of(const std::vector<std::string>& texts,
                                     std::span<const std::string> command) {
  std::vector<Param> params;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return input_error("--param is like lr=0.1,0.01: {}", text);
    const auto values = split(std::string_view(text).substr(equals + 1), ',');
    Param param{text.substr(0, equals), {values.begin(), values.end()}};
    const std::string place = fmt::format("{{{}}}", param.name);
    const bool has_place = std::ranges::any_of(
        command, [&](const std::string& word) { return word.find(place) != std::string::npos; });
    if (!has_place) return input_error("--param: no word of the command has {}: {}", place, text);
    params.push_back(std::move(param));
  }
  return params;
}

void replace_all(std::string& word, const std::string& place, const std::string& value) {
  for (std::size_t at = word.find(place); at != std::string::npos;
       at = word.find(place, at + value.size())) {
    word.replace(at, place.size(), value);
  }
}

// A choice of values, one for each parameter.
class Combination {
 public:
  explicit Combination(std::span<const Param> params) : params_(params), at_(params.size(), 0) {}

  // Goes on to the next one, of which the last parameter changes most often. Returns false after the last.
  bool next() {
    for (std::size_t i = at_.size(); i-- > 0;) {
      if (++at_[i] < params_[i].values.size()) return true;
      at_[i] = 0;
    }
    return false;
  }
  json command(std::span<const std::string> words) const {
    std::vector<std::string> replaced(words.begin(), words.end());
    for (std::size_t i = 0; i < at_.size(); ++i) {
      const std::string place = fmt::format("{{{}}}", params_[i].name);
      for (std::string& word : replaced) replace_all(word, place, params_[i].values[at_[i]]);
    }
    return replaced;
  }
  // "lr=0.1"
  void add_texts(std::vector<std::string>& texts) const {
    for (std::size_t i = 0; i < at_.size(); ++i)
      texts.push_back(fmt::format("{}={}", params_[i].name, params_[i].values[at_[i]]));
  }

 private:
  std::span<const Param> params_;
  std::vector<std::size_t> at_;
};

// Returns "train.py[3,lr=0.1]", or with a number if that is too long.
std::string task_name(const std::string& name, const std::vector<std::string>& texts,
                      std::size_t number) {
  std::string full = fmt::format("{}[{}]", name, fmt::join(texts, ","));
  return full.size() <= kNameBytesMax ? full : fmt::format("{}[{}]", name, number);
}

}  // namespace

void add_task_flags(CLI::App& app, TaskFlags& flags) {
  app.add_option(
         "--array", flags.array,
         "a job for each index, which is in its FAIRLEAD_ARRAY_INDEX: 1-20, 0-90:10 or 1,3,7; "
         "with %4 at most 4 of them at a time")
      ->type_name("INDICES");
  app.add_option(
         "--param", flags.params,
         "a job for each value, as in lr=0.1,0.01, which replaces {lr} in the command; several "
         "parameters make all combinations")
      ->type_name("NAME=VALUE,VALUE")
      ->allow_extra_args(false);
  app.add_option("--at-once", flags.at_once, "so many of these jobs at a time (default: all)")
      ->check(at_least(1))
      ->type_name("N");
}

Result<json> task_fields(const TaskFlags& flags, const std::string& name,
                         std::span<const std::string> command) {
  std::int64_t at_once = flags.at_once;
  FL_TRY_ASSIGN(indices, indices_of(flags.array, at_once));
  FL_TRY_ASSIGN(params, params_of(flags.params, command));
  if (indices.empty() && params.empty()) {
    if (at_once > 0) return input_error("--at-once needs --array or --param");
    return json::object();
  }
  json tasks = json::array();
  for (std::size_t i = 0; i < std::max<std::size_t>(1, indices.size()); ++i) {
    Combination combination(params);
    do {
      if (tasks.size() == kTasksMax) return too_many();
      std::vector<std::string> texts;
      json task = json::object();
      if (!indices.empty()) {
        task["array_index"] = indices[i];
        texts.push_back(fmt::format("{}", indices[i]));
      }
      if (!params.empty()) task["command"] = combination.command(command);
      combination.add_texts(texts);
      task["name"] = task_name(name, texts, tasks.size() + 1);
      tasks.push_back(std::move(task));
    } while (combination.next());
  }
  json fields = {{"tasks", std::move(tasks)}};
  if (at_once > 0) fields["at_once"] = at_once;
  return fields;
}

}  // namespace fairlead
