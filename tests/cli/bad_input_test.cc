// Every kind of wrong input or environment: exit code, message, and no files left behind.

#include "program.h"
#include <fmt/format.h>

namespace fairlead {
namespace {

struct BadInput {
  const char* name;
  std::string arguments;  // arguments of simulate, beside --out out
  std::string jobs;       // jobs.csv; empty: the small trace
  std::string cluster;    // cluster.yaml
  std::string says;       // part of the message
};

void PrintTo(const BadInput& bad, std::ostream* out) { *out << bad.name; }

constexpr const char* kHeader = "job,user,model,gpus,submit_s,duration_s\n";

std::string rows(const std::string& text) { return kHeader + text; }
std::string with(const std::string& flags) {
  return "--cluster 1xV100:4 --trace jobs.csv --policy fifo " + flags;
}

std::vector<BadInput> bad_inputs() {
  const std::string plain = with("");
  return {
      {"GpusOfTheWrongType", plain, rows("a,ann,,x3,0,10\n"), "", "jobs.csv:2:8: gpus"},
      {"NegativeGpus", plain, rows("a,ann,,-1,0,10\n"), "", ": -1"},
      {"AbsurdGpus", plain, rows("a,ann,,99999999999,0,10\n"), "", "99999999999"},
      {"NegativeDuration", plain, rows("a,ann,,1,0,-10\n"), "", "-10"},
      {"AbsurdTime", plain, rows("a,ann,,1,1e300,10\n"), "", "1e300"},
      {"NotANumber", plain, rows("a,ann,,1,nan,10\n"), "", "nan"},
      {"DuplicateId", plain, rows("a,ann,,1,0,10\na,bob,,1,0,10\n"), "", "jobs.csv:3"},
      {"TruncatedRow", plain, rows("a,ann,,1\n"), "", "jobs.csv:2"},
      {"UnknownFormat", plain, "hello\n", "", "jobs.csv"},
      {"EmptyTrace", with("--format native"), "\n", "", "jobs.csv"},
      {"NoSuchTrace", "--cluster 1xV100:4 --trace gone.csv --policy fifo", "", "", "gone.csv"},
      {"MisspeltFlag", "--cluster 1xV100:4 --trace jobs.csv --polices fifo", "", "",
       "simulate has no such flag: --polices (did you mean --policy?)"},
      {"MisspeltCluster", "--cluster slids --trace jobs.csv --policy fifo", "", "",
       ": slids (did you mean slides?)"},
      {"NoSuchUnit", with("--unit days"), "", "", "--unit takes one of s ms min h: days"},
      {"NoSuchField", with("--columns gpu=n"), "", "", "--columns: no such field (there are: job|"},
      {"NoSuchUser", with("--users zoe"), rows("a,ann,,1,0,10\n"), "", "--users: no job of zoe"},
      {"NoSuchColumn", with("--where sate=x"), rows("a,ann,,1,0,10\n"), "",
       "--where: no such column"},
      {"NoSuchFormat", with("--format csv"), "", "", "--format takes one of native|"},
      {"TruncatedGzip", "--cluster 1xV100:4 --trace jobs.csv --policy fifo",
       std::string("\x1f\x8b\x08\x00\x00", 5), "", "jobs.csv"},
      {"NoSuchPolicy", "--cluster 1xV100:4 --trace jobs.csv --policy fifa", "", "", "fifo"},
      {"NoSuchOption", "--cluster 1xV100:4 --trace jobs.csv --policy fifo:plasement=count", "", "",
       "placement"},
      {"BadOptionValue", "--cluster 1xV100:4 --trace jobs.csv --policy fifo:placement=nowhere", "",
       "", ": nowhere"},
      {"NoSuchSetting", with("--set cost=none"), "", "", "there are: costs, "},
      {"BadSetting", with("--set costs=cheap"), "", "", "--set costs takes none or default: cheap"},
      {"SettingWithoutValue", with("--set costs"), "", "", "--set takes key=value: costs"},
      {"SettingsInOneFlag", with("--set costs=none,bin_s=60"), "", "",
       "write --set costs=none --set bin_s=60: costs=none,bin_s=60"},
      {"NoSuchReference", with("--set reference_gpu=abacus"), "", "", "abacus"},
      {"NoSuchModels", with("--set models=gone.yaml"), "", "", "gone.yaml"},
      {"BadSeed", with("--seed x"), "", "", "--seed"},
      {"NegativeSeed", with("--seed -1"), "", "", "--seed"},
      {"HugeSeed", with("--seed 18446744073709551616"), "", "",
       "expected a whole number from 0 to 18446744073709551615: 18446744073709551616"},
      {"BadUntil", with("--until soon"), "", "", "--until"},
      {"NegativeUntil", with("--until=-5"), "", "", "--until"},
      {"NoSuchCluster", "--cluster gone --trace jobs.csv --policy fifo", "", "", "gone"},
      {"ShorthandWithoutGpus", "--cluster 4xV100:0 --trace jobs.csv --policy fifo", "", "",
       "4xV100:0"},
      {"ClusterWithoutGpus", "--cluster cluster.yaml --trace jobs.csv --policy fifo", "",
       "racks:\n  - nodes: {count: 2, gpu_type: V100, gpus: 0}\n", "cluster.yaml:2"},
      {"ClusterWithoutNodes", "--cluster cluster.yaml --trace jobs.csv --policy fifo", "",
       "racks: []\n", "cluster.yaml:1"},
      {"ClusterWithUnknownKey", "--cluster cluster.yaml --trace jobs.csv --policy fifo", "",
       "racks:\n  - nods: {count: 2, gpu_type: V100, gpus: 4}\n", "nods"},
      {"BrokenYaml", "--cluster cluster.yaml --trace jobs.csv --policy fifo", "", "racks: [{\n",
       "cluster.yaml:"},
      {"MissingFlag", "--cluster 1xV100:4 --trace jobs.csv", "", "", "--policy is required"},
      {"UnknownFlag", with("--fast"), "", "", "--fast"},
      {"EmptyOut", "--cluster 1xV100:4 --trace jobs.csv --policy fifo --out ''", "", "", "--out"},
  };
}

class BadInputTest : public ProgramTest, public testing::WithParamInterface<BadInput> {};

TEST_P(BadInputTest, IsRefusedWithoutATrace) {
  const BadInput& bad = GetParam();
  bad.jobs.empty() ? small_trace() : write("jobs.csv", bad.jobs);
  if (!bad.cluster.empty()) write("cluster.yaml", bad.cluster);
  const std::string out =
      bad.arguments.find("--out") == std::string::npos ? "--out results/run" : "";
  const Ended ended = fairlead(fmt::format("simulate {} {}", bad.arguments, out));
  EXPECT_EQ(ended.exit_code, 2) << ended.errors;
  EXPECT_TRUE(ended.errors.starts_with("fairlead: ")) << ended.errors;
  EXPECT_NE(ended.errors.find(bad.says), std::string::npos) << ended.errors;
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(files("results"), std::vector<std::string>());
}

INSTANTIATE_TEST_SUITE_P(All, BadInputTest, testing::ValuesIn(bad_inputs()),
                         [](const auto& bad) { return std::string(bad.param.name); });

class BadWorldTest : public ProgramTest {};

TEST_F(BadWorldTest, AFullDiskFailsTheRunAndLeavesNothing) {
  std::string jobs = kHeader;
  for (int i = 0; i < 3000; ++i) jobs += fmt::format("job-{},user-{},,1,{},60\n", i, i % 7, i);
  write("jobs.csv", jobs);
  // No file may grow beyond 8 blocks of 512 bytes, as if the disk were full there.
  const Ended ended = fairlead(simulate(""), "trap '' XFSZ; ulimit -f 8");
  EXPECT_EQ(ended.exit_code, 1) << ended.errors;
  EXPECT_TRUE(ended.errors.starts_with("fairlead: ")) << ended.errors;
  EXPECT_NE(ended.errors.find("File too large"), std::string::npos) << ended.errors;
  EXPECT_EQ(files("."), std::vector<std::string>{"jobs.csv"});
}

TEST_F(BadWorldTest, AFailureKeepsTheResultsOfBefore) {
  small_trace();
  ASSERT_EQ(fairlead(simulate("")).exit_code, 0);
  const auto before = files("out");
  EXPECT_EQ(fairlead(simulate("--set reference_gpu=abacus")).exit_code, 2);
  EXPECT_EQ(files("out"), before);
}

TEST_F(BadWorldTest, AFileInTheWayOfTheFolderFailsTheRun) {
  small_trace();
  write("out", "x");
  const Ended ended = fairlead(simulate(""));
  EXPECT_EQ(ended.exit_code, 1) << ended.errors;
  EXPECT_EQ(read("out"), "x");
}

TEST_F(BadWorldTest, AClosedOutputFailsTheRun) {
  small_trace();
  EXPECT_EQ(fairlead(simulate("--json > /dev/full")).exit_code, 1);
}

TEST_F(BadWorldTest, UnknownSubcommandsAreBadUsage) {
  for (const char* arguments : {"fly", "serve fly", "trace", "trace fly"}) {
    const Ended ended = fairlead(arguments);
    EXPECT_EQ(ended.exit_code, 2) << arguments;
    EXPECT_TRUE(ended.errors.starts_with("fairlead: ")) << ended.errors;
  }
}

}  // namespace
}  // namespace fairlead
