// What policies may be told of speeds and of work: the words in which they ask for it (Needs of
// policy/policy.h). What answers is model/known_speed.h and model/known_work.h.
#pragma once

#include <cstdint>

namespace fairlead {

// Of speeds.
enum class RatesNeeded : std::uint8_t {
  kNone,
  kProfiled,  // measured during runs
  kTable,     // the whole table from the start
};

// Where the work that a job has left comes from. By rising trust.
enum class WorkSource : std::uint8_t {
  kNone,  // a guess
  kHistory,
  kDeclared,  // when the job was submitted
  kReported,  // by the job itself
  kExact,
};

}  // namespace fairlead
