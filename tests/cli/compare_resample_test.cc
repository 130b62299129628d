// compare --resample.

#include "program.h"
#include <fmt/format.h>

#include <algorithm>

namespace fairlead {
namespace {

using nlohmann::json;

class CompareResampleTest : public ProgramTest {
 protected:
  // A trace of `days` days on which a long job and then a short one come, each for all GPUs. The higher the day, the
  // longer the long one.
  void write_days(int days) const {
    std::string text = "job,user,gpus,submit_s,duration_s,start_s\n";
    for (int day = 0; day < days; ++day) {
      const int at_s = 86'400 * day;
      text += fmt::format("long{},ann,4,{},{},\n", day, at_s, 3600 * (day + 1));
      text += fmt::format("short{},bob,4,{},60,\n", day, at_s);
      text += fmt::format("late{},bob,1,{},60,\n", day, at_s + 72'000);
    }
    write("jobs.csv", text);
  }
  Ended compare(const std::string& more) const {
    return fairlead("compare --cluster 1xV100:4 --trace jobs.csv --out out --set costs=none " +
                    more);
  }
};

TEST_F(CompareResampleTest, EachFigureHasAMarginAndEachPolicyASentence) {
  write_days(8);
  const Ended ended = compare("--policies 'fifo;sjf' --resample 20");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_NE(ended.out.find(" ± "), std::string::npos) << ended.out;
  EXPECT_NE(
      ended.out.find("± 95 % margin: from 20 traces of 8 days, drawn from the trace in blocks "
                     "of 2 days\n"),
      std::string::npos)
      << ended.out;
  EXPECT_NE(ended.out.find("\nsjf waits "), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find(" less in 20 of 20 resampled traces of 8 days.\n"), std::string::npos)
      << ended.out;
  EXPECT_EQ(files("out/sjf/resample-20"), (std::vector<std::string>{"run.json", "summary.json"}));
  EXPECT_TRUE(files("out/sjf/resample-21").empty());

  const json value = read_json("out/compare.json");
  const json& sjf = value["policies"][1];
  EXPECT_EQ(sjf["runs"].size(), 1U) << "the means are of the trace alone";
  EXPECT_EQ(sjf["mean"]["queue_avg_s"], read_json("out/sjf/summary.json")["queue_avg_s"]);
  EXPECT_EQ(sjf["resampled"]["values"]["queue_avg_s"].size(), 20U);
  EXPECT_GT(value["policies"][0]["resampled"]["margin"]["queue_avg_s"], 0);
  const auto rows = read("out/runs.jsonl");
  EXPECT_EQ(std::ranges::count(rows, '\n'), 2) << "a row per run of the trace itself";
}

TEST_F(CompareResampleTest, RunsThatExistAreNotRepeated) {
  write_days(8);
  ASSERT_EQ(compare("--policies fifo --resample 20").exit_code, 0);
  const Ended more = compare("--policies 'fifo;sjf' --resample 21");
  ASSERT_EQ(more.exit_code, 0);
  EXPECT_NE(more.out.find("\n21 of 44 runs were there already"), std::string::npos) << more.out;
}

TEST_F(CompareResampleTest, AShortTraceHasNoMarginAndTheReasonIsPrinted) {
  write_days(3);
  const Ended ended = compare("--policies 'fifo;sjf' --resample 20");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_NE(ended.out.find("No margin: jobs.csv has 3 days of submissions; days are drawn again "
                           "from 7 on\n"),
            std::string::npos)
      << ended.out;
  EXPECT_EQ(ended.out.find(" ± "), std::string::npos) << ended.out;
  const Ended plain = compare("--policies 'fifo;sjf'");
  EXPECT_NE(
      plain.out.find("One run, no margin: a trace of 7 days or more has one with --resample 20.\n"),
      std::string::npos)
      << plain.out;
}

TEST_F(CompareResampleTest, ExcludesSeedsAndTheSetting) {
  write_days(8);
  const Ended seeds = compare("--policies fifo --resample 20 --seeds 2");
  EXPECT_EQ(seeds.exit_code, 2);
  EXPECT_NE(seeds.errors.find("it excludes: --seeds 2"), std::string::npos) << seeds.errors;
  EXPECT_EQ(compare("--policies fifo --set resample=yes").exit_code, 2);
  EXPECT_EQ(compare("--policies fifo --resample 5").exit_code, 2) << "too few for 19 of 20";
}

}  // namespace
}  // namespace fairlead
