// A piece of a wait: a time with one main cause, and facts about the cluster during it.
#pragma once

#include "fairlead/explain/present_waits.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fairlead {

// The free GPUs during the piece, and the users that had the others. Amounts are sums over time: divided
// by the piece's length they are means.
struct WaitFacts {
  std::vector<std::int64_t> free_gpu_ms;  // by GPU type
  std::uint32_t hole = 0;  // the most GPUs of its types that were free on one node at any moment
  std::vector<std::int64_t> allocated_gpu_ms;  // GPUs in use of its types, by user
  LastNotes noted;                             // on the job or its user, when the piece started
};

struct WaitPiece {
  Time from;
  Time to;
  CauseTimes causes;  // the main cause has the largest part
  JobId other{};      // the job that went first, or that GPUs were kept for; none: no single job
  WaitFacts facts{};

  WhyCause cause() const { return causes.main(); }
  // Joins the piece that follows it.
  void add(const WaitPiece& next);
};

// Returns the same in at most `most` pieces: short ones join their neighbours. REQUIRES: most > 0.
std::vector<WaitPiece> condensed(const std::vector<WaitPiece>& pieces, std::size_t most);

}  // namespace fairlead
