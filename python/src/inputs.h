// Converts Python values to the inputs of a simulation.
#pragma once

#include "fairlead/run/trace.h"

#include <nanobind/nanobind.h>
#include <string>
#include <vector>

namespace fairlead::python {

// Errors of the library as exceptions: InputError and RunError of the package.
class LibraryError {
 public:
  // REQUIRES: called once, with the package's classes.
  static void use(nanobind::object input_error, nanobind::object run_error);
  [[noreturn]] static void raise(const Error& error);
};

template <class T>
T value_or_raise(Result<T> result) {
  if (!result) LibraryError::raise(result.error());
  return std::move(*result);
}

// Columns by name, each a list with a value for each job, already checked by fairlead._trace.
Trace trace_of(const std::string& name, nanobind::dict columns);

}  // namespace fairlead::python
