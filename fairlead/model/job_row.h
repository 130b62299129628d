// One job as it is asked for: a row of a trace, or of a program that makes its jobs itself.
#pragma once

#include "fairlead/base/units.h"
#include "fairlead/model/job_asks.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace fairlead {

// The most GPUs that one job may ask for, and the most tickets that one user or group may
// have.
constexpr std::int64_t kJobGpusMax = 1'000'000;
constexpr std::int64_t kTicketsMax = 1'000'000;
// The limits of a job's priority, in both directions, and of the partitions of one trace. Jobs of
// further partitions have none.
constexpr std::int64_t kPriorityMax = std::int64_t{1} << 40;
constexpr std::size_t kPartitionsMax = 1'000;

// One job as a reader sees it.
struct JobRow {
  std::string_view id{};
  std::string_view user{};   // empty: "default"
  std::string_view model{};  // empty: none
  std::int64_t gpus = 1;
  std::int64_t gpus_min = 0;  // 0: gpus
  std::int64_t gpus_max = 0;  // 0: gpus
  std::int64_t task_gpus = 1;
  CpuMemory asks{};  // CPU and memory for a gang of `gpus` GPUs
  JobExtras extras{};
  Time submit{};
  Duration duration{};
  std::string_view gpu_type{};       // reference type; empty: the run's
  std::string_view runs_on{};        // GPU types, joined by "+"; empty: all of them
  std::string_view require_level{};  // "rack"; empty: none
  std::string_view prefer_level{};
  std::int64_t tickets = 0;        // 0: not named
  std::string_view group{};        // group of the user; empty: not named
  std::int64_t group_tickets = 0;  // tickets of the group; 0: not named
  std::int64_t group_quota = 0;    // the same
  Logged logged{};
  std::string_view partition{};  // partition in the log's scheduler; empty: unknown
  std::string_view qos{};        // its QOS there; empty: unknown
  std::string_view account{};    // its account there; empty: unknown
  std::string_view state{};      // how it ended, in the words of the trace; empty: unknown
  std::string_view repaired{};   // the reader's change, for rows_repaired; empty: none

  // The position of each field in its line, for errors; 0: not known.
  struct Columns {
    std::int64_t id = 0;
    std::int64_t gpus = 0;
    std::int64_t gpus_min = 0;
    std::int64_t gpus_max = 0;
    std::int64_t task_gpus = 0;
    std::int64_t cpus = 0;
    std::int64_t memory_gb = 0;
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

  // A column of Fairlead's own format.
  enum class Presence : std::uint8_t {
    kOptional,
    kWritten,   // reading accepts a trace without it
    kRequired,  // and written
  };
  struct Column {
    Presence presence = Presence::kOptional;
    std::int64_t Columns::*place = nullptr;  // place of the field; null: none
    std::int64_t min = 1, max = 0;           // limits of a number
    std::int64_t usual = 0;                  // number that rows have if the column is missing
  };
  // Visits the columns of Fairlead's own format in its order: visit(name, field, column), and
  // visit.extra(name, field, range) for extras. An empty field of an optional column stands for the default of the field.
  static void fields(auto& self, auto& visit) {
    using enum Presence;
    visit("job", self.id, Column{kRequired, &Columns::id});
    visit("user", self.user, Column{kWritten});
    visit("model", self.model, Column{kWritten});
    visit("gpus", self.gpus, Column{kRequired, &Columns::gpus, 1, kJobGpusMax});
    visit("submit_s", self.submit, Column{kRequired, &Columns::submit});
    visit("duration_s", self.duration, Column{kRequired, &Columns::duration});
    visit("gpus_min", self.gpus_min,
          Column{kOptional, &Columns::gpus_min, 1, kJobGpusMax, self.gpus});
    visit("gpus_max", self.gpus_max,
          Column{kOptional, &Columns::gpus_max, 1, kJobGpusMax, self.gpus});
    visit("task_gpus", self.task_gpus, Column{kOptional, &Columns::task_gpus, 1, kJobGpusMax, 1});
    visit("cpus", self.asks.cpus, Column{kOptional, &Columns::cpus, 1, kThousandthsMax});
    visit("memory_gb", self.asks.memory_gb,
          Column{kOptional, &Columns::memory_gb, 1, kThousandthsMax});
    JobExtras::each(self.extras, [&](const char* name, auto& field, const auto& range) {
      visit.extra(name, field, range);
    });
    visit("tickets", self.tickets, Column{kOptional, &Columns::tickets, 1, kTicketsMax, 1});
    visit("gpu_type", self.gpu_type, Column{});
    visit("runs_on", self.runs_on, Column{});
    visit("require_level", self.require_level, Column{});
    visit("prefer_level", self.prefer_level, Column{});
    visit("group", self.group, Column{kOptional, &Columns::group});
    visit("group_tickets", self.group_tickets,
          Column{kOptional, &Columns::group_tickets, 1, kTicketsMax, 1});
    visit("group_quota", self.group_quota,
          Column{kOptional, &Columns::group_quota, 1, kJobGpusMax});
    visit("state", self.state, Column{});
    visit("time_limit_s", self.logged.time_limit, Column{kOptional, &Columns::time_limit});
    visit("priority", self.logged.priority,
          Column{kOptional, &Columns::priority, -kPriorityMax, kPriorityMax});
    visit("partition", self.partition, Column{});
    visit("qos", self.qos, Column{});
    visit("account", self.account, Column{});
    visit("start_s", self.logged.start, Column{kOptional, &Columns::start});
  }
};

// Whether the reader of a foreign format keeps the tasks of a job, if the trace has them. The native
// format always has tasks.
enum class Tasks : std::uint8_t {
  kOfOneGpu,  // as most published simulators have it: a gang may be split over nodes at will
  kAsInTrace,
};

// A filter of rows by a column: equal to a value, or not.
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
