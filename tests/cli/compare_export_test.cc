// compare --export: runs that a cluster makes.

#include "program.h"
#include <yaml-cpp/yaml.h>

namespace fairlead {
namespace {

using nlohmann::json;

// A folder, a trace and a table of models with names that would break an unquoted shell command.
class CompareExportTest : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    small_trace();
    std::filesystem::rename(path("jobs.csv"), path("my jobs' $(x).csv"));
    write("a \"table\".yaml", "models: [{name: m, weight: 1, rates: {V100: 1}}]\n");
  }
  Ended compare(const std::string& more, const std::string& before = ":") const {
    return fairlead(
        "compare --cluster 1xV100:4 --trace \"my jobs' \\$(x).csv\" --policies 'fifo;las' "
        "--set 'models=a \"table\".yaml' --seeds 2 --sweep mtbf_h=0,0.05 " +
            more,
        before);
  }
};

constexpr const char* kOut = " --out 'the out; #1'";

TEST_F(CompareExportTest, SlurmTasksMakeTheRunsThatTheSameCommandCollects) {
  const Ended direct = compare("--out direct");
  ASSERT_EQ(direct.exit_code, 0) << direct.errors;
  const Ended exported = compare(std::string("--export slurm") + kOut);
  ASSERT_EQ(exported.exit_code, 0) << exported.errors;
  EXPECT_TRUE(exported.out.starts_with("8 runs in ")) << exported.out;
  EXPECT_EQ(files("the out; #1"), (std::vector<std::string>{"jobs.list", "jobs.sbatch"}));

  // One task after another, from another folder, as sbatch might.
  const Ended tasks = fairlead("--version",
                               "mkdir elsewhere; cd elsewhere; for task in 1 2 3 4 5 6 7 8; do "
                               "SLURM_ARRAY_TASK_ID=$task bash '../the out; #1/jobs.sbatch' "
                               "|| exit 9; done");
  ASSERT_EQ(tasks.exit_code, 0) << tasks.errors;
  const Ended collected = compare(kOut);
  ASSERT_EQ(collected.exit_code, 0) << collected.errors;
  EXPECT_NE(collected.out.find("\n8 of 8 runs were there already"), std::string::npos)
      << collected.out;
  for (const char* name : {"compare.json", "runs.csv", "runs.jsonl"}) {
    EXPECT_EQ(read(std::string("the out; #1/") + name), read(std::string("direct/") + name));
  }
}

TEST_F(CompareExportTest, ExportsOnlyWhatIsMissing) {
  ASSERT_EQ(compare(kOut).exit_code, 0);
  const Ended nothing = compare(std::string("--export slurm") + kOut);
  EXPECT_TRUE(nothing.out.starts_with("All 8 runs exist already")) << nothing.out;
  EXPECT_FALSE(std::filesystem::exists(path("the out; #1/jobs.list")));
  std::filesystem::remove(path("the out; #1/mtbf_h=0/las/seed-1/summary.json"));
  const Ended one = compare(std::string("--export slurm") + kOut);
  EXPECT_TRUE(one.out.starts_with("1 runs in ")) << one.out;
  EXPECT_NE(read("the out; #1/jobs.sbatch").find("--array=1-1\n"), std::string::npos);
}

TEST_F(CompareExportTest, ATaskFailsWhenItsRunDoes) {
  ASSERT_EQ(compare(std::string("--export slurm") + kOut).exit_code, 0);
  std::filesystem::remove(path("my jobs' $(x).csv"));
  EXPECT_EQ(fairlead("--version", "SLURM_ARRAY_TASK_ID=1 bash 'the out; #1/jobs.sbatch' && exit 9")
                .exit_code,
            0);
  std::filesystem::remove(path("the out; #1/jobs.list"));
  EXPECT_EQ(fairlead("--version", "SLURM_ARRAY_TASK_ID=1 bash 'the out; #1/jobs.sbatch' && exit 9")
                .exit_code,
            0);
}

TEST_F(CompareExportTest, KubernetesPodsMakeTheRuns) {
  const Ended exported =
      compare(std::string("--export kubernetes --image fairlead:1 --claim work") + kOut);
  ASSERT_EQ(exported.exit_code, 0) << exported.errors;
  const YAML::Node job = YAML::Load(read("the out; #1/jobs.yaml"));
  EXPECT_EQ(job["spec"]["completions"].as<int>(), 8);
  const YAML::Node pod = job["spec"]["template"]["spec"];
  const YAML::Node container = pod["containers"][0];
  EXPECT_EQ(container["image"].as<std::string>(), "fairlead:1");
  EXPECT_EQ(pod["volumes"][0]["persistentVolumeClaim"]["claimName"].as<std::string>(), "work");
  EXPECT_EQ(std::filesystem::canonical(container["workingDir"].as<std::string>()),
            std::filesystem::canonical(path(".")));

  // The command that the kubelet would start for the last index; its program is first on the path.
  write("script", container["command"][2].as<std::string>());
  write("list", container["command"][4].as<std::string>());
  const std::string folder = std::filesystem::path(FAIRLEAD_PROGRAM).parent_path().string();
  const Ended task = fairlead("--version", "( export PATH=\"" + folder +
                                               ":$PATH\"; JOB_COMPLETION_INDEX=7 bash -c "
                                               "\"$(cat script)\" run \"$(cat list)\" )");
  ASSERT_EQ(task.exit_code, 0) << task.errors;
  EXPECT_TRUE(std::filesystem::exists(path("the out; #1/mtbf_h=0.05/las/seed-1/summary.json")))
      << task.errors << task.out;
  EXPECT_FALSE(std::filesystem::exists(path("the out; #1/mtbf_h=0.05/las/seed-0")));
}

TEST_F(CompareExportTest, RefusesFlagsThatMeanNothing) {
  EXPECT_EQ(compare(std::string("--export pbs") + kOut).exit_code, 2);
  EXPECT_EQ(compare(std::string("--export slurm --json") + kOut).exit_code, 2);
  EXPECT_EQ(compare(std::string("--image fairlead:1") + kOut).exit_code, 2);
}

}  // namespace
}  // namespace fairlead
