// HadarArrivals: estimates from the last arrivals whether jobs keep arriving.
//
// All functions: O(1).
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/base/units.h"

namespace fairlead {

class HadarArrivals {
 public:
  // Called when jobs have arrived. REQUIRES: `now` does not fall.
  void hear(Time now) {
    if (now == last_) return;
    before_ = last_;
    last_ = now;
  }

  // Returns true if jobs arrived at two moments at least within the time `lull` before `now`. Jobs
  // that arrive all at once are a batch, and after a lull no more are expected.
  bool go_on(Time now, Duration lull) const { return before_.ms >= 0 && now - before_ < lull; }

  void fields(Archive& archive) { archive(before_, last_); }

 private:
  Time before_{-1};  // the last moment of arrivals except one; -1: none yet
  Time last_{-1};
};

}  // namespace fairlead
