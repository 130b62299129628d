// Finds the first decision in which another policy differs from a recorded run.
//
// The world of the recorded run is rebuilt from its journal, and the other policy runs in it. As long as
// it decides as recorded, the recorded events happen to it too. After the first difference they no longer
// apply, so the replay ends there. The replay checks that the world is the same: up to there, the
// recorded policy must repeat its decisions in it.
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
  std::string policy;    // the other policy: "NAME:opt=value,..."
  std::string cluster;   // the run's cluster, for its links; empty: links do not matter
  std::string trace;     // the run's trace, for its column gpu_type; empty: there is no such column
  ReadFlags read;        // flags for reading the trace
  std::vector<std::string> settings;  // "key=value", in place of the run's settings
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
