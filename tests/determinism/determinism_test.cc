// Same inputs and seed, same journal, whatever the compiler and build type: compares journal hashes
// with the committed ones beside this file. UPDATE_GOLDEN=1 rewrites them; a change belongs under
// *Results* in the changelog.

#include "testing/world.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace fairlead {
namespace {

constexpr const char* kExpected = "tests/determinism/hashes.txt";
constexpr std::uint64_t kWorlds = 25;

// One line per policy: its name and the journal hashes of its runs, mixed.
std::string hashes_of_all_policies() {
  std::ostringstream text;
  for (const std::string& policy : policy_variants()) {
    std::uint64_t mixed = 0;
    for (std::uint64_t seed = 0; seed < kWorlds; ++seed) {
      World world = random_world(seed);
      world.settings.costs = Costs();
      world.settings.faults.mtbf_h = seed % 2 == 0 ? 0.05 : 0;
      world.settings.faults.mttr_h = 0.01;
      world.sim_seed = seed;
      world.until = {3'600'000};
      for (std::size_t i = 0; i < world.jobs.size(); i += 2) world.jobs[i].model = "ResNet50";
      const Outcome outcome = run(world, policy);
      EXPECT_EQ(outcome.problems, std::vector<std::string>{}) << policy << " " << seed;
      mixed = mixed * 1'000'003 + std::stoull(outcome.hash, nullptr, 16);
    }
    text << policy << ' ' << fmt::format("{:016x}", mixed) << '\n';
  }
  return text.str();
}

TEST(Determinism, JournalsAreTheSameOnEveryCompilerAndBuild) {
  const std::string actual = hashes_of_all_policies();
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(kExpected) << actual;
    return;
  }
  std::ostringstream expected;
  expected << std::ifstream(kExpected).rdbuf();
  EXPECT_EQ(actual, expected.str());
}

TEST(Determinism, TheSameRunTwiceGivesTheSameJournal) {
  for (const std::string& policy : policy_variants()) {
    EXPECT_EQ(run(random_world(3), policy).hash, run(random_world(3), policy).hash) << policy;
  }
}

}  // namespace
}  // namespace fairlead
