// TurnOrder: the order of turns if more jobs live on a node than fit.
//
// All jobs are in one order, newcomers last. At the end of a turn the waiting jobs go ahead of the
// running ones, and neither change their order among themselves: round robin, whatever the jobs
// wait for. Waiting jobs are in numbered queues, and can be visited in the order over all of them.
//
// A job's place is its side and a number there. So the end of a turn touches only the jobs that
// change sides, and jobs that always run cost nothing however often a turn ends.
//
// add, precedes: O(1). wait, end_wait, remove: O(jobs of the queue), a search and a move of ids.
// Source: ours; Gandiva (OSDI 2018) specifies round robin.
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/base/ids.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace fairlead {

class TurnOrder {
 public:
  // Makes room for queues 0..queues-1 and jobs 0..jobs-1.
  void reserve(std::size_t queues, std::size_t jobs);

  // Puts a job last. REQUIRES: it is not in the order.
  void add(JobId job);
  // Removes a job; does nothing if it is not in the order.
  void remove(JobId job);
  // REQUIRES for these: the jobs are in the order.
  bool precedes(JobId a, JobId b) const { return places_[a] < places_[b]; }
  void sort(std::vector<JobId>& jobs) const;

  // REQUIRES: the job is in the order and does not wait.
  void wait(JobId job, std::size_t queue);
  // REQUIRES: it waits.
  void end_wait(JobId job);
  bool waits(JobId job) const { return queue_of_[job] != kNone; }
  // The waiting jobs, and the jobs of one queue, in order.
  std::size_t waiting() const { return waiting_; }
  std::span<const JobId> queue(std::size_t queue) const { return queues_[queue]; }

  // Calls visit(job) for the waiting jobs, in order. A queue for which is_open(queue) is false is
  // left out from then on. A visit may end the wait of its job or give it another queue.
  template <class IsOpen, class Visit>
  void visit_waiting(const IsOpen& is_open, const Visit& visit);

  // Puts the waiting jobs ahead of all others. `running` must include the running jobs that waited
  // when the last turn ended.
  void end_turn(std::span<const JobId> running);

  void fields(Archive& archive);

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  enum class Side : std::uint8_t { kWaited, kRan, kOutside };  // jobs that ran, or arrived since
  struct Place {
    Side side = Side::kOutside;
    std::int64_t number = 0;
    friend constexpr auto operator<=>(const Place&, const Place&) = default;
  };
  struct Cursor {
    Place at;
    std::size_t queue;
    friend constexpr auto operator<=>(const Cursor&, const Cursor&) = default;
  };

  IdVector<JobId, Place> places_;
  IdVector<JobId, std::uint32_t> queue_of_;
  std::vector<std::vector<JobId>> queues_;
  std::size_t waiting_ = 0;
  std::int64_t first_ran_ = 0;
  std::int64_t last_ran_ = 0;
  std::int64_t last_waited_ = 0;
  std::vector<JobId> moving_;    // used within end_turn
  std::vector<Cursor> cursors_;  // used within visit_waiting
};

template <class IsOpen, class Visit>
void TurnOrder::visit_waiting(const IsOpen& is_open, const Visit& visit) {
  const auto place_of = [this](JobId job) { return places_[job]; };
  cursors_.clear();
  for (std::size_t queue = 0; queue < queues_.size(); ++queue) {
    if (queues_[queue].empty() || !is_open(queue)) continue;
    cursors_.push_back({place_of(queues_[queue].front()), queue});
  }
  std::ranges::make_heap(cursors_, std::ranges::greater());
  while (!cursors_.empty()) {
    std::ranges::pop_heap(cursors_, std::ranges::greater());
    const auto [at, queue] = cursors_.back();
    cursors_.pop_back();
    if (!is_open(queue)) continue;
    const std::vector<JobId>& jobs = queues_[queue];
    visit(*std::ranges::lower_bound(jobs, at, {}, place_of));
    const auto next = std::ranges::upper_bound(jobs, at, {}, place_of);
    if (next == jobs.end()) continue;
    cursors_.push_back({place_of(*next), queue});
    std::ranges::push_heap(cursors_, std::ranges::greater());
  }
}

}  // namespace fairlead
