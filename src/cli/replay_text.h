// The first difference of a replay, for people and for scripts.
#pragma once

#include "fairlead/replay/decisions.h"
#include "fairlead/replay/recorded_world.h"

#include <cstddef>
#include <optional>
#include <string>

namespace fairlead {

struct ReplayResult {
  const RecordedWorld& world;
  std::string policy;      // the other one
  std::size_t agreed = 0;  // decisions before the first difference
  // The first decisions that differ, of which one may be later; both none: there is no difference.
  std::optional<Decision> recorded;
  std::optional<Decision> replayed;
};

std::string replay_text(const ReplayResult& result);
// docs/formats.md has the keys.
std::string replay_json(const ReplayResult& result);

}  // namespace fairlead
