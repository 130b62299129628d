#include "fairlead/report/note_sample.h"

#include <algorithm>

namespace fairlead {

void NoteSample::add(Time t, const Note& note) {
  ++seen_;
  Kind& kind = kinds_[note.index()];
  if (kind.seen++ % kind.every != 0) return;
  ++kind.kept;
  notes_.push_back({t, note});
  if (notes_.size() > limit_) thin();
}

void NoteSample::thin() {
  const auto most = std::ranges::max_element(kinds_, {}, &Kind::kept);
  const auto thinned = static_cast<std::size_t>(most - kinds_.begin());
  bool drop = true;
  std::erase_if(notes_, [&](const Noted& noted) {
    if (noted.note.index() != thinned) return false;
    drop = !drop;
    return drop;
  });
  most->every *= 2;
  most->kept = (most->kept + 1) / 2;
}

}  // namespace fairlead
