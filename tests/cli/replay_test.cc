// The first different decision of another policy.

#include "program.h"

namespace fairlead {
namespace {

using nlohmann::json;

class ReplayTest : public ProgramTest {
 protected:
  // Generates a trace of some load and runs it under a policy into "out".
  void record(const std::string& policy, const std::string& more = "") const {
    ASSERT_EQ(fairlead("trace generate --jobs 200 --cluster 2xV100:4,1xK80:4 --load 1.2 --seed 3 "
                       "--users 4 --tickets 1/2 -o jobs.csv")
                  .exit_code,
              0);
    const Ended ended = fairlead("simulate --cluster 2xV100:4,1xK80:4 --trace jobs.csv --out out " +
                                 more + " --policy " + policy);
    ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  }
  json replay(const std::string& arguments) const {
    const Ended ended = fairlead("replay --json " + arguments);
    EXPECT_EQ(ended.exit_code, 0) << ended.errors;
    return json::parse(ended.out, nullptr, false);
  }
};

TEST_F(ReplayTest, FindsTheFirstDifferenceOfARunDoneByHand) {
  // At 0 s both start a. Then b and c wait for 4 and 2 GPUs, of which 1 is free: when a ends, fifo
  // starts b, which came first, and sjf starts c and d, which are shorter.
  write("jobs.csv",
        "job,user,model,gpus,submit_s,duration_s\n"
        "a,ann,,3,0,100\n"
        "b,bob,,4,10,50\n"
        "c,bob,,2,20,20\n"
        "d,cy,,2,30,30\n");
  ASSERT_EQ(fairlead(simulate("--set costs=none")).exit_code, 0);
  const json value = replay("out --policy sjf --set costs=none");
  EXPECT_EQ(value["recorded"],
            "fifo:placement=count,mixed=false,skip=false,backfill=none,backfill_jobs=500");
  EXPECT_EQ(value["replayed"], "sjf");
  EXPECT_EQ(value["decisions_equal"], 4);
  EXPECT_EQ(value["difference"], json::parse(R"({"t_s": 100, "steps_equal": 0,
    "events": [{"event": "finished", "job": "a"}],
    "recorded_only": [{"step": "place", "job": "b", "user": "bob", "gpus": 4, "copy": 0,
                       "gang": [{"node": "n0", "gpus": 4}]}],
    "replayed_only": [{"step": "place", "job": "c", "user": "bob", "gpus": 2, "copy": 0,
                       "gang": [{"node": "n0", "gpus": 2}]},
                      {"step": "place", "job": "d", "user": "cy", "gpus": 2, "copy": 0,
                       "gang": [{"node": "n0", "gpus": 2}]}]})"));

  const Ended text = fairlead("replay out/journal.flj --policy sjf --set costs=none");
  EXPECT_EQ(
      text.out,
      "recorded  fifo:placement=count,mixed=false,skip=false,backfill=none,backfill_jobs=500\n"
      "replayed  sjf\n"
      "they differ first at 100.000 s, after 4 equal decisions\n"
      "\n"
      "what happened\n"
      "  a (ann, 3 GPUs) finished\n"
      "\n"
      "what only the recorded policy does\n"
      "  places b (bob, 4 GPUs) on n0 x4\n"
      "\n"
      "what only the replayed policy does\n"
      "  places c (bob, 2 GPUs) on n0 x2\n"
      "  places d (cy, 2 GPUs) on n0 x2\n");
}

TEST_F(ReplayTest, AStopIsADifferenceAndSoIsDoingNothing) {
  write("jobs.csv",
        "job,user,model,gpus,submit_s,duration_s\n"
        "long,ann,,4,0,1000\n"
        "short,bob,,4,10,50\n");
  ASSERT_EQ(fairlead(simulate("")).exit_code, 0);
  const json difference = replay("out --policy srtf")["difference"];
  EXPECT_EQ(difference["t_s"], 10);
  EXPECT_TRUE(difference["recorded_only"].empty());
  ASSERT_EQ(difference["replayed_only"].size(), 2u);
  EXPECT_EQ(difference["replayed_only"][0]["step"], "stop");
  EXPECT_EQ(difference["replayed_only"][0]["job"], "long");
  EXPECT_EQ(difference["replayed_only"][1]["job"], "short");
  EXPECT_NE(fairlead("replay out --policy srtf")
                .out.find("what only the recorded policy does\n  nothing\n"),
            std::string::npos);
}

TEST_F(ReplayTest, NamesCannotActOnTheTerminal) {
  write("jobs.csv",
        "job,user,gpus,submit_s,duration_s\n"
        "long\x1b[2J,\x07,4,0,1000\n"
        "short,bob,4,10,50\n");
  ASSERT_EQ(fairlead(simulate("")).exit_code, 0);
  const Ended ended = fairlead("replay out --policy srtf");
  EXPECT_NE(ended.out.find("stops long?[2J (?, 4 GPUs)\n"), std::string::npos) << ended.out;
}

TEST_F(ReplayTest, HelpTeaches) {
  const std::string help = fairlead("replay --help").out;
  EXPECT_NE(help.find("fairlead replay out/fifo --policy fifo:skip=true"), std::string::npos);
  EXPECT_NE(help.find("start_s"), std::string::npos);  // the settings
}

// A run rebuilt from its journal repeats the first run, with any state or draws of the policy.
TEST_F(ReplayTest, ThePolicyOfTheRunMakesNoDifference) {
  for (const char* policy :
       {"fifo", "srtf", "tiresias", "gandiva-fair", "gavel", "optimus", "hadare:utility=jct"}) {
    record(policy);
    const json value = replay(std::string("out --policy ") + policy);
    EXPECT_TRUE(value["difference"].is_null()) << policy << value["difference"];
    EXPECT_GT(value["decisions_equal"], 200) << policy;
  }
  EXPECT_NE(fairlead("replay out --policy hadare:utility=jct").out.find("no difference in "),
            std::string::npos);
}

TEST_F(ReplayTest, NodesFailAsTheyDidAndTheClockStopsWhereItDid) {
  const std::string settings = "--set start_s=5 --set models=gavel";
  record("tiresias", "--seed 7 --until 150000 --set mtbf_h=5 " + settings);
  EXPECT_GT(read_json("out/summary.json")["pending"], 0);
  const json same = replay("out --policy tiresias " + settings);
  EXPECT_TRUE(same["difference"].is_null()) << same["difference"];
  const json other = replay("out --policy las " + settings);
  EXPECT_GT(other["decisions_equal"], 0);
  EXPECT_FALSE(other["difference"].is_null());
}

TEST_F(ReplayTest, AComputedNetworkNeedsItsLinks) {
  const std::string settings = "--set network=analytic --set models=slides";
  write(
      "lab.yaml",
      "name: lab\nlinks: {rack_gbps: 1}\nracks:\n  - nodes: {count: 4, gpu_type: V100, gpus: 4}\n");
  ASSERT_EQ(
      fairlead("trace generate --jobs 100 --cluster lab.yaml --load 1.2 -o jobs.csv").exit_code, 0);
  ASSERT_EQ(
      fairlead("simulate --cluster lab.yaml --trace jobs.csv --policy fifo --out out " + settings)
          .exit_code,
      0);
  EXPECT_TRUE(replay("out --policy fifo --cluster lab.yaml " + settings)["difference"].is_null());
  EXPECT_EQ(fairlead("replay out --policy fifo " + settings).exit_code, 2);
  const Ended other = fairlead("replay out --policy fifo --cluster 4xV100:8 " + settings);
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.errors.find("other nodes than the recorded run: 4xV100:8"), std::string::npos)
      << other.errors;
}

TEST_F(ReplayTest, DurationsMeasuredOnOtherTypesNeedTheTrace) {
  write("jobs.csv",
        "job,user,model,gpus,submit_s,duration_s,gpu_type\n"
        "a,ann,ResNet50,4,0,100,K80\n"
        "b,bob,ResNet50,4,10,50,V100\n"
        "c,bob,ResNet50,4,20,20,K80\n");
  ASSERT_EQ(fairlead("simulate --cluster 1xV100:4,1xK80:4 --trace jobs.csv --policy fifo --out out")
                .exit_code,
            0);
  EXPECT_TRUE(replay("out --policy fifo --trace jobs.csv")["difference"].is_null());
  EXPECT_EQ(fairlead("replay out --policy fifo").exit_code, 2);
  write("other.csv", "job,gpus,submit_s,duration_s\nx,1,0,1\n");
  EXPECT_EQ(fairlead("replay out --policy fifo --trace other.csv").exit_code, 2);
}

TEST_F(ReplayTest, AJobThatOnlyOnePolicyRefusesIsADifference) {
  write("jobs.csv",
        "job,gpus,gpus_min,submit_s,duration_s\n"
        "a,8,2,0,100\n");
  ASSERT_EQ(fairlead(simulate("")).exit_code, 0);
  const json difference = replay("out --policy optimus")["difference"];
  EXPECT_EQ(difference["t_s"], 0);
  EXPECT_EQ(difference["events"][0]["event"], "rejected");
}

TEST_F(ReplayTest, TakesTheSettingsOfTheRunFromItsSummary) {
  record("fifo", "--set costs=none");
  EXPECT_TRUE(replay("out --policy fifo")["difference"].is_null());
  EXPECT_EQ(fairlead("replay out --policy srtf").exit_code, 0);
}

TEST_F(ReplayTest, WrongSettingsAreNoticed) {
  record("fifo", "--set costs=none");
  std::filesystem::remove(path("out/summary.json"));
  const Ended ended = fairlead("replay out --policy srtf");
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_EQ(ended.out, "");
  EXPECT_NE(ended.errors.find("out/journal.flj: this run cannot be rebuilt with these settings"),
            std::string::npos)
      << ended.errors;
  EXPECT_EQ(fairlead("replay out --policy srtf --set costs=none").exit_code, 0);
}

TEST_F(ReplayTest, RefusesWhatIsNoJournalOrNoPolicy) {
  small_trace();
  ASSERT_EQ(fairlead(simulate("")).exit_code, 0);
  EXPECT_EQ(fairlead("replay gone --policy fifo").exit_code, 2);
  EXPECT_EQ(fairlead("replay jobs.csv --policy fifo").exit_code, 2);
  EXPECT_EQ(fairlead("replay out").exit_code, 2);
  EXPECT_EQ(fairlead("replay out --policy fifa").exit_code, 2);
  EXPECT_EQ(fairlead("replay out --policy fifo --set costs=some").exit_code, 2);
  const std::string journal = read("out/journal.flj");
  write("out/journal.flj", journal.substr(0, journal.size() - 9));
  EXPECT_EQ(fairlead("replay out --policy fifo").exit_code, 2);
}

TEST_F(ReplayTest, OutagesOfRacksAndOfSingleGpusAreThoseOfTheRun) {
  record("tiresias", "--seed 7 --set mtbf_h=9 --set rack_mtbf_h=9");
  EXPECT_TRUE(replay("out --policy tiresias")["difference"].is_null());
  write("outages.csv", "node,down_s,up_s,gpus\nn0,100,50000,0+3\nn2,7000,,\nn0,60000,70000,\n");
  record("tiresias", "--seed 7 --set outages=outages.csv");
  const json same = replay("out --policy tiresias");
  EXPECT_TRUE(same["difference"].is_null()) << same["difference"];
  EXPECT_GT(same["decisions_equal"], 200);
  EXPECT_FALSE(replay("out --policy las")["difference"].is_null());
}

TEST_F(ReplayTest, ARunInAWorldThatIsNotExactIsRefused) {
  record("tiresias", "--set faults=late_s:2/start_fails:0.2/calm_s:100000");
  const Ended ended = fairlead("replay out --policy tiresias");
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_NE(ended.errors.find("journal.flj: only a run in an exact world can be replayed"),
            std::string::npos)
      << ended.errors;
  EXPECT_EQ(fairlead("report out").exit_code, 0);
  const json summary = read_json("out/summary.json");
  EXPECT_GT(summary["open_world"]["starts_failed"], 0);
  EXPECT_NE(fairlead("journal dump out").out.find("\"start_failed\""), std::string::npos);
  record("tiresias");
  EXPECT_FALSE(read_json("out/summary.json").contains("open_world"));
}

}  // namespace
}  // namespace fairlead
