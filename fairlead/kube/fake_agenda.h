// The planned events of a fake world, at virtual times.
#pragma once

#include "fairlead/base/units.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace fairlead {

class FakeAgenda {
 public:
  Time now() const { return now_; }
  bool is_empty() const { return due_.empty(); }
  // Plans an event at `t`, or now if `t` has passed. Events of one instant happen in the order of planning.
  void at(Time t, std::function<void()> act) {
    due_.push({std::max(t, now_), ++order_, std::move(act)});
  }
  void after(Duration d, std::function<void()> act) { at(now_ + d, std::move(act)); }
  // Advances to the next event and runs it. If there is none up to `until`: advances to it, returns false.
  bool step(Time until) {
    if (due_.empty() || due_.top().at > until) {
      now_ = std::max(now_, until);
      return false;
    }
    const Due next = due_.top();
    due_.pop();
    now_ = next.at;
    next.act();
    return true;
  }

 private:
  struct Due {
    Time at;
    std::uint64_t order;
    std::function<void()> act;
    friend bool operator<(const Due& a, const Due& b) {
      return a.at != b.at ? a.at > b.at : a.order > b.order;
    }
  };

  Time now_;
  std::uint64_t order_ = 0;
  std::priority_queue<Due> due_;
};

}  // namespace fairlead
