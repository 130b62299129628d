#include "fairlead/local/references.h"

#include "fairlead/io/sim_io.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

Time at(int s) { return Time{} + seconds(s); }

TEST(References, ASensorThatFollowsAnotherAgreesWithIt) {
  SimIo io(1, {});
  References references(io);
  Sensors sensors;
  const auto look = [&](int s, const std::string& progress, const std::string& steps) {
    sensors.look(at(s), {progress, steps, "", 0});
  };
  sensors.run(at(0));
  look(0, "", "0 0 steps 1");
  look(10, "", "100 0 steps 1");
  EXPECT_EQ(references.relative("ann/net", sensors, 1), 1);
  sensors = {};  // another task of that model, on a GPU of half the speed
  sensors.run(at(20));
  look(20, "", "0 0 steps 1");
  look(30, "", "50 0 steps 1");
  EXPECT_EQ(references.relative("ann/net", sensors, 1), 0.5);
  look(30, "0 10 epochs", "50 0 steps 1");
  look(40, "2 10 epochs", "100 0 steps 1");
  EXPECT_EQ(sensors.speed()->unit, "epochs");
  EXPECT_EQ(references.relative("ann/net", sensors, 1), 0.5);  // as the hook measures
  References again(io);
  EXPECT_EQ(again.relative("ann/net", sensors, 1), 0.5);
  EXPECT_EQ(again.relative("bob/net", sensors, 1), 1);
}

// Four workers, each with a batch of its own, make no more steps than one.
TEST(References, WorkersWithBatchesOfTheirOwnAreAsFastAsOneAlone) {
  SimIo io(1, {});
  References references(io);
  const auto relative = [&](int workers) {
    Sensors sensors;
    sensors.run(at(0));
    for (int s : {0, 10}) {
      const std::string steps = fmt::format("{} 0 steps 8 8 4 {} 32 4711", 10 * s, workers);
      sensors.look(at(s), {"", steps, "", 0});
    }
    return references.relative("ann/net", sensors, workers);
  };
  EXPECT_EQ(relative(1), 1);
  EXPECT_EQ(relative(4), 1);
}

}  // namespace
}  // namespace fairlead
