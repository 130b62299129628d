#include "inputs.h"

#include <fmt/format.h>

#include <cmath>
#include <deque>
#include <nanobind/stl/string.h>
#include <string_view>
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

// Returns a number in thousandths: of a second, of a CPU.
std::int64_t thousandths_in(nb::handle value) {
  return std::llround(nb::cast<double>(value) * 1000);
}

// Puts a value into the field of a row that is the column of that name.
class SetField {
 public:
  SetField(std::string_view column, nb::handle value, std::deque<std::string>& texts)
      : column_(column), value_(value), texts_(texts) {}

  void operator()(std::string_view name, auto& field, const JobRow::Column&) {
    if (name == column_) set(field);
  }
  template <class T>
  void extra(std::string_view name, T& field, const ValueRange<T>& range) {
    if (name != column_) return;
    const auto value = nb::cast<std::int64_t>(value_);
    if (!range.has(value))
      LibraryError::raise({Error::Kind::kInput, fmt::format("{} must be from {} to {}: {}", name,
                                                            range.min, range.max, value)});
    field = static_cast<T>(value);
  }

 private:
  void set(std::string_view& text) { text = texts_.emplace_back(nb::cast<std::string>(value_)); }
  void set(std::int64_t& number) { number = nb::cast<std::int64_t>(value_); }
  void set(Thousandths& number) { number = {thousandths_in(value_)}; }
  void set(Time& time) { time = {thousandths_in(value_)}; }
  void set(Duration& length) { length = {thousandths_in(value_)}; }

  std::string_view column_;
  nb::handle value_;
  std::deque<std::string>& texts_;
};

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
  for (const auto& [column, list] : columns) {
    const auto name_of_column = nb::cast<std::string>(column);
    const auto values = nb::borrow<nb::list>(list);
    rows.resize(values.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const nb::object value = values[i];
      if (value.is_none()) continue;
      SetField set(name_of_column, value, texts);
      JobRow::fields(rows[i], set);
    }
  }
  return value_or_raise(Trace::of(name, rows));
}

}  // namespace fairlead::python
