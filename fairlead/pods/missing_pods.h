// Gangs with pods that cannot be bound: some do not exist, or have scheduling gates.
//
// Such a gang must not hold GPUs. It gives its place back after a while, and gets none again before a pause. Both grow
// with each failed attempt, because an owner may take long to make its pods.
#pragma once

#include "fairlead/base/units.h"

#include <map>
#include <string>
#include <vector>

namespace fairlead {

// Time for which pods may be missing at the first attempt (chosen: a Job controller makes them within a second).
constexpr Duration kMissingLimit = seconds(10);
// Longest such time, and longest pause after an attempt (chosen).
constexpr Duration kMissingLimitMax = seconds(300);

class MissingPods {
 public:
  // Called at each look at a gang that has not started. `why`: why its pods cannot be bound now; empty: they can.
  // `has_place`: GPUs are reserved for it. Returns true if it must have no place now.
  bool look(const std::string& key, const std::string& why, bool has_place, Time now);
  // Called instead while the gang leaves its place: no time runs for its pods. Returns the last answer.
  bool rest(const std::string& key, Time now);
  // Called after the gang has started or has gone.
  void forget(const std::string& key) { gangs_.erase(key); }

  // Returns why the gang must have no place; empty: it may.
  const std::string& why(const std::string& key) const;
  // Returns the gangs to look at again: a time is over.
  std::vector<std::string> late(Time now) const;
  // Returns when the next time is over; Time::never(): there is none.
  Time due() const;

 private:
  struct Gang {
    std::string why;             // empty: it may have a place
    Time since = Time::never();  // when pods began to be missing; never: none is missing
    Time until{};                // end of the pause after the last attempt
    Time looked{};               // the last look
    int failures = 0;            // attempts in a row
    Time due() const;
  };

  std::map<std::string, Gang> gangs_;  // by key
};

}  // namespace fairlead
