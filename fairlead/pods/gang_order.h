// The order in which gangs may start: by their priority classes, among the gangs of a user or of all users; Kueue's, among
// the gangs of a ClusterQueue.
//
// A gang that must not have GPUs now is held, under every policy
// (docs/decisions/0073-priority-classes-are-holds.md). One machine has the same rule (engine/start_order.h).
#pragma once

#include "fairlead/engine/user_order.h"
#include "fairlead/pods/gang_book.h"
#include "fairlead/pods/pods_options.h"
#include "fairlead/pods/priority_classes.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace fairlead {

class GangOrder {
 public:
  // REQUIRES: the arguments outlive this.
  GangOrder(const GangBook& gangs, const PriorityClasses& classes, PriorityScope scope)
      : gangs_(gangs), classes_(classes), scope_(scope) {}

  // Called after a gang, or the classes, may have changed. `is_held`: the gang must have no GPUs for another cause.
  // O(pods of the gang).
  void look_at(const std::string& key, bool is_held);
  // Called after each record.
  void touch() { is_due_ = true; }
  // Returns when update() is due without a change; Time::never(): it is not.
  Time due() const;
  // Finds the gangs that must have no GPUs now, and returns the keys of those for which that has changed. Does nothing before
  // a change or due(). O(users), and O(gangs log) and UserOrder::update() of each user with several priorities.
  std::set<std::string> update(Time now, const Tables& tables);
  // Returns the cause; null: the order does not keep the job from GPUs.
  const StartBlock* block_of(JobId job) const;
  // Returns true if a gang with a lower priority has GPUs. O(gangs of the user).
  bool is_above_running(const std::string& key, const Tables& tables) const;

 private:
  struct Seen {
    GangPriority priority;
    bool takes_part = false;  // it exists as a whole, and is not held
    bool is_pinned = false;   // it must not be stopped
    friend bool operator==(const Seen&, const Seen&) = default;
  };
  struct User {
    std::map<std::string, Seen> gangs{};           // by key
    std::map<std::int64_t, std::size_t> values{};  // numbers of gangs, by priority
    UserOrder order{};
  };

  std::vector<OrderedJob> ordered(const User& user, const Tables& tables) const;

  const GangBook& gangs_;
  const PriorityClasses& classes_;
  const PriorityScope scope_;
  bool is_due_ = true;
  std::map<std::string, User> users_;           // by namespace, or by ClusterQueue; "": all users
  std::map<std::string, std::string> user_of_;  // by the key of a gang
  std::map<JobId, StartBlock> blocked_;
};

}  // namespace fairlead
