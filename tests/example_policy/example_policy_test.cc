// The policy in docs/writing-a-policy.md: the page quotes the file, and it works.
#include "testing/world.h"

#include "round_robin.cc"  // NOLINT(bugprone-suspicious-include): its class has no header
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace fairlead {
namespace {

std::string text_of(const std::string& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::unique_ptr<Policy> round_robin() {
  return std::make_unique<RoundRobin>(Placement::kBestFit, seconds(10));
}

World one_node(std::vector<WorldJob> jobs) {
  World world{.cluster = "1xV100:2"};
  world.jobs = std::move(jobs);
  return world;
}

TEST(ExamplePolicy, IsQuotedByThePage) {
  const std::string source = text_of("tests/example_policy/round_robin.cc");
  ASSERT_FALSE(source.empty());
  const std::string page = text_of("docs/writing-a-policy.md");
  EXPECT_NE(page.find("```cpp\n" + source + "```\n"), std::string::npos)
      << "docs/writing-a-policy.md does not have tests/example_policy/round_robin.cc as it is";
}

TEST(ExamplePolicy, JobsTakeTurns) {
  const Outcome outcome = run(
      one_node({{.gpus = 2, .work = seconds(25)}, {.gpus = 2, .work = seconds(15)}}), round_robin);
  EXPECT_TRUE(outcome.problems.empty());
  EXPECT_EQ(outcome.jobs[1].start, Time{10'000});
  EXPECT_EQ(outcome.jobs[1].finish, Time{35'000});
  EXPECT_EQ(outcome.jobs[0].finish, Time{40'000});
}

TEST(ExamplePolicy, AJobThatNoOtherWaitsForKeepsItsGang) {
  const Outcome outcome = run(
      one_node({{.gpus = 1, .work = seconds(95)}, {.gpus = 1, .work = seconds(95)}}), round_robin);
  for (const JobOutcome& job : outcome.jobs) {
    EXPECT_EQ(job.preemptions, 0);
    EXPECT_EQ(job.finish, Time{95'000});
  }
}

// Saved and loaded after every step, it makes the same decisions.
TEST(ExamplePolicy, ACopyGoesOnWhereItWasSaved) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const World world = random_world(seed);
    const auto reload = [](Simulation& simulation) { simulation.reload_policy(round_robin()); };
    const Outcome plain = run(world, round_robin);
    EXPECT_TRUE(plain.problems.empty());
    EXPECT_EQ(run(world, round_robin, reload).hash, plain.hash) << "seed " << seed;
  }
}

}  // namespace
}  // namespace fairlead
