#include "inputs.h"

#include <cmath>
#include <deque>
#include <functional>
#include <nanobind/stl/string.h>
#include <utility>

namespace fairlead::python {
namespace {

namespace nb = nanobind;

// Returns the exception class of an error. The classes are never destroyed, because modules may be torn
// down in any order.
nb::object& class_of(Error::Kind kind) {
  static auto* const input = new nb::object;
  static auto* const run = new nb::object;
  return kind == Error::Kind::kInput ? *input : *run;
}

std::int64_t ms_of(nb::handle value) { return std::llround(nb::cast<double>(value) * 1000); }

using Set = std::function<void(JobRow&, nb::handle)>;

// Returns the function that stores a value of each column in a row.
const std::vector<std::pair<const char*, Set>>& setters(std::deque<std::string>& texts) {
  const auto text = [&texts](std::string_view JobRow::*field) {
    return Set([&texts, field](JobRow& row, nb::handle value) {
      texts.push_back(nb::cast<std::string>(value));
      row.*field = texts.back();
    });
  };
  const auto whole = [](std::int64_t JobRow::*field) {
    return Set(
        [field](JobRow& row, nb::handle value) { row.*field = nb::cast<std::int64_t>(value); });
  };
  static thread_local std::vector<std::pair<const char*, Set>> all;
  all = {
      {"job", text(&JobRow::id)},
      {"user", text(&JobRow::user)},
      {"model", text(&JobRow::model)},
      {"gpu_type", text(&JobRow::gpu_type)},
      {"runs_on", text(&JobRow::runs_on)},
      {"require_level", text(&JobRow::require_level)},
      {"prefer_level", text(&JobRow::prefer_level)},
      {"group", text(&JobRow::group)},
      {"partition", text(&JobRow::partition)},
      {"state", text(&JobRow::state)},
      {"gpus", whole(&JobRow::gpus)},
      {"gpus_min", whole(&JobRow::gpus_min)},
      {"gpus_max", whole(&JobRow::gpus_max)},
      {"task_gpus", whole(&JobRow::task_gpus)},
      {"copies_max", whole(&JobRow::copies_max)},
      {"tickets", whole(&JobRow::tickets)},
      {"group_tickets", whole(&JobRow::group_tickets)},
      {"group_quota", whole(&JobRow::group_quota)},
      {"priority", whole(&JobRow::priority)},
      {"submit_s", [](JobRow& row, nb::handle value) { row.submit = {ms_of(value)}; }},
      {"duration_s", [](JobRow& row, nb::handle value) { row.duration = {ms_of(value)}; }},
      {"time_limit_s", [](JobRow& row, nb::handle value) { row.time_limit = {ms_of(value)}; }},
      {"start_s", [](JobRow& row, nb::handle value) { row.start = {ms_of(value)}; }},
  };
  return all;
}

}  // namespace

void LibraryError::use(nb::object input_error, nb::object run_error) {
  class_of(Error::Kind::kInput) = std::move(input_error);
  class_of(Error::Kind::kRun) = std::move(run_error);
}

void LibraryError::raise(const Error& error) {
  nb::object& type = class_of(error.kind);
  PyErr_SetString(type.is_valid() ? type.ptr() : PyExc_RuntimeError, error.message.c_str());
  throw nb::python_error();
}

Trace trace_of(const std::string& name, nb::dict columns) {
  std::deque<std::string> texts;  // referenced by rows
  std::vector<JobRow> rows;
  for (const auto& [column, set] : setters(texts)) {
    if (!columns.contains(column)) continue;
    const auto values = nb::borrow<nb::list>(columns[column]);
    rows.resize(values.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const nb::object value = values[i];
      if (!value.is_none()) set(rows[i], value);
    }
  }
  return value_or_raise(Trace::of(name, rows));
}

}  // namespace fairlead::python
