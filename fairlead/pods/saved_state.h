// The recorded state that a Kubernetes scheduler leaves to the next one: a condensed journal
// (Engine::condense), and the owner of each job. It contains the policy's passes, debts and timers, and
// the GPU time of jobs; the placements of gangs are in the cluster.
//
// Format: a zstd frame with its checksum. Its content, by base/bytes.h: the version, the engine's time and
// the calendar's, jobs with the uids of their owners, from version 2 on the learned speeds, then the records in a
// journal's encoding.
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/base/result.h"
#include "fairlead/engine/engine.h"
#include "fairlead/engine/recovery.h"
#include "fairlead/pods/learned_speeds.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

namespace fairlead {

struct SavedState {
  Time time;                 // the engine's time
  std::int64_t unix_ms = 0;  // the calendar's time then
  std::map<JobId, std::string> owners;
  LearnedSpeeds learned{};
  RecordedRun run;

  // Archives everything except the speeds, which follow, and the run, which follows as records.
  void fields(Archive& archive) { archive(time, unix_ms, owners); }

  // Returns the engine's time for a calendar time; it never goes back.
  Time time_at(std::int64_t now_unix_ms) const {
    return time + milliseconds(std::max<std::int64_t>(0, now_unix_ms - unix_ms));
  }
};

// Returns the bytes; none while there is nothing worth saving. REQUIRES: the conditions of
// Engine::condense; `time` is not before the engine's.
std::string save_state(const Engine& engine, const RunLabel& label,
                       const std::map<JobId, std::string>& owners, LearnedSpeeds learned, Time time,
                       std::int64_t unix_ms);

// Parses a saved state. Error, with the reason: it is not one.
Result<SavedState> parse_state(std::string_view bytes);

// Returns whether an engine with that label and cluster can continue from the state. Error: it has another policy, other
// options or other nodes.
Status fits(const SavedState& state, const RunLabel& label, const Cluster& cluster);

}  // namespace fairlead
