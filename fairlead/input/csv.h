// Tables of separated values: a header, rows, and typed fields with their positions.
//
// Quoting as in RFC 4180: a field in double quotes may contain separators, line ends and doubled quotes. A row
// remembers its first bad field, so a reader takes all fields first and checks once:
//
//   FL_TRY_ASSIGN(gpus, csv.require("gpus"));
//   return add_rows(csv, builder,
//                   [&] { return JobRow{.gpus = csv.integer(gpus, 1, kJobGpusMax)}; });
//
// Rows without quotes cost one pass over the line and no allocation.
#pragma once

#include "fairlead/base/file.h"
#include "fairlead/base/units.h"
#include "fairlead/model/workload.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

struct CsvDialect {
  char separator = ',';
  bool quotes = true;
  // The second line underlines the names with dashes, and each field stands above or below them:
  // no separator.
  bool ruled = false;
};

class CsvReader {
 public:
  // A column's place in each row.
  using Column = std::size_t;
  static constexpr Column kMissing = ~std::size_t{0};

  // Reads `source`, which must outlive this.
  explicit CsvReader(ByteSource& source, CsvDialect dialect = {})
      : lines_(source), dialect_(dialect) {}

  // Reads the line that names the columns; a line "sep=;", as spreadsheets write it, may precede it. Error: the file is
  // empty, or a name occurs twice.
  Status read_header();
  // The file has no header: its columns are these.
  void set_header(std::vector<std::string> names) { names_ = std::move(names); }
  const std::vector<std::string>& header() const { return names_; }

  // Returns the column of that name, or kMissing, and counts it as used by the reader.
  Column find(std::string_view name);
  // Returns the same, but ignores case if no name matches exactly.
  Column find_any_case(std::string_view name);
  // Returns the first of `names` that is in the header. Error: none of them is.
  Result<Column> require(std::initializer_list<std::string_view> names);
  Result<Column> require(std::string_view name) { return require({name}); }
  // The names in the header that were never asked for, in its order.
  std::vector<std::string> unused() const;

  // Goes to the next row and skips empty lines; false at the end. Errors: a read error, or a quote that is never
  // closed. A row with text behind a quote, or with another number of fields than the header, is bad().
  Result<bool> next();

  // Fields of the current row. A missing column, and every field of a bad row, is empty or 0; a
  // field that does not parse makes the row bad.
  std::string_view text(Column column) const;
  std::int64_t integer(Column column, std::int64_t min, std::int64_t max);
  // Returns 0 if the field has another text than a whole number, without a fault.
  std::int64_t optional_integer(Column column) const;
  double number(Column column);
  // A decimal number from 0.001, rounded up to thousandths.
  Thousandths thousandths(Column column, std::int64_t max);
  Time time(Column column);
  Duration duration(Column column);
  // A calendar time, in milliseconds since 1970 (civil_time.h).
  Time utc_time(Column column);
  // Makes the row bad because of one field, unless it is already.
  void fault(Column column, std::string_view phrase);

  // Whether the row keeps the conditions: the next rows are read with them. Error: no such column.
  Status set_conditions(const std::vector<RowCondition>& conditions);
  bool keeps_conditions() const;

  // Makes the row bad, but no error in any reading: it is not meant to be a job.
  void skip(std::string_view reason);

  bool bad() const { return !reason_.empty(); }
  // Reports the bad row. REQUIRES: bad().
  Status reject(WorkloadBuilder& builder) const;
  // Returns the position at which the row, or one of its fields, starts.
  Where where(Column column = kMissing) const;
  std::int64_t column_number(Column column) const;

 private:
  struct Field {
    std::string_view text;
    std::int64_t column = 0;
    bool quoted = false;  // blanks at its ends belong to it
  };
  void split(std::string_view line);
  void split_ruled(std::string_view line);
  Status read_rule();
  Status split_quoted();
  void take_quoted_field(std::size_t& at);
  void fault_row(std::string_view reason) { reason_ = reason; }

  LineReader lines_;
  CsvDialect dialect_;
  std::vector<std::string> names_;
  struct Span {
    std::size_t begin = 0;
    std::size_t length = 0;
  };
  std::vector<Span> rule_;  // the runs of dashes
  struct ColumnCondition {
    Column column = kMissing;
    RowCondition condition;
  };
  std::vector<ColumnCondition> conditions_;
  std::vector<bool> used_;  // by column, of a header that was read
  std::vector<Field> fields_;
  std::int64_t line_ = 0;  // the first of the row
  std::string record_;     // text of a row with quotes, which are removed in place
  std::string reason_;     // why the row is bad; empty: it is not
  Column bad_column_ = kMissing;
  bool skipped_ = false;  // the row is bad because of skip()
};

// Passes the rest of `csv` to `builder`. `row_of()` makes a JobRow of the current row; a row of 0
// GPUs is counted as "no GPU".
template <class RowOf>
Status add_rows(CsvReader& csv, WorkloadBuilder& builder, RowOf row_of) {
  FL_TRY(csv.set_conditions(builder.conditions()));
  for (;;) {
    FL_TRY_ASSIGN(more, csv.next());
    if (!more) break;
    if (!csv.keeps_conditions()) csv.skip("left out by --where");
    const JobRow row = row_of();
    if (!csv.bad() && row.gpus == 0) csv.skip("no GPU");
    FL_TRY(csv.bad() ? csv.reject(builder) : builder.add(row, csv.where()));
  }
  builder.ignore_columns(csv.unused());
  return {};
}

}  // namespace fairlead
