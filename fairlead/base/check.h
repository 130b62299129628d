// FL_CHECK states a condition that holds unless the program has a bug. A failed check prints the place, the condition
// and the message, and aborts in every build: a scheduler that continued with inconsistent tables would give wrong
// answers silently. Bad input is never a bug: it is returned as an Error (result.h).
//
// FL_DCHECK is for checks that cost more than O(1) or sit in the innermost loops; release builds
// compile them, but never evaluate them.
#pragma once

#include <fmt/core.h>

#include <string>

namespace fairlead::internal {

[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& message);

}  // namespace fairlead::internal

#define FL_CHECK(condition, ...)                                         \
  do {                                                                   \
    if (!(condition)) [[unlikely]]                                       \
      ::fairlead::internal::check_failed(__FILE__, __LINE__, #condition, \
                                         ::fmt::format("" __VA_ARGS__)); \
  } while (false)

#ifdef FAIRLEAD_DCHECKS
#define FL_DCHECK(condition, ...) FL_CHECK(condition, ##__VA_ARGS__)
#else
#define FL_DCHECK(condition, ...)                  \
  do {                                             \
    if (false) FL_CHECK(condition, ##__VA_ARGS__); \
  } while (false)
#endif
