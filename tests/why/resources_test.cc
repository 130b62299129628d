// Waits for CPU and memory, from the result folder of a run.

#include "fairlead/cli/run.h"
#include "fairlead/input/cluster_file.h"

#include "why/situation.h"

#include <fstream>

namespace fairlead {
namespace {

constexpr std::string_view kCluster =
    "racks: [{nodes: {count: 2, gpu_type: V100, gpus: 4, cpus: 8, memory_gb: 64}}]";

// Runs j0 and j1 beside each other, with half of a node's GPUs each, and j2 from 10 s on. Returns the result folder.
std::string folder_of(const std::vector<CpuMemory>& asks) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string folder =
      (std::filesystem::path(testing::TempDir()) / fmt::format("why_{}", test->name())).string();
  std::vector<std::string> names;
  std::vector<JobRow> rows;
  for (std::size_t i = 0; i < asks.size(); ++i) names.push_back(fmt::format("j{}", i));
  for (std::size_t i = 0; i < asks.size(); ++i) {
    rows.push_back({.id = names[i],
                    .gpus = 2,
                    .asks = asks[i],
                    .submit = {i < 2 ? 0 : 10'000},
                    .duration = seconds(100)});
  }
  SimulationInputs inputs{.cluster = parse_cluster_yaml(kCluster, "lab.yaml").value(),
                          .trace = Trace::of("t", rows).value(),
                          .settings = {.costs = Costs::none()}};
  FL_CHECK(inputs.use_policy("fifo:placement=best-fit").has_value());
  RunOutputs outputs;
  outputs.folder = folder;
  outputs.audit = true;
  const auto outcome = run_simulation(std::move(inputs), outputs);
  FL_CHECK(outcome.has_value(), "{}", outcome.error().message);
  return folder;
}

std::string causes_of_j2(const std::string& folder) {
  const Result<JobWhy> found = why_job(folder, "j2");
  FL_CHECK(found.has_value(), "{}", found.error().message);
  return causes(*found);
}

TEST(WhyResources, TooLittleCpuIsLeft) {
  const std::string folder = folder_of({{{8'000}, {1'000}}, {{7'000}, {}}, {{4'000}, {1'000}}});
  EXPECT_EQ(causes_of_j2(folder), "cpu 90s");
  const Result<RunWhy> whole = why_run(folder);
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->causes.of(WhyCause::kCpu), seconds(90));
}

TEST(WhyResources, TooLittleMemoryIsLeft) {
  EXPECT_EQ(causes_of_j2(folder_of({{{}, {64'000}}, {{}, {50'000}}, {{4'000}, {20'000}}})),
            "memory 90s");
}

TEST(WhyResources, AJobWithEnoughOfBothDoesNotWait) {
  EXPECT_EQ(causes_of_j2(folder_of({{{8'000}, {64'000}}, {{4'000}, {}}, {{4'000}, {64'000}}})), "");
}

// Amounts of another run in the same folder do not count.
TEST(WhyResources, AmountsOfAnotherJournalAreIgnored) {
  const std::string folder = folder_of({{{8'000}, {}}, {{8'000}, {}}, {{4'000}, {}}});
  ASSERT_EQ(causes_of_j2(folder), "cpu 90s");
  const std::filesystem::path path = std::filesystem::path(folder) / "resources.json";
  std::ofstream(path) << R"({"journal_hash": "another", "nodes": [], "tasks": []})";
  EXPECT_NE(causes_of_j2(folder), "cpu 90s");
  std::ofstream(path) << "{";
  EXPECT_FALSE(why_job(folder, "j2").has_value());
}

}  // namespace
}  // namespace fairlead
