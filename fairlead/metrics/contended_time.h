// Contended time, in which the users ask for more GPUs than there are. Ours.
//
// Shares are meaningful only in contended time: otherwise every user gets its whole demand, and the shares are a
// property of the workload.
#pragma once

#include "fairlead/base/check.h"
#include "fairlead/base/units.h"

#include <algorithm>
#include <vector>

namespace fairlead {

class ContendedTime {
 public:
  // From `t` on. REQUIRES: times never go back. O(1).
  void set(Time t, bool contended) {
    if (contended == is_contended()) return;
    FL_DCHECK(changes_.empty() || changes_.back().t <= t, "{} ms", t.ms);
    changes_.push_back({t, up_to(t)});
  }

  // Returns contended time up to `t`, which may lie before the last change. O(log changes), O(1) after it.
  Duration up_to(Time t) const {
    if (changes_.empty()) return {};
    if (t >= changes_.back().t) return up_to(t, changes_.end());
    return up_to(t, std::ranges::upper_bound(changes_, t, {}, &Change::t));
  }

 private:
  // Contention begins with the changes of even number and ends with the others.
  struct Change {
    Time t;
    Duration before;
  };
  using Next = std::vector<Change>::const_iterator;

  bool is_contended() const { return changes_.size() % 2 == 1; }
  Duration up_to(Time t, Next next) const {
    if (next == changes_.begin()) return {};
    const Change& last = *(next - 1);
    const bool contended = (next - changes_.begin()) % 2 == 1;
    return contended ? last.before + (t - last.t) : last.before;
  }

  std::vector<Change> changes_;
};

}  // namespace fairlead
