// Collects the events, jobs and users of a backend's next batch.
#pragma once

#include "fairlead/engine/backend.h"

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

struct Users;  // model/jobs.h

class Inbox {
 public:
  bool empty() const { return events_.empty() && users_.empty() && nodes_.empty(); }

  void add(const Event& event) { events_.push_back(event); }
  void add(const UserSpec& user) { users_.push_back(user); }
  // REQUIRES: the name of the node is valid as long as this object.
  void add(const NodeJoin& node) { nodes_.push_back(node); }
  // Adds a job and its kArrived event. If a kHeld event of the job follows, the job comes held.
  void add(const JobSpec& job) {
    jobs_.push_back(job);
    add(Event{.kind = EventKind::kArrived, .job = job.job});
  }
  // Returns the row of the user with that name; announces the user if neither `known` nor the next batch has it.
  UserId user_of(std::string_view name, const Users& known, std::int64_t tickets = 1);
  // Stores a text that events and jobs of the next batch may point to.
  std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }

  // Returns everything added so far, in the order of a Batch; later additions go into the next batch. Ends
  // the validity of the previous batch.
  Batch take(Time now, Time present);

 private:
  std::vector<UserSpec> users_, users_told_;
  std::vector<NodeJoin> nodes_, nodes_told_;
  std::vector<JobSpec> jobs_, jobs_told_;
  std::vector<Event> events_, events_told_;
  std::deque<std::string> texts_, texts_told_;
};

}  // namespace fairlead
