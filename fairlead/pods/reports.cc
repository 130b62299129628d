#include "fairlead/pods/reports.h"

#include <utility>

namespace fairlead {

void Reports::add_gang(const std::string& key, Event event, std::string reason) {
  if (!reason.empty()) event.reason = keep(std::move(reason));
  add(event);
  gangs_.insert(key);
}

void Reports::add_node(const Event& event) {
  add(event);
  has_nodes_ = true;
}

void Reports::add_job(const std::string& key, const JobSpec& job) {
  inbox_.add(job);
  gangs_.insert(key);
}

void Reports::add_tickets(UserId user, std::int64_t tickets) {
  if (!users_.insert(user).second) return;
  add({.kind = EventKind::kTickets, .user = user, .tickets = tickets});
}

Batch Reports::take(Time now, Time present) {
  gangs_.clear();
  has_nodes_ = false;
  users_.clear();
  return inbox_.take(now, present);
}

}  // namespace fairlead
