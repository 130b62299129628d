// A comparison that is repeated, or was interrupted: existing results are not run again.

#include "program.h"

#include <cerrno>
#include <fcntl.h>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

namespace fairlead {
namespace {

using nlohmann::json;

class CompareResumeTest : public ProgramTest {
 protected:
  Ended compare(const std::string& more, std::string_view before = ":") const {
    return fairlead("compare --trace jobs.csv --out out " + more, before);
  }
  // Marks a run's results, so that a new run of it is noticed.
  void mark(const std::string& folder) const { write("out/" + folder + "/users.csv", "marked"); }
  bool was_kept(const std::string& folder) const {
    return read("out/" + folder + "/users.csv") == "marked";
  }
};

constexpr const char* kUsual = "--cluster 1xV100:4 --policies 'fifo;las'";

TEST_F(CompareResumeTest, TakesRunsThatAreThereAndGivesTheSameTables) {
  small_trace();
  const Ended first = compare(kUsual);
  ASSERT_EQ(first.exit_code, 0) << first.errors;
  std::map<std::string, std::string> tables;
  for (const char* name : {"compare.json", "runs.csv", "runs.jsonl"}) {
    tables[name] = read(std::string("out/") + name);
  }
  mark("fifo");
  std::filesystem::remove(path("out/las/summary.json"));
  mark("las");
  const Ended second = compare(kUsual);
  ASSERT_EQ(second.exit_code, 0) << second.errors;
  EXPECT_TRUE(was_kept("fifo"));
  EXPECT_FALSE(was_kept("las"));
  EXPECT_NE(second.out.find("\n1 of 2 runs were there already"), std::string::npos) << second.out;
  for (const auto& [name, text] : tables) EXPECT_EQ(read("out/" + name), text) << name;
}

TEST_F(CompareResumeTest, AgainMakesEveryRunAnew) {
  small_trace();
  ASSERT_EQ(compare(kUsual).exit_code, 0);
  mark("fifo");
  const Ended second = compare(std::string(kUsual) + " --again");
  ASSERT_EQ(second.exit_code, 0) << second.errors;
  EXPECT_FALSE(was_kept("fifo"));
  EXPECT_EQ(second.out.find("there already"), std::string::npos) << second.out;
}

TEST_F(CompareResumeTest, MakesARunAnewWhenAnyOfItsInputsChanges) {
  small_trace();
  write("node.yaml", "racks: [{nodes: {gpu_type: V100, gpus: 4}}]\n");
  write("models.yaml", "models: [{name: m, weight: 1, rates: {V100: 1}}]\n");
  write("sizes.txt", "100\n200\n");
  const std::string policies =
      "--policies 'fifo;tiresias:gittins=true,gittins_file=sizes.txt' --set models=models.yaml ";
  const std::string usual = policies + "--cluster node.yaml";
  ASSERT_EQ(compare(usual).exit_code, 0);
  const std::string folder = "tiresias-gittins=true-gittins_file=sizes.txt";
  const auto is_kept = [&](const std::string& flags) {
    mark(folder);
    const Ended ended = compare(flags);
    EXPECT_EQ(ended.exit_code, 0) << flags << ended.errors;
    return was_kept(folder);
  };
  EXPECT_TRUE(is_kept(usual));
  for (const char* more : {" --seed 1", " --until 100", " --set costs=none", " --audit",
                           " --format native", " --users ann,bob", ""}) {
    EXPECT_FALSE(is_kept(usual + more)) << more;
  }
  write("node.yaml", "racks: [{nodes: {gpu_type: V100, gpus: 5}}]\n");
  EXPECT_FALSE(is_kept(usual));
  write("models.yaml", "models: [{name: m, weight: 1, rates: {V100: 2}}]\n");
  EXPECT_FALSE(is_kept(usual));
  write("sizes.txt", "100\n300\n");
  EXPECT_FALSE(is_kept(usual));
  write("jobs.csv", read("jobs.csv") + "e,ann,,1,40,5\n");
  EXPECT_FALSE(is_kept(usual));
  EXPECT_TRUE(is_kept(usual));
}

TEST_F(CompareResumeTest, KnowsATraceAndAClusterByContentWhereverTheyLie) {
  small_trace();
  write("node.yaml", "racks: [{nodes: {gpu_type: V100, gpus: 4}}]\n");
  const std::string policies = "compare --policies fifo --out out --cluster ";
  ASSERT_EQ(fairlead(policies + "node.yaml --trace jobs.csv").exit_code, 0);
  mark("fifo");
  std::filesystem::create_directory(path("moved"));
  for (const char* name : {"node.yaml", "jobs.csv"}) {
    std::filesystem::rename(path(name), path(std::string("moved/") + name));
  }
  ASSERT_EQ(fairlead(policies + "moved/node.yaml --trace ./moved/jobs.csv").exit_code, 0);
  EXPECT_TRUE(was_kept("fifo"));
}

TEST_F(CompareResumeTest, TakesWhatSimulateMade) {
  small_trace();
  ASSERT_EQ(fairlead("simulate --cluster 1xV100:4 --trace jobs.csv --policy fifo --out out/fifo")
                .exit_code,
            0);
  mark("fifo");
  ASSERT_EQ(compare(kUsual).exit_code, 0);
  EXPECT_TRUE(was_kept("fifo"));
}

TEST_F(CompareResumeTest, LeavesResultsOfOtherPoliciesAloneAndSaysSo) {
  small_trace();
  ASSERT_EQ(compare("--cluster 1xV100:4 --policies 'fifo;sjf' --seeds 2").exit_code, 0);
  mark("sjf/seed-1");
  const Ended second = compare("--cluster 1xV100:4 --policies 'fifo;las' --seeds 2");
  ASSERT_EQ(second.exit_code, 0) << second.errors;
  EXPECT_TRUE(was_kept("sjf/seed-1"));
  EXPECT_NE(second.out.find("not part of this comparison: sjf/seed-0, sjf/seed-1\n"),
            std::string::npos)
      << second.out;
  const json value = read_json("out/compare.json");
  ASSERT_EQ(value["policies"].size(), 2u);
  EXPECT_EQ(value["policies"][1]["policy"], "las");
}

TEST_F(CompareResumeTest, JsonHasNothingButTheTables) {
  small_trace();
  ASSERT_EQ(compare(kUsual).exit_code, 0);
  const Ended second = compare(std::string(kUsual) + " --json");
  EXPECT_EQ(second.out, read("out/compare.json"));
  EXPECT_EQ(second.errors, "");
}

// The second policy reads a pipe that no process writes to, so it never begins.
constexpr const char* kStuck =
    "--cluster 1xV100:4 --policies 'fifo;tiresias:gittins=true,gittins_file=pipe'";

TEST_F(CompareResumeTest, AnInterruptionLeavesWhatIsCompleteAndNoProcess) {
  small_trace();
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const std::string in_background =
      std::string(FAIRLEAD_PROGRAM) + " compare --trace jobs.csv --out out " + kStuck +
      " & until [ -e out/fifo/summary.json ]; do :; done; kill -TERM $!; wait $!; echo ended $?";
  const Ended ended = fairlead("--version", in_background);
  EXPECT_NE(ended.out.find("ended 143"), std::string::npos) << ended.out;
  EXPECT_NE(ended.errors.find("fairlead: interrupted; complete runs are kept; the same command "
                              "resumes with the others\n"),
            std::string::npos)
      << ended.errors;
  // Had the child survived, it would still wait for a writer.
  EXPECT_EQ(open(path("pipe").c_str(), O_WRONLY | O_NONBLOCK), -1);
  EXPECT_EQ(errno, ENXIO);
  EXPECT_EQ(files("out"), std::vector<std::string>{"fifo"});

  mark("fifo");
  std::filesystem::remove(path("pipe"));
  write("pipe", "100\n");
  const Ended second = compare(kStuck);
  ASSERT_EQ(second.exit_code, 0) << second.errors;
  EXPECT_TRUE(was_kept("fifo"));
  EXPECT_EQ(read_json("out/compare.json")["policies"].size(), 2u);
}

TEST_F(CompareResumeTest, NoOtherRunWritesIntoItsFolder) {
  small_trace();
  write("nodes.txt", "NodeName=a Gres=gpu:4 State=IDLE\n");
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const std::string program = FAIRLEAD_PROGRAM;
  const std::string second = " --trace jobs.csv --cluster 1xV100:4 --out out";
  const Ended ended = fairlead(
      "--version",
      program + " compare --trace jobs.csv --out out " + kStuck + " & exec 5> pipe; " + program +
          " simulate --policy fifo" + second + "; echo simulate $?; " + program +
          " compare --policies las" + second + "; echo compare $?; " + program +
          " compare --policies las --export slurm" + second + "; echo export $?; " + program +
          " import slurm --scontrol-nodes nodes.txt --out out; echo import $?; "
          "kill -TERM $!; wait $!; " +
          program + " simulate --policy fifo" + second + " > files; echo afterwards $?");
  EXPECT_NE(ended.out.find("simulate 1\ncompare 1\nexport 1\nimport 1\n"), std::string::npos)
      << ended.out;
  const std::string refusal =
      "fairlead: out: another run writes its results there; name another folder by --out\n";
  EXPECT_NE(ended.errors.find(refusal + refusal + refusal + refusal), std::string::npos)
      << ended.errors;
  EXPECT_NE(ended.out.find("afterwards 0\n"), std::string::npos) << ended.out;
}

TEST_F(CompareResumeTest, LeavesNoProcessWhenItIsKilled) {
  small_trace();
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  ASSERT_EQ(mkfifo(path("held").c_str(), 0600), 0);
  // Both processes hold the other end of `held`; opening `pipe` waits until the child reads it.
  const std::string kill = std::string(FAIRLEAD_PROGRAM) + " compare --trace jobs.csv --out out " +
                           kStuck +
                           " 3> held & exec 4< held 5> pipe; kill -KILL $!; wait $!; "
                           "timeout 60 cat <&4 && echo all ended";
  const Ended ended = fairlead("--version", kill);
  EXPECT_NE(ended.out.find("all ended"), std::string::npos) << ended.out << ended.errors;
}

}  // namespace
}  // namespace fairlead
