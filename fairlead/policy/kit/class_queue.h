// Waiting jobs in order, kept per class. A pinned job has a class of its own. The jobs of a class ask for the same
// number of GPUs of the same types, in tasks of the same size, equally near each other, and with the same limits by other
// resources. They are in the same queue of a policy that has several.
//
// Within one pass over the waiting jobs free capacity only shrinks. After a job finds no room, no
// later job of its class finds any: the class is blocked for the rest of the pass. A pass therefore
// costs O(classes), and O(log classes) per job that it starts and class that it blocks, however
// many jobs wait.
//
// Invariants:
//  1. A job is in the queue at most once.
//  2. Order is OrderKey order, across classes too; keys of members never change.
//
// add, pop, erase: O(log of the class's jobs). No allocation once room is reserved and every class
// has reached its largest size.
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/base/ids.h"
#include "fairlead/model/cluster.h"
#include "fairlead/policy/kit/placement.h"
#include "fairlead/policy/policy.h"

#include <compare>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace fairlead {

// The position of a job in a policy's order; smaller comes first. `label` separates jobs that have
// waited at the position for different times, JobId the rest.
struct OrderKey {
  std::int64_t major = 0;
  std::int64_t minor = 0;
  std::int64_t label = 0;
  JobId job;
  friend constexpr auto operator<=>(const OrderKey&, const OrderKey&) = default;

  void fields(Archive& archive) { archive(major, minor, label, job); }
};

class ClassQueue {
 public:
  class Class {
   public:
    std::uint32_t level() const { return level_; }
    GangAsked gang() const { return gang_; }
    std::uint32_t gpus() const { return gang_.gpus; }
    std::uint32_t task_gpus() const { return gang_.task_gpus; }
    TypeMask types() const { return types_; }
    // REQUIRES: a job of the class waits.
    const OrderKey& head() const { return heap_.front(); }
    // Leaves the class out of first_open() until the next unblock().
    void block() { blocked_ = true; }
    void fields(Archive& archive);

   private:
    friend class ClassQueue;
    std::uint32_t level_ = 0;
    GangAsked gang_;
    TypeMask types_ = 0;
    bool blocked_ = false;
    std::vector<OrderKey> heap_;
  };

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  // The sum of GPUs that all waiting jobs ask for.
  std::int64_t gpus() const { return gpus_; }
  // Makes room for jobs 0..jobs-1.
  void reserve(std::size_t jobs) {
    if (slots_.size() < jobs) slots_.resize(jobs);
  }
  bool contains(JobId job) const { return slots_.has(job) && slots_[job].class_index != kAbsent; }

  // REQUIRES: the job is not in the queue; key.job is the job.
  void add(std::uint32_t level, GangAsked gang, TypeMask types, const OrderKey& key);
  // Does nothing if the job is not in the queue.
  void erase(JobId job);

  // Starts a new pass: no class is blocked.
  void unblock();
  // Returns the class with the first head among the classes that are not blocked; null if all are.
  // O(classes) after unblock, add and erase, else O(log classes) per class blocked since.
  Class* first_open();
  // Takes the head out. O(log of the class's jobs + log classes), if first_open() gave the class.
  // REQUIRES: a job of the class waits.
  OrderKey pop(Class& from);

  // Calls visit(key) for every waiting job, in an order that survives save and load.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const Class& each : classes_) {
      for (const OrderKey& key : each.heap_) visit(key);
    }
  }

  // Reading replaces the contents.
  void fields(Archive& archive);

 private:
  static constexpr std::uint32_t kAbsent = 0xffffffff;
  struct Slot {
    std::uint32_t class_index = kAbsent;
    std::uint32_t position = 0;
  };

  Class& class_of(std::uint32_t level, GangAsked gang, TypeMask types);
  void put(Class& in, std::size_t position, const OrderKey& key);
  void sift_up(Class& in, std::size_t position, const OrderKey& key);
  void sift_down(Class& in, std::size_t position, const OrderKey& key);
  void remove(Class& from, std::size_t position);
  bool is_later(std::uint32_t a, std::uint32_t b) const {
    return classes_[a].head() > classes_[b].head();
  }

  std::vector<Class> classes_;
  // A heap by head, with the first head on top, of the classes that were open when it was made.
  // Unused while stale.
  std::vector<std::uint32_t> open_;
  bool is_open_stale_ = true;
  // (level, GPUs), (closeness, GPUs of a task, types), pinned job, kind of limits
  using Key = std::tuple<std::uint64_t, std::uint64_t, JobId, std::uint32_t>;
  static Key key_of(const Class& of);
  std::map<Key, std::uint32_t> index_;
  IdVector<JobId, Slot> slots_;
  std::size_t size_ = 0;
  std::int64_t gpus_ = 0;
};

// Places waiting jobs in order while there is room, and calls started(key, level) for each.
// start(next) places the head of that class or returns false. Blocked classes are skipped. If a
// class finds no room and stops_at(class), the pass ends; else the class is blocked and the next
// ones are tried.
template <class StopsAt, class Start, class Started>
void start_waiting(ClassQueue& waiting, const StopsAt& stops_at, const Plan& plan,
                   const Start& start, const Started& started) {
  while (plan.free().total() > 0) {
    ClassQueue::Class* const next = waiting.first_open();
    if (next == nullptr) return;
    const std::uint32_t level = next->level();
    if (start(*next)) {
      started(waiting.pop(*next), level);
    } else if (stops_at(*next)) {
      return;
    } else {
      next->block();
    }
  }
}

// Starts every job that fits. placement_of(level) returns the placement of a level's jobs.
template <class PlacementOf, class Started>
void start_fitting(ClassQueue& waiting, const PlacementOf& placement_of, const View& view,
                   Plan& plan, const Started& started) {
  const auto start = [&](const ClassQueue::Class& next) {
    return place(placement_of(next.level()), view.cluster, plan, next.head().job, next.gpus(),
                 next.types());
  };
  const auto never = [](const ClassQueue::Class&) { return false; };
  start_waiting(waiting, never, plan, start, started);
}

}  // namespace fairlead
