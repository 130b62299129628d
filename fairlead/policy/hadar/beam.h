// HadarBeam: the best drafts that a step of Hadar's search could make from the present ones, at
// most one for each number of free GPUs per type.
//
// offer, has_better: O(1). keep: O(offered + width log width). No allocation once warm.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace fairlead {

class HadarBeam {
 public:
  // A draft that could be made of an old one by a gang for the next bid, or none.
  struct Child {
    double score = 0;
    std::uint32_t draft = 0;
    std::uint32_t gang = 0;
    std::uint64_t key = 0;  // key of its free GPUs by type
  };
  // Higher scores come first, then the lower numbers.
  struct Before {
    bool operator()(const Child& a, const Child& b) const {
      if (a.score != b.score) return a.score > b.score;
      return a.draft != b.draft ? a.draft < b.draft : a.gang < b.gang;
    }
  };

  // Empties the beam for at most that many offers.
  void clear(std::size_t offers_max) {
    children_.clear();
    std::size_t slots = 16;
    while (slots < 2 * offers_max) slots *= 2;
    if (slots > slots_.size()) slots_.resize(slots);
    mask_ = slots - 1;
    if (++step_ == 0) {  // very old stamps would count as new
      std::ranges::fill(slots_, Slot{});
      step_ = 1;
    }
  }

  // Adds a child; the better of two children with the same key stays.
  void offer(const Child& child) {
    Slot& slot = slots_[slot_of(child.key)];
    if (slot.step != step_) {
      slot = {.step = step_, .child = static_cast<std::uint32_t>(children_.size())};
      children_.push_back(child);
    } else if (Before()(child, children_[slot.child])) {
      children_[slot.child] = child;
    }
  }
  // Returns true if a child with that key and a higher score was offered.
  bool has_better(std::uint64_t key, double score) const {
    const Slot& slot = slots_[slot_of(key)];
    return slot.step == step_ && children_[slot.child].score > score;
  }

  // Returns the best offered children, in order.
  std::span<const Child> keep(std::size_t width) {
    if (children_.size() > width) {
      const auto end = children_.begin() + static_cast<std::ptrdiff_t>(width);
      std::nth_element(children_.begin(), end, children_.end(), Before());
      children_.erase(end, children_.end());
    }
    // If no job bought anything they are in order already.
    if (!std::ranges::is_sorted(children_, Before())) std::ranges::sort(children_, Before());
    return children_;
  }

 private:
  struct Slot {
    std::uint32_t step = 0;  // in which it was filled
    std::uint32_t child = 0;
  };

  // Returns the slot where the key is, or would be.
  std::size_t slot_of(std::uint64_t key) const {
    // The upper bits of the product depend on all of the key.
    std::size_t at = ((key * 0x9e3779b97f4a7c15U) >> 32) & mask_;
    const auto is_another = [&](const Slot& slot) {
      return slot.step == step_ && children_[slot.child].key != key;
    };
    while (is_another(slots_[at])) at = (at + 1) & mask_;
    return at;
  }

  std::vector<Child> children_;
  std::vector<Slot> slots_;  // a hash table of the children by key, in its first mask_ + 1 slots
  std::size_t mask_ = 0;
  std::uint32_t step_ = 0;
};

}  // namespace fairlead
