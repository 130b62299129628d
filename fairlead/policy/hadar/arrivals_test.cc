#include "fairlead/policy/hadar/arrivals.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

constexpr Time at(std::int64_t s) { return {1000 * s}; }

TEST(HadarArrivals, ABatchIsNoStream) {
  HadarArrivals arrivals;
  EXPECT_FALSE(arrivals.go_on(at(0), seconds(100)));
  arrivals.hear(at(0));
  arrivals.hear(at(0));
  EXPECT_FALSE(arrivals.go_on(at(0), seconds(100)));
}

TEST(HadarArrivals, TwoMomentsWithinTheLullAre) {
  HadarArrivals arrivals;
  arrivals.hear(at(0));
  arrivals.hear(at(10));
  EXPECT_TRUE(arrivals.go_on(at(10), seconds(100)));
  EXPECT_TRUE(arrivals.go_on(at(99), seconds(100)));
  EXPECT_FALSE(arrivals.go_on(at(100), seconds(100)));
}

TEST(HadarArrivals, ABatchAfterALullIsNoStream) {
  HadarArrivals arrivals;
  arrivals.hear(at(0));
  arrivals.hear(at(10));
  arrivals.hear(at(500));
  EXPECT_FALSE(arrivals.go_on(at(500), seconds(100)));
}

TEST(HadarArrivals, AreSavedAndLoaded) {
  HadarArrivals saved;
  saved.hear(at(5));
  saved.hear(at(10));
  Writer writer;
  save(saved, writer);
  Reader reader(writer.bytes());
  HadarArrivals loaded;
  load(loaded, reader);
  EXPECT_TRUE(loaded.go_on(at(20), seconds(100)));
}

}  // namespace
}  // namespace fairlead
