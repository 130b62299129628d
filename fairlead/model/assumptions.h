// The assumptions of a run: facts that its inputs lack, named and counted.
//
// Readers fill in the part about the trace, Speed the part about the table of models. The summary has all of it
// (metrics/assumed.h puts it into words).
#pragma once

#include "fairlead/model/unknown_speed.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fairlead {

// How a trace was read, apart from its rows.
struct TraceReading {
  std::string format;          // empty: the trace was not read from a file
  bool is_recognised = false;  // by its content; false: the format was named
  std::string times;           // time zone, "in UTC"; empty: times are relative to a start
  std::vector<std::string> columns_read;     // for tables with any header: "gpus=NGPUs"
  std::vector<std::string> columns_ignored;  // in the order of the header
  std::int64_t starts_at_ms = 0;             // for calendar times: time 0, in ms since 1970
  // The number of jobs by the end state in their row.
  std::map<std::string, std::int64_t, std::less<>> states;
  friend bool operator==(const TraceReading&, const TraceReading&) = default;
};

struct Assumptions {
  TraceReading trace;
  std::string reference_type;       // GPU type of durations if the trace names none; may be empty
  bool reference_is_named = false;  // by the settings; else the cluster's fastest type
  // On a cluster of several products: the numbers of jobs without a GPU type in their row, and of jobs without a
  // model, which have speed 1 on each product.
  std::int64_t reference_jobs = 0;
  std::int64_t jobs_without_model = 0;
  std::vector<AssumedSpeed> speeds;
  // Whether CPU and memory limit placements, with the number of jobs that this is about; empty: no input states any.
  std::string resources;
  std::int64_t resources_jobs = 0;
  // Facts on limits of users, QOS and accounts, and the number of jobs that each is about.
  std::vector<std::pair<std::string, std::int64_t>> limits;
  std::vector<std::string> implausible;  // oddities of the trace, one sentence each
  friend bool operator==(const Assumptions&, const Assumptions&) = default;
};

}  // namespace fairlead
