// HadarBeam: the best drafts that a step of Hadar's search could make from the present ones, at
// most one for each number of free GPUs per type.
//
// Children are offered in runs. Most gangs of a kind add the same to each draft, so a run mostly is in order already,
// and the best children are found by merging the runs.
//
// offer: O(1). keep: O(runs x width), and O(n log n) for a run of n that is not in order. No allocation once warm.
#pragma once

#include "fairlead/base/check.h"
#include "fairlead/base/key_order.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace fairlead {

class HadarBeam {
 public:
  // The place of a child: higher scores come first, then the lower numbers.
  struct Place {
    std::uint64_t rank = 0;  // falls with the score
    std::uint64_t numbers = 0;
    static Place last() {
      constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
      return {kMost, kMost};
    }
    bool is_before(const Place& other) const {
      return rank != other.rank ? rank < other.rank : numbers < other.numbers;
    }
  };
  // A draft that could be made of an old one by a gang for the next bid, or none.
  struct Child {
    std::uint32_t draft() const { return static_cast<std::uint32_t>(place.numbers >> 32); }
    std::uint32_t gang() const { return static_cast<std::uint32_t>(place.numbers); }

    Place place;
    std::uint64_t key = 0;  // stands for its free GPUs by type
  };

  // Empties the beam for offers in that many runs, at most `most` in each.
  void clear(std::size_t runs, std::size_t most) {
    if (runs > runs_.size()) runs_.resize(runs);
    for (Run& run : runs_) {
      if (run.children.size() <= most) run.children.resize(most + 1);
      run.size = 0;
    }
  }

  // Adds a child to the run. REQUIRES: score is a number.
  void offer(std::size_t number, double score, std::uint32_t draft, std::uint32_t gang,
             std::uint64_t key) {
    Run& run = runs_[number];
    FL_DCHECK(run.size + 1 < run.children.size());
    Child& child = run.children[run.size++];
    child.place.rank = falling_key(score + 0.0);
    child.place.numbers = std::uint64_t{draft} << 32 | gang;
    child.key = key;
  }

  // Returns the best offered children, each the best of its key, in order.
  std::span<const Child> keep(std::size_t width) {
    clear_keys(width);
    kept_.resize(width);
    std::size_t kept = 0;
    for (std::size_t left = begin_merge(); left > 0 && kept < width; --left) {
      std::size_t best = 0;
      std::uint64_t rank = heads_.front().rank;
      std::uint64_t numbers = heads_.front().numbers;
      for (std::size_t i = 1; i < heads_.size(); ++i) {
        const Head& head = heads_[i];
        const bool is_before =
            (head.rank < rank) | ((head.rank == rank) & (head.numbers < numbers));
        if (!is_before) continue;
        best = i;
        rank = head.rank;
        numbers = head.numbers;
      }
      Head& head = heads_[best];
      kept_[kept] = *head.child++;
      head.rank = head.child->place.rank;
      head.numbers = head.child->place.numbers;
      kept += static_cast<std::size_t>(add_key(kept_[kept].key));
    }
    return std::span(kept_).first(kept);
  }

 private:
  struct Run {
    std::vector<Child> children;  // the first `size`; then one more place
    std::size_t size = 0;
  };
  struct Head {
    const Child* child;
    std::uint64_t rank;
    std::uint64_t numbers;
  };
  struct Slot {
    std::uint64_t key = 0;
    std::uint64_t step = 0;  // in which it was filled
  };
  static constexpr std::size_t kSlotsOfKey = 8;  // so that few keys share a slot

  // Returns the number of children.
  std::size_t begin_merge() {
    heads_.clear();
    std::size_t children = 0;
    for (Run& run : runs_) {
      if (run.size == 0) continue;
      const auto is_before = [](const Child& a, const Child& b) {
        return a.place.is_before(b.place);
      };
      const std::span in_run = std::span(run.children).first(run.size);
      if (!std::ranges::is_sorted(in_run, is_before)) std::ranges::sort(in_run, is_before);
      children += run.size;
      run.children[run.size].place = Place::last();
      const Place& first = run.children.front().place;
      heads_.push_back({run.children.data(), first.rank, first.numbers});
    }
    return children;
  }

  void clear_keys(std::size_t width) {
    std::size_t slots = kSlotsOfKey;
    while (slots < kSlotsOfKey * width) slots *= 2;
    if (slots > slots_.size()) slots_.resize(slots);
    ++step_;
  }
  // Returns false if the key was added before.
  bool add_key(std::uint64_t key) {
    const std::size_t mask = slots_.size() - 1;
    // The upper bits of the product depend on all of the key.
    std::size_t at = ((key * 0x9e3779b97f4a7c15U) >> 32) & mask;
    while (slots_[at].step == step_ && slots_[at].key != key) at = (at + 1) & mask;
    const bool is_new = slots_[at].step != step_;
    slots_[at] = {.key = key, .step = step_};
    return is_new;
  }

  std::vector<Run> runs_;
  std::vector<Head> heads_;  // first children of the rest of each run
  std::vector<Child> kept_;
  std::vector<Slot> slots_;  // a hash table of the keys of kept_
  std::uint64_t step_ = 0;
};

}  // namespace fairlead
