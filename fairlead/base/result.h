// Result<T>: a value or an Error, for everything that can fail without a bug in the program: files, options, rows of a
// trace. The names are the same as in std::expected (C++23).
//
// An error message gives the place (file:line:column if known), the problem, and last the offending value:
// "jobs.csv:12:7: gpus must be a whole number from 1 to 100000: x3".
#pragma once

#include <fmt/core.h>
#include <tl/expected.hpp>

#include <string>
#include <utility>

namespace fairlead {

struct Error {
  enum class Kind {
    kInput,  // bad usage or bad input: exit code 2
    kRun,    // the run failed (disk, memory, a child process): exit code 1
  };
  Kind kind = Kind::kInput;
  std::string message;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = tl::expected<void, Error>;

template <class... Args>
tl::unexpected<Error> input_error(fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected(
      Error{Error::Kind::kInput, fmt::format(format, std::forward<Args>(args)...)});
}

template <class... Args>
tl::unexpected<Error> run_error(fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected(Error{Error::Kind::kRun, fmt::format(format, std::forward<Args>(args)...)});
}

}  // namespace fairlead

// Returns the error of `expression` (a Result or Status) from the enclosing function, if it has
// one.
#define FL_TRY(expression)                                   \
  do {                                                       \
    if (auto fl_status = (expression); !fl_status)           \
      return ::tl::unexpected(std::move(fl_status).error()); \
  } while (false)

// Declares `name` with the value of `expression`, or returns its error.
#define FL_TRY_ASSIGN(name, expression)                                                \
  auto fl_result_##name = (expression);                                                \
  if (!fl_result_##name) return ::tl::unexpected(std::move(fl_result_##name).error()); \
  auto name = std::move(*fl_result_##name)
