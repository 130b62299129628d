#include "fairlead/measure/sensors.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

Time at(int s) { return Time{} + seconds(s); }

class SensorsTest : public testing::Test {
 protected:
  void SetUp() override { sensors_.run(at(0)); }
  void look(int s, const std::string& progress, const std::string& steps,
            const std::string& output = "") {
    const std::uint64_t begin = std::min<std::uint64_t>(sensors_.output_next(), bytes_);
    bytes_ += output.size();
    sensors_.look(at(s), {progress, steps, output, begin});
  }
  std::string speed() const {
    const auto speed = sensors_.speed();
    if (!speed) return "none";
    return fmt::format("{} {}/s, {}", speed->unit_per_s, speed->unit, sensor_name(speed->sensor));
  }

  Sensors sensors_;
  std::uint64_t bytes_ = 0;
};

TEST_F(SensorsTest, WithoutReportsThereIsNoSpeed) {
  look(5, "", "");
  look(10, "epoch 3", "");
  EXPECT_EQ(speed(), "none");
  EXPECT_FALSE(sensors_.done());
}

TEST_F(SensorsTest, TheScriptsReportsGoFirstThenTheHookThenTheOutput) {
  for (int s = 0; s <= 40; s += 5) look(s, "", "", fmt::format("step {}/9000: loss 1\n", 30 * s));
  EXPECT_EQ(speed(), "30 steps/s, output");
  look(45, "", "1000 0 steps 4711");
  EXPECT_EQ(speed(), "30 steps/s, output");  // a sensor needs two readings
  look(50, "", "1100 0 steps 4711");
  EXPECT_EQ(speed(), "20 steps/s, hook");
  look(55, "1 10 epochs", "1200 0 steps 4711");
  EXPECT_EQ(speed(), "20 steps/s, hook");
  look(65, "2 10 epochs", "1400 0 steps 4711");
  EXPECT_EQ(speed(), "0.1 epochs/s, reports");
}

TEST_F(SensorsTest, TheHookCountsSamplesOfAllWorkersIfItKnowsTheBatchSize) {
  look(0, "", "100 0 steps 8 8 4 2 0 4711");
  look(10, "", "300 0 steps 8 8 4 2 0 4711");
  EXPECT_EQ(speed(), "20 steps/s, hook");
  look(20, "", "500 0 steps 8 8 4 2 32 4711");
  EXPECT_EQ(speed(), "1280 samples/s, hook");
  EXPECT_EQ(sensors_.rate(Sensor::kHook), 20);
}

TEST_F(SensorsTest, ProgressIsTheScriptsOrOfASensorThatKnowsTheTotal) {
  for (int s = 0; s <= 40; s += 5)
    look(s, "", fmt::format("{} 0 steps 1", 20 * s), fmt::format("step {}/9000: loss 1\n", 30 * s));
  EXPECT_EQ(speed(), "20 steps/s, hook");
  EXPECT_EQ(sensors_.done()->progress.total, 9000);
  EXPECT_EQ(sensors_.done()->unit_per_s, 30);
  look(45, "7", "900 0 steps 1");
  EXPECT_EQ(sensors_.done()->progress.done, 7);
  EXPECT_EQ(sensors_.done()->unit_per_s, 0);
}

}  // namespace
}  // namespace fairlead
