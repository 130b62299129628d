// What the world has to say at the next instant.
#pragma once

#include "fairlead/engine/backend.h"

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

class Inbox {
 public:
  bool empty() const { return events_.empty() && users_.empty(); }
  // Users that are not in the batch that is being worked on.
  std::span<const UserSpec> users() const { return users_; }

  void add(const Event& event) { events_.push_back(event); }
  void add(const UserSpec& user) { users_.push_back(user); }
  // A job that arrives.
  void add(const JobSpec& job) {
    jobs_.push_back(job);
    add(Event{.kind = EventKind::kArrived, .job = job.job});
  }
  // A text that events and jobs may point to until the batch is over.
  std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }

  // All of it, in the order that a Batch has; what comes later is for the next. The batch before is
  // over.
  Batch take(Time now, Time present);

 private:
  std::vector<UserSpec> users_, users_told_;
  std::vector<JobSpec> jobs_, jobs_told_;
  std::vector<Event> events_, events_told_;
  std::deque<std::string> texts_, texts_told_;
};

}  // namespace fairlead
