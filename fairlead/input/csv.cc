#include "fairlead/input/csv.h"

#include "fairlead/base/nearest.h"
#include "fairlead/base/parse.h"
#include "fairlead/input/civil_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace fairlead {
namespace {

// Whether a quoted field is open at the end of each line of a record. Only a quote at the beginning
// of a field opens one; elsewhere it is a character.
class QuoteScan {
 public:
  explicit QuoteScan(char separator) : separator_(separator) {}

  bool ends_inside(std::string_view line) {
    for (const char c : line) step(c);
    if (inside_) return true;
    at_start_ = true;
    return false;
  }

 private:
  void step(char c) {
    if (c == '"' && (inside_ || at_start_ || closed_)) {
      // A quote right after a closing one was a doubled quote: the field is open again.
      closed_ = inside_;
      inside_ = !inside_;
    } else if (!inside_) {
      closed_ = false;
    }
    at_start_ = !inside_ && c == separator_;
  }

  char separator_;
  bool inside_ = false;
  bool at_start_ = true;
  bool closed_ = false;  // the last character was a closing quote
};

bool equal_but_for_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, {}, [](unsigned char c) { return std::tolower(c); },
      [](unsigned char c) { return std::tolower(c); });
}

// True for "sep=;", the line by which spreadsheets declare the separator.
bool names_separator(std::string_view line) { return line.size() == 5 && line.starts_with("sep="); }

}  // namespace

Status CsvReader::read_header() {
  FL_TRY_ASSIGN(any, next());
  if (any && names_separator(lines_.line())) {
    FL_TRY_ASSIGN(header, next());
    any = header;
  }
  if (any && dialect_.ruled) FL_TRY(read_rule());
  if (!any) return input_error("{}: the file is empty", lines_.name());
  if (bad()) return input_error("{}: {}", where().text(), reason_);
  for (Column column = 0; column < fields_.size(); ++column) {
    const std::string_view name = trimmed(fields_[column].text);
    if (!name.empty() && std::ranges::find(names_, name) != names_.end())
      return input_error("{}: the header names a column twice: {}", where(column).text(), name);
    names_.emplace_back(name);
  }
  used_.assign(names_.size(), false);
  return {};
}

// The names were read as one field: the dashes below mark the start and end of each.
Status CsvReader::read_rule() {
  const std::string names(lines_.line());
  FL_TRY_ASSIGN(more, lines_.next());
  const std::string_view dashes = more ? lines_.line() : std::string_view();
  for (std::size_t end = 0;;) {
    const std::size_t begin = dashes.find('-', end);
    if (begin == dashes.npos) break;
    end = std::min(dashes.find_first_not_of('-', begin), dashes.size());
    rule_.push_back({begin, end - begin});
  }
  if (rule_.empty() || dashes.find_first_not_of("- ") != dashes.npos)
    return input_error("{}:2: must be dashes below the names of the columns", lines_.name());
  record_ = names;
  fields_.clear();
  split_ruled(record_);
  return {};
}

CsvReader::Column CsvReader::find_any_case(std::string_view name) {
  if (const Column column = find(name); column != kMissing) return column;
  const auto found = std::ranges::find_if(
      names_, [&](std::string_view one) { return equal_but_for_case(one, name); });
  return found == names_.end() ? kMissing : find(*found);
}

CsvReader::Column CsvReader::find(std::string_view name) {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) return kMissing;
  const auto column = static_cast<Column>(found - names_.begin());
  if (column < used_.size()) used_[column] = true;
  return column;
}

std::vector<std::string> CsvReader::unused() const {
  std::vector<std::string> names;
  for (Column column = 0; column < used_.size(); ++column) {
    if (!used_[column] && !names_[column].empty()) names.push_back(names_[column]);
  }
  return names;
}

Result<CsvReader::Column> CsvReader::require(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (const Column column = find(name); column != kMissing) return column;
  }
  return input_error("{}:1: the header lacks the column: {}{}", lines_.name(),
                     fmt::join(names, " or "),
                     did_you_mean({names_.begin(), names_.end()}, *names.begin()));
}

Result<bool> CsvReader::next() {
  reason_.clear();
  bad_column_ = kMissing;
  skipped_ = false;
  fields_.clear();
  do {
    FL_TRY_ASSIGN(more, lines_.next());
    if (!more) return false;
  } while (trimmed(lines_.line()).empty());
  line_ = lines_.number();
  const std::string_view line = lines_.line();
  const bool quoted = dialect_.quotes && line.find('"') != line.npos;
  if (!rule_.empty()) {
    split_ruled(line);
  } else if (!quoted) {
    split(line);
  }
  if (quoted) FL_TRY(split_quoted());
  if (!bad() && !names_.empty() && fields_.size() != names_.size())
    fault_row("row must have as many fields as the header");
  return true;
}

void CsvReader::split(std::string_view line) {
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= line.size(); ++at) {
    if (at < line.size() && line[at] != dialect_.separator) continue;
    fields_.push_back({line.substr(begin, at - begin), static_cast<std::int64_t>(begin) + 1});
    begin = at + 1;
  }
}

void CsvReader::split_ruled(std::string_view line) {
  for (const Span span : rule_) {
    const std::string_view field =
        span.begin < line.size() ? line.substr(span.begin, span.length) : std::string_view();
    fields_.push_back({field, static_cast<std::int64_t>(span.begin) + 1});
  }
}

// A quoted field may continue over several lines.
Status CsvReader::split_quoted() {
  record_ = lines_.line();
  for (QuoteScan scan(dialect_.separator); scan.ends_inside(lines_.line());) {
    record_ += lines_.line_end();
    FL_TRY_ASSIGN(more, lines_.next());
    // Continuing would count all rows after a stray quote as one.
    if (!more || record_.size() > kLineBytesMax)
      return input_error("{}: a quote is not closed", where().text());
    record_ += lines_.line();
  }
  for (std::size_t at = 0; at <= record_.size() && !bad();) take_quoted_field(at);
  return {};
}

// Takes the field that begins at `at`, and steps behind its separator. A doubled quote becomes one,
// in place: the text only gets shorter. REQUIRES: every quote of record_ is closed.
void CsvReader::take_quoted_field(std::size_t& at) {
  const std::size_t begin = at;
  std::size_t end = std::min(record_.find(dialect_.separator, at), record_.size());
  const bool quoted = record_[at] == '"';
  if (quoted) {
    end = begin;
    // One behind the end, a std::string has a zero.
    for (++at; record_[at] != '"' || record_[at + 1] == '"'; ++at) {
      if (record_[at] == '"') ++at;
      record_[end++] = record_[at];
    }
    ++at;
  } else {
    at = end;
  }
  fields_.push_back({std::string_view(record_).substr(begin, end - begin),
                     static_cast<std::int64_t>(begin) + 1, quoted});
  if (at < record_.size() && record_[at] != dialect_.separator)
    fault_row("row has text after a closing quote");
  ++at;
}

std::string_view CsvReader::text(Column column) const {
  if (bad() || column >= fields_.size()) return {};
  const Field& field = fields_[column];
  return field.quoted ? field.text : trimmed(field.text);
}

std::int64_t CsvReader::integer(Column column, std::int64_t min, std::int64_t max) {
  FL_DCHECK(min <= max, "from {} to {}", min, max);
  if (column == kMissing || bad()) return 0;
  const Parsed<std::int64_t> value = parse_integer(text(column));
  if (value && *value >= min && *value <= max) return *value;
  fault(column, fmt::format("must be a whole number from {} to {}", min, max));
  return 0;
}

std::int64_t CsvReader::optional_integer(Column column) const {
  return parse_integer(text(column)).value_or(0);
}

double CsvReader::number(Column column) {
  if (column == kMissing || bad()) return 0;
  const Parsed<double> value = parse_number(text(column));
  if (!value) fault(column, value.error());
  return value.value_or(0);
}

Thousandths CsvReader::thousandths(Column column, std::int64_t max) {
  if (column == kMissing || bad()) return {};
  const Parsed<std::int64_t> value = parse_units(text(column), seconds(1));
  if (value && *value >= 1 && *value <= max) return {*value};
  fault(column, fmt::format("must be a number from 0.001 to {}", max / 1000));
  return {};
}

Time CsvReader::time(Column column) { return Time{0} + duration(column); }

Duration CsvReader::duration(Column column) {
  if (column == kMissing || bad()) return {};
  const Parsed<std::int64_t> ms = parse_seconds(text(column));
  if (!ms) fault(column, ms.error());
  return {ms.value_or(0)};
}

Time CsvReader::utc_time(Column column) {
  if (column == kMissing || bad()) return {};
  const Parsed<Time> time = parse_utc_time(text(column));
  if (!time) fault(column, time.error());
  return time.value_or(Time{0});
}

void CsvReader::fault(Column column, std::string_view phrase) {
  FL_CHECK(column < names_.size() && !phrase.empty(), "column {} of {}", column, names_.size());
  if (bad()) return;
  bad_column_ = column;
  reason_ = fmt::format("{} {}", names_[column], phrase);
}

Status CsvReader::set_conditions(const std::vector<RowCondition>& conditions) {
  for (const RowCondition& condition : conditions) {
    const Column column = find_any_case(condition.column);
    if (column == kMissing)
      return input_error("--where: no such column (there are: {}): {}",
                         nearest_first({names_.begin(), names_.end()}, condition.column),
                         condition.column);
    conditions_.push_back({column, condition});
  }
  return {};
}

bool CsvReader::keeps_conditions() const {
  return std::ranges::all_of(conditions_, [&](const ColumnCondition& one) {
    return (text(one.column) == one.condition.value) == one.condition.equal;
  });
}

void CsvReader::skip(std::string_view reason) {
  FL_CHECK(!reason.empty());
  if (bad()) return;
  skipped_ = true;
  fault_row(reason);
}

Status CsvReader::reject(WorkloadBuilder& builder) const {
  FL_CHECK(bad(), "{}: the row is good", where().text());
  if (skipped_) {
    builder.skip(reason_);
    return {};
  }
  const bool has_value = bad_column_ < fields_.size();
  return builder.reject(reason_, where(bad_column_),
                        has_value ? trimmed(fields_[bad_column_].text) : std::string_view());
}

Where CsvReader::where(Column column) const {
  return Where(lines_.name(), line_, column_number(column));
}

std::int64_t CsvReader::column_number(Column column) const {
  return column < fields_.size() ? fields_[column].column : 0;
}

}  // namespace fairlead
