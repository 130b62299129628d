// What is announced of a user and of a job when the world first hears of them: the one door through
// which the tables grow, in simulation and live alike.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"
#include "fairlead/model/cluster.h"
#include "fairlead/model/levels.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace fairlead {

struct GroupSpec {
  GroupId group{};  // its row: that after the last
  std::string_view name{};
  std::int64_t tickets = 1;  // at least 1
  std::int64_t quota = 0;    // GPUs that its users may hold together; 0: any number
};

struct UserSpec {
  UserId user{};  // its row: that after the last
  std::string_view name{};
  std::int64_t tickets = 1;  // at least 1
  GroupId group{};           // one that was announced, or none
};

struct JobSpec {
  // Its row, which nothing has had before. Rows may come in any order; those between stay empty
  // until their jobs come. A trace's job keeps its place in the input, whenever it arrives.
  JobId job{};
  UserId user{};  // one that was announced
  std::string_view name{};
  std::string_view model{};  // empty: none is named
  std::uint32_t gpus = 1;    // at least 1; gpus_min <= gpus <= gpus_max
  std::uint32_t gpus_min = 1;
  std::uint32_t gpus_max = 1;
  // Of each task, all on one node; at least 1. Divides gpus, gpus_min and gpus_max.
  std::uint32_t task_gpus = 1;
  Closeness closeness{};
  std::uint32_t copies_max = 0;  // that it can train as, one a node; 0: as many as there are nodes
  TypeMask types = kAllTypes;    // GPU types on which it can run
  Duration work{};               // at speed 1, that is with the reference gang; 0: not said
  Time submit{};
  // What the log of another scheduler says beside this (Logged in jobs.h).
  Duration time_limit{};
  std::int64_t priority = 0;
  std::string_view partition{};
  Time logged_start = Time::never();

  bool is_logged() const {
    return time_limit.ms != 0 || priority != 0 || !partition.empty() ||
           logged_start != Time::never();
  }
};

}  // namespace fairlead
