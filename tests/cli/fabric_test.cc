// Clusters with links of their own, from files to figures.

#include "program.h"

namespace fairlead {
namespace {

using nlohmann::json;

class FabricRun : public ProgramTest {
 protected:
  // Returns the makespan of one job of 60 s of work on `gpus` GPUs; each iteration exchanges 100
  // MB.
  double makespan_s(const std::string& cluster, int gpus, const std::string& placement) {
    write("models.yaml",
          "models: [{name: m, rates: {GB200: 1, H100: 1, GPU: 1, V100: 1, K80: 1},"
          " communication: {bytes_mb: 100, compute_ms: 10}}]\n");
    write("jobs.csv",
          "job,user,model,gpus,submit_s,duration_s\na,ann,m," + std::to_string(gpus) + ",0,60\n");
    const Ended ended =
        fairlead("simulate --audit --cluster " + cluster + " --trace " + path("jobs.csv") +
                 " --policy fifo:placement=" + placement +
                 " --set costs=none --set network=contention --set models=" + path("models.yaml") +
                 " --out " + path("out"));
    EXPECT_EQ(ended.exit_code, 0) << ended.errors;
    return read_json("out/summary.json")["makespan_s"];
  }
};

TEST_F(FabricRun, AGangOf72RunsInOneDomainAsOnOneHost) {
  EXPECT_NEAR(makespan_s("nvl72", 72, "rack"), 60, 0.01);
  EXPECT_EQ(read_json("out/summary.json")["placements"]["node"], 1);
  EXPECT_EQ(read_json("out/summary.json")["racks"].size(), 4U);
}

// 8 GPUs on one host are the reference. Over the network a GPU on each of 8 hosts has a card of 400
// Gbit/s, where the host has 3600: 10 + 3.5 ms instead of 10 + 0.39.
TEST_F(FabricRun, AGangHasOneRailForEachOfItsGpus) {
  EXPECT_NEAR(makespan_s("rails", 8, "spread"), 60 * 13.5 / (10 + 1.4 / 3.6), 0.05);
}

TEST_F(FabricRun, AllOfThreeLevelsOfSwitchesRunsAsFastAsItCanHere) {
  EXPECT_NEAR(makespan_s("lingjun-pod", 512, "first-fit"), 60, 0.01);
  const json racks = read_json("out/summary.json")["racks"];
  EXPECT_EQ(racks.size(), 8U);
  EXPECT_EQ(racks[7]["name"], "core/pod-1/segment-3");
}

// An iteration exchanges 198 MB: 10 + 159 ms by the old cards, where a V100 alone with the others of its
// kind would take 10 + 16.
TEST_F(FabricRun, OldCardsSlowAGangThatSpansThem) {
  EXPECT_GT(makespan_s("old-and-new", 128, "first-fit,mixed=true"), 60 * 168 / 26.0 - 5);
  EXPECT_NE(read_json("out/summary.json")["racks"][0]["about"].dump().find("10 Gbit/s each"),
            std::string::npos);
}

}  // namespace
}  // namespace fairlead
