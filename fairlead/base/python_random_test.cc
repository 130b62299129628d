#include "fairlead/base/python_random.h"

#include <gtest/gtest.h>

#include <vector>

namespace fairlead {
namespace {

// CPython 3.11 returns these values for r = random.Random(5): r.getrandbits(32) twice, r.shuffle of six numbers after
// one of three, and the 700th r.getrandbits(32) after that, when the state was renewed.
TEST(PythonRandom, ShufflesAsPython) {
  PythonRandom random(5);
  EXPECT_EQ(random.bits(), 2675342405U);
  EXPECT_EQ(random.bits(), 1097127993U);
  std::vector<std::uint32_t> three = {0, 1, 2};
  random.shuffle(three);
  EXPECT_EQ(three, (std::vector<std::uint32_t>{0, 1, 2}));
  std::vector<std::uint32_t> six = {0, 1, 2, 3, 4, 5};
  random.shuffle(six);
  EXPECT_EQ(six, (std::vector<std::uint32_t>{2, 3, 1, 0, 4, 5}));
  for (int i = 1; i < 700; ++i) random.bits();
  EXPECT_EQ(random.bits(), 3444801754U);
}

// r = random.Random(2): r.getrandbits(32) three times, r.random() three times, and r.choice of 26
// items six times.
TEST(PythonRandom, DrawsNumbersAndChoicesAsPython) {
  PythonRandom random(2);
  EXPECT_EQ(random.bits(), 4106135923U);
  EXPECT_EQ(random.bits(), 3707026329U);
  EXPECT_EQ(random.bits(), 4070888059U);
  for (const double drawn : {0.8490552757423473, 0.09158478740507359, 0.3610574739836072}) {
    EXPECT_EQ(random.uniform(), drawn);
  }
  for (const std::uint32_t drawn : {5U, 23U, 25U, 21U, 9U, 8U}) EXPECT_EQ(random.below(26), drawn);
}

}  // namespace
}  // namespace fairlead
