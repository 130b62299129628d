// --config and --save-config: the flags of simulate and compare in a file.

#include "program.h"

namespace fairlead {
namespace {

class RunFileTest : public ProgramTest {};

constexpr const char* kFile =
    "cluster: 1xV100:4\n"
    "trace: jobs.csv\n"
    "policy: fifo\n"
    "seed: 3\n"
    "set: [costs=none, bin_s=30]\n"
    "audit: true\n"
    "json: false\n";

TEST_F(RunFileTest, GivesWhatTheFlagsGive) {
  small_trace();
  write("run.yaml", kFile);
  ASSERT_EQ(fairlead("simulate --config run.yaml --out a").exit_code, 0);
  ASSERT_EQ(fairlead("simulate --cluster 1xV100:4 --trace jobs.csv --policy fifo --seed 3 "
                     "--set costs=none --set bin_s=30 --out b")
                .exit_code,
            0);
  EXPECT_EQ(read("a/summary.json"), read("b/summary.json"));
  EXPECT_EQ(read_json("a/summary.json")["settings"]["bin_s"], "30");
}

TEST_F(RunFileTest, TheCommandLineGoesBeforeTheFile) {
  small_trace();
  write("run.yaml", kFile);
  const Ended ended =
      fairlead("simulate --policy=las --config=run.yaml --seed 5 --set bin_s=90 --out out --json");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  const nlohmann::json summary = read_json("out/summary.json");
  EXPECT_EQ(summary["policy"], "las");
  EXPECT_EQ(summary["seed"], 5);
  EXPECT_EQ(summary["settings"]["bin_s"], "90");
  EXPECT_EQ(summary["settings"]["costs"], "none");
}

TEST_F(RunFileTest, SettingsMayBeAMap) {
  small_trace();
  write("run.yaml", "set:\n  network: contention\n  congestion: 'rack:4,spine:8'\n");
  const Ended ended = fairlead(simulate("--config run.yaml"));
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_EQ(read_json("out/summary.json")["settings"]["congestion"], "rack:4,spine:8");
}

TEST_F(RunFileTest, WhatWasSavedGivesTheSameRuns) {
  small_trace();
  const Ended first = fairlead(
      "compare --cluster 1xV100:4 --trace jobs.csv --policies 'fifo;las:placement=count' "
      "--seeds 2 --set costs=none --set bin_s=30 --sweep load=0.5,1 --out a --audit --again "
      "--save-config run.yaml");
  ASSERT_EQ(first.exit_code, 0) << first.errors;
  EXPECT_NE(read("run.yaml").find("set: [\"costs=none\",\"bin_s=30\"]\n"), std::string::npos)
      << read("run.yaml");
  const Ended second = fairlead("compare --config run.yaml --out b --save-config again.yaml");
  ASSERT_EQ(second.exit_code, 0) << second.errors;
  EXPECT_EQ(read("a/compare.json"), read("b/compare.json"));
  EXPECT_EQ(read("a/runs.csv"), read("b/runs.csv"));
  std::string saved = read("run.yaml");
  saved.replace(saved.find("\"a\""), 3, "\"b\"");
  EXPECT_EQ(read("again.yaml"), saved);
}

TEST_F(RunFileTest, RefusesWhatIsNoFlagAndSaysWhere) {
  small_trace();
  const auto error_of = [&](const char* text) {
    write("run.yaml", text);
    const Ended ended = fairlead(simulate("--config run.yaml"));
    EXPECT_EQ(ended.exit_code, 2) << text;
    EXPECT_TRUE(files("out").empty()) << text;
    return ended.errors;
  };
  EXPECT_TRUE(
      error_of("polcy: fifo\n")
          .starts_with("fairlead: run.yaml:1:8: no such flag of simulate (there are: policy, "));
  EXPECT_EQ(error_of("audit: yes\n"), "fairlead: run.yaml:1:8: true or false: yes\n");
  EXPECT_EQ(error_of("seed: [1, 2]\n"), "fairlead: run.yaml:1:7: a flag with one value: seed\n");
  EXPECT_NE(error_of("config: other.yaml\n").find("no such flag"), std::string::npos);
  EXPECT_NE(error_of("- fifo\n").find("run.yaml:1:1"), std::string::npos);
  EXPECT_NE(error_of("seed: x\n").find("--seed"), std::string::npos);
  const Ended missing = fairlead(simulate("--config gone.yaml"));
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_NE(missing.errors.find("gone.yaml"), std::string::npos) << missing.errors;
}

}  // namespace
}  // namespace fairlead
