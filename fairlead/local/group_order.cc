#include "fairlead/local/group_order.h"

#include <algorithm>
#include <tuple>

namespace fairlead {
namespace {

class GroupOrder {
 public:
  explicit GroupOrder(std::span<const JobLimit> limits)
      : limits_(limits), room_(limits, LimitRoom::Passing::kNone) {}

  // Takes the GPUs of a job out of its groups. False: one of them has no room, and the job is blocked.
  bool take(const OrderedJob& job, const GroupedUser& user) {
    const auto refusal = room_.take(job.gpus, user.groups);
    if (!refusal) return true;
    const JobLimit& limit = limits_[refusal->limit];
    blocked_[job.job] = {
        .cause = refusal->is_too_large ? StartBlock::Cause::kTooLarge : StartBlock::Cause::kLimit,
        .group = limit.name,
        .gpus_max = limit.gpus_max};
    return false;
  }

  std::map<JobId, StartBlock> blocked() && { return std::move(blocked_); }

 private:
  std::span<const JobLimit> limits_;
  LimitRoom room_;
  std::map<JobId, StartBlock> blocked_;
};

}  // namespace

std::map<JobId, StartBlock> group_order(std::vector<GroupedUser> users,
                                        std::span<const JobLimit> limits) {
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
