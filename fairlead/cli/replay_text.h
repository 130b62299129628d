// The first difference of a replay, for people and for scripts.
#pragma once

#include "fairlead/replay/replay.h"

#include <cstddef>
#include <optional>
#include <string>

namespace fairlead {

std::string replay_text(const ReplayResult& result);
// docs/formats.md has the keys.
std::string replay_json(const ReplayResult& result);

}  // namespace fairlead
