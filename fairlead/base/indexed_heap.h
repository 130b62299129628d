// A 4-ary min-heap of (key, id) with update and erase by id.
//
// Equal keys come out in id order, so the order never depends on history. Each id is in the heap at most once. push,
// update, erase, pop: O(log n); top, contains: O(1); rising: O(k log k) for k members. Memory: one slot per id ever seen plus one entry per member; no
// allocation once both have reached their largest size.
#pragma once

#include "fairlead/base/check.h"
#include "fairlead/base/ids.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

namespace fairlead {

template <class Key, class IdType>
class IndexedHeap {
 public:
  struct Entry {
    Key key;
    IdType id;
  };

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  bool contains(IdType id) const { return slots_.has(id) && slots_[id] != kAbsent; }
  // All members, in no useful order.
  std::span<const Entry> entries() const { return entries_; }
  // Makes room for ids 0..count-1.
  void reserve(std::size_t count) {
    if (slots_.size() < count) slots_.resize(count, kAbsent);
  }

  // Calls visit(entry) for members by rising key until it returns false. `ahead` is its workspace.
  template <class Visit>
  void rising(std::vector<std::uint32_t>& ahead, const Visit& visit) const {
    const auto is_after = [&](std::uint32_t a, std::uint32_t b) {
      return before(entries_[b], entries_[a]);
    };
    ahead.clear();
    if (!empty()) ahead.push_back(0);
    while (!ahead.empty()) {
      std::ranges::pop_heap(ahead, is_after);
      const std::size_t slot = ahead.back();
      ahead.pop_back();
      if (!visit(entries_[slot])) return;
      const std::size_t first = slot * kArity + 1;
      for (std::size_t child = first; child < std::min(first + kArity, entries_.size()); ++child) {
        ahead.push_back(static_cast<std::uint32_t>(child));
        std::ranges::push_heap(ahead, is_after);
      }
    }
  }

  // REQUIRES: !empty().
  const Entry& top() const {
    FL_DCHECK(!empty());
    return entries_.front();
  }
  // REQUIRES: contains(id).
  const Key& key(IdType id) const {
    FL_DCHECK(contains(id), "row {} is not in the heap", id.row());
    return entries_[slots_[id]].key;
  }

  // Inserts `id`, or changes its key if it is in the heap.
  void set(IdType id, Key key) {
    FL_DCHECK(!id.is_none());
    reserve(id.row() + std::size_t{1});
    if (slots_[id] == kAbsent) {
      slots_[id] = static_cast<std::uint32_t>(entries_.size());
      entries_.push_back({key, id});
      sift_up(entries_.size() - 1);
      return;
    }
    const std::size_t slot = slots_[id];
    entries_[slot].key = key;
    sift_up(slot);
    sift_down(slots_[id]);
  }

  // Removes `id`; does nothing if it is not in the heap.
  void erase(IdType id) {
    if (!contains(id)) return;
    const std::size_t slot = slots_[id];
    slots_[id] = kAbsent;
    const Entry last = entries_.back();
    entries_.pop_back();
    if (slot == entries_.size()) return;
    FL_DCHECK(slot < entries_.size() && last.id != id, "row {} was in the heap twice", id.row());
    put(slot, last);
    sift_up(slot);
    sift_down(slots_[last.id]);
  }

  // REQUIRES: !empty().
  Entry pop() {
    const Entry first = top();
    erase(first.id);
    return first;
  }

 private:
  static constexpr std::uint32_t kAbsent = 0xffffffff;
  static constexpr std::size_t kArity = 4;

  static bool before(const Entry& a, const Entry& b) {
    return std::tie(a.key, a.id) < std::tie(b.key, b.id);
  }
  void put(std::size_t slot, const Entry& entry) {
    entries_[slot] = entry;
    slots_[entry.id] = static_cast<std::uint32_t>(slot);
  }
  void sift_up(std::size_t slot) {
    const Entry entry = entries_[slot];
    while (slot > 0) {
      const std::size_t parent = (slot - 1) / kArity;
      if (!before(entry, entries_[parent])) break;
      put(slot, entries_[parent]);
      slot = parent;
    }
    put(slot, entry);
  }
  void sift_down(std::size_t slot) {
    const Entry entry = entries_[slot];
    for (;;) {
      const std::size_t first = slot * kArity + 1;
      if (first >= entries_.size()) break;
      std::size_t least = first;
      const std::size_t end = first + kArity < entries_.size() ? first + kArity : entries_.size();
      for (std::size_t child = first + 1; child < end; ++child) {
        if (before(entries_[child], entries_[least])) least = child;
      }
      if (!before(entries_[least], entry)) break;
      put(slot, entries_[least]);
      slot = least;
    }
    put(slot, entry);
  }

  std::vector<Entry> entries_;
  IdVector<IdType, std::uint32_t> slots_;
};

}  // namespace fairlead
