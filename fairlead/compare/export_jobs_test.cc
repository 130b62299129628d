#include "fairlead/compare/export_jobs.h"

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <array>
#include <cstdio>

namespace fairlead {
namespace {

// Returns bash's output for a script.
std::string bash(const std::string& script) {
  const std::string command = "bash -c " + bash_word(script);
  std::FILE* pipe = popen(command.c_str(), "r");
  std::string out;
  std::array<char, 256> chunk{};
  for (std::size_t n = 0; (n = std::fread(chunk.data(), 1, chunk.size(), pipe)) > 0;) {
    out.append(chunk.data(), n);
  }
  EXPECT_EQ(pclose(pipe), 0) << script;
  return out;
}

const std::vector<std::string> kOdd = {
    "plain/a.b=c",
    "",
    "two words",
    "it's",
    "\"q\" $HOME `id` $(id)",
    "a\nb\tc",
    "back\\slash",
    "*?[a]{}",
    "~/x #y; &z",
    "\x01"
    "7'\\",
    "\xc3\xa9\xff",
    "--out=!x",
};

TEST(ExportJobs, WordsAreForBashWhatTheyWere) {
  for (const std::string& text : kOdd) {
    const std::string word = bash_word(text);
    EXPECT_EQ(word.find('\n'), std::string::npos) << word;
    EXPECT_EQ(bash("printf %s " + word), text) << word;
  }
  EXPECT_EQ(bash_word("--seed=3"), "--seed=3");
}

TEST(ExportJobs, TheListHasALinePerRun) {
  const std::string list = jobs_list({{"simulate", "a b"}, kOdd});
  EXPECT_TRUE(list.starts_with("simulate 'a b'\n"));
  EXPECT_EQ(std::count(list.begin(), list.end(), '\n'), 2);
  std::string all;
  for (const std::string& text : kOdd) all += text + "|";
  EXPECT_EQ(bash("eval \"set -- "
                 "$(tail -n 1 <<< " +
                 bash_word(list.substr(0, list.size() - 1)) + ")\"; printf '%s|' \"$@\""),
            all);
}

JobExport jobs_of(std::size_t runs) {
  return {.runs = std::vector<std::vector<std::string>>(runs, {"simulate"}),
          .working_folder = "/data/my work",
          .program = "/opt/it's/fairlead",
          .list = "out $(x)/jobs.list",
          .image = "registry.example/fairlead:1",
          .claim = "work"};
}

TEST(ExportJobs, TheSlurmScriptIsAnArrayOfOneTaskPerRun) {
  const std::string script = slurm_script(jobs_of(12));
  EXPECT_TRUE(script.starts_with("#!/bin/bash\n#SBATCH "));
  EXPECT_NE(script.find("\n#SBATCH --array=1-12\n"), std::string::npos);
  EXPECT_EQ(bash("bash -n <<< " + bash_word(script)), "");
}

TEST(ExportJobs, SlurmTasksMakeSeveralRunsWhereAnArrayMayNotBeSoLong) {
  const std::string script = slurm_script(jobs_of(2500));
  EXPECT_NE(script.find("\n#SBATCH --array=1-1000\n"), std::string::npos);
  EXPECT_NE(script.find("i += 1000)"), std::string::npos);
}

TEST(ExportJobs, TheKubernetesManifestIsAnIndexedJob) {
  const auto text = kubernetes_job(jobs_of(250));
  ASSERT_TRUE(text);
  const YAML::Node job = YAML::Load(*text);
  EXPECT_EQ(job["apiVersion"].as<std::string>(), "batch/v1");
  EXPECT_EQ(job["kind"].as<std::string>(), "Job");
  EXPECT_EQ(job["metadata"]["name"].as<std::string>(), "fairlead-compare");
  EXPECT_EQ(job["spec"]["completionMode"].as<std::string>(), "Indexed");
  EXPECT_EQ(job["spec"]["completions"].as<int>(), 250);
  EXPECT_EQ(job["spec"]["parallelism"].as<int>(), 100);
  const YAML::Node pod = job["spec"]["template"]["spec"];
  EXPECT_EQ(pod["restartPolicy"].as<std::string>(), "Never");
  const YAML::Node container = pod["containers"][0];
  EXPECT_EQ(container["image"].as<std::string>(), "registry.example/fairlead:1");
  EXPECT_EQ(container["workingDir"].as<std::string>(), "/data/my work");
  EXPECT_EQ(container["command"].size(), 5u);
  EXPECT_EQ(container["command"][4].as<std::string>(), "out $$(x)/jobs.list");
  EXPECT_EQ(container["volumeMounts"][0]["mountPath"].as<std::string>(), "/data/my work");
  EXPECT_EQ(container["volumeMounts"][0]["name"].as<std::string>(),
            pod["volumes"][0]["name"].as<std::string>());
  EXPECT_EQ(pod["volumes"][0]["persistentVolumeClaim"]["claimName"].as<std::string>(), "work");
}

TEST(ExportJobs, ManifestsKeepOddNamesAndRefuseWhatYamlCannotSay) {
  JobExport jobs = jobs_of(1);
  for (const char* folder : {"/a \"b\": c", "/{x} #y", "/tab\tand\nline", "/\xc3\xa9"}) {
    jobs.working_folder = folder;
    const auto text = kubernetes_job(jobs);
    ASSERT_TRUE(text) << folder;
    const YAML::Node pod = YAML::Load(*text)["spec"]["template"]["spec"];
    EXPECT_EQ(pod["containers"][0]["workingDir"].as<std::string>(), folder);
  }
  jobs.working_folder =
      "/not\xff"
      "utf8";
  EXPECT_FALSE(kubernetes_job(jobs));
}

}  // namespace
}  // namespace fairlead
