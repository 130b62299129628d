#include "fairlead/metrics/error_quantiles.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(ErrorQuantiles, AreAtMostHalfAThousandthTooLarge) {
  ErrorQuantiles errors;
  for (int i = 1; i <= 1000; ++i) errors.add(i / 1000.0 - 0.0001);
  EXPECT_DOUBLE_EQ(errors.at(0.5), 0.5);
  EXPECT_DOUBLE_EQ(errors.at(0.99), 0.99);
  EXPECT_DOUBLE_EQ(errors.at(0.999), 0.999);
  EXPECT_DOUBLE_EQ(errors.at(1), 1);
}

TEST(ErrorQuantiles, OfNoErrorAreZero) {
  ErrorQuantiles errors;
  EXPECT_EQ(errors.at(0.99), 0);
  for (int i = 0; i < 100; ++i) errors.add(0);
  EXPECT_EQ(errors.at(0.99), 0);
  EXPECT_EQ(errors.at(1), 0);
}

TEST(ErrorQuantiles, CountTheLargestAsTwice) {
  ErrorQuantiles errors;
  errors.add(1e9);
  EXPECT_EQ(errors.at(0.5), 2);
}

}  // namespace
}  // namespace fairlead
