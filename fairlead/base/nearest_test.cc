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

TEST(DidYouMean, FindsSlipsCaseAndLongerNames) {
  EXPECT_EQ(did_you_mean({"user", "gpuss"}, "gpus"), " (did you mean gpuss?)");
  EXPECT_EQ(did_you_mean({"USER_ID", "Submitted"}, "Submit"), " (did you mean Submitted?)");
  EXPECT_EQ(did_you_mean({"elapsed-raw", "elapsed"}, "ElapsedRaw"), " (did you mean elapsed-raw?)");
}

TEST(DidYouMean, SaysNothingWhereNothingIsNear) {
  EXPECT_EQ(did_you_mean({"cores", "mem"}, "gpus"), "");
  EXPECT_EQ(did_you_mean({}, "gpus"), "");
  EXPECT_EQ(did_you_mean({"a"}, "b"), "");
}

}  // namespace
}  // namespace fairlead
