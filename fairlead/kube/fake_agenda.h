// What is to come in a fake world, at virtual times.
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
  // Things of one instant happen in the order in which they were planned; at once where `t` is over.
  void at(Time t, std::function<void()> act) {
    due_.push({std::max(t, now_), ++order_, std::move(act)});
  }
  void after(Duration d, std::function<void()> act) { at(now_ + d, std::move(act)); }
  // Goes to what is next and does it; false, and goes to `until`, where nothing is before or at it.
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
