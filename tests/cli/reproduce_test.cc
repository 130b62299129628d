// Published experiments, from the user's own file to verdicts.

#include "program.h"

namespace fairlead {
namespace {

using nlohmann::json;

class ReproduceTest : public ProgramTest {
 protected:
  // Two users of one GPU each under first come, first served: the second waits for the first.
  void write_experiment(const std::string& more) const {
    write("mine.yaml",
          "title: Mine\n"
          "source: nobody\n"
          "question: Who waits?\n"
          "cluster: 1xV100:1\n"
          "workload:\n"
          "  users:\n"
          "    - {name: ann, duration_h: 1}\n"
          "    - {name: bob, duration_h: 1}\n"
          "policies: {fifo: fifo, las: \"las:quantum_s=60\"}\n"
          "quantum_s: 60\n"
          "settings: {costs: none}\n" +
              more);
  }
};

constexpr const char* kClaims =
    "claims:\n"
    "  - {claim: the mean, figure: summary, key: jct_avg_s, policy: fifo, expect: 5400, "
    "tolerance: 1}\n"
    "  - {claim: fast, figure: summary, key: makespan_s, policy: fifo, at_most: 3600}\n"
    "  - {claim: who runs, figure: schedule, quanta: 2, policy: fifo, expect: ann ann}\n"
    "  - {claim: idle, figure: idle_when_wanted, policy: las, at_most: 0}\n"
    "  - {claim: work, figure: gain, user: bob, policy: las, against: fifo}\n";

TEST_F(ReproduceTest, GivesAVerdictOnEachClaim) {
  write_experiment(kClaims);
  const Ended ended = fairlead("reproduce mine.yaml --out out --doc page.md");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_NE(ended.out.find("3 of 3 reached, 1 that no policy can"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("\nresults in out/reproduction.md"), std::string::npos) << ended.out;
  EXPECT_EQ(files("out"),
            (std::vector<std::string>{"mine", "reproduction.json", "reproduction.md"}));
  std::vector<std::string> expected = {"fifo", "jobs-seed-1.csv", "las"};
  // A page, if this program has one.
  if (fairlead("report out/mine/fifo").exit_code == 0) expected.emplace_back("report.html");
  EXPECT_EQ(files("out/mine"), expected);
  EXPECT_EQ(read("page.md"), read("out/reproduction.md"));
  std::vector<std::string> verdicts;
  const json result = read_json("out/reproduction.json");
  for (const json& claim : result["experiments"][0]["claims"]) {
    verdicts.push_back(claim["outcomes"][0]["verdict"].get<std::string>());
  }
  EXPECT_EQ(verdicts, (std::vector<std::string>{"reached", "no policy can", "reached", "reached",
                                                "measured"}))
      << ended.out;
}

TEST_F(ReproduceTest, GivesTheSameAgain) {
  write_experiment(kClaims);
  ASSERT_EQ(fairlead("reproduce mine.yaml --out out").exit_code, 0);
  const std::string first = read("out/reproduction.json");
  std::filesystem::remove_all(path("out"));
  ASSERT_EQ(fairlead("reproduce mine.yaml --out out").exit_code, 0);
  EXPECT_EQ(read("out/reproduction.json"), first);
}

// run.json has the time that the run took.
TEST_F(ReproduceTest, MakesOnlyRunsThatAreMissing) {
  write_experiment(kClaims);
  ASSERT_EQ(fairlead("reproduce mine.yaml --out out").exit_code, 0);
  const std::string result = read("out/reproduction.json");
  const std::string kept = read("out/mine/fifo/run.json");
  std::filesystem::remove_all(path("out/mine/las"));
  ASSERT_EQ(fairlead("reproduce mine.yaml --out out").exit_code, 0);
  EXPECT_EQ(read("out/mine/fifo/run.json"), kept);
  EXPECT_TRUE(std::filesystem::exists(path("out/mine/las/run.json")));
  EXPECT_EQ(read("out/reproduction.json"), result);
}

TEST_F(ReproduceTest, RunsCasesAndSeeds) {
  write_experiment(
      "seeds: 2\n"
      "cases:\n"
      "  - {label: one}\n"
      "  - {label: two, cluster: \"1xV100:2\"}\n"
      "claims:\n"
      "  - {claim: c, figure: summary, key: makespan_s, policy: fifo, expect: [7200, 3600]}\n");
  const Ended ended = fairlead("reproduce mine.yaml --out out");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_NE(ended.out.find("2 of 2 reached"), std::string::npos) << ended.out;
  EXPECT_EQ(files("out/mine/case-2/las"), (std::vector<std::string>{"seed-1", "seed-2"}));
}

TEST_F(ReproduceTest, RunsOneSeedOfEachForAFirstLook) {
  write_experiment(std::string("seeds: 2\n") + kClaims);
  ASSERT_EQ(fairlead("reproduce mine.yaml --quick --out out").exit_code, 0);
  EXPECT_EQ(files("out/mine/las"), files("out/mine/fifo"));
  EXPECT_TRUE(std::filesystem::exists(path("out/mine/las/summary.json")));
}

// 200 seconds on one GPU under fifo, and the same on other GPUs.
TEST_F(ReproduceTest, RunsOtherJobsAndSeeds) {
  write_experiment(
      "kind: number\n"
      "seeds: 3\n"
      "cases:\n"
      "  - {label: one}\n"
      "  - {label: same, workload: {users: [{name: ann, duration_h: 2}]}}\n"
      "  - {label: two, cluster: \"1xV100:2\"}\n"
      "claims:\n"
      "  - {claim: c, figure: summary, key: makespan_s, policy: fifo, expect: [200, 7200, 100]}\n"
      "  - {claim: d, figure: gain, user: ann, policy: las, against: fifo, expect: fluid}\n");
  write("jobs.csv", "job,gpus,submit_s,duration_s\na,1,0,100\nb,1,0,100\n");
  const Ended ended = fairlead("reproduce mine.yaml --seeds 6-7 --trace jobs.csv --out out");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_NE(ended.out.find("published numbers: 2 of 2 reached, 2 not measured"), std::string::npos)
      << ended.out;
  EXPECT_EQ(files("out/mine"), (std::vector<std::string>{"case-1", "case-2"}));
  EXPECT_EQ(files("out/mine/case-2/las"), (std::vector<std::string>{"seed-6", "seed-7"}));
  EXPECT_NE(read("out/reproduction.md").find("; seeds 6 to 7;"), std::string::npos);
}

// The other policy and the other case, whose figure is always the same, have enough of three.
TEST_F(ReproduceTest, RunsMoreSeedsWhereAFigureVaries) {
  write_experiment(
      "seeds: 3\n"
      "cases: [{label: drawn, workload: {generate: {jobs: 5}}}, {label: same}]\n"
      "claims:\n"
      "  - {claim: c, figure: summary, key: makespan_s, policy: fifo, at_most: 1}\n");
  ASSERT_EQ(fairlead("reproduce mine.yaml --out out").exit_code, 0);
  const json result = read_json("out/reproduction.json")["experiments"][0];
  EXPECT_EQ(result["seeds"].size(), 20u);
  EXPECT_EQ(result["claims"][0]["outcomes"][0]["values"].size(), 20u);
  EXPECT_EQ(result["claims"][0]["outcomes"][1]["values"].size(), 3u);
  EXPECT_EQ(files("out/mine/case-1/las").size(), 3u);
  EXPECT_EQ(files("out/mine/case-2/fifo").size(), 3u);
  EXPECT_NE(
      read("out/reproduction.md").find("; seeds 1 to 3, up to 20 where an interval was wide;"),
      std::string::npos);
}

TEST_F(ReproduceTest, SkipsWhatNeedsPublicTracesThatAreNotThere) {
  write_experiment("cases:\n  - {label: one, workload: {shared: data/none.csv}}\n" +
                   std::string(kClaims));
  const Ended ended = fairlead("reproduce mine.yaml --out out", "export FAIRLEAD_SHARED=nowhere");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_NE(ended.out.find("skipped: $FAIRLEAD_SHARED has no data/none.csv"), std::string::npos)
      << ended.out;
}

TEST_F(ReproduceTest, SaysWhichRunFailed) {
  write_experiment(kClaims);
  std::filesystem::create_directories(path("out/mine"));
  write("out/mine/las", "in the way");
  const Ended ended = fairlead("reproduce mine.yaml --out out");
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_NE(ended.errors.find("a run of mine failed: "), std::string::npos) << ended.errors;
  EXPECT_NE(ended.out.find("reached"), std::string::npos) << ended.out;
  EXPECT_NE(read("out/reproduction.json"), "");
}

TEST_F(ReproduceTest, RefusesWhatItCannotRunBeforeItRunsAny) {
  write_experiment("claims:\n  - {claim: c, figure: works}\n");
  write("good.yaml", "");
  for (const char* arguments :
       {"mine.yaml --out out", "gone --out out", "--out out", "good.yaml --out out"}) {
    const Ended ended = fairlead(std::string("reproduce ") + arguments);
    EXPECT_EQ(ended.exit_code, 2) << arguments;
    EXPECT_NE(ended.errors, "") << arguments;
    EXPECT_EQ(files("out"), std::vector<std::string>()) << arguments;
  }
  write_experiment("cases:\n  - {label: one, workload: {trace: gone.csv}}\n" +
                   std::string(kClaims));
  const Ended ended = fairlead("reproduce mine.yaml --out out");
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_EQ(ended.errors, "fairlead: mine.yaml:13:36: no such file: gone.csv\n");
  write_experiment(kClaims);
  for (const char* arguments :
       {"--seeds 7-6", "--seeds x", "--seeds 1-2000", "--quick --seeds 2", "--trace gone.csv"}) {
    EXPECT_EQ(fairlead(std::string("reproduce mine.yaml --out out ") + arguments).exit_code, 2)
        << arguments;
    EXPECT_EQ(files("out"), std::vector<std::string>()) << arguments;
  }
}

TEST_F(ReproduceTest, HasAFolderAndJsonWhereNoneAreNamed) {
  const Ended ended = fairlead("reproduce trading-fluid --json");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_EQ(json::parse(ended.out), read_json("out/reproduce/reproduction.json"));
}

TEST_F(ReproduceTest, ListsWhatComesWithIt) {
  const Ended ended = fairlead("reproduce --list");
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_NE(ended.out.find("\ntrading-fluid "), std::string::npos) << ended.out;
}

// The fluid calculation reaches the published rule's figures on both clusters and mixes.
TEST_F(ReproduceTest, ReachesTheFluidFiguresOfTrading) {
  const Ended ended = fairlead("reproduce trading-fluid --out out");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_NE(ended.out.find("16 of 16 reached"), std::string::npos) << ended.out;
}

TEST_F(ReproduceTest, ReachesTheStrideTables) {
  const Ended ended = fairlead("reproduce stride-table gang-stride-table --out out");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_NE(ended.out.find("3 of 3 reached"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("4 of 4 reached"), std::string::npos) << ended.out;
}

}  // namespace
}  // namespace fairlead
