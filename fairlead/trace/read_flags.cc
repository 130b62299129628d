#include "fairlead/trace/read_flags.h"

#include "fairlead/base/nearest.h"
#include "fairlead/base/parse.h"
#include "fairlead/base/split.h"
#include "fairlead/trace/readers/readers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

namespace fairlead {
namespace {

template <class T>
struct Choice {
  std::string_view word;
  T value;
};

constexpr std::array<Choice<Duration>, 4> kUnits = {
    {{"s", seconds(1)}, {"ms", Duration{1}}, {"min", seconds(60)}, {"h", hours(1)}}};
constexpr std::array<Choice<char>, 6> kDelimiters = {
    {{",", ','}, {";", ';'}, {"|", '|'}, {"tab", '\t'}, {"\t", '\t'}, {"\\t", '\t'}}};
constexpr std::array<Choice<Decimals>, 2> kDecimals = {
    {{"point", Decimals::kPoint}, {"comma", Decimals::kComma}}};
constexpr std::array<Choice<DayOrder>, 2> kDates = {
    {{"dmy", DayOrder::kDayFirst}, {"mdy", DayOrder::kMonthFirst}}};

// Leaves `value` unchanged if the flag was not given.
template <class T, std::size_t N>
Status take_choice(std::string_view flag, const std::string& text,
                   const std::array<Choice<T>, N>& choices, T& value) {
  if (text.empty()) return {};
  const auto* const found = std::ranges::find(choices, text, &Choice<T>::word);
  if (found != choices.end()) {
    value = found->value;
    return {};
  }
  std::vector<std::string_view> words;
  for (const Choice<T>& choice : choices) {
    if (choice.word.find_first_of("\t\\") == choice.word.npos) words.push_back(choice.word);
  }
  return input_error("{} takes one of {}: {}", flag, fmt::join(words, " "), text);
}

Status take_columns(const std::string& text, TableOptions& table) {
  if (text.empty()) return {};
  const std::string known = table_fields();
  for (const std::string_view whole : split(text, ',')) {
    const std::string_view part = trimmed(whole);
    const std::size_t equals = part.find('=');
    if (equals == part.npos || equals + 1 == part.size())
      return input_error("--columns takes FIELD=COLUMN,...: {}", part);
    const std::string_view field = trimmed(part.substr(0, equals));
    if (!is_table_field(field))
      return input_error("--columns: no such field (there are: {}): {}", known, field);
    table.columns[std::string(field)] = trimmed(part.substr(equals + 1));
  }
  return {};
}

Status take_conditions(const std::vector<std::string>& texts, std::vector<RowCondition>& where) {
  for (const std::string_view text : texts) {
    const std::size_t equals = text.find('=');
    const bool differs = equals != text.npos && equals > 0 && text[equals - 1] == '!';
    const std::string_view column = trimmed(text.substr(0, differs ? equals - 1 : equals));
    if (equals == text.npos || column.empty())
      return input_error("--where takes COLUMN=VALUE or COLUMN!=VALUE: {}", text);
    where.push_back({std::string(column), std::string(trimmed(text.substr(equals + 1))), !differs});
  }
  return {};
}

Status take_time(std::string_view flag, const std::string& text, std::optional<TraceTime>& time) {
  if (text.empty()) return {};
  const auto parsed = parse_trace_time(text);
  if (!parsed) return input_error("{} {}", flag, parsed.error().message);
  time = *parsed;
  return {};
}

Status take_selection(const ReadFlags& flags, Selection& selection) {
  FL_TRY(take_time("--from", flags.from, selection.from));
  FL_TRY(take_time("--to", flags.to, selection.to));
  if (!flags.users.empty()) {
    for (const std::string_view user : split(flags.users, ','))
      selection.users.emplace_back(trimmed(user));
  }
  if (flags.sample.empty()) return {};
  const auto part = parse_number(flags.sample);
  if (!part || *part <= 0 || *part > 1)
    return input_error("--sample takes a part of all jobs, above 0 and up to 1: {}", flags.sample);
  selection.sample = *part;
  return {};
}

Status take_offsets(const std::string& text, UtcOffsets& offsets) {
  if (text.empty()) return {};
  const auto parsed = parse_utc_offsets(text);
  if (!parsed) return input_error("--utc-offset {}: {}", parsed.error(), text);
  offsets = *parsed;
  return {};
}

Status take_format(const ReadFlags& flags, ReadOptions& options) {
  if (!flags.format.empty()) {
    options.format = find_format(flags.format);
    if (options.format == nullptr)
      return input_error("--format takes one of {}: {}", format_names(), flags.format);
  }
  if (options.table == TableOptions()) return {};
  if (options.format != nullptr && options.format != &kTableFormat)
    return input_error(
        "--columns, --unit, --delimiter, --decimal and --dates go with --format table: {}",
        flags.format);
  options.format = &kTableFormat;
  return {};
}

// Reads the flags of --format table.
Status take_table(const ReadFlags& flags, TableOptions& table) {
  FL_TRY(take_columns(flags.columns, table));
  FL_TRY(take_choice("--unit", flags.unit, kUnits, table.unit));
  FL_TRY(take_choice("--delimiter", flags.delimiter, kDelimiters, table.separator));
  FL_TRY(take_choice("--decimal", flags.decimal, kDecimals, table.decimals));
  return take_choice("--dates", flags.dates, kDates, table.dates);
}

}  // namespace

Result<ReadOptions> read_options(const ReadFlags& flags) {
  ReadOptions options;
  FL_TRY(take_table(flags, options.table));
  FL_TRY(take_format(flags, options));
  FL_TRY(take_offsets(flags.utc_offset, options.utc_offsets));
  FL_TRY(take_conditions(flags.where, options.where));
  FL_TRY(take_selection(flags, options.selection));
  return options;
}

std::vector<std::string> arguments_of(const ReadFlags& flags) {
  const std::pair<std::string_view, const std::string&> given[] = {
      {"format", flags.format},         {"columns", flags.columns}, {"unit", flags.unit},
      {"delimiter", flags.delimiter},   {"decimal", flags.decimal}, {"dates", flags.dates},
      {"utc-offset", flags.utc_offset}, {"from", flags.from},       {"to", flags.to},
      {"users", flags.users},           {"sample", flags.sample}};
  std::vector<std::string> arguments;
  for (const auto& [name, value] : given) {
    if (!value.empty()) arguments.push_back(fmt::format("--{}={}", name, value));
  }
  for (const std::string& condition : flags.where) arguments.push_back("--where=" + condition);
  return arguments;
}

}  // namespace fairlead
