// The announcements of users and jobs, which add them to the tables. There is no other way to add
// them, both in simulation and live.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"
#include "fairlead/model/cluster.h"
#include "fairlead/model/job_asks.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace fairlead {

struct GroupSpec {
  GroupId group{};  // its row: that after the last
  std::string_view name{};
  std::int64_t tickets = 1;  // at least 1
  std::int64_t quota = 0;    // GPUs that its users may have together; 0: any number
};

struct UserSpec {
  UserId user{};  // its row: that after the last
  std::string_view name{};
  std::int64_t tickets = 1;  // at least 1
  GroupId group{};           // one that was announced, or none
};

// The one description of a job: its announcement, its record in the journal, and its row of the columns
// of Jobs. fields() lists the attributes with the names and the order of a dump of the journal.
struct JobSpec {
  // Its row, which nothing has had before. Rows may come in any order; those between stay empty
  // until their jobs come. A trace's job keeps its place in the input, whenever it arrives.
  JobId job{};
  UserId user{};  // one that was announced
  std::string_view name{};
  std::string_view model{};  // empty: none is named
  std::uint32_t gpus = 1;    // gpus_min <= gpus <= gpus_max, at least 1; all 0: it needs no GPU
  std::uint32_t gpus_min = 1;
  std::uint32_t gpus_max = 1;
  // GPUs of each task, all on one node; at least 1. Divides gpus, gpus_min and gpus_max.
  std::uint32_t task_gpus = 1;
  Closeness closeness{};
  JobExtras extras{};
  TypeMask types = kAllTypes;  // GPU types on which it can run
  Duration work{};             // at speed 1, that is with the reference gang; 0: unknown
  Time submit{};
  Logged logged{};
  std::string_view partition{};  // partition in the log's scheduler; empty: unknown

  bool is_logged() const { return logged != Logged() || !partition.empty(); }

  // Visits all fields except `submit`. The visitor is one of records (journal/record.h).
  static void fields(auto& self, auto& visit) {
    visit("job", self.job);
    visit("user", self.user);
    visit("name", self.name);
    visit("model", self.model);
    visit("gpus", self.gpus);
    visit("gpus_min", self.gpus_min);
    visit("gpus_max", self.gpus_max);
    visit.unless(1U, "task_gpus", self.task_gpus);
    JobExtras::each(self.extras, [&](const char* key, auto& field, const auto& range) {
      visit.extra(key, field, range);
    });
    visit.unless(kAnywhere, "required_level", self.closeness.required);
    visit.unless(kAnywhere, "preferred_level", self.closeness.preferred);
    visit("types", self.types);
    visit("work_ms", self.work);
    if (!self.is_logged()) return;
    visit("time_limit_ms", self.logged.time_limit);
    visit("priority", self.logged.priority);
    visit("partition", self.partition);
    visit.unless(Time::never(), "logged_start_ms", self.logged.start);
  }
  // Replaces each text by keep(text).
  void keep_texts(const auto& keep) {
    for (std::string_view* text : {&name, &model, &partition}) *text = keep(*text);
  }
};

}  // namespace fairlead
