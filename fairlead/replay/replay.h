// Where another policy would first have decided differently from a recorded run.
//
// The world of the recorded run is rebuilt from its journal, and the other policy runs in it. As
// long as its decisions are those of the record, so is everything that happens to it; after the
// first difference the recorded future is no longer its own, so the replay ends there. That the
// world is the same is checked: in it, the recorded policy must do again what it did up to there.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/replay/decisions.h"
#include "fairlead/replay/recorded_world.h"
#include "fairlead/trace/read_flags.h"

#include <optional>
#include <string>
#include <vector>

namespace fairlead {

struct ReplayRequest {
  std::string recorded;  // a result folder, or the journal in it
  std::string policy;    // the other one: "NAME:opt=value,..."
  std::string cluster;   // that of the run, for its links; empty: they do not matter
  std::string trace;     // that of the run, for its column gpu_type; empty: it has none
  ReadFlags read;        // of that trace
  std::vector<std::string> settings;  // "key=value", instead of those of the run
};

struct ReplayResult {
  RecordedWorld world;
  std::string policy;      // the other one
  std::size_t agreed = 0;  // decisions before the first difference
  // The first decisions that differ, of which one may be later; both none: there is no difference.
  std::optional<Decision> recorded;
  std::optional<Decision> replayed;
};

// Errors: the journal is damaged; no such policy, cluster, trace or setting; the run cannot be
// rebuilt with these settings. Costs at most two runs.
Result<ReplayResult> replay(const ReplayRequest& request);

}  // namespace fairlead
