#include "fairlead/policy/gandiva_fair/kept_gangs.h"

#include "fairlead/policy/gandiva_fair/testing.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

struct Gangs : KeptGangs {
  Gangs() { resize(2, 2); }
};

TEST(KeptGangs, CountByTypeAndInSum) {
  Gangs kept;
  kept.add(kAnn, kFast, 4);
  kept.add(kAnn, kFast, 4);
  kept.add(kAnn, kSlow, 1);
  EXPECT_EQ(kept.gpus(kAnn), 9);
  EXPECT_EQ(kept.gpus(kAnn, kFast), 8);
  EXPECT_EQ(kept.jobs(kAnn, kFast), 2);
  kept.remove(kAnn, kFast, 4);
  EXPECT_EQ(kept.gpus(kAnn), 5);
  EXPECT_EQ(kept.jobs(kAnn, kFast), 1);
  EXPECT_EQ(kept.gpus(kBen), 0);
}

TEST(KeptGangs, TheLargestIsOfAnyType) {
  Gangs kept;
  EXPECT_EQ(kept.largest(kAnn), 0U);
  kept.add(kAnn, kFast, 1);
  kept.add(kAnn, kFast, 1);
  kept.add(kAnn, kSlow, 4);
  EXPECT_EQ(kept.largest(kAnn), 4U);
  kept.remove(kAnn, kSlow, 4);
  EXPECT_EQ(kept.largest(kAnn), 1U);
}

TEST(KeptGangs, AShareIsDividedAmongJobsUpToTheirSize) {
  Gangs kept;
  EXPECT_EQ(kept.level(kAnn, kFast, 0), 0);
  for (std::uint32_t gpus : {8U, 1U, 2U}) kept.add(kAnn, kFast, gpus);
  EXPECT_EQ(kept.level(kAnn, kFast, 2.25), 0.75);
  EXPECT_EQ(kept.level(kAnn, kFast, 6), 3) << "1 + 2 + 3";
  EXPECT_EQ(kept.level(kAnn, kFast, 11), 8);
  kept.remove(kAnn, kFast, 1);
  EXPECT_EQ(kept.level(kAnn, kFast, 6), 4) << "2 + 4";
}

TEST(KeptGangs, SizesWithoutAJobAreNotSaved) {
  const auto bytes_of = [](KeptGangs& kept) {
    Writer writer;
    Archive archive(writer);
    kept.fields_of(archive, kAnn, kFast);
    return std::vector<std::uint8_t>(writer.bytes().begin(), writer.bytes().end());
  };
  Gangs kept;
  kept.add(kAnn, kFast, 2);
  const auto bytes = bytes_of(kept);
  kept.add(kAnn, kFast, 4);
  kept.remove(kAnn, kFast, 4);
  EXPECT_EQ(bytes_of(kept), bytes);
  Gangs loaded;
  Reader reader(bytes);
  Archive archive(reader);
  loaded.fields_of(archive, kAnn, kFast);
  EXPECT_EQ(loaded.gpus(kAnn, kFast), 2);
  EXPECT_EQ(loaded.largest(kAnn), 2U);
}

}  // namespace
}  // namespace fairlead
