#include "fairlead/base/nearest.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(Nearest, WhatIsMeantComesFirst) {
  EXPECT_EQ(nearest_first({"fifo", "las", "tiresias"}, "tiresais"), "tiresias, las, fifo");
  EXPECT_EQ(nearest_first({"fifo", "las", "tiresias"}, "lass"), "las, fifo, tiresias");
}

TEST(Nearest, AnAbbreviationIsNearest) {
  EXPECT_EQ(nearest_first({"las", "tiresias"}, "tir"), "tiresias, las");
}

TEST(Nearest, EqualDistancesKeepTheirOrder) { EXPECT_EQ(nearest_first({"b", "a"}, "c"), "b, a"); }

}  // namespace
}  // namespace fairlead
