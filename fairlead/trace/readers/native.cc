// Fairlead's own format (docs/formats.md). JobRow lists its columns; iterations is accepted and ignored. In strict
// reading an unknown column is an error. Times from the year 2000 on are Unix times.

#include "fairlead/input/civil_time.h"
#include "fairlead/input/csv.h"
#include "fairlead/trace/readers/readers.h"

#include <algorithm>
#include <vector>

namespace fairlead {
namespace {

using Presence = JobRow::Presence;

// Finds the columns in the header, in the order of JobRow::fields.
class FindColumns {
 public:
  explicit FindColumns(CsvReader& csv) : csv_(csv) {}

  void operator()(const char* name, const auto& /*field*/, const JobRow::Column& column) {
    find(name, column.presence);
  }
  void extra(const char* name, const auto& /*field*/, const auto& /*range*/) {
    find(name, Presence::kOptional);
  }

  Result<std::vector<CsvReader::Column>> columns() const {
    if (missing_ != nullptr) FL_TRY(csv_.require(missing_));
    return columns_;
  }
  Status check_names() const {
    const auto& header = csv_.header();
    for (CsvReader::Column column = 0; column < header.size(); ++column) {
      if (header[column] != "iterations" && std::ranges::count(names_, header[column]) == 0)
        return input_error("{}: unknown column: {}", csv_.where(column).text(), header[column]);
    }
    return {};
  }

 private:
  void find(const char* name, Presence presence) {
    names_.emplace_back(name);
    columns_.push_back(csv_.find(name));
    const bool is_missing = columns_.back() == CsvReader::kMissing;
    if (presence == Presence::kRequired && is_missing && missing_ == nullptr) missing_ = name;
  }

  CsvReader& csv_;
  std::vector<std::string_view> names_;
  std::vector<CsvReader::Column> columns_;
  const char* missing_ = nullptr;  // the first required column that the header lacks
};

// Reads the fields of the current row.
class ReadRow {
 public:
  ReadRow(CsvReader& csv, const std::vector<CsvReader::Column>& at, JobRow::Columns& places)
      : csv_(csv), at_(at), places_(places) {}

  void operator()(const char* /*name*/, auto& field, const JobRow::Column& column) {
    const CsvReader::Column at = at_[next_++];
    if (column.place != nullptr) places_.*column.place = csv_.column_number(at);
    if (column.presence != Presence::kOptional || !csv_.text(at).empty()) read(field, at, column);
  }
  template <class T>
  void extra(const char* /*name*/, T& field, const ValueRange<T>& range) {
    const CsvReader::Column at = at_[next_++];
    if (!csv_.text(at).empty()) field = static_cast<T>(csv_.integer(at, range.min, range.max));
  }

 private:
  void read(std::string_view& text, CsvReader::Column at, const JobRow::Column&) {
    text = csv_.text(at);
  }
  void read(std::int64_t& number, CsvReader::Column at, const JobRow::Column& column) {
    number = csv_.integer(at, column.min, column.max);
  }
  void read(Thousandths& number, CsvReader::Column at, const JobRow::Column& column) {
    number = csv_.thousandths(at, column.max);
  }
  void read(Time& time, CsvReader::Column at, const JobRow::Column&) { time = csv_.time(at); }
  void read(Duration& length, CsvReader::Column at, const JobRow::Column&) {
    length = csv_.duration(at);
  }

  CsvReader& csv_;
  const std::vector<CsvReader::Column>& at_;
  JobRow::Columns& places_;
  std::size_t next_ = 0;
};

bool is_native(const TraceHead& head) { return head.has(',', {"job", "submit_s"}); }

Status read_native(ByteSource& source, const ReadOptions& /*options*/, WorkloadBuilder& builder) {
  CsvReader csv(source);
  FL_TRY(csv.read_header());
  FindColumns find(csv);
  const JobRow none;
  JobRow::fields(none, find);
  if (builder.reading() == Reading::kStrict) FL_TRY(find.check_names());
  FL_TRY_ASSIGN(columns, find.columns());
  FL_TRY(add_rows(csv, builder, [&] {
    JobRow row;
    ReadRow read(csv, columns, row.columns);
    JobRow::fields(row, read);
    return row;
  }));
  const Time first = builder.first_arrival();
  if (first < kYear2000 || first == Time::never()) return {};
  builder.say_times("Unix times");
  builder.start_at_zero();
  return {};
}

}  // namespace

const TraceFormat kNativeFormat = {
    .name = "native",
    .file = "Fairlead's own CSV, described above",
    .needs = "job,gpus,submit_s,duration_s",
    .reading = Reading::kStrict,
    .rank = 2,
    .is = &is_native,
    .read = &read_native,
};

}  // namespace fairlead
