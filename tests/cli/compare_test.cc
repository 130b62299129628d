// Several policies on one trace.

#include "program.h"

namespace fairlead {
namespace {

using nlohmann::json;

class CompareTest : public ProgramTest {
 protected:
  Ended compare(const std::string& more) const {
    return fairlead("compare --cluster 1xV100:4 --trace jobs.csv --out out " + more);
  }
};

TEST_F(CompareTest, RunsEachPolicyInAFolderOfItsOwn) {
  small_trace();
  const Ended ended = compare("--policies 'fifo; fifo:placement=first-fit;fifo' --audit");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_EQ(files("out"), (std::vector<std::string>{"compare.json", "fifo",
                                                    "fifo-placement=first-fit", "fifo~2"}));
  const json value = read_json("out/compare.json");
  ASSERT_EQ(value["policies"].size(), 3u);
  EXPECT_EQ(value["policies"][1]["policy"], "fifo:placement=first-fit");
  EXPECT_EQ(value["policies"][1]["folder"], "fifo-placement=first-fit");
  const json summary = read_json("out/fifo/summary.json");
  EXPECT_EQ(value["policies"][0]["mean"]["jct_avg_s"], summary["jct_avg_s"]);
  EXPECT_EQ(value["policies"][0]["runs"][0]["journal_hash"], summary["journal_hash"]);
  EXPECT_TRUE(value["failures"].empty());
  EXPECT_NE(ended.out.find("\nfifo:placement=first-fit "), std::string::npos) << ended.out;
}

TEST_F(CompareTest, RunsSeveralSeeds) {
  small_trace();
  ASSERT_EQ(compare("--policies fifo --seeds 3 --seed 5 --set mtbf_h=0.05").exit_code, 0);
  EXPECT_EQ(files("out/fifo"), (std::vector<std::string>{"seed-5", "seed-6", "seed-7"}));
  const json policy = read_json("out/compare.json")["policies"][0];
  ASSERT_EQ(policy["runs"].size(), 3u);
  double sum = 0;
  for (const json& run : policy["runs"]) sum += run["jct_avg_s"].get<double>();
  EXPECT_NEAR(policy["mean"]["jct_avg_s"].get<double>(), sum / 3, 1e-6);
  EXPECT_EQ(policy["runs"][2]["seed"], 7);
}

TEST_F(CompareTest, RefusesABadPolicyBeforeItRunsAny) {
  small_trace();
  for (const char* policies : {"'fifo;fifa'", "''", "';'", "'fifo:x=1'"}) {
    const Ended ended = compare(std::string("--policies ") + policies);
    EXPECT_EQ(ended.exit_code, 2) << policies;
    EXPECT_TRUE(ended.errors.starts_with("fairlead: ")) << ended.errors;
    EXPECT_EQ(files("out"), std::vector<std::string>());
  }
}

TEST_F(CompareTest, SaysOnceWhatFailsForAllAndLeavesNothing) {
  write("jobs.csv", "job,user,model,gpus,submit_s,duration_s\na,ann,,x3,0,10\n");
  const Ended ended = compare("--policies 'fifo;sjf'");
  EXPECT_EQ(ended.exit_code, 2) << ended.errors;
  EXPECT_NE(ended.errors.find("jobs.csv:2:8: gpus"), std::string::npos) << ended.errors;
  EXPECT_EQ(ended.errors.find("jobs.csv:2:8"), ended.errors.rfind("jobs.csv:2:8"));
  EXPECT_EQ(files("."), std::vector<std::string>{"jobs.csv"});
}

TEST_F(CompareTest, KeepsTheOtherRunsWhenOneFails) {
  small_trace();
  std::filesystem::create_directories(path("out"));
  write("out/sjf", "in the way");
  const Ended ended = compare("--policies 'fifo;sjf'");
  EXPECT_EQ(ended.exit_code, 1) << ended.errors;
  EXPECT_NE(ended.errors.find("sjf"), std::string::npos) << ended.errors;
  EXPECT_NE(ended.out.find("\nfifo "), std::string::npos) << ended.out;
  const json value = read_json("out/compare.json");
  ASSERT_EQ(value["failures"].size(), 1u);
  EXPECT_EQ(value["failures"][0]["policy"], "sjf");
  EXPECT_EQ(value["failures"][0]["exit_code"], 1);
}

TEST_F(CompareTest, RefusesStandardInput) {
  EXPECT_EQ(fairlead("compare --cluster 1xV100:4 --trace - --policies fifo --out out").exit_code,
            2);
}

}  // namespace
}  // namespace fairlead
