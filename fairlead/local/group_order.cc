#include "fairlead/local/group_order.h"

#include <algorithm>
#include <tuple>

namespace fairlead {
namespace {

class GroupOrder {
 public:
  explicit GroupOrder(std::span<const GroupLimit> limits)
      : limits_(limits), used_(limits.size(), 0), is_full_(limits.size(), false) {}

  // Takes the GPUs of a job out of its groups. False: one of them has no room, and the job is blocked.
  bool take(const OrderedJob& job, const GroupedUser& user) {
    for (const std::size_t group : user.groups) {
      if (job.gpus > limits_[group].gpus_max)
        return block(job, StartBlock::Cause::kTooLarge, group);
    }
    for (const std::size_t group : user.groups) {
      is_full_[group] = is_full_[group] || used_[group] + job.gpus > limits_[group].gpus_max;
      if (is_full_[group]) return block(job, StartBlock::Cause::kLimit, group);
    }
    for (const std::size_t group : user.groups) used_[group] += job.gpus;
    return true;
  }

  std::map<JobId, StartBlock> blocked() && { return std::move(blocked_); }

 private:
  bool block(const OrderedJob& job, StartBlock::Cause cause, std::size_t group) {
    blocked_[job.job] = {
        .cause = cause, .group = limits_[group].name, .gpus_max = limits_[group].gpus_max};
    return false;
  }

  std::span<const GroupLimit> limits_;
  std::vector<std::uint64_t> used_;
  std::vector<bool> is_full_;
  std::map<JobId, StartBlock> blocked_;
};

}  // namespace

std::map<JobId, StartBlock> group_order(std::vector<GroupedUser> users,
                                        std::span<const GroupLimit> limits) {
  struct Cursor {
    GroupedUser* user = nullptr;
    std::size_t next = 0;
    std::uint64_t gpus = 0;

    const OrderedJob& job() const { return user->jobs[next]; }
    auto key() const {
      const bool is_held = job().state == OrderedJob::State::kHeld;
      return std::tuple(is_held, is_held ? gpus : 0, job().job);
    }
  };
  std::vector<Cursor> cursors;
  for (GroupedUser& user : users) {
    sort_by_start(user.jobs);
    if (!user.jobs.empty()) cursors.push_back({.user = &user});
  }
  GroupOrder order(limits);
  while (!cursors.empty()) {
    const auto first = std::ranges::min_element(cursors, {}, &Cursor::key);
    if (order.take(first->job(), *first->user)) first->gpus += first->job().gpus;
    if (++first->next == first->user->jobs.size()) cursors.erase(first);
  }
  return std::move(order).blocked();
}

}  // namespace fairlead
