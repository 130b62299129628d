// HadarDrafts: the drafts of a step of Hadar's search, and memory for the drafts of the next step (dual.h).
//
// A draft gives gangs to some of the bids that were looked at. The rest of the GPUs are its parts (parts.h), which drafts
// share.
//
// copy: O(types). All else O(1). No allocation after the constructor.
#pragma once

#include "fairlead/policy/hadar/parts.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace fairlead {

struct HadarDraft {
  HadarPart** parts = nullptr;  // by type, in memory of this draft
  std::uint64_t key = 0;        // key of the free GPUs by type
  std::uint32_t gpus = 0;       // free
  double free_cost = 0;         // cost of the free GPUs, at clearing prices
  double worth = 0;
  double idle = 0;         // bound if it skips the present bid
  std::uint32_t last = 0;  // choice; 0: none
};

class HadarDrafts {
 public:
  // `most`: the number of drafts that a step may keep. REQUIRES: most > 0.
  HadarDrafts(std::size_t most, std::size_t types)
      : types_(types), parts_(2 * most * types), drafts_(most), next_(most) {
    HadarPart** parts = parts_.data();
    for (std::vector<HadarDraft>* drafts : {&drafts_, &next_}) {
      for (HadarDraft& draft : *drafts) draft.parts = std::exchange(parts, parts + types);
    }
  }
  HadarDrafts(const HadarDrafts&) = delete;  // drafts point into it
  HadarDrafts& operator=(const HadarDrafts&) = delete;

  // Starts with one draft, and returns it. It has the values of an old draft.
  HadarDraft& begin() {
    count_ = 1;
    return drafts_.front();
  }

  std::size_t size() const { return count_; }
  HadarDraft& operator[](std::size_t row) { return drafts_[row]; }
  const HadarDraft& operator[](std::size_t row) const { return drafts_[row]; }
  std::span<HadarDraft> all() { return std::span(drafts_).first(count_); }
  std::span<const HadarDraft> all() const { return std::span(drafts_).first(count_); }
  // Returns the parts of a draft, which need not be one of these.
  HadarRest rest(const HadarDraft& draft) const { return {draft.parts, types_}; }
  // Copies the draft into the memory of the other.
  void copy(const HadarDraft& from, HadarDraft& to) const {
    HadarPart** const parts = to.parts;
    to = from;
    to.parts = parts;
    std::ranges::copy(rest(from), parts);
  }

  // The drafts of the next step, to be filled in. REQUIRES: row < most.
  HadarDraft& next(std::size_t row) { return next_[row]; }
  // Keeps only the first drafts.
  void keep(std::size_t count) { count_ = count; }
  // Goes on with so many drafts of the next step.
  void advance(std::size_t count) {
    count_ = count;
    std::swap(drafts_, next_);
  }

 private:
  std::size_t types_;
  std::vector<HadarPart*> parts_;  // memory of the parts of all drafts
  std::vector<HadarDraft> drafts_;
  std::vector<HadarDraft> next_;
  std::size_t count_ = 0;
};

}  // namespace fairlead
