// trace, policies, clusters, help.

#include "program.h"

namespace fairlead {
namespace {

using nlohmann::json;

class ToolsTest : public ProgramTest {};

TEST_F(ToolsTest, HelpAndVersionGoToStandardOutput) {
  for (const char* arguments :
       {"--help", "--version", "simulate --help", "compare --help", "trace --help",
        "trace generate --help", "policies --help", "clusters --help"}) {
    const Ended ended = fairlead(arguments);
    EXPECT_EQ(ended.exit_code, 0) << arguments;
    EXPECT_NE(ended.out, "") << arguments;
    EXPECT_EQ(ended.errors, "") << arguments;
  }
  EXPECT_NE(fairlead("simulate --help").out.find("reference_gpu"), std::string::npos);
}

TEST_F(ToolsTest, GeneratesATraceThatSimulates) {
  ASSERT_EQ(fairlead("trace generate --jobs 50 --cluster 2xV100:4 --load 0.5 --seed 4 --users 3 "
                     "--tickets 1/2 -o jobs.csv")
                .exit_code,
            0);
  const std::string first = read("jobs.csv");
  EXPECT_EQ(fairlead("trace generate --jobs 50 --cluster 2xV100:4 --load 0.5 --seed 4 --users 3 "
                     "--tickets 1/2 -o -")
                .out,
            first);
  ASSERT_EQ(
      fairlead("simulate --cluster 2xV100:4 --trace jobs.csv --policy fifo --out out").exit_code,
      0);
  EXPECT_EQ(read_json("out/summary.json")["jobs_read"], 50);
}

TEST_F(ToolsTest, RefusesToGenerateNonsense) {
  for (const char* flags :
       {"--jobs 0 --cluster 1xV100:4", "--jobs -5 --cluster 1xV100:4", "--jobs 5 --cluster gone",
        "--jobs 5 --cluster 1xV100:4 --load 0", "--jobs 5 --cluster 1xV100:4 --users 0",
        "--jobs 5 --cluster 1xV100:4 --load 1 --rate 5", "--cluster 1xV100:4"}) {
    const Ended ended = fairlead(std::string("trace generate -o jobs.csv ") + flags);
    EXPECT_EQ(ended.exit_code, 2) << flags << ended.errors;
    EXPECT_EQ(files("."), std::vector<std::string>()) << flags;
  }
}

TEST_F(ToolsTest, InspectsATrace) {
  small_trace();
  const Ended ended = fairlead("trace inspect jobs.csv --json");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_EQ(json::parse(ended.out)["jobs"], 4);
  EXPECT_NE(fairlead("trace inspect jobs.csv").out, "");
  EXPECT_EQ(fairlead("trace inspect gone.csv").exit_code, 2);
}

TEST_F(ToolsTest, ConvertsATraceToTheNativeFormat) {
  write("other.csv", "job_id,tenant,submit_s,num_gpus,duration_s\nx,vc1,3,2,60\n");
  ASSERT_EQ(fairlead("trace convert other.csv -o jobs.csv").exit_code, 0);
  EXPECT_NE(read("jobs.csv").find("\nx,vc1,,2,3,60"), std::string::npos) << read("jobs.csv");
  EXPECT_EQ(fairlead("trace convert other.csv -o gone/jobs.csv").exit_code, 1);
}

TEST_F(ToolsTest, ListsPoliciesAndTheirOptions) {
  EXPECT_NE(fairlead("policies").out.find("\nfifo "), std::string::npos);
  const Ended fifo = fairlead("policies fifo");
  EXPECT_EQ(fifo.exit_code, 0);
  EXPECT_NE(fifo.out.find("placement"), std::string::npos);
  const Ended unknown = fairlead("policies fifa");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.errors.find("fifo"), std::string::npos);
}

TEST_F(ToolsTest, EveryClusterInTheListLoads) {
  const Ended ended = fairlead("clusters");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_NE(ended.out.find("\nslides "), std::string::npos);
}

}  // namespace
}  // namespace fairlead
