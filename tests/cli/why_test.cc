// The program's output on why jobs of a finished run waited.

#include "program.h"

#include <sstream>

namespace fairlead {
namespace {

using nlohmann::json;

class WhyTest : public ProgramTest {
 protected:
  // A trace of some load under a policy, into "out".
  void record(const std::string& policy) const {
    ASSERT_EQ(fairlead("trace generate --jobs 200 --cluster 2xV100:4,1xK80:4 --load 1.2 --seed 3 "
                       "--users 4 -o jobs.csv")
                  .exit_code,
              0);
    const Ended ended = fairlead("simulate --cluster 2xV100:4,1xK80:4 --trace jobs.csv --out out " +
                                 ("--policy " + policy));
    ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  }
  json why(const std::string& arguments) const {
    const Ended ended = fairlead("why --json " + arguments);
    EXPECT_EQ(ended.exit_code, 0) << ended.errors;
    return json::parse(ended.out, nullptr, false);
  }
};

TEST_F(WhyTest, ARunIsSummedUpInLinesThatFitATerminal) {
  record("srtf");
  const Ended ended = fairlead("why out");
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_NE(ended.out.find("The longest waits"), std::string::npos) << ended.out;
  std::istringstream lines(ended.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST_F(WhyTest, ARunAndItsJobsSayTheSame) {
  record("las");
  const json run = why("out");
  ASSERT_FALSE(run["longest"].empty());
  for (const json& listed : run["longest"]) {
    const json job = why("out/journal.flj " + listed["job"].get<std::string>());
    EXPECT_EQ(job["waited_s"], listed["waited_s"]);
    EXPECT_EQ(job["causes_s"], listed["causes_s"]);
    double pieces = 0;
    for (const json& wait : job["waits"])
      for (const json& piece : wait["pieces"])
        pieces += piece["to_s"].get<double>() - piece["from_s"].get<double>();
    EXPECT_NEAR(pieces, job["waited_s"].get<double>(), 1e-3);
  }
}

TEST_F(WhyTest, AJobThatStarvesIsListed) {
  write("jobs.csv",
        "job,user,gpus,submit_s,duration_s\n"
        "long,ann,4,0,5000\n"
        "short,bob,1,10,60\n");
  ASSERT_EQ(fairlead(simulate("")).exit_code, 0);
  const json run = why("out");
  EXPECT_EQ(run["starved_jobs"], 1);
  EXPECT_EQ(run["starved"][0]["job"], "short");
  EXPECT_NE(fairlead("why out").out.find("Starved: 1 job"), std::string::npos);
}

TEST_F(WhyTest, WhatIsWrongIsSaid) {
  write("jobs.csv",
        "job,user,gpus,submit_s,duration_s\n"
        "a,ann,4,0,100\n"
        "big,bob,9,10,50\n");
  ASSERT_EQ(fairlead(simulate("")).exit_code, 0);
  EXPECT_EQ(fairlead("why out nothing").exit_code, 2);
  EXPECT_NE(fairlead("why out nothing").errors.find("there is no such job: nothing"),
            std::string::npos);
  EXPECT_NE(fairlead("why out big").out.find("It never waited: rejected: "), std::string::npos);
  EXPECT_EQ(fairlead("why . a").exit_code, 2);
  EXPECT_NE(fairlead("why . a").errors.find("it has no journal.flj"), std::string::npos);
  EXPECT_NE(fairlead("why out a").out.find("waited 0s in 0 waits"), std::string::npos);
}

TEST_F(WhyTest, NamesCannotActOnTheTerminal) {
  write("jobs.csv",
        "job,user,gpus,submit_s,duration_s\n"
        "long\x1b[2J,\x07,4,0,1000\n"
        "short,bob,4,10,50\n");
  ASSERT_EQ(fairlead(simulate("")).exit_code, 0);
  EXPECT_EQ(fairlead("why out").out.find('\x1b'), std::string::npos);
  EXPECT_NE(fairlead("why out short").out.find("Instead of it: ? 4."), std::string::npos);
}

TEST_F(WhyTest, HelpTeaches) {
  EXPECT_NE(fairlead("why --help").out.find("fairlead why out/srtf job-17"), std::string::npos);
}

}  // namespace
}  // namespace fairlead
