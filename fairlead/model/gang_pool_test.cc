#include "fairlead/model/gang_pool.h"

#include "fairlead/base/rng.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fairlead {
namespace {

// A gang in the pool, with its expected content.
struct Kept {
  GangRef ref;
  std::vector<Slice> slices;
  std::vector<std::uint64_t> masks;
};

std::vector<Slice> random_gang(Rng& rng) {
  std::vector<Slice> slices(1 + rng.below(20));
  for (std::size_t i = 0; i < slices.size(); ++i) {
    slices[i] = {NodeId(10 * i + rng.below(10)), static_cast<std::uint16_t>(1 + rng.below(8))};
  }
  return slices;
}

Kept add(GangPool& pool, Rng& rng) {
  Kept kept = {{}, random_gang(rng), {}};
  kept.ref = pool.add(kept.slices);
  for (std::uint64_t& mask : pool.gpu_masks(kept.ref)) {
    EXPECT_EQ(mask, 0U) << "masks of a new gang are empty";
    mask = rng.next();
    kept.masks.push_back(mask);
  }
  return kept;
}

void expect_intact(const GangPool& pool, const Kept& kept) {
  ASSERT_TRUE(std::ranges::equal(pool.gang(kept.ref), kept.slices));
  ASSERT_TRUE(std::ranges::equal(pool.gpu_masks(kept.ref), kept.masks));
}

class GangPoolModel : public testing::TestWithParam<std::uint64_t> {};

TEST_P(GangPoolModel, KeepsEveryGangUntilItIsReleased) {
  Rng rng(GetParam());
  GangPool pool;
  std::vector<Kept> gangs;
  for (int step = 0; step < 5'000; ++step) {
    if (gangs.size() < 5 || (gangs.size() < 60 && rng.below(2) == 0)) {
      gangs.push_back(add(pool, rng));
    } else {
      std::swap(gangs[rng.below(gangs.size())], gangs.back());
      pool.release(gangs.back().ref);
      gangs.pop_back();
    }
    for (const Kept& kept : gangs) ASSERT_NO_FATAL_FAILURE(expect_intact(pool, kept));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, GangPoolModel, testing::Values(1, 2, 3));

TEST(GangPool, UsesReleasedStorageAgain) {
  GangPool pool;
  const std::vector<Slice> three = {{NodeId(0), 1}, {NodeId(1), 1}, {NodeId(2), 1}};
  const std::vector<Slice> four = {{NodeId(0), 1}, {NodeId(1), 1}, {NodeId(2), 1}, {NodeId(3), 1}};
  const GangRef first = pool.add(three);
  pool.release(first);
  EXPECT_EQ(pool.add(four).offset, first.offset);
  EXPECT_NE(pool.add(four).offset, first.offset);
}

TEST(GangPool, IgnoresTheReleaseOfNoGang) {
  GangPool pool;
  pool.release({});
  EXPECT_TRUE(GangRef().empty());
  EXPECT_TRUE(pool.gang({}).empty());
}

TEST(GangPoolDeathTest, RefusesAnEmptyGang) {
  GangPool pool;
  EXPECT_DEATH(pool.add({}), "empty");
}

}  // namespace
}  // namespace fairlead
