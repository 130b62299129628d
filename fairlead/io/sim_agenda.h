// The virtual time of a SimIo, and the events that are planned in it.
//
// Events of one instant stay in the order of planning. O(log events) a call.
#pragma once

#include "fairlead/base/units.h"
#include "fairlead/io/io.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

namespace fairlead {

class SimAgenda {
 public:
  enum class Kind : std::uint8_t {
    kClient,   // a client acts
    kArrival,  // bytes of a connection, its begin or its end reach the daemon
    kNotice,   // the daemon receives the end of a task
  };
  struct Event {
    Time at;
    std::uint64_t order;
    Kind kind;
    std::uint64_t what;  // the client's token, the connection, or the daemon's life
    TaskId task{};       // of a notice
    friend bool operator>(const Event& a, const Event& b) {
      return std::tie(a.at, a.order) > std::tie(b.at, b.order);
    }
  };

  Time now() const { return now_; }
  void pass(Duration time) { now_ = now_ + time; }
  // Lets time pass until `t`, unless that is over.
  void pass_until(Time t) { now_ = std::max(now_, t); }

  void plan(Time at, Kind kind, std::uint64_t what, TaskId task = {}) {
    events_.push({at, ++planned_, kind, what, task});
  }
  // Returns the time of the next event; never: none is planned.
  Time next() const { return events_.empty() ? Time::never() : events_.top().at; }
  // Removes and returns the next event, and lets no time pass. REQUIRES: an event is planned.
  Event take() {
    const Event event = events_.top();
    events_.pop();
    return event;
  }

 private:
  Time now_;
  std::uint64_t planned_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

}  // namespace fairlead
