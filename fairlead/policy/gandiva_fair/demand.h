// Demand: the GPUs of each user's unfinished jobs, and the users that have such jobs: the active ones (Gandiva_fair).
//
// All O(1), except resize: O(users).
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/base/check.h"
#include "fairlead/base/ids.h"

#include <cstdint>
#include <span>
#include <vector>

namespace fairlead {

class Demand {
 public:
  // REQUIRES: no fewer users than before.
  void resize(std::size_t users) {
    gpus_.resize(users);
    slot_.resize(users);
  }

  std::int64_t of(UserId user) const { return gpus_[user]; }
  // The users with unfinished jobs, in no useful order. Valid until the next change.
  std::span<const UserId> active() const { return active_; }

  // Adds (negative: removes) an unfinished job of `gpus`. Returns false if the user is not active any more.
  bool add(UserId user, std::int64_t gpus) {
    const bool was_active = gpus_[user] > 0;
    gpus_[user] += gpus;
    FL_CHECK(gpus_[user] >= 0, "user {} demands {}", user.row(), gpus_[user]);
    if (!was_active && gpus_[user] > 0) {
      slot_[user] = static_cast<std::uint32_t>(active_.size());
      active_.push_back(user);
    } else if (was_active && gpus_[user] == 0) {
      const std::uint32_t slot = slot_[user];
      active_[slot] = active_.back();
      slot_[active_[slot]] = slot;
      active_.pop_back();
      return false;
    }
    return true;
  }

  // Archives the active users; archive_rest(user) archives more of each. REQUIRES if it reads: there was no demand before.
  template <class ArchiveRest>
  void archive_active(Archive& archive, const ArchiveRest& archive_rest) {
    archive.elements(active_, [&](UserId& user) {
      archive(user);
      archive.expect(gpus_.has(user));
      if (!archive.ok()) return;
      archive(gpus_[user]);
      archive_rest(user);
    });
    for (std::size_t row = 0; row < active_.size(); ++row) {
      slot_[active_[row]] = static_cast<std::uint32_t>(row);
    }
  }

 private:
  IdVector<UserId, std::int64_t> gpus_;
  std::vector<UserId> active_;
  IdVector<UserId, std::uint32_t> slot_;  // in active_
};

}  // namespace fairlead
