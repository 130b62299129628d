// HadarArrivals: whether jobs keep arriving, as far as the last arrivals tell.
//
// All functions: O(1).
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/base/units.h"

namespace fairlead {

class HadarArrivals {
 public:
  // Jobs have arrived. REQUIRES: `now` does not fall.
  void hear(Time now) {
    if (now == last_) return;
    before_ = last_;
    last_ = now;
  }

  // Jobs came at two moments at least within the time `lull` before `now`. What comes all at once
  // is a batch, and after a lull nothing is expected.
  bool go_on(Time now, Duration lull) const { return before_.ms >= 0 && now - before_ < lull; }

  void fields(Archive& archive) { archive(before_, last_); }

 private:
  Time before_{-1};  // the last moment of arrivals but one; -1: none yet
  Time last_{-1};
};

}  // namespace fairlead
