// A table of any header. --columns assigns the columns. The others are recognised by the words below, whatever their
// case and punctuation, followed by the unit of their numbers ("Run time (min)", "duration_ms").
//
// Required are the job, its GPUs, its submission or start, and its duration or end. A job without a submission is
// submitted at its start. Its duration is the given one; otherwise it is the time from its start, or from its
// submission, to its end.
//
// Times are calendar times, in UTC if they have no zone, or numbers. Unix times are recognised; other numbers count
// from a start. A cell also counts as empty if it is "Unknown", "None" or the like. A row is not a job if its number of
// GPUs is zero or missing, or if it has not ended.

#include "fairlead/base/nearest.h"
#include "fairlead/base/time_text.h"
#include "fairlead/input/csv.h"
#include "fairlead/trace/readers/readers.h"
#include "fairlead/trace/states.h"
#include "fairlead/trace/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>

namespace fairlead {
namespace {

enum Field : std::size_t {
  kJob,
  kUser,
  kModel,
  kGpus,
  kSubmit,
  kStart,
  kEnd,
  kDuration,
  kGpuType,
  kState,
  kTickets,
  kTimeLimit,
  kPriority,
  kPartition,
  kCpus,
  kMemory,
  kFields,
};

struct FieldSpec {
  std::string_view name;   // name in --columns
  std::string_view names;  // names of columns, each between blanks: the likelier first
  bool has_unit = false;
};

constexpr std::array<FieldSpec, kFields> kSpecs = {{
    {"job", " job jobid id jobname name "},
    {"user", " user username userid owner submitter account "},
    {"model", " model modelname "},
    {"gpus", " gpus gpu ngpus ngpu numgpus numgpu gpunum gpucount reqgpus allocgpus gpurequest "},
    {"submit",
     " submit submitted submittime submissiontime submittedat arrival arrivaltime created "
     "creationtime createdat ",
     true},
    {"start", " start started starttime startedat begin ", true},
    {"end", " end ended endtime endedat finish finished finishtime finishedat completiontime ",
     true},
    {"duration", " duration runtime elapsed elapsedtime elapsedraw runningtime ", true},
    {"gpu_type", " gputype gpumodel "},
    {"state", " state status jobstate "},
    {"tickets", " tickets "},
    {"time_limit", " timelimit walltime reqtime requestedtime maxruntime ", true},
    {"priority", " priority "},
    {"partition", " partition queue "},
    {"cpus", " cpus ncpus numcpus reqcpus alloccpus cpunum cpucount "},
    {"memory_gb", " memorygb memgb "},
}};

struct Unit {
  std::string_view names;
  Duration unit;
  std::string_view shown;
};
constexpr std::array<Unit, 4> kUnits = {{
    {" s sec secs second seconds ", seconds(1), "s"},
    {" ms msec msecs millis milliseconds ", Duration{1}, "ms"},
    {" min mins minute minutes ", seconds(60), "min"},
    {" h hr hrs hour hours ", hours(1), "h"},
}};

bool is_among(std::string_view words, std::string_view word) {
  return !word.empty() && words.find(fmt::format(" {} ", word)) != words.npos;
}

// A column's name in a header: its letters and digits in lower case, and the unit behind them.
struct ColumnName {
  std::string word;
  Duration unit{};  // 0: it names none
};

ColumnName column_name(std::string_view header) {
  std::vector<std::string> words(1);
  for (const char c : header) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || byte >= 0x80) {
      words.back() += static_cast<char>(std::tolower(byte));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty() && words.size() > 1) words.pop_back();
  ColumnName name;
  const auto* const unit = std::ranges::find_if(
      kUnits, [&](const Unit& one) { return is_among(one.names, words.back()); });
  if (unit != kUnits.end() && words.size() > 1) {
    name.unit = unit->unit;
    words.pop_back();
  }
  for (const std::string& word : words) name.word += word;
  return name;
}

// Returns the free column with a name for `field`; kMissing if there is none.
CsvReader::Column column_by_name(const std::vector<ColumnName>& names, const FieldSpec& field,
                                 const std::vector<bool>& taken) {
  std::size_t best = field.names.npos;
  CsvReader::Column found = CsvReader::kMissing;
  for (CsvReader::Column column = 0; column < names.size(); ++column) {
    if (taken[column] || !is_among(field.names, names[column].word)) continue;
    const std::size_t place = field.names.find(fmt::format(" {} ", names[column].word));
    if (place >= best) continue;
    best = place;
    found = column;
  }
  return found;
}

struct Layout {
  std::array<CsvReader::Column, kFields> at{};
  std::array<Duration, kFields> unit{};

  bool has(Field field) const { return at[field] != CsvReader::kMissing; }
};

Layout layout_by_names(const std::vector<ColumnName>& names, Layout layout) {
  std::vector<bool> taken(names.size(), false);
  for (const CsvReader::Column column : layout.at) {
    if (column != CsvReader::kMissing) taken[column] = true;
  }
  const bool ends_are_named = layout.has(kEnd);
  for (std::size_t field = 0; field < kFields; ++field) {
    if (layout.at[field] != CsvReader::kMissing) continue;
    if (field == kDuration && ends_are_named) continue;
    const CsvReader::Column column = column_by_name(names, kSpecs[field], taken);
    layout.at[field] = column;
    if (column != CsvReader::kMissing) taken[column] = true;
  }
  return layout;
}

Layout empty_layout() {
  Layout layout;
  layout.at.fill(CsvReader::kMissing);
  return layout;
}

// The fields that are needed and have no column.
std::vector<std::string_view> missing_fields(const Layout& layout) {
  std::vector<std::string_view> missing;
  const auto need = [&](bool has, Field field) {
    if (!has) missing.push_back(kSpecs[field].name);
  };
  need(layout.has(kJob), kJob);
  need(layout.has(kGpus), kGpus);
  need(layout.has(kSubmit) || layout.has(kStart), kSubmit);
  need(layout.has(kDuration) || layout.has(kEnd), kDuration);
  return missing;
}

std::vector<ColumnName> names_of(const auto& header) {
  std::vector<ColumnName> names;
  names.reserve(header.size());
  for (const auto& name : header) names.push_back(column_name(name));
  return names;
}

Result<Layout> find_columns(CsvReader& csv, const ByteSource& source, const TableOptions& options) {
  const std::vector<std::string_view> header(csv.header().begin(), csv.header().end());
  Layout layout = empty_layout();
  for (std::size_t field = 0; field < kFields; ++field) {
    const auto named = options.columns.find(kSpecs[field].name);
    if (named == options.columns.end()) continue;
    layout.at[field] = csv.find_any_case(named->second);
    if (layout.at[field] == CsvReader::kMissing)
      return input_error("{}:1: no column for --columns {}={} (there are: {})", source.name(),
                         named->first, named->second, nearest_first(header, named->second));
  }
  const std::vector<ColumnName> names = names_of(header);
  layout = layout_by_names(names, layout);
  if (const auto missing = missing_fields(layout); !missing.empty()) {
    const std::string_view name = missing.front();
    return input_error(
        "{}:1: the header lacks a column for {}{}; name it with --columns {}=NAME: {}",
        source.name(), name, did_you_mean(header, name), name, fmt::join(header, ", "));
  }
  const Duration other = options.unit.ms == 0 ? seconds(1) : options.unit;
  for (std::size_t field = 0; field < kFields; ++field) {
    const CsvReader::Column column = layout.at[field];
    if (column == CsvReader::kMissing) continue;
    csv.find(csv.header()[column]);  // marks the column as used
    layout.unit[field] = names[column].unit.ms == 0 ? other : names[column].unit;
  }
  return layout;
}

bool is_blank(std::string_view text) {
  constexpr std::string_view kBlanks = " unknown none null na nan nat - n/a ";
  if (text.empty()) return true;
  std::string lower;
  for (const char c : text) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower.find(' ') == lower.npos && is_among(kBlanks, lower);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Returns whether points divide `text` into thousands: 1.234 or 1.234.567, not 0.125.
bool has_thousands(std::string_view text) {
  std::size_t digits = 0;
  std::size_t groups = 0;
  for (const char c : text) {
    if (c != '.' && !is_digit(c)) return false;
    if (c == '.' && (groups == 0 ? digits < 1 || digits > 3 : digits != 3)) return false;
    groups += c == '.' ? 1 : 0;
    digits = c == '.' ? 0 : digits + 1;
  }
  return groups > 0 && digits == 3 && text.front() != '0';
}

class TableRows {
 public:
  TableRows(CsvReader& csv, const Layout& layout, const TableOptions& options, char separator)
      : csv_(csv),
        layout_(layout),
        options_(options),
        separator_(separator),
        order_(options.dates) {}

  // REQUIRES: the row that it returned before is no longer used.
  JobRow row() {
    JobRow row;
    row.id = text(kJob);
    row.state = state_word(text(kState));
    row.gpus = is_blank(text(kGpus)) ? 0 : integer(kGpus, 0, kJobGpusMax);
    if (row.gpus == 0) return row;
    if (is_unfinished(row.state)) csv_.skip("not ended");
    row.user = text(kUser);
    row.model = text(kModel);
    row.gpu_type = text(kGpuType);
    if (!text(kTickets).empty()) row.tickets = integer(kTickets, 1, kTicketsMax);
    take_times(row);
    take_logged(row);
    row.columns = {.id = csv_.column_number(layout_.at[kJob]),
                   .gpus = csv_.column_number(layout_.at[kGpus]),
                   .submit = csv_.column_number(layout_.at[submitted_by()]),
                   .duration = csv_.column_number(layout_.at[ended_by()])};
    return row;
  }

  // Returns whether times are such as count from 1970.
  bool starts_at_zero() const { return kind_ == Kind::kCivil || is_unix_; }
  std::string times() const {
    if (kind_ == Kind::kCivil)
      return has_no_zone_ ? "calendar times without a zone, taken as UTC" : "calendar times";
    return is_unix_ ? "Unix times" : "";
  }
  // "gpus=NGPUs", "duration=Run (min)".
  std::vector<std::string> columns() const {
    std::vector<std::string> said;
    for (std::size_t field = 0; field < kFields; ++field) {
      if (!layout_.has(Field(field))) continue;
      const auto* const unit = std::ranges::find(kUnits, layout_.unit[field], &Unit::unit);
      said.push_back(fmt::format("{}={}{}", kSpecs[field].name, csv_.header()[layout_.at[field]],
                                 is_number_[field] ? fmt::format(" ({})", unit->shown) : ""));
    }
    return said;
  }
  // An ambiguous date is not just a bad row: the rest of the file would be read wrongly, or not at all.
  Status verdict() const {
    if (ambiguous_.empty()) return {};
    const bool month_first = order_ == DayOrder::kMonthFirst;
    return input_error("{}{}", ambiguous_,
                       order_ == DayOrder::kUnknown ? ""
                       : month_first                ? " (later rows have the month first)"
                                                    : " (later rows have the day first)");
  }

 private:
  enum class Kind : std::uint8_t { kUnknown, kCivil, kNumber };

  std::string_view text(Field field) const { return csv_.text(layout_.at[field]); }
  Field submitted_by() const { return layout_.has(kSubmit) ? kSubmit : kStart; }
  Field ended_by() const { return layout_.has(kDuration) ? kDuration : kEnd; }
  void fault(Field field, std::string_view phrase) { csv_.fault(layout_.at[field], phrase); }

  void take_times(JobRow& row) {
    const std::optional<Time> start = layout_.has(kStart) ? time(kStart) : std::nullopt;
    const std::optional<Time> submit = layout_.has(kSubmit) ? time(kSubmit) : start;
    const bool ended = !is_blank(text(ended_by()));
    if (!ended) csv_.skip("not ended");
    if (!submit && layout_.has(kSubmit)) fault(kSubmit, "must not be empty");
    if (!submit) csv_.skip("never started");
    row.submit = submit.value_or(Time{0});
    // If a job's submission is its start, its wait is unknown.
    if (start && layout_.has(kSubmit)) row.logged.start = *start;
    if (layout_.has(kDuration)) {
      row.duration = duration();
      if (row.duration.ms == 0 && is_cancelled(row.state)) csv_.skip("never started");
      return;
    }
    if (layout_.has(kStart) && !start) csv_.skip("never started");
    const std::optional<Time> end = time(kEnd);
    if (!csv_.bad()) row.duration = *end - start.value_or(row.submit);
    if (row.duration.ms == 0 && is_cancelled(row.state)) csv_.skip("never started");
  }

  // Reads optional fields; a cell that is not understood is ignored ("UNLIMITED", "high").
  void take_logged(JobRow& row) {
    const Parsed<std::int64_t> limit = is_blank(text(kTimeLimit)) ? 0 : length(kTimeLimit);
    if (limit && *limit > 0 && *limit <= kMsMax) row.logged.time_limit = {*limit};
    const Parsed<std::int64_t> priority = parse_integer(text(kPriority));
    if (priority && *priority >= -kPriorityMax && *priority <= kPriorityMax)
      row.logged.priority = *priority;
    if (!is_blank(text(kPartition))) row.partition = text(kPartition);
    row.asks = {amount(kCpus), amount(kMemory)};
  }

  // Returns a number of an optional field; not stated if it is not understood.
  Thousandths amount(Field field) {
    if (is_blank(text(field))) return {};
    return thousandths_of(parse_units(number_text(field), seconds(1)).value_or(0));
  }

  std::int64_t integer(Field field, std::int64_t min, std::int64_t max) {
    if (csv_.bad()) return 0;
    const Parsed<std::int64_t> value = parse_integer(number_text(field));
    if (value && *value >= min && *value <= max) return *value;
    fault(field, fmt::format("must be a whole number from {} to {}", min, max));
    return 0;
  }

  // None if the cell is empty, or bad.
  std::optional<Time> time(Field field) {
    const std::string_view cell = text(field);
    if (csv_.bad() || is_blank(cell)) return std::nullopt;
    const Parsed<CivilTime> civil = parse_civil_time(cell, order_);
    if (civil) {
      order_ = civil->order == DayOrder::kUnknown ? order_ : civil->order;
      has_no_zone_ = has_no_zone_ || !civil->has_zone;
      return of_kind(field, Kind::kCivil, civil->time);
    }
    if (civil.error() == kAmbiguousDay && ambiguous_.empty()) {
      ambiguous_ = fmt::format("{}: {} {}: {}", csv_.where(layout_.at[field]).text(),
                               csv_.header()[layout_.at[field]], kAmbiguousDay, cell);
    }
    const Parsed<std::int64_t> ms = number(field);
    if (ms) return of_kind(field, Kind::kNumber, Time{*ms});
    const bool is_date = cell.find_first_of(":/-", 1) != cell.npos;
    if (!csv_.bad()) fault(field, is_date ? civil.error() : ms.error());
    return std::nullopt;
  }

  std::optional<Time> of_kind(Field field, Kind kind, Time time) {
    if (kind_ == Kind::kUnknown) {
      kind_ = kind;
      is_unix_ = kind == Kind::kNumber && time >= kYear2000;
    }
    if (kind_ == kind) return time;
    fault(field, kind == Kind::kCivil ? "must be a number like the times before it"
                                      : "must be a calendar time like the times before it");
    return std::nullopt;
  }

  Duration duration() {
    if (csv_.bad()) return {};
    const Parsed<std::int64_t> ms = length(kDuration);
    if (!ms && !csv_.bad()) fault(kDuration, ms.error());
    return {ms.value_or(0)};
  }

  // A length of time, in milliseconds. REQUIRES: the cell is not empty.
  Parsed<std::int64_t> length(Field field) {
    const std::string_view cell = text(field);
    if (cell.find(':') != cell.npos) return parse_clock_length(cell, false);
    const Parsed<std::int64_t> ms = number(field);
    if (ms || is_digit(cell.back())) return ms;
    // "1h30m": there is a letter at its end.
    if (const Result<double> s = parse_span_s(cell)) return std::llround(std::ceil(*s * 1000));
    return ms;
  }

  // Returns a number in the column's unit, as milliseconds.
  Parsed<std::int64_t> number(Field field) {
    const Parsed<std::int64_t> ms = parse_units(number_text(field), layout_.unit[field]);
    if (ms) is_number_[field] = true;
    if (ms || layout_.unit[field].ms == 1) return ms;
    if (!ms.error().starts_with("must be at most")) return ms;
    return tl::unexpected<std::string_view>(
        "must be at most 100 years; is it in milliseconds? (--unit ms)");
  }

  // The cell with a point for its decimal comma, and without points between its thousands.
  std::string_view number_text(Field field) {
    const std::string_view cell = text(field);
    const bool may_be_comma = separator_ == ';' || separator_ == '\t';
    const bool by_separator = options_.decimals == Decimals::kBySeparator;
    if (options_.decimals == Decimals::kPoint || (by_separator && !may_be_comma)) return cell;
    const std::size_t comma = cell.find(',');
    const std::string_view whole = cell.substr(0, comma);
    if (by_separator && comma == cell.npos && separator_ == ';' && has_thousands(whole) &&
        std::ranges::count(whole, '.') == 1) {
      fault(field, "may have thousands or decimals: add --decimal comma or --decimal point");
      return cell;
    }
    const bool joined = has_thousands(whole) &&
                        (!by_separator || comma != cell.npos || std::ranges::count(whole, '.') > 1);
    number_ = whole;
    if (joined) std::erase(number_, '.');
    if (comma != cell.npos) number_.append(1, '.').append(cell.substr(comma + 1));
    return number_;
  }

  CsvReader& csv_;
  Layout layout_;
  const TableOptions& options_;
  char separator_;
  DayOrder order_;
  Kind kind_ = Kind::kUnknown;
  bool is_unix_ = false;
  bool has_no_zone_ = false;
  std::array<bool, kFields> is_number_{};  // some cell of the column is one
  std::string number_;                     // scratch
  std::string ambiguous_;                  // the first ambiguous date, and its position
};

bool is_table(const TraceHead& head) { return table_lacks(head.fields(head.separator())).empty(); }

Status read_table(ByteSource& source, const ReadOptions& options, WorkloadBuilder& builder) {
  constexpr std::size_t kHeadBytes = 1 << 14;
  FL_TRY_ASSIGN(bytes, source.peek(kHeadBytes));
  const char named = options.table.separator;
  const char separator = named != '\0' ? named : TraceHead(bytes).separator();
  CsvReader csv(source, {.separator = separator});
  FL_TRY(csv.read_header());
  FL_TRY_ASSIGN(layout, find_columns(csv, source, options.table));
  TableRows rows(csv, layout, options.table, separator);
  const Status added = add_rows(csv, builder, [&] { return rows.row(); });
  FL_TRY(rows.verdict());
  FL_TRY(Status(added));
  builder.say_times(rows.times());
  builder.say_columns(rows.columns());
  if (rows.starts_at_zero()) builder.start_at_zero();
  return {};
}

}  // namespace

std::string table_fields() {
  std::string names;
  for (const FieldSpec& spec : kSpecs) names += fmt::format("|{}", spec.name);
  return names.substr(1);
}

bool is_table_field(std::string_view name) {
  return std::ranges::find(kSpecs, name, &FieldSpec::name) != kSpecs.end();
}

std::vector<std::string_view> table_lacks(const std::vector<std::string_view>& header) {
  return missing_fields(layout_by_names(names_of(header), empty_layout()));
}

const TraceFormat kTableFormat = {
    .name = "table",
    .file =
        "a table of any header, its columns recognised by name or given by `--columns`, "
        "[below](#tables-of-any-header)",
    .needs = "job,gpus,submit,duration",
    .reading = Reading::kLenient,
    .rank = 9,
    .is = &is_table,
    .read = &read_table,
};

}  // namespace fairlead
