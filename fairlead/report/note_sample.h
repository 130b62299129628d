// A sample of a policy's notes, in no more notes than a page can use.
//
// While there are too many, the most frequent kind keeps every second note, spread over the run. So the rare kinds
// (trades) stay complete beside the frequent ones (passes). O(1) amortised per note.
#pragma once

#include "fairlead/base/units.h"
#include "fairlead/model/note.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fairlead {

class NoteSample {
 public:
  struct Noted {
    Time t;
    Note note;
  };

  explicit NoteSample(std::size_t limit = 200'000) : limit_(limit) {}

  // REQUIRES: in order of time.
  void add(Time t, const Note& note);
  // By time.
  const std::vector<Noted>& notes() const { return notes_; }
  std::int64_t omitted() const { return seen_ - static_cast<std::int64_t>(notes_.size()); }

 private:
  struct Kind {
    std::size_t kept = 0;
    std::int64_t seen = 0;
    std::int64_t every = 1;  // one of so many is kept, the first
  };
  void thin();

  std::size_t limit_;
  std::int64_t seen_ = 0;
  std::array<Kind, kNoteKinds> kinds_;
  std::vector<Noted> notes_;
};

}  // namespace fairlead
