// The order in which gangs may start: by their priority classes, among the gangs of a user or of all users.
//
// A gang that must not have GPUs now is held, under every policy
// (docs/decisions/0073-priority-classes-are-holds.md). One machine has the same rule (engine/start_order.h).
#pragma once

#include "fairlead/engine/user_order.h"
#include "fairlead/pods/gang_book.h"
#include "fairlead/pods/priority_classes.h"

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace fairlead {

enum class PriorityScope : std::uint8_t {
  kUser,     // a priority counts among the gangs of one namespace
  kCluster,  // among all gangs
};

class GangOrder {
 public:
  // REQUIRES: the arguments outlive this.
  GangOrder(const GangBook& gangs, const PriorityClasses& classes, PriorityScope scope)
      : gangs_(gangs), classes_(classes), scope_(scope) {}

  // Called after a change of a gang or a class, and after each record.
  void touch() { is_due_ = true; }
  // Returns when update() is due without a touch; Time::never(): it is not.
  Time due() const;
  // Finds the gangs that must have no GPUs now, and returns the keys of those for which that has changed. Does nothing before
  // a touch or due(). `is_held`: returns true if a gang must have none for another cause. O(gangs log), and
  // UserOrder::update() for users with several priorities.
  using IsHeld = std::function<bool(const std::string& key)>;
  std::set<std::string> update(Time now, const Tables& tables, const IsHeld& is_held);
  // Returns the cause; null: the order does not keep the job from GPUs.
  const StartBlock* block_of(JobId job) const;

 private:
  using Ordered = std::map<std::string, std::vector<OrderedJob>>;  // by user; "": all users
  Ordered ordered(const Tables& tables, const IsHeld& is_held) const;

  const GangBook& gangs_;
  const PriorityClasses& classes_;
  const PriorityScope scope_;
  bool is_due_ = true;
  std::map<std::string, UserOrder>
      orders_;  // keys as in Ordered; only users with several priorities
  std::map<JobId, StartBlock> blocked_;
};

}  // namespace fairlead
