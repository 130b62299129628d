#include "fairlead/measure/profile_line.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(ProfileLine, HasItsNumbersBetweenTheUnitAndTheProcess) {
  const JobProfile profile{.parameters_kb = 102'400,
                           .gradients_kb = 97'492,
                           .largest_tensor_kb = 8'192,
                           .workers = 4,
                           .samples = 32,
                           .step_us = 1};
  EXPECT_EQ(parse_profile("1200 0 steps 102400 97492 8192 4 32 4711"), profile);
  EXPECT_EQ(parse_profile("1 0 steps 1 1 1 1 0 1")->samples, 0U);
}

TEST(ProfileLine, OfAnotherFormOrBeyondReasonIsIgnored) {
  for (const char* line : {"",
                           " ",
                           "1200",
                           "1200 0 steps",
                           "1200 0 steps 4711",
                           "1200 0 steps 1 1 1 1 1",
                           "1200 0 steps 1 1 1 1 1 4711 9",
                           "1200 0 steps 1 1 1 1  1 4711",
                           "1200 0 steps 1.5 1 1 1 1 4711",
                           "1200 0 steps +2 1 1 1 1 4711",
                           "1200 0 steps -2 1 1 1 1 4711",
                           "1200 0 steps 1e3 1 1 1 1 4711",
                           "1200 0 steps 0x9 1 1 1 1 4711",
                           "1200 0 steps nan 1 1 1 1 4711",
                           "1200 0 steps 1 1 1 1 1 \x1b[2J",
                           "1200 0 steps 2 0 0 1 1 4711",            // nothing is exchanged
                           "1200 0 steps 2 1 0 1 1 4711",            // gradients without a tensor
                           "1200 0 steps 2 1 2 1 1 4711",            // a tensor larger than all
                           "1200 0 steps 0 1 1 1 1 4711",            // no parameters
                           "1200 0 steps 1 1 1 0 1 4711",            // without workers
                           "1200 0 steps 1 1 1 1000001 1 4711",      // too many
                           "1200 0 steps 4000000001 1 1 1 1 4711",   // larger than any memory
                           "1200 0 steps 4294967297 1 1 1 1 4711"})  // more than 32 bits
    EXPECT_FALSE(parse_profile(line).has_value()) << line;
}

}  // namespace
}  // namespace fairlead
