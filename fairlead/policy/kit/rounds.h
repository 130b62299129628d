// Rounds: decisions at the multiples of a length, however late the wake-up for one is noticed.
//
// A round begins at a decision that falls on a boundary, whether a wake-up was asked for there or
// not, and at the first decision after a boundary that was asked for and has had none. Boundaries
// that were missed together are made up for by one round; the next begins at the next multiple, so
// that lateness does not add up.
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/policy/plan.h"

namespace fairlead {

class Rounds {
 public:
  // REQUIRES: length > 0.
  explicit Rounds(Duration length) : length_(length) {
    FL_CHECK(length.ms > 0, "rounds of {} ms", length.ms);
  }

  // The first boundary after now.
  Time next(Time now) const { return {(now.ms / length_.ms + 1) * length_.ms}; }
  // Asks for a decision at that boundary. REQUIRES: now is the time of the decision under way.
  void wake(Time now, Plan& plan) {
    awaited_ = next(now);
    plan.wake_at(awaited_);
  }
  // True if a round begins now. To be called once in every decision, for one that does not ask
  // leaves the round that is due to the next.
  bool due(Time now) {
    const bool is_late = served_ < awaited_ && awaited_ <= now;
    const Time boundary{now.ms / length_.ms * length_.ms};
    if (!is_late && (now != boundary || boundary == served_)) return false;
    served_ = boundary;
    return true;
  }

  void fields(Archive& archive) { archive(awaited_, served_); }

 private:
  Duration length_;
  Time awaited_{-1};  // the last boundary asked for; -1: none yet
  Time served_{-1};   // the last boundary whose round has begun; -1: none yet
};

}  // namespace fairlead
