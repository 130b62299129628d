#include "fairlead/report/run_pieces.h"

#include "fairlead/base/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace fairlead {
namespace {

RunPiece piece(std::size_t job, std::int64_t begin_ms, std::int64_t end_ms, std::uint32_t gpu = 0) {
  return {.job = JobId(job), .gpu = gpu, .gpus = 1, .begin = {begin_ms}, .end = {end_ms}};
}

TEST(RunPieces, JoinsNothingThatIsFewEnough) {
  RunPieces pieces(4);
  pieces.add(piece(1, 0, 10));
  pieces.add(piece(0, 10, 20));
  pieces.add(piece(0, 20, 30, 1));
  pieces.add(piece(0, 20, 30));
  pieces.finish();
  EXPECT_EQ(pieces.resolution(), Duration{});
  EXPECT_EQ(pieces.pieces(), (std::vector<RunPiece>{piece(0, 10, 20), piece(0, 20, 30),
                                                    piece(0, 20, 30, 1), piece(1, 0, 10)}));
}

TEST(RunPieces, JoinsAtTheLeastResolutionThatIsEnough) {
  RunPieces pieces(2);
  pieces.add(piece(0, 0, 1000));
  pieces.add(piece(0, 2999, 4000));  // 1.999 s later
  pieces.add(piece(0, 6000, 7000));  // 2 s later
  pieces.finish();
  EXPECT_EQ(pieces.resolution(), seconds(2));
  EXPECT_EQ(pieces.pieces(), (std::vector<RunPiece>{piece(0, 0, 4000), piece(0, 6000, 7000)}));
}

TEST(RunPieces, JoinsOnlyWhatIsOnOnePlace) {
  RunPieces pieces(1);
  pieces.add(piece(0, 0, 1000));
  pieces.add(piece(0, 1000, 2000, 1));
  RunPiece wide = piece(0, 1000, 2000);
  wide.tier = Tier::kSpine;
  pieces.add(wide);
  pieces.finish();
  EXPECT_EQ(pieces.pieces().size(), 3U);
  EXPECT_EQ(pieces.resolution(), Duration{});  // it would not help
}

// Some jobs in turns on few GPUs.
std::vector<RunPiece> turns(std::size_t count) {
  Rng rng(5);
  std::map<std::pair<std::size_t, std::uint32_t>, std::int64_t> free_from;
  std::vector<RunPiece> all;
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

std::vector<RunPiece> joined_plainly(std::vector<RunPiece> all, Duration resolution) {
  const auto place_and_time = [](const RunPiece& p) { return std::tuple(p.job, p.gpu, p.begin); };
  std::ranges::sort(all, {}, place_and_time);
  std::vector<RunPiece> joined;
  for (const RunPiece& p : all) {
    const bool follows = !joined.empty() && joined.back().job == p.job &&
                         joined.back().gpu == p.gpu && p.begin - joined.back().end < resolution;
    if (follows) joined.back().end = p.end;
    if (!follows) joined.push_back(p);
  }
  std::ranges::sort(joined, {},
                    [](const RunPiece& p) { return std::tuple(p.job, p.begin, p.gpu); });
  return joined;
}

TEST(RunPieces, JoiningOnTheWayIsJoiningAtTheEnd) {
  for (const std::size_t limit : {30UL, 100UL, 400UL, 2000UL}) {
    const std::vector<RunPiece> all = turns(5000);
    RunPieces pieces(limit);
    for (const RunPiece& p : all) pieces.add(p);
    pieces.finish();
    EXPECT_EQ(pieces.pieces(), joined_plainly(all, pieces.resolution()));
    EXPECT_LE(pieces.pieces().size(), limit);
    const Duration finer{pieces.resolution().ms / 2};
    EXPECT_GT(joined_plainly(all, finer).size(), limit);
  }
}

}  // namespace
}  // namespace fairlead
