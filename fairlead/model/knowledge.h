// Kinds of knowledge about speeds and work that a policy can request (Needs in policy/policy.h).
// known_speed.h and known_work.h give the answers.
#pragma once

#include <cstdint>

namespace fairlead {

// Speeds that a policy needs.
enum class RatesNeeded : std::uint8_t {
  kNone,
  kProfiled,  // measured during runs
  kTable,     // the whole table from the start
};

// Sources of the work that a job has left, the least trusted first.
enum class WorkSource : std::uint8_t {
  kNone,  // a guess
  kHistory,
  kDeclared,  // when the job was submitted
  kReported,  // by the job itself
  kExact,
};

}  // namespace fairlead
