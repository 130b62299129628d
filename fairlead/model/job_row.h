// One job as it is asked for: a row of a trace, or of a program that makes its jobs itself.
#pragma once

#include "fairlead/base/units.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace fairlead {

// One job as a reader sees it.
struct JobRow {
  std::string_view id{};
  std::string_view user{};   // empty: "default"
  std::string_view model{};  // empty: none
  std::int64_t gpus = 1;
  std::int64_t gpus_min = 0;  // 0: gpus
  std::int64_t gpus_max = 0;  // 0: gpus
  std::int64_t task_gpus = 1;
  std::int64_t copies_max = 0;  // that it can train as; 0: as many as there are nodes
  Time submit{};
  Duration duration{};
  std::string_view gpu_type{};       // reference type; empty: the run's
  std::string_view runs_on{};        // GPU types, joined by "+"; empty: all of them
  std::string_view require_level{};  // "rack"; empty: none
  std::string_view prefer_level{};
  std::int64_t tickets = 0;        // 0: not named
  std::string_view group{};        // of the user; empty: not named
  std::int64_t group_tickets = 0;  // of the group; 0: not named
  std::int64_t group_quota = 0;    // the same
  Duration time_limit{};           // that its user asked for; 0: not said
  std::int64_t priority = 0;       // under the scheduler that ran it: the higher, the sooner
  std::string_view partition{};    // of that scheduler; empty: not said
  Time start = Time::never();      // under that scheduler; never: not said
  std::string_view state{};     // how it ended, in the words of the trace; empty: it does not say
  std::string_view repaired{};  // what the reader changed, for rows_repaired; empty: nothing

  // Where each field stands in its line, for errors; 0: not known.
  struct Columns {
    std::int64_t id = 0;
    std::int64_t gpus = 0;
    std::int64_t gpus_min = 0;
    std::int64_t gpus_max = 0;
    std::int64_t task_gpus = 0;
    std::int64_t copies_max = 0;
    std::int64_t submit = 0;
    std::int64_t duration = 0;
    std::int64_t tickets = 0;
    std::int64_t group = 0;
    std::int64_t group_tickets = 0;
    std::int64_t group_quota = 0;
    std::int64_t time_limit = 0;
    std::int64_t priority = 0;
    std::int64_t start = 0;
  } columns{};
};

// The most GPUs that one job may ask for, and the most tickets that one user or group may
// have.
constexpr std::int64_t kJobGpusMax = 1'000'000;
constexpr std::int64_t kCopiesMax = 65'535;
constexpr std::int64_t kTicketsMax = 1'000'000;
// Of a job's priority, upwards and downwards; and the partitions of one trace: what comes after them
// has none.
constexpr std::int64_t kPriorityMax = std::int64_t{1} << 40;
constexpr std::size_t kPartitionsMax = 1'000;

// Whether the GPUs of a job stand together in tasks where a trace of others tells it. The native
// format tells it always.
enum class Tasks : std::uint8_t {
  kOfOneGpu,  // as most published simulators have it: a gang may be split over nodes at will
  kAsInTrace,
};

// Rows that are read: those whose column says a value, or does not.
struct RowCondition {
  std::string column;
  std::string value;
  bool equal = true;
};

enum class Reading : std::uint8_t {
  kStrict,   // a bad row is an error
  kLenient,  // a bad row is counted by reason and left out
};

}  // namespace fairlead
