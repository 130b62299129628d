// The learned speeds that outlive an engine, by names: of users, models and GPU types.
//
// A saved state continues only under the same policy, options and nodes. Speeds are as true under the next policy and on
// other nodes, so they are beside its records, and not among them. Times are the calendar's, because the time without a
// scheduler counts for the age of a speed.
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/engine/engine.h"
#include "fairlead/pods/gang_speeds.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace fairlead {

struct LearnedByName {
  std::string user, model, gpu_type;  // the type is a product: the same for all nodes with it
  std::uint32_t gpus = 0;
  std::uint32_t tier = 0;
  std::uint32_t asked = 0;
  std::int64_t rate_fixed = 0;
  std::uint32_t measurements = 0;
  std::uint32_t agreeing = 0;
  std::int64_t last_unix_ms = 0;
  void fields(Archive& archive) {
    archive(user, model, gpu_type, gpus, tier, asked, rate_fixed, measurements, agreeing,
            last_unix_ms);
  }
};

struct LearnedSpeeds {
  std::vector<LearnedByName> speeds{};
  GangSpeeds::References references{};
  void fields(Archive& archive) { archive(speeds, references); }

  std::set<std::string> users() const;
  // Teaches an engine the speeds of its users on its GPU types; keeps the others, unless they are too old. `now`: the
  // engine's time at the calendar's `unix_ms`. REQUIRES: called between two steps of the engine.
  void teach(Engine& engine, Time now, std::int64_t unix_ms);
  // Returns all speeds, also the engine's, and the references of their models and of present jobs.
  LearnedSpeeds with(const Engine& engine, const GangSpeeds::References& known, Time now,
                     std::int64_t unix_ms) const;
};

}  // namespace fairlead
