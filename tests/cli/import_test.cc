// import, and whatif from an imported journal.

#include "program.h"
#include <fmt/format.h>

#include <filesystem>

namespace fairlead {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

class ImportTest : public ProgramTest {
 protected:
  // The flags that name the fixtures.
  static std::string fixtures() {
    const fs::path folder = fs::absolute("tests/data/slurm");
    return fmt::format(
        "--scontrol-nodes {0}/scontrol.txt --sacct {0}/sacct.txt --squeue {0}/squeue.txt",
        folder.string());
  }
  // Writes `scontrol`, `sacct` and `squeue` that print the fixtures; returns the command that puts
  // them on the PATH.
  std::string slurm_here() const {
    fs::create_directory(path("bin"));
    for (const char* name : {"scontrol", "sacct", "squeue"}) {
      const std::string file = fmt::format("bin/{}", name);
      write(file, fmt::format("#!/bin/sh\ncat {}/{}.txt\n",
                              fs::absolute("tests/data/slurm").string(), name));
      fs::permissions(path(file), fs::perms::owner_all);
    }
    return fmt::format("export PATH={}:$PATH", path("bin"));
  }
};

TEST_F(ImportTest, WhatSlurmPrintsBecomesAClusterALogAndAQueue) {
  const Ended ended = fairlead("import slurm --out lab " + fixtures());
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_EQ(files("lab"),
            (std::vector<std::string>{"cluster.yaml", "jobs.csv", "notes.txt", "queue.csv"}));
  EXPECT_NE(ended.out.find("9 nodes, 56 GPUs"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("21 jobs, 9 of them running"), std::string::npos) << ended.out;
  EXPECT_EQ(
      fairlead("simulate --cluster lab/cluster.yaml --trace lab/jobs.csv --policy fifo").exit_code,
      0);
  EXPECT_EQ(files("out"), std::vector<std::string>{"fifo"});
  EXPECT_EQ(
      fairlead("simulate --cluster lab/cluster.yaml --trace lab/queue.csv --policy fifo").exit_code,
      0);
}

TEST_F(ImportTest, TheQueueIsForecastAsItWasImported) {
  ASSERT_EQ(fairlead("import slurm --out lab " + fixtures()).exit_code, 0);
  const Ended ended = fairlead("whatif --from lab --policy fifo --policy sjf --out runs");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_NE(ended.out.find("21 of 21"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find(read("lab/notes.txt")), std::string::npos) << ended.out;
  EXPECT_EQ(files("runs"), (std::vector<std::string>{"compare.json", "fifo", "sjf"}));
  const Ended none = fairlead("whatif --from gone --policy fifo");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.errors.find("gone/cluster.yaml"), std::string::npos) << none.errors;
}

TEST_F(ImportTest, SlurmIsAskedWhereItIs) {
  const std::string here = slurm_here();
  const Ended imported = fairlead("import slurm --json", here);
  ASSERT_EQ(imported.exit_code, 0) << imported.errors;
  const json value = json::parse(imported.out);
  EXPECT_EQ(value["gpus"], 56);
  EXPECT_EQ(value["queue_running"], 9);
  const Ended now = fairlead("whatif --from slurm --policy fifo --json", here);
  ASSERT_EQ(now.exit_code, 0) << now.errors;
  const Ended saved = fairlead("whatif --from out/slurm --policy fifo --json");
  EXPECT_EQ(json::parse(now.out)["policies"], json::parse(saved.out)["policies"]);
}

TEST_F(ImportTest, WhereItIsNotItsOutputIsAskedFor) {
  const Ended ended = fairlead("import slurm", "export PATH=/nowhere");
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_NE(
      ended.errors.find("`scontrol show node` failed; run it on a host with Slurm, and pass its "
                        "output by --scontrol-nodes FILE"),
      std::string::npos)
      << ended.errors;
  const Ended one = fairlead("import slurm --squeue gone.txt");
  EXPECT_EQ(one.exit_code, 2);
  EXPECT_NE(one.errors.find("--scontrol-nodes is missing"), std::string::npos) << one.errors;
  EXPECT_EQ(fairlead("import slurm --since \"1;id\"").exit_code, 2);
}

TEST_F(ImportTest, LimitsOfTheSiteAreAskedForAndUsed) {
  const std::string here = slurm_here();
  const auto sacctmgr = [&](std::string_view body) {
    write("bin/sacctmgr", fmt::format("#!/bin/sh\n{}\n", body));
    fs::permissions(path("bin/sacctmgr"), fs::perms::owner_all);
  };
  sacctmgr("exit 1");
  const Ended without = fairlead("import slurm --out none", here);
  ASSERT_EQ(without.exit_code, 0) << without.errors;
  EXPECT_NE(without.out.find("limits of QOS are not known (`sacctmgr show qos -P`)"),
            std::string::npos)
      << without.out;
  sacctmgr(
      "case $2 in qos) printf 'Name|GrpTRES|MaxTRESPU\\nnormal||gres/gpu=8\\n';; "
      "*) printf 'Account|User|GrpTRES|MaxJobs\\nlab||gres/gpu=16|\\n';; esac");
  const Ended ended = fairlead("import slurm --out lab", here);
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_NE(ended.out.find("limits.csv    2 limits"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("--set limits=lab/limits.csv"), std::string::npos) << ended.out;
  EXPECT_EQ(read("lab/limits.csv"),
            "name,qos,account,user,per,gpus,jobs\n"
            "MaxTRESPerUser of QOS normal,normal,,,user,8,\n"
            "GrpTRES of account lab,,lab,,,16,\n");
  const Ended run = fairlead(
      "simulate --cluster lab/cluster.yaml --trace lab/jobs.csv --policy fifo --set "
      "limits=lab/limits.csv");
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_NE(run.out.find("have no QOS or no account in the trace"), std::string::npos) << run.out;
}

}  // namespace
}  // namespace fairlead
