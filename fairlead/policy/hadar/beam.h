// HadarBeam: the best drafts that a step of Hadar's search could make from the present ones, at
// most one for each number of free GPUs per type.
//
// Children are offered in runs. Most gangs of a kind add the same to each draft, so a run mostly is in order already,
// and the best children are found by merging the runs.
//
// offer: O(1). keep: O(runs x width), and O(n log n) for a run of n that is not in order. No allocation once warm.
#pragma once

#include "fairlead/base/key_order.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace fairlead {

class HadarBeam {
 public:
  // A draft that could be made of an old one by a gang for the next bid, or none. Higher scores come first, then the
  // lower numbers.
  struct Child {
    Child() = default;
    // REQUIRES: score is a number.
    Child(double score, std::uint32_t draft, std::uint32_t gang, std::uint64_t key_of)
        : rank(falling_key(score + 0.0)),  // a sum that is no -0
          numbers(std::uint64_t{draft} << 32 | gang),
          key(key_of) {}
    std::uint32_t draft() const { return static_cast<std::uint32_t>(numbers >> 32); }
    std::uint32_t gang() const { return static_cast<std::uint32_t>(numbers); }
    // Without branches, because no processor can predict them in a merge.
    bool is_before(const Child& other) const {
      return (rank < other.rank) | ((rank == other.rank) & (numbers < other.numbers));
    }

    std::uint64_t rank = std::numeric_limits<std::uint64_t>::max();  // falls with the score
    std::uint64_t numbers = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t key = 0;  // key of its free GPUs by type
  };

  // Empties the beam for offers in that many runs.
  void clear(std::size_t runs) {
    if (runs > runs_.size()) runs_.resize(runs);
    for (Run& run : runs_) {
      run.children.clear();
      run.is_in_order = true;
      run.last.rank = run.last.numbers = 0;  // before all others
    }
  }

  // Adds a child to the run. REQUIRES: score is a number.
  void offer(std::size_t number, double score, std::uint32_t draft, std::uint32_t gang,
             std::uint64_t key) {
    Run& run = runs_[number];
    const Child& child = run.children.emplace_back(score, draft, gang, key);
    run.is_in_order &= !child.is_before(run.last);
    run.last.rank = child.rank;
    run.last.numbers = child.numbers;
  }

  // Returns the best offered children, each the best of its key, in order.
  std::span<const Child> keep(std::size_t width) {
    heads_.clear();
    std::size_t left = 0;
    for (Run& run : runs_) {
      if (run.children.empty()) continue;
      const auto is_before = [](const Child& a, const Child& b) { return a.is_before(b); };
      if (!run.is_in_order) std::ranges::sort(run.children, is_before);
      left += run.children.size();
      run.children.emplace_back();  // behind all others
      heads_.push_back(run.children.data());
    }
    clear_keys(width);
    kept_.resize(width);
    std::size_t kept = 0;
    for (; left > 0 && kept < width; --left) {
      const Child** best = &heads_.front();
      for (const Child*& head : std::span(heads_).subspan(1)) {
        best = head->is_before(**best) ? &head : best;
      }
      kept_[kept] = *(*best)++;
      kept += static_cast<std::size_t>(add_key(kept_[kept].key));
    }
    return std::span(kept_).first(kept);
  }

 private:
  struct Run {
    std::vector<Child> children;
    Child last;
    bool is_in_order = true;
  };
  struct Slot {
    std::uint64_t key = 0;
    std::uint64_t step = 0;  // in which it was filled
  };
  static constexpr std::size_t kSlotsOfKey = 8;  // so that few keys share a slot

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
  std::vector<const Child*> heads_;  // the first of the rest of each run
  std::vector<Child> kept_;
  std::vector<Slot> slots_;  // a hash table of the keys of kept_
  std::uint64_t step_ = 0;
};

}  // namespace fairlead
