// What a run takes for granted because its inputs do not say it, named and counted.
//
// Readers fill in what they made of a trace, Speed what it made of the table of models; the summary
// has all of it (metrics/assumed.h puts it into words).
#pragma once

#include "fairlead/model/unknown_speed.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace fairlead {

// What was made of a trace beside its rows.
struct TraceReading {
  std::string format;                        // empty: it was not read from a file
  bool is_recognised = false;                // by its content: it was not named
  std::string times;                         // of its times: "in UTC"; empty: counted from a start
  std::vector<std::string> columns_read;     // of a table of any header: "gpus=NGPUs"
  std::vector<std::string> columns_ignored;  // in the order of the header
  std::int64_t starts_at_ms = 0;             // of calendar times: time 0, since 1970
  // Jobs by what their row says of their end.
  std::map<std::string, std::int64_t, std::less<>> states;
  friend bool operator==(const TraceReading&, const TraceReading&) = default;
};

struct Assumptions {
  TraceReading trace;
  std::string reference_type;       // of durations where the trace does not say; may be empty
  bool reference_is_named = false;  // by the settings; else it is the cluster's fastest
  // On a cluster of several products: jobs whose rows name no GPU type, and jobs that name no model
  // and so have speed 1 on each.
  std::int64_t reference_jobs = 0;
  std::int64_t jobs_without_model = 0;
  std::vector<AssumedSpeed> speeds;
  std::vector<std::string> implausible;  // what is odd about the trace, a sentence each
  friend bool operator==(const Assumptions&, const Assumptions&) = default;
};

}  // namespace fairlead
