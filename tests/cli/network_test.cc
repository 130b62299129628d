// Gangs that share links, from files to figures.

#include "program.h"

namespace fairlead {
namespace {

using nlohmann::json;

class NetworkRun : public ProgramTest {
 protected:
  // 8 Gbit/s are 1 MB in a millisecond: an iteration of two GPUs is 100 ms each of computing and of
  // exchanging.
  std::string models() const {
    return write(
        "models.yaml",
        "models:\n"
        "  - {name: m, rates: {V100: 1}, communication: {bytes_mb: 100, compute_ms: 100}}\n"
        "  - {name: quiet, rates: {V100: 1}}\n");
  }
};

// Jobs a and b have a GPU on each of two hosts. While both run, each has 4 of 8 Gbit/s and an
// iteration takes 300 ms instead of 200: 30 s of work are done at 45 s. From there on a has its
// links to itself and needs 30 s more. One GPU, as c has, exchanges nothing.
TEST_F(NetworkRun, CountsPlacementsAndTheTimeThatGangsWait) {
  write("cluster.yaml",
        "links: {pair_gbps: 8, node_gbps: 8, rack_gbps: 8, spine_gbps: 8}\n"
        "racks: [{nodes: {count: 2, gpu_type: V100, gpus: 4}}]\n");
  write("jobs.csv",
        "job,user,model,gpus,submit_s,duration_s\n"
        "a,ann,m,2,0,60\n"
        "b,ann,m,2,0,30\n"
        "c,ann,quiet,1,0,30\n");
  models();
  const Ended ended = fairlead(
      "simulate --audit --cluster " + path("cluster.yaml") + " --trace " + path("jobs.csv") +
      " --policy fifo:placement=spread --set costs=none --set network=contention --set models=" +
      path("models.yaml") + " --out " + path("out"));
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  const json summary = read_json("out/summary.json");
  EXPECT_EQ(summary["placements"], json({{"pair", 1}, {"node", 0}, {"rack", 2}, {"spine", 0}}));
  EXPECT_NEAR(summary["makespan_s"], 75, 0.002);
  // a: 2 x (45 s x 2/3 + 30 s x 1/2). b: 2 x 45 s x 2/3. Allocated: 2 x 75 s + 2 x 45 s + 30 s.
  EXPECT_NEAR(summary["comm_time_share"], (90.0 + 60.0) / 270, 1e-4);
  EXPECT_NEAR(summary["gpu_hours"], 270.0 / 3600, 1e-6);
}

TEST_F(NetworkRun, TakesRacksFromAListOfHostsAndTheirSwitches) {
  write("topo.csv", "ip,DSW,PSW,ASW\nh0,G1,P1,S1\nh1,G1,P1,S1\nh2,G1,P2,S1\n");
  write("jobs.csv",
        "job,user,model,gpus,submit_s,duration_s\n"
        "a,ann,quiet,16,0,10\n"
        "b,ann,quiet,24,20,10\n");
  models();
  const Ended ended =
      fairlead("simulate --cluster " + path("topo.csv") + " --trace " + path("jobs.csv") +
               " --policy fifo --set costs=none --set models=" + path("models.yaml") + " --out " +
               path("out"));
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  const json summary = read_json("out/summary.json");
  EXPECT_EQ(summary["placements"], json({{"pair", 0}, {"node", 0}, {"rack", 1}, {"spine", 1}}));
}

}  // namespace
}  // namespace fairlead
