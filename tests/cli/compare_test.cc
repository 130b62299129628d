// Several policies on one trace.

#include "program.h"

#include <algorithm>
#include <sstream>

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
  EXPECT_EQ(files("out"),
            (std::vector<std::string>{"compare.json", "fifo", "fifo-placement=first-fit", "fifo~2",
                                      "runs.csv", "runs.jsonl"}));
  const json value = read_json("out/compare.json");
  ASSERT_EQ(value["policies"].size(), 3u);
  EXPECT_EQ(value["policies"][1]["policy"], "fifo:placement=first-fit");
  EXPECT_EQ(value["policies"][1]["folder"], "fifo-placement=first-fit");
  const json summary = read_json("out/fifo/summary.json");
  EXPECT_EQ(value["policies"][0]["mean"]["jct_avg_s"], summary["jct_avg_s"]);
  EXPECT_EQ(value["policies"][0]["mean"]["placements"], summary["placements"]);
  EXPECT_FALSE(value["policies"][0].contains("difference_to_first"));
  EXPECT_EQ(value["policies"][0]["runs"][0]["journal_hash"], summary["journal_hash"]);
  EXPECT_TRUE(value["failures"].empty());
  EXPECT_NE(ended.out.find("\nfifo:placement=first-fit "), std::string::npos) << ended.out;
}

// b waited a minute by the log, though there was room, and c half an hour, until a ended.
TEST_F(CompareTest, SaysHowNearPoliciesComeToWhatIsRecorded) {
  write("jobs.csv",
        "job,gpus,submit_s,duration_s,start_s\n"
        "a,3,0,1800,0\n"
        "b,1,0,600,60\n"
        "c,4,0,600,1800\n");
  const Ended ended =
      compare("--policies 'as-recorded;slurm:bf_interval_s=10;fifo' --set costs=none");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_TRUE(ended.out.starts_with(
      "Our model of your scheduler, slurm:bf_interval_s=10: mean wait 10m, recorded 10m 20s.\n"
      "Recorded: mean wait 10m 20s over 3 jobs; as-recorded kept 3 of their starts, 0 came "
      "later.\n\n"))
      << ended.out;
  const json summary = read_json("out/as-recorded/summary.json");
  EXPECT_EQ(summary["queue_avg_s"], 620);
  EXPECT_EQ(summary["logged"]["queue_avg_s"], 620);
  small_trace();
  EXPECT_FALSE(read_json("out/fifo/summary.json")["logged"].is_null());
  const Ended plain = fairlead(
      "compare --cluster 1xV100:4 --trace jobs.csv --out plain --policies 'as-recorded;fifo'");
  ASSERT_EQ(plain.exit_code, 0);
  EXPECT_TRUE(plain.out.starts_with("No row for as-recorded: ")) << plain.out;
  EXPECT_EQ(plain.out.find("\nas-recorded"), std::string::npos) << plain.out;
  EXPECT_FALSE(read_json("plain/fifo/summary.json").contains("logged"));
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

TEST_F(CompareTest, TellsRangesAndDifferencesSeedBySeed) {
  small_trace();
  const Ended ended =
      compare("--policies 'fifo;las:quantum_s=20' --seeds 4 --set mtbf_h=0.02 --set mttr_h=0.005");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  const json value = read_json("out/compare.json");
  const json& fifo = value["policies"][0];
  const json& las = value["policies"][1];
  const json& difference = las["difference_to_first"]["jct_avg_s"];
  ASSERT_EQ(difference["n"], 4);
  EXPECT_EQ(difference["is"], "95 % interval");
  double low = 1e9;
  double sum = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const double jct_s = las["runs"][i]["jct_avg_s"];
    low = std::min(low, jct_s);
    sum += jct_s - fifo["runs"][i]["jct_avg_s"].get<double>();
    EXPECT_NEAR(difference["by_seed"][i].get<double>(),
                jct_s - fifo["runs"][i]["jct_avg_s"].get<double>(), 1e-9);
  }
  EXPECT_NEAR(difference["mean"].get<double>(), sum / 4, 1e-6);
  EXPECT_LT(difference["low"], difference["mean"]);
  EXPECT_EQ(las["min"]["jct_avg_s"], low);
  EXPECT_GT(las["max"]["jct_avg_s"], low);
  EXPECT_EQ(las["seeds_alike"], false);
  EXPECT_NE(ended.out.find("\nJCT mean  "), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("seed changes nothing"), std::string::npos) << ended.out;
}

TEST_F(CompareTest, SaysWhereTheSeedChangesNothing) {
  small_trace();
  Ended ended = compare("--policies 'fifo;las' --seeds 2");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_NE(ended.out.find("\nThe seed changes nothing here"), std::string::npos) << ended.out;
  const json policy = read_json("out/compare.json")["policies"][1];
  EXPECT_EQ(policy["seeds_alike"], true);
  const json& difference = policy["difference_to_first"]["jct_avg_s"];
  EXPECT_EQ(difference["is"], "range");
  EXPECT_EQ(difference["low"], difference["high"]);
}

TEST_F(CompareTest, TellsOnceWhatAllRunsAssume) {
  small_trace();
  const Ended ended = compare("--policies 'fifo;las'");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  const std::size_t block = ended.out.find("\nAssumed\n");
  ASSERT_NE(block, std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("\n  format        native, recognised by its content (4 jobs)\n", block),
            std::string::npos)
      << ended.out;
  EXPECT_EQ(ended.out.find("recognised"), ended.out.rfind("recognised")) << ended.out;
}

TEST_F(CompareTest, PassesOnHowTheTraceIsRead) {
  write("jobs.csv", "JobID,Owner,NGPUs,Queued,Ran\n1,ann,1,0,10000\n2,bob,1,0,10000\n");
  const Ended ended = fairlead(
      "compare --cluster 1xV100:4 --trace jobs.csv --policies 'fifo;las' --out out --unit ms "
      "--columns 'user=Owner,submit=Queued,duration=Ran' --where Owner!=bob --users ann --set "
      "costs=none");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  for (const char* policy : {"fifo", "las"}) {
    const json summary = read_json(std::string("out/") + policy + "/summary.json");
    EXPECT_EQ(summary["jobs_read"], 1);
    EXPECT_EQ(summary["makespan_s"], 10);
    EXPECT_EQ(summary["rows_rejected"]["left out by --where"], 1);
    EXPECT_EQ(summary["assumed"]["columns_read"][0], "job=JobID");
  }
}

TEST_F(CompareTest, WritesARowPerRunForOtherTools) {
  small_trace();
  ASSERT_EQ(compare("--policies 'fifo:skip=true;las' --seeds 2").exit_code, 0);
  const std::string table = read("out/runs.csv");
  EXPECT_TRUE(table.starts_with("policy,seed,folder,")) << table;
  EXPECT_NE(table.find("\nfifo:skip=true,1,fifo-skip=true/seed-1,"), std::string::npos) << table;
  EXPECT_EQ(std::ranges::count(table, '\n'), 5);
  std::istringstream lines(read("out/runs.jsonl"));
  std::string header = table.substr(0, table.find('\n')) + ",";
  std::string line;
  std::int64_t rows = 0;
  for (; std::getline(lines, line); ++rows) {
    const auto in_order = nlohmann::ordered_json::parse(line);
    std::string columns;
    for (const auto& [key, value] : in_order.items()) columns += key + ",";
    EXPECT_EQ(columns, header);
    const json run = json::parse(line);
    const json summary = read_json("out/" + run["folder"].get<std::string>() + "/summary.json");
    EXPECT_EQ(run["jct_avg_s"], summary["jct_avg_s"]);
    EXPECT_EQ(run["fairness_jain"], summary["fairness"]["jain"]);
    EXPECT_EQ(run["placements_pair"], summary["placements"]["pair"]);
    EXPECT_EQ(run["seed"], summary["seed"]);
  }
  EXPECT_EQ(rows, 4);
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

TEST_F(CompareTest, NamesThePoliciesThatLeaveJobs) {
  write("jobs.csv", "job,gpus,submit_s,duration_s\na,8,1,10\nb,1,1,10\n");
  write("outages.csv", "node,down_s,up_s\nn0,0,\n");
  const std::string run =
      "compare --cluster 2xV100:4,1xK80:4 --trace jobs.csv --set outages=outages.csv --out out "
      "--policies 'las;las:mixed=true'";
  for (int i = 0; i < 2; ++i) {  // also if the runs are complete already
    const Ended ended = fairlead(run);
    EXPECT_EQ(ended.exit_code, 3);
    EXPECT_NE(ended.errors.find("some jobs can never run to their end under las, and"),
              std::string::npos)
        << ended.errors;
    EXPECT_EQ(read_json("out/compare.json")["failures"].size(), 0U);
  }
}

TEST_F(CompareTest, RefusesStandardInput) {
  EXPECT_EQ(fairlead("compare --cluster 1xV100:4 --trace - --policies fifo --out out").exit_code,
            2);
}

}  // namespace
}  // namespace fairlead
