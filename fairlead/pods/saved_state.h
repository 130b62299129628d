// What a scheduler of pods leaves to the next one: a condensed journal (Engine::condense), and which
// job is whose. It is what policies remember of passes, debts and timers, and what jobs were served;
// where gangs are, the cluster says.
//
// Format: a frame of zstd with its checksum; in it, by base/bytes.h: the version, the engine's time and
// the calendar's, jobs with the uids of their owners, then the records as a journal has them.
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/base/result.h"
#include "fairlead/engine/engine.h"
#include "fairlead/engine/recovery.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

namespace fairlead {

struct SavedState {
  Time time;                 // of the engine
  std::int64_t unix_ms = 0;  // then
  std::map<JobId, std::string> owners;
  RecordedRun run;

  // Archives all but the run, which follows as records.
  void fields(Archive& archive) { archive(time, unix_ms, owners); }

  // The engine's time where the calendar says `now`; it never goes back.
  Time time_at(std::int64_t now_unix_ms) const {
    return time + milliseconds(std::max<std::int64_t>(0, now_unix_ms - unix_ms));
  }
};

// The bytes; none while there is nothing worth saving. REQUIRES: as Engine::condense; `time` is not
// before the engine's.
std::string save_state(const Engine& engine, const RunLabel& label,
                       const std::map<JobId, std::string>& owners, Time time, std::int64_t unix_ms);

// Error: it is none, or of another policy, of other options or of other nodes than `cluster`'s, and
// which of these.
Result<SavedState> parse_state(std::string_view bytes, const RunLabel& label,
                               const Cluster& cluster);

}  // namespace fairlead
