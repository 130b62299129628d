// Results that a benchmark cannot go on without.
#pragma once

#include "fairlead/base/result.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace fairlead {

// Returns the value, or ends the program with the error's message.
template <class T>
T valid(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "bench: %s\n", result.error().message.c_str());
  std::exit(2);
}

}  // namespace fairlead
