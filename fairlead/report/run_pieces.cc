#include "fairlead/report/run_pieces.h"

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>

namespace fairlead {
namespace {

constexpr std::size_t kLatest = std::size_t{1} << 16;

auto place_of(const RunPiece& piece) {
  return std::tuple(piece.job, piece.gpu, piece.gpus, piece.tier);
}

std::size_t latest_slot(const RunPiece& piece) {
  const std::uint64_t key = std::uint64_t{piece.job.row()} << 32 | piece.gpu;
  return (key * 0x9e3779b97f4a7c15) >> 48;
}

}  // namespace

RunPieces::RunPieces(std::size_t limit) : limit_(limit), room_(kRoom * limit), latest_(kLatest) {}

Duration RunPieces::resolution_of(int level) {
  return level == 0 ? Duration{} : Duration{1000 * (std::int64_t{1} << (level - 1))};
}

// Returns the first level with a resolution above `gap`.
int RunPieces::level_joining(Duration gap) {
  return 1 + static_cast<int>(std::bit_width(static_cast<std::uint64_t>(gap.ms / 1000)));
}

// An earlier piece of the place than its latest is at least the resolution away.
bool RunPieces::continues(std::size_t row, const RunPiece& piece) const {
  return row < pieces_.size() && place_of(pieces_[row]) == place_of(piece) &&
         piece.begin - pieces_[row].end < resolution();
}

void RunPieces::add(const RunPiece& piece) {
  std::size_t& latest = latest_[latest_slot(piece)];
  if (continues(latest, piece)) {
    pieces_[latest].end = piece.end;
    return;
  }
  latest = pieces_.size();
  pieces_.push_back(piece);
  if (pieces_.size() < room_) return;
  join();
  room_ = std::max(kRoom * limit_, 2 * pieces_.size());
}

void RunPieces::finish() {
  if (level_ > 0 || pieces_.size() > limit_) join();
  std::ranges::sort(pieces_, {}, [](const RunPiece& piece) {
    return std::tuple(piece.job, piece.begin, piece.gpu);
  });
}

// Raises the level as far as needed, and joins the pieces.
void RunPieces::join() {
  std::ranges::sort(pieces_, {}, [](const RunPiece& piece) {
    return std::tuple_cat(place_of(piece), std::tuple(piece.begin));
  });
  std::array<std::size_t, kLevels> joined_at = {};  // how many gaps each level closes first
  std::size_t places = pieces_.empty() ? 0 : 1;
  for (std::size_t i = 1; i < pieces_.size(); ++i) {
    if (place_of(pieces_[i]) != place_of(pieces_[i - 1])) {
      ++places;
    } else {
      ++joined_at[static_cast<std::size_t>(level_joining(pieces_[i].begin - pieces_[i - 1].end))];
    }
  }
  std::size_t left = pieces_.size();
  for (int level = 1; level <= level_; ++level) left -= joined_at[static_cast<std::size_t>(level)];
  while (left > std::max(limit_, 2 * places)) left -= joined_at[static_cast<std::size_t>(++level_)];

  std::size_t kept = 0;
  for (std::size_t i = 1; i < pieces_.size(); ++i) {
    if (continues(kept, pieces_[i])) {
      pieces_[kept].end = pieces_[i].end;
    } else {
      pieces_[++kept] = pieces_[i];
    }
  }
  if (!pieces_.empty()) pieces_.resize(kept + 1);
}

}  // namespace fairlead
