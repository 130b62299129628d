// A piece of a wait: a time with one main cause, and what there was meanwhile.
#pragma once

#include "fairlead/model/note.h"
#include "fairlead/replay/why_cause.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace fairlead {

// What a policy noted of one thing last, by the number of the kind.
using LastNotes = std::map<std::size_t, NoteFields>;

// What could be had meanwhile, and who had it. Amounts are sums over the time: divided by it they are
// means.
struct WaitFacts {
  std::vector<std::int64_t> free_gpu_ms;  // by GPU type
  std::uint32_t hole = 0;  // the most GPUs of its types that were free on one node at any moment
  std::vector<std::int64_t> held_gpu_ms;  // of its types, by user
  LastNotes noted;                        // of the job or its user, as it began
};

struct WaitPiece {
  Time from;
  Time to;
  CauseTimes causes;  // most of it is the main one's
  JobId other{};      // that went first, or that GPUs were kept for; none: no single one
  WaitFacts facts{};

  WhyCause cause() const { return causes.main(); }
  // Joins the piece that follows it.
  void add(const WaitPiece& next);
};

// The same in at most `most` pieces: short ones join their neighbours. REQUIRES: most > 0.
std::vector<WaitPiece> condensed(const std::vector<WaitPiece>& pieces, std::size_t most);

}  // namespace fairlead
