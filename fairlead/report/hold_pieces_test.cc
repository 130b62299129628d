#include "fairlead/report/hold_pieces.h"

#include "fairlead/base/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace fairlead {
namespace {

HoldPiece piece(std::size_t job, std::int64_t begin_ms, std::int64_t end_ms,
                std::uint32_t gpu = 0) {
  return {.job = JobId(job), .gpu = gpu, .gpus = 1, .begin = {begin_ms}, .end = {end_ms}};
}

TEST(HoldPieces, JoinsNothingThatIsFewEnough) {
  HoldPieces pieces(4);
  pieces.add(piece(1, 0, 10));
  pieces.add(piece(0, 10, 20));
  pieces.add(piece(0, 20, 30, 1));
  pieces.add(piece(0, 20, 30));
  pieces.finish();
  EXPECT_EQ(pieces.resolution(), Duration{});
  EXPECT_EQ(pieces.pieces(), (std::vector<HoldPiece>{piece(0, 10, 20), piece(0, 20, 30),
                                                     piece(0, 20, 30, 1), piece(1, 0, 10)}));
}

TEST(HoldPieces, JoinsAtTheLeastResolutionThatIsEnough) {
  HoldPieces pieces(2);
  pieces.add(piece(0, 0, 1000));
  pieces.add(piece(0, 2999, 4000));  // 1.999 s later
  pieces.add(piece(0, 6000, 7000));  // 2 s later
  pieces.finish();
  EXPECT_EQ(pieces.resolution(), seconds(2));
  EXPECT_EQ(pieces.pieces(), (std::vector<HoldPiece>{piece(0, 0, 4000), piece(0, 6000, 7000)}));
}

TEST(HoldPieces, JoinsOnlyWhatIsOnOnePlace) {
  HoldPieces pieces(1);
  pieces.add(piece(0, 0, 1000));
  pieces.add(piece(0, 1000, 2000, 1));
  HoldPiece wide = piece(0, 1000, 2000);
  wide.tier = Tier::kSpine;
  pieces.add(wide);
  pieces.finish();
  EXPECT_EQ(pieces.pieces().size(), 3U);
  EXPECT_EQ(pieces.resolution(), Duration{});  // it would not help
}

// Some jobs in turns on few GPUs.
std::vector<HoldPiece> turns(std::size_t count) {
  Rng rng(5);
  std::map<std::pair<std::size_t, std::uint32_t>, std::int64_t> free_from;
  std::vector<HoldPiece> all;
  for (std::size_t i = 0; i < count; ++i) {
    const auto job = static_cast<std::size_t>(rng.below(5));
    const auto gpu = static_cast<std::uint32_t>(rng.below(3));
    std::int64_t& from = free_from[{job, gpu}];
    const std::int64_t begin = from + static_cast<std::int64_t>(rng.below(40'000));
    from = begin + 1000;
    all.push_back(piece(job, begin, from, gpu));
  }
  return all;
}

std::vector<HoldPiece> joined_plainly(std::vector<HoldPiece> all, Duration resolution) {
  const auto place_and_time = [](const HoldPiece& p) { return std::tuple(p.job, p.gpu, p.begin); };
  std::ranges::sort(all, {}, place_and_time);
  std::vector<HoldPiece> joined;
  for (const HoldPiece& p : all) {
    const bool follows = !joined.empty() && joined.back().job == p.job &&
                         joined.back().gpu == p.gpu && p.begin - joined.back().end < resolution;
    if (follows) joined.back().end = p.end;
    if (!follows) joined.push_back(p);
  }
  std::ranges::sort(joined, {},
                    [](const HoldPiece& p) { return std::tuple(p.job, p.begin, p.gpu); });
  return joined;
}

TEST(HoldPieces, JoiningOnTheWayIsJoiningAtTheEnd) {
  for (const std::size_t limit : {30UL, 100UL, 400UL, 2000UL}) {
    const std::vector<HoldPiece> all = turns(5000);
    HoldPieces pieces(limit);
    for (const HoldPiece& p : all) pieces.add(p);
    pieces.finish();
    EXPECT_EQ(pieces.pieces(), joined_plainly(all, pieces.resolution()));
    EXPECT_LE(pieces.pieces().size(), limit);
    const Duration finer{pieces.resolution().ms / 2};
    EXPECT_GT(joined_plainly(all, finer).size(), limit);
  }
}

}  // namespace
}  // namespace fairlead
