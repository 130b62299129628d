#include "fairlead/replay/wait_piece.h"

#include <algorithm>

namespace fairlead {
namespace {

void add_to(std::vector<std::int64_t>& sums, const std::vector<std::int64_t>& more) {
  if (sums.size() < more.size()) sums.resize(more.size());
  for (std::size_t i = 0; i < more.size(); ++i) sums[i] += more[i];
}

Duration length(const WaitPiece& piece) { return piece.to - piece.from; }

// Joins each piece that is shorter than `least`, or has its predecessor's cause, to its predecessor.
std::vector<WaitPiece> joined(const std::vector<WaitPiece>& pieces, Duration least) {
  std::vector<WaitPiece> out;
  for (const WaitPiece& piece : pieces) {
    const bool joins = !out.empty() && (length(piece) < least || length(out.back()) < least ||
                                        out.back().cause() == piece.cause());
    if (joins) out.back().add(piece);
    if (!joins) out.push_back(piece);
  }
  return out;
}

}  // namespace

void WaitPiece::add(const WaitPiece& next) {
  if (next.causes.of(next.cause()) > causes.of(cause())) other = next.other;
  to = next.to;
  causes += next.causes;
  add_to(facts.free_gpu_ms, next.facts.free_gpu_ms);
  add_to(facts.allocated_gpu_ms, next.facts.allocated_gpu_ms);
  facts.hole = std::max(facts.hole, next.facts.hole);
  facts.noted.insert(next.facts.noted.begin(), next.facts.noted.end());
}

std::vector<WaitPiece> condensed(const std::vector<WaitPiece>& pieces, std::size_t most) {
  std::vector<WaitPiece> out = pieces;
  constexpr std::int64_t kParts = 100;  // the finest: pieces of a hundredth of the wait
  for (std::int64_t parts = kParts; out.size() > most;
       parts = std::max<std::int64_t>(1, parts / 2)) {
    const Duration all = out.back().to - out.front().from;
    const Duration least = {all.ms / parts + (parts == 1 ? 1 : 0)};
    out = joined(out, least);
  }
  return out;
}

}  // namespace fairlead
