#include "fairlead/measure/meter.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

Time at(int s) { return Time{} + seconds(s); }

TEST(Meter, OnlyTimeInWhichItRanCounts) {
  Meter meter;
  meter.run(at(0));
  meter.told(at(0), {0, 1000});
  meter.pause(at(3));
  meter.run(at(100));
  meter.told(at(102), {50, 1000});
  EXPECT_EQ(meter.rate(), 10);  // 50 in 5 s
}

TEST(Meter, WhatIsTooShortIsNoSpeed) {
  Meter meter;
  meter.run(at(0));
  meter.told(at(0), {0, 0});
  meter.told(at(4), {400, 0});
  EXPECT_FALSE(meter.rate());
}

TEST(Meter, SpeedIsThatOfTheLastMinutes) {
  Meter meter;
  meter.run(at(0));
  for (int s = 0; s <= 600; s += 10) meter.told(at(s), {static_cast<double>(s), 0});
  for (int s = 610; s <= 1800; s += 10) meter.told(at(s), {600 + 2.0 * (s - 600), 0});
  EXPECT_EQ(meter.rate(), 2);
}

TEST(Meter, ACheckpointThatIsTakenUpBeginsAnew) {
  Meter meter;
  meter.run(at(0));
  meter.told(at(0), {0, 0});
  meter.told(at(10), {100, 0});
  meter.told(at(20), {50, 0});
  EXPECT_FALSE(meter.rate());
  meter.told(at(30), {150, 0});
  EXPECT_EQ(meter.rate(), 10);
}

TEST(Progress, LinesOfJobsAreReadWithCare) {
  EXPECT_EQ(parse_progress("1200 50000 steps")->total, 50000);
  EXPECT_EQ(parse_progress("1200")->done, 1200);
  EXPECT_EQ(parse_progress("12 5")->total, 0);  // less than is done
  EXPECT_EQ(parse_progress("1200 50000 steps")->unit, "steps");
  EXPECT_EQ(parse_progress("1200 0 steps 4711")->unit, "steps");
  EXPECT_EQ(parse_progress("12 epochs")->unit, "epochs");
  EXPECT_EQ(parse_progress("12 50 \x1b[2J")->unit, "");  // it is a user's text
  for (const char* line : {"", "epoch 3", "-1 5", "nan 5", "inf"}) {
    EXPECT_FALSE(parse_progress(line)) << line;
  }
}

}  // namespace
}  // namespace fairlead
