#include "fairlead/trace/convert.h"

#include "fairlead/base/file.h"

#include <fmt/format.h>

#include <iterator>
#include <vector>

namespace fairlead {
namespace {

bool is_said(std::string_view text) { return !text.empty(); }
bool is_said(std::int64_t number) { return number != 0; }
bool is_said(Thousandths number) { return number.value != 0; }
bool is_said(Duration length) { return length != Duration(); }
bool is_said(Time time) { return time != Time::never(); }

// Finds the columns that some row needs.
class NeededColumns {
 public:
  void look(const JobRow& row) {
    next_ = 0;
    JobRow::fields(row, *this);
  }
  void operator()(const char* /*name*/, std::int64_t number, const JobRow::Column& column) {
    add(is_written(column) || (is_said(number) && number != column.usual));
  }
  void operator()(const char* /*name*/, const auto& field, const JobRow::Column& column) {
    add(is_written(column) || is_said(field));
  }
  void extra(const char* /*name*/, auto value, const auto& /*range*/) { add(value != 0); }

  // In the order of JobRow::fields.
  const std::vector<bool>& columns() const { return columns_; }

 private:
  static bool is_written(const JobRow::Column& column) {
    return column.presence != JobRow::Presence::kOptional;
  }
  void add(bool is_needed) {
    if (next_ == columns_.size()) columns_.push_back(false);
    if (is_needed) columns_[next_] = true;
    ++next_;
  }

  std::vector<bool> columns_;
  std::size_t next_ = 0;
};

// Writes the names of the needed columns.
class Header {
 public:
  Header(const std::vector<bool>& needed, std::string& text) : needed_(needed), text_(text) {}

  void operator()(const char* name, const auto& /*field*/, const JobRow::Column& /*column*/) {
    add(name);
  }
  void extra(const char* name, auto /*value*/, const auto& /*range*/) { add(name); }

 private:
  void add(const char* name) {
    if (needed_[next_++]) text_.append(name) += ',';
  }

  const std::vector<bool>& needed_;
  std::string& text_;
  std::size_t next_ = 0;
};

// Writes the fields of a row in the needed columns; a field without a value is empty.
class Fields {
 public:
  Fields(const std::vector<bool>& needed, std::string& text) : needed_(needed), text_(text) {}

  void operator()(const char* /*name*/, const auto& field, const JobRow::Column& /*column*/) {
    if (needed_[next_++]) add(field);
  }
  void extra(const char* /*name*/, std::uint32_t value, const auto& /*range*/) {
    if (needed_[next_++]) add(std::int64_t{value});
  }

 private:
  void add(const auto& field) {
    if (is_said(field)) write(field);
    text_ += ',';
  }
  void write(std::string_view name) {
    const bool blank_end = name.starts_with(' ') || name.starts_with('\t') || name.ends_with(' ') ||
                           name.ends_with('\t');
    if (!blank_end && name.find_first_of(",\"\r\n") == name.npos) {
      text_ += name;
    } else {
      write_quoted(name);
    }
  }
  void write_quoted(std::string_view name) {
    text_ += '"';
    for (const char c : name) text_.append(c == '"' ? 2 : 1, c);
    text_ += '"';
  }
  void write(std::int64_t number) { fmt::format_to(std::back_inserter(text_), "{}", number); }
  void write(Thousandths number) {
    fmt::format_to(std::back_inserter(text_), "{}.{:03}", number.value / 1000, number.value % 1000);
    text_.erase(text_.find_last_not_of('0') + 1);
    if (text_.back() == '.') text_.pop_back();
  }
  void write(Duration length) { write(Thousandths{length.ms}); }
  void write(Time time) { write(time - Time()); }

  const std::vector<bool>& needed_;
  std::string& text_;
  std::size_t next_ = 0;
};

// Returns the row of a job on the calendar, if the times of the trace are calendar times.
JobRow dated_row(const Workload& workload, JobId job) {
  JobRow row = row_of(workload, job);
  if (workload.reading.times.empty()) return row;
  const Duration start{workload.reading.starts_at_ms};
  row.submit = row.submit + start;
  if (row.logged.start != Time::never()) row.logged.start = row.logged.start + start;
  return row;
}

}  // namespace

void write_native(const Workload& workload, const std::function<void(std::string_view)>& write) {
  NeededColumns needed;
  needed.look({});
  for (const JobId job : ids<JobId>(workload.jobs.size())) needed.look(row_of(workload, job));
  std::string text;
  const auto write_line = [&](const JobRow& row, auto visit) {
    JobRow::fields(row, visit);
    text.back() = '\n';
    write(text);
    text.clear();
  };
  write_line({}, Header(needed.columns(), text));
  for (const JobId job : ids<JobId>(workload.jobs.size()))
    write_line(dated_row(workload, job), Fields(needed.columns(), text));
}

Status write_native(const Workload& workload, const std::filesystem::path& path) {
  FL_TRY_ASSIGN(file, OutputFile::create(path));
  write_native(workload, [&](std::string_view text) { file.write(text); });
  return file.commit();
}

}  // namespace fairlead
