// The next batch of reports to the engine.
//
// A batch has one report about a gang, a node or a user, because the next report must follow the engine's reaction
// to it: the controller looks at none of them again before the batch is taken. Several events about one
// gang in one look are one report.
#pragma once

#include "fairlead/engine/inbox.h"
#include "fairlead/model/jobs.h"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace fairlead {

class Reports {
 public:
  bool empty() const { return inbox_.empty(); }
  // Each returns true if the batch has a report about the gang, or about any node.
  bool has_gang(const std::string& key) const { return gangs_.contains(key); }
  bool has_nodes() const { return has_nodes_; }

  // Adds an event that is about no node and no existing gang.
  void add(const Event& event) { inbox_.add(event); }
  void add_gang(const std::string& key, Event event, std::string reason = {});
  void add_node(const Event& event);
  // Adds the arrival of a gang's job.
  void add_job(const std::string& key, const JobSpec& job);
  // Reports the user's tickets, unless the batch already has a report about the user.
  void add_tickets(UserId user, std::int64_t tickets);
  // Returns the row of the user, and announces the user if neither `known` nor the batch has that name.
  UserId user_of(std::string_view name, std::int64_t tickets, const Users& known) {
    return inbox_.user_of(name, known, tickets);
  }
  // Keeps a text for events and jobs of the batch.
  std::string_view keep(std::string text) { return inbox_.keep(std::move(text)); }

  // Returns the batch, valid until the next call, and starts another.
  Batch take(Time now, Time present);

 private:
  Inbox inbox_;
  std::set<std::string> gangs_;  // keys
  bool has_nodes_ = false;
  std::set<UserId> users_;  // users with reported tickets
};

}  // namespace fairlead
