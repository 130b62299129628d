// HadarChoices: the gangs that Hadar's search gives to bids (dual.h).
//
// Choices are a tree: each has the choice before it in its draft. So a draft needs only its last choice, and drafts share
// the choices that they have in common. Row 0 is none.
//
// add: O(slices of the gang) for new slices, else O(1). No allocation once warm.
#pragma once

#include "fairlead/policy/hadar/gangs.h"

#include <cstdint>
#include <vector>

namespace fairlead {

class HadarChoices {
 public:
  // A gang given to a bid.
  struct Choice {
    std::uint32_t before = 0;  // the choice before it
    std::uint32_t bid = 0;
    HadarGang gang{};
  };

  // Starts a round without choices.
  void begin() {
    choices_.assign(1, {});
    slices_.assign(1, {});
  }
  // Returns the row of the copied slices, for HadarGang::first. Never 0.
  std::uint32_t add_slices(Gang slices) {
    const auto first = static_cast<std::uint32_t>(slices_.size());
    slices_.insert(slices_.end(), slices.begin(), slices.end());
    return first;
  }
  // Returns the row of the choice. REQUIRES: the slices of its gang were added.
  std::uint32_t add(const Choice& choice) {
    choices_.push_back(choice);
    return static_cast<std::uint32_t>(choices_.size() - 1);
  }

  const Choice& operator[](std::uint32_t row) const { return choices_[row]; }
  // Returns the slices of a chosen gang. Valid until more are added.
  Gang slices(const HadarGang& gang) const { return {slices_.data() + gang.first, gang.slices}; }
  // Calls each(choice) for all choices of the draft with that last choice, from the last to the first. O(choices).
  template <class Each>
  void for_each(std::uint32_t last, const Each& each) const {
    for (std::uint32_t at = last; at != 0; at = choices_[at].before) each(choices_[at]);
  }

 private:
  // Both from row 1 on.
  std::vector<Choice> choices_;
  std::vector<Slice> slices_;
};

}  // namespace fairlead
