// The options of an engine, which hold for its whole life.
#pragma once

#include "fairlead/base/units.h"
#include "fairlead/model/known_work.h"
#include "fairlead/model/profile_options.h"

#include <cstddef>
#include <cstdint>

namespace fairlead {

struct EngineOptions {
  Time until = Time::never();  // the clock stops there
  ProfileOptions profiles{};   // how policies learn speeds from runs
  WorkOptions work{};          // how policies estimate the remaining work of jobs
  std::size_t jobs = 0;        // preallocated room, in jobs
  // If the world is further ahead than this, wake-ups up to its present are one decision.
  Duration slack{Time::never().ms};
  // A job whose start failed is held for retry_first, twice as long after each further failure in a
  // row, at most for retry_max; after starts_max failures in a row it has failed.
  Duration retry_first = seconds(10);
  Duration retry_max = seconds(3600);
  std::uint32_t starts_max = 10;
  // A node on which the starts of that many different jobs have failed, and none succeeded since, is
  // cordoned.
  std::uint32_t cordon_after = 3;
};

}  // namespace fairlead
