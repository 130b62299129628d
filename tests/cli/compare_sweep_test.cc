// compare --sweep.

#include "program.h"

#include <algorithm>
#include <set>
#include <sstream>

namespace fairlead {
namespace {

using nlohmann::json;

class CompareSweepTest : public ProgramTest {
 protected:
  Ended compare(const std::string& more) const {
    return fairlead("compare --cluster 1xV100:4 --trace jobs.csv --out out " + more);
  }
  std::vector<json> rows() const {
    std::vector<json> all;
    std::istringstream lines(read("out/runs.jsonl"));
    for (std::string line; std::getline(lines, line);) all.push_back(json::parse(line));
    return all;
  }
};

TEST_F(CompareSweepTest, RunsEveryPointInAFolderOfItsOwn) {
  small_trace();
  const Ended ended =
      compare("--policies 'fifo;las' --sweep load=0.5..1.5/3 --sweep start_s=0,30 --seeds 2");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_EQ(files("out"), (std::vector<std::string>{"compare.json", "load=0.5", "load=1",
                                                    "load=1.5", "runs.csv", "runs.jsonl"}));
  EXPECT_EQ(files("out/load=1/start_s=30"),
            (std::vector<std::string>{"compare.json", "fifo", "las"}));
  const json value = read_json("out/compare.json");
  ASSERT_EQ(value["points"].size(), 6u);
  const json& point = value["points"][3];
  EXPECT_EQ(point["point"], (json{{"load", 1}, {"start_s", 30}}));
  EXPECT_EQ(point["folder"], "load=1/start_s=30");
  EXPECT_EQ(point["policies"][1]["policy"], "las");
  EXPECT_EQ(point["policies"][0]["runs"][1]["jct_avg_s"],
            read_json("out/load=1/start_s=30/fifo/seed-1/summary.json")["jct_avg_s"]);
  EXPECT_NE(ended.out.find("\n   1       30  las "), std::string::npos) << ended.out;

  const std::vector<json> all = rows();
  ASSERT_EQ(all.size(), 6u * 2 * 2);
  std::set<std::string> folders;
  for (const json& row : all) folders.insert(row["folder"]);
  EXPECT_EQ(folders.size(), all.size());
  EXPECT_EQ(all[7]["load"], 0.5);
  EXPECT_EQ(all[7]["start_s"], 30);
  EXPECT_TRUE(read("out/runs.csv").starts_with("load,start_s,policy,seed,folder,"));
}

TEST_F(CompareSweepTest, EachPointIsAComparisonByItself) {
  small_trace();
  ASSERT_EQ(compare("--policies 'fifo;las' --sweep start_s=0,30").exit_code, 0);
  const std::string at_30 = read("out/start_s=30/compare.json");
  ASSERT_EQ(fairlead("compare --cluster 1xV100:4 --trace jobs.csv --out alone --policies "
                     "'fifo;las' --set start_s=30")
                .exit_code,
            0);
  EXPECT_EQ(at_30, read("alone/compare.json"));
}

TEST_F(CompareSweepTest, LoadSpreadsTheSubmissions) {
  small_trace();  // 655.5 GPU-s, over 4 GPUs: 163.9 s at load 1
  ASSERT_EQ(compare("--policies fifo --set costs=none --sweep load=0.5,1").exit_code, 0);
  const auto last_submission = [&](const char* point) {
    const std::string jobs = read(std::string("out/load=") + point + "/fifo/jobs.csv");
    const std::size_t at = jobs.find("\nd,ann,,1,") + 10;
    return std::stod(jobs.substr(at, jobs.find(',', at) - at));
  };
  // Jobs of 4 x 100, 2 x 50, 2 x 50 and 1 x 5.5 GPU-seconds.
  EXPECT_NEAR(last_submission("1"), 605.5 / 4, 0.001);
  EXPECT_NEAR(last_submission("0.5"), 605.5 / 4 / 0.5, 0.001);
}

TEST_F(CompareSweepTest, AnOptionBelongsToThePoliciesOfItsName) {
  small_trace();
  ASSERT_EQ(compare("--policies 'las;fifo' --sweep fifo.skip=false,true").exit_code, 0);
  for (const json& row : rows()) {
    const std::string options = row["options"];
    const bool has_skip =
        options.find(row["fifo.skip"] == "true" ? "skip=true" : "skip=false") != std::string::npos;
    EXPECT_EQ(has_skip, row["policy"] == "fifo") << row;
  }
  EXPECT_EQ(rows().size(), 4u);
}

TEST_F(CompareSweepTest, RefusesWhatCannotBeBeforeItRunsAny) {
  small_trace();
  for (const char* sweep :
       {"load", "load=0..1/3", "loda=1,2", "las.quantum=5", "fifo.skip=maybe", "fifo.skipp=true",
        "start_s=1,1", "load=1 --sweep load=2", "load=1..2/2000 --sweep start_s=1..2/2000"}) {
    const Ended ended = compare(std::string("--policies fifo --sweep ") + sweep);
    EXPECT_EQ(ended.exit_code, 2) << sweep;
    EXPECT_TRUE(ended.errors.starts_with("fairlead: ")) << ended.errors;
    EXPECT_EQ(files("out"), std::vector<std::string>()) << sweep;
  }
}

TEST_F(CompareSweepTest, SaysWhichPointFailed) {
  write("jobs.csv", "job,user,model,gpus,submit_s,duration_s\na,ann,,1,0,10\nb,ann,,1,0,10\n");
  const Ended ended = compare("--policies fifo --sweep load=1,2");
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_NE(ended.errors.find("fifo load=2 (seed 0): all jobs are submitted at the same time"),
            std::string::npos)
      << ended.errors;
  EXPECT_EQ(files("."), std::vector<std::string>{"jobs.csv"});
}

}  // namespace
}  // namespace fairlead
