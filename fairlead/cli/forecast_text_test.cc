#include "fairlead/cli/forecast_text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>

namespace fairlead {
namespace {

// Returns a queue for one GPU, on which ann's job 1 runs. Bob's job 2 is short; job 3 needs too many GPUs.
QueueNow queue() {
  const ClusterAnswer cluster{
      .policy = "fifo",
      .policy_options = "skip=true",
      .nodes = {
          {.name = "V100", .type = "V100", .gpus = {{.index = 0, .state = "busy", .job = 1}}}}};
  std::vector<JobAnswer> jobs(3);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].id = static_cast<std::int64_t>(i) + 1;
    jobs[i].user = i == 1 ? "bob" : "ann";
    jobs[i].state = "waiting";
  }
  jobs[0].state = "running";
  jobs[0].on = {{.node = "V100", .gpus = {0}}};
  jobs[0].declared_s = 10'000;
  jobs[1].declared_s = 100;
  jobs[2].gpus = 4;
  return queue_now(cluster, jobs, {}).value();
}

TEST(Forecast, TheTextSaysWhatItGuesses) {
  ASSERT_EQ(setenv("TZ", "UTC", 1), 0);
  const Forecast answer{.start_s = 7500,
                        .end_s = 86'400,
                        .guesses = {{7, 7200, "as declared"}, {12, 90, "as jobs of ann take"}}};
  EXPECT_EQ(
      forecast_text(answer, "job 12", std::int64_t{1'700'000'000'000}),  // 2023-11-14 22:13:20
      "job 12 starts in 2h 5m (2023-11-15 00:18) and ends in 1d (2023-11-15 22:13), if no "
      "other job comes\n");
  EXPECT_EQ(guesses_text(answer.guesses),
            "  job 7 still takes 2h: as declared\n"
            "  job 12 still takes 1m 30s: as jobs of ann take\n");
  EXPECT_EQ(guesses_text({{7, 7200, "as jobs of ann take", SecondsRange{3600, 10'800}}}),
            "  job 7 still takes 2h (1h to 3h): as jobs of ann take\n");
  const std::string range = forecast_text({.start_s = 60,
                                           .end_s = 120,
                                           .start_range = SecondsRange{30, 90},
                                           .end_range = SecondsRange{60, 600}},
                                          "job 5", 0);
  EXPECT_TRUE(
      range.ends_with("\nIt starts in 30s to 1m 30s and ends in 1m to 10m if jobs take as long as "
                      "the shortest or the longest tenth of similar jobs\n"))
      << range;
  EXPECT_TRUE(forecast_text({.runs = true, .start_s = 0, .end_s = 60}, "ann/train", 0)
                  .starts_with("ann/train ends in 1m (00:01), if no other job comes\n"));
  EXPECT_TRUE(forecast_text({.start_s = 0, .end_s = 60}, "job 5", 0)
                  .starts_with("job 5 starts now and ends in 1m (00:01), if no other job comes\n"));
  EXPECT_TRUE(
      forecast_text({}, "job 5", 0).starts_with("job 5 does not end with the current GPUs"));
}

TEST(WhatIf, TheTablesAreByPolicyAndByUser) {
  QueueNow now = queue();
  now.left = {{1, 7200, "as declared"}};
  const std::vector<WhatIf> outcomes = {
      {.policy = "fifo:skip=true",
       .runs_now = true,
       .jobs = 3,
       .ended = 2,
       .end_mean_s = 7200,
       .end_p90_s = 7500,
       .end_last_s = 7500,
       .wait_max_s = 60,
       .users = {{.user = "ann", .jobs = 2, .end_mean_s = 7200}, {.user = "bob", .jobs = 1}}},
      {.policy = "srtf",
       .jobs = 3,
       .users = {{.user = "ann", .jobs = 2}, {.user = "bob", .jobs = 1, .end_mean_s = 90}}}};
  EXPECT_EQ(whatif_tables(outcomes, TextStyle::kPlain) + "\n" + whatif_notes(now.left),
            R"(If no other job comes:

POLICY      MEAN END IN  90 % END IN  LAST ENDS IN  LONGEST WAIT     END
fifo (now)           2h        2h 5m         2h 5m            1m  2 of 3
srtf                  -            -             -             -  0 of 3

MEAN END IN  JOBS  fifo (now)    srtf
ann             2          2h       -
bob             1           -  1m 30s

This guesses that every policy starts from scratch, and that
  job 1 still takes 2h: as declared
)");
  const auto json = nlohmann::json::parse(whatif_json(now, outcomes));
  EXPECT_EQ(json["policies"][0]["policy"], "fifo:skip=true");
  EXPECT_EQ(json["policies"][0]["runs_now"], true);
  EXPECT_EQ(json["policies"][0]["end_p90_s"], 7500);
  EXPECT_TRUE(json["policies"][1]["end_mean_s"].is_null());
  EXPECT_EQ(json["policies"][1]["users"][1]["end_mean_s"], 90);
  EXPECT_EQ(json["guesses"][0]["left_s"], 7200);
}

}  // namespace
}  // namespace fairlead
