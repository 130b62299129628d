// capacity, and compare with several clusters.

#include "program.h"

namespace fairlead {
namespace {

using nlohmann::json;

class CapacityTest : public ProgramTest {
 protected:
  // Four jobs at once, each for a whole node of 4 GPUs for an hour.
  void SetUp() override {
    ProgramTest::SetUp();
    write("jobs.csv",
          "job,gpus,submit_s,duration_s\n"
          "a,4,0,3600\n"
          "b,4,0,3600\n"
          "c,4,0,3600\n"
          "d,4,0,3600\n");
  }
  Ended capacity(const std::string& more) const {
    return fairlead("capacity --cluster 1xV100:4 --trace jobs.csv --policy fifo --set costs=none " +
                    more);
  }
};

TEST_F(CapacityTest, PrintsEachChangeAndThePlans) {
  const Ended ended = capacity(
      "--add 5xV100:4 --add 3xA100:4 --target 'wait_p90 < 90 min' --price V100=1/h "
      "--price A100=0.5/h");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_NE(ended.out.find("\n+ 5xV100:4"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("\nall of them"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("\nwait_p90 < 90 min takes one of:\n"
                           "  1 node of 4 V100: 1 h, 4.00 per hour\n"
                           "  1 node of 4 A100: 1 h, 2.00 per hour, the cheapest\n"),
            std::string::npos)
      << ended.out;
  const json answer = read_json("out/capacity/capacity.json");
  EXPECT_EQ(answer["now"]["waits"]["wait_mean_s"], 1.5 * 3600);
  EXPECT_EQ(answer["plans"][1]["nodes"], (json{{"5xV100:4", 0}, {"3xA100:4", 1}}));
  EXPECT_EQ(answer["cheapest"], 1);
}

TEST_F(CapacityTest, ATargetOutOfReachIsNamed) {
  const Ended ended = capacity("--add 2xV100:4 --target 'wait_p90 < 1m'");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_NE(ended.out.find("\nwait_p90 < 1m: not reached with these nodes.\n"), std::string::npos)
      << ended.out;
}

TEST_F(CapacityTest, BadInputIsAnErrorOfUsage) {
  EXPECT_EQ(capacity("").exit_code, 2);
  EXPECT_EQ(capacity("--add 2xV100").exit_code, 2);
  EXPECT_EQ(capacity("--add 2xV100:4 --target 'wait < 1m'").exit_code, 2);
  EXPECT_EQ(capacity("--remove rack=r9").exit_code, 2);
}

TEST_F(CapacityTest, ComparesSeveralClusters) {
  const Ended ended = fairlead(
      "compare --cluster 1xV100:4 --cluster 1xV100:4,1xA100:4 --trace jobs.csv --policies fifo "
      "--set costs=none --out out");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  const json points = read_json("out/compare.json")["points"];
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0]["point"], (json{{"cluster", "1xV100:4"}}));
  EXPECT_EQ(points[0]["policies"][0]["mean"]["makespan_s"], 4 * 3600);
  EXPECT_EQ(points[1]["policies"][0]["mean"]["makespan_s"], 2 * 3600);
  EXPECT_EQ(fairlead("compare --cluster 1xV100:4 --cluster nowhere --trace jobs.csv --policies "
                     "fifo --out bad")
                .exit_code,
            2);
}

}  // namespace
}  // namespace fairlead
