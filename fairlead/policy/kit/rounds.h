// Rounds: decisions at the multiples of a length, even if the wake-up for one comes late.
//
// A round starts at every decision on a boundary, with or without a wake-up for it. It also starts
// at the first decision after a boundary that a wake-up was asked for and missed. One round makes
// up for all boundaries missed together. The next starts at the next multiple, so lateness does not
// add up.
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

  // Returns the first boundary after now.
  Time next(Time now) const { return {(now.ms / length_.ms + 1) * length_.ms}; }
  // Asks for a decision at that boundary. REQUIRES: now is the time of the present decision.
  void wake(Time now, Plan& plan) {
    awaited_ = next(now);
    plan.wake_at(awaited_);
  }
  // Returns true if a round starts now. To be called once in every decision; a decision without
  // this call leaves a due round to the next one.
  bool due(Time now) {
    const bool is_late = served_ < awaited_ && awaited_ <= now;
    const Time boundary{now.ms / length_.ms * length_.ms};
    if (!is_late && (now != boundary || boundary == served_)) return false;
    served_ = boundary;
    return true;
  }

  // The same; true as well if the present decision continues a round that was cut (decision_budget.h).
  bool due(Time now, Plan& plan) { return plan.in_round(due(now)); }

  void fields(Archive& archive) { archive(awaited_, served_); }

 private:
  Duration length_;
  Time awaited_{-1};  // the last boundary asked for; -1: none yet
  Time served_{-1};   // the last boundary whose round has started; -1: none yet
};

}  // namespace fairlead
