// Some of the jobs of a trace: those of some users, of a span of time, or a sample.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/model/workload.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// A time of a trace: since its time 0, or by the calendar.
struct TraceTime {
  Time time;
  bool is_civil = false;
  friend bool operator==(const TraceTime&, const TraceTime&) = default;
};
// "3600", "2h", "2026-01-31" or "2026-01-31 12:00". Error: it is none of these.
Result<TraceTime> parse_trace_time(std::string_view text);

struct Selection {
  std::optional<TraceTime> from{};   // jobs submitted from then on
  std::optional<TraceTime> to{};     // jobs submitted before
  std::vector<std::string> users{};  // none: all
  // The part of all jobs that is kept: the same ones in each run, by a hash of user and id. A sample is
  // part of every larger one.
  double sample = 1;
  friend bool operator==(const Selection&, const Selection&) = default;
};

// The selected jobs of `workload`, at the times that they had; the others count as rows that are left
// out, by what left them out. Errors: no job is of one of the users; a calendar time where the
// trace has none. O(jobs) time, and a copy of the workload.
Result<Workload> select_jobs(Workload workload, const Selection& selection);

// Names users u1, u2, ..., groups g1, ..., partitions p1, ..., QOS q1, ..., accounts a1, ... and jobs j1, ... by first appearance, and
// removes the calendar. Models, GPU types, sizes and times on the trace's clock stay. O(jobs).
void anonymise(Workload& workload);

}  // namespace fairlead
