#include "fairlead/measure/output_meter.h"

#include "fairlead/io/io.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

Time at(int s) { return Time{} + seconds(s); }

// An output that grows, and a meter that reads it every five seconds.
class OutputMeterTest : public testing::Test {
 protected:
  void SetUp() override {
    meter_.run(at(0));
    look(0);
  }
  void print(std::string_view text) { output_ += text; }
  void step(int done, int total) { print(fmt::format("step {}/{}: loss 0.5\n", done, total)); }
  void look(int s) {
    const std::uint64_t size = output_.size();
    const std::uint64_t least = size < kOutputBytesMax ? 0 : size - kOutputBytesMax;
    const std::uint64_t begin = std::max(std::min(meter_.next(), size), least);
    meter_.read(at(s), begin, std::string_view(output_).substr(begin));
  }

  std::string output_ = "step 900: loss 0.1\n";  // an earlier task printed it
  OutputMeter meter_;
};

TEST_F(OutputMeterTest, OutputOfAnEarlierTaskDoesNotCount) {
  look(5);
  EXPECT_FALSE(meter_.last());
  EXPECT_FALSE(meter_.rate());
}

TEST_F(OutputMeterTest, StepsGiveASpeedAfterHalfAMinuteAndAnEnd) {
  for (int s = 5; s <= 60; s += 5) {
    step(10 * s, 5000);
    look(s);
    EXPECT_EQ(meter_.rate().has_value(), s >= 35) << s;
  }
  EXPECT_EQ(meter_.rate(), 10);
  EXPECT_EQ(meter_.last()->done, 600);
  EXPECT_EQ(meter_.last()->total, 5000);
}

TEST_F(OutputMeterTest, ALineIsReadOnceItIsComplete) {
  print("step 12");
  look(5);
  EXPECT_FALSE(meter_.last());
  print("0: loss 1\rstep 130: lo");
  look(10);
  EXPECT_EQ(meter_.last()->done, 120);
}

TEST_F(OutputMeterTest, OnlyTimeInWhichItRanCounts) {
  for (int s = 5; s <= 60; s += 5) {
    step(10 * s, 5000);
    look(s);
  }
  meter_.pause(at(60));
  meter_.run(at(1000));
  step(650, 5000);
  look(1005);
  EXPECT_EQ(meter_.rate(), 10);
}

TEST_F(OutputMeterTest, ACountThatBeginsAgainWithEachEpochGoesOn) {
  for (int s = 5; s <= 200; s += 5) {  // epochs of 30 s
    step(10 * (s % 30), 300);
    look(s);
  }
  EXPECT_EQ(meter_.rate(), 10);
  EXPECT_EQ(meter_.last()->done, 2000);
  EXPECT_EQ(meter_.last()->total, 0);  // the end of an epoch is not the job's
}

TEST_F(OutputMeterTest, TheSeriesThatRunsForLongestCounts) {
  for (int s = 5; s <= 20; s += 5) {  // something before the training
    step(1000 * s, 20'000);
    look(s);
  }
  for (int s = 25; s <= 200; s += 5) {
    step(10 * s, 5000);
    if (s % 50 < 10) step(s % 50, 10);  // a validation
    look(s);
  }
  EXPECT_EQ(meter_.rate(), 10);
  EXPECT_EQ(meter_.last()->total, 5000);
}

TEST_F(OutputMeterTest, APrintedRateCountsUntilThereIsAMeasuredOne) {
  print(" iteration 100/ 5000 | elapsed time per iteration (ms): 500\n");
  for (int s = 5; s <= 600; s += 5) {
    look(s);
    EXPECT_EQ(meter_.rate().has_value(), s >= 35) << s;
  }
  EXPECT_EQ(meter_.rate(), 2);
  print(" iteration 695/ 5000 | elapsed time per iteration (ms): 500\n");
  look(600);
  EXPECT_EQ(meter_.rate(), 1);
}

TEST_F(OutputMeterTest, AfterAGapItStartsAgain) {
  for (int s = 5; s <= 60; s += 5) {
    step(10 * s, 5000);
    look(s);
  }
  print(std::string(2 * kOutputBytesMax, 'x'));
  look(65);  // a line that is longer than a part is skipped
  EXPECT_FALSE(meter_.rate());
  print("\n");
  step(700, 5000);
  look(70);
  EXPECT_EQ(meter_.last()->done, 700);
  EXPECT_FALSE(meter_.rate());
}

}  // namespace
}  // namespace fairlead
