// The reason for a job's wait, in situations with one reason each.

#include "why/situation.h"

namespace fairlead {
namespace {

TEST(WhySituations, AllGpusAreWithAJobThatCameFirst) {
  const JobWhy found =
      why({.jobs = {{.gpus = 4}, {.gpus = 2, .submit_s = 10, .user = "bob"}}}, "j1");
  EXPECT_EQ(causes(found), "full 90s");
  EXPECT_EQ(why_job_text(found, TextStyle::kPlain),
            "j1 (bob, 2 GPUs) under fifo: First come, first served, without preemption.\n"
            "It was submitted at 10s, waited 1m 30s in 1 wait, and had GPUs for 1m 40s; it "
            "finished at 3m 20s.\n"
            "\n"
            "CAUSE  WAITED    SHARE  MEANING\n"
            "full   1m 30s  100.0 %  GPUs it can use were with jobs that came first\n"
            "\n"
            "It waited 1m 30s from 10s on, from its submission:\n"
            "  10s for 1m 30s: GPUs it can use were with jobs that came first.\n"
            "    Free: 0 of 4 V100.\n"
            "    Instead of it: ann 4.\n");
}

TEST(WhySituations, MomentsOfATraceWithACalendarAreDates) {
  JobWhy found = why({.jobs = {{.gpus = 4}, {.gpus = 2, .submit_s = 10, .user = "bob"}}}, "j1");
  EXPECT_EQ(found.calendar_start_ms, std::nullopt);
  found.calendar_start_ms = 1'790'834'390'000;
  const std::string text = why_job_text(found, TextStyle::kPlain);
  EXPECT_NE(text.find("It was submitted at 2026-10-01 06:00 UTC, waited 1m 30s in 1 wait, and had "
                      "GPUs for 1m 40s; it finished at 2026-10-01 06:03.\n"),
            text.npos)
      << text;
  EXPECT_NE(text.find("\nIt waited 1m 30s from 2026-10-01 06:00 on"), text.npos) << text;
  EXPECT_NE(text.find("\n  2026-10-01 06:00 for 1m 30s: "), text.npos) << text;
}

TEST(WhySituations, AJobThatCameLaterGoesFirst) {
  const JobWhy found =
      why({.jobs = {{.gpus = 4, .work_s = 1000}, {.gpus = 4, .submit_s = 10, .user = "bob"}},
           .policy = "srtf"},
          "j0");
  EXPECT_EQ(causes(found), "passed 100s");
  EXPECT_EQ(
      why_job_text(found, TextStyle::kPlain),
      "j0 (ann, 4 GPUs) under srtf: Shortest remaining time first, with preemption.\n"
      "It was submitted at 0s, waited 1m 40s in 1 wait, and had GPUs for 16m 40s; it "
      "finished at 18m 20s.\n"
      "\n"
      "CAUSE   WAITED    SHARE  MEANING\n"
      "passed  1m 40s  100.0 %  jobs that came later went first\n"
      "\n"
      "It waited 1m 40s from 10s on, after it was stopped for j1 (bob, 4 GPUs), because a job "
      "ahead "
      "of it in the order needed its GPUs:\n"
      "  10s for 1m 40s: jobs that came later went first.\n"
      "    Free: 0 of 4 V100.\n"
      "    Instead of it: bob 4.\n"
      "\n"
      "Came later and went first: 1 job (with less work 1, with fewer GPUs 0, of other users 1):\n"
      "  j1 (bob, 4 GPUs).\n");
}

// On each node one GPU is free.
TEST(WhySituations, EnoughGpusAreFreeButNotOnOneNode) {
  const JobWhy found = why({.cluster = "2xV100:4",
                            .jobs = {{.gpus = 3}, {.gpus = 3}, {.gpus = 2, .submit_s = 10}},
                            .policy = "fifo:placement=consolidate"},
                           "j2");
  EXPECT_EQ(causes(found), "scattered 90s");
  EXPECT_NE(why_job_text(found, TextStyle::kPlain)
                .find("  10s for 1m 30s: enough GPUs were free, but too scattered.\n"
                      "    Free: 2 of 8 V100; together on one node at most 1.\n"),
            std::string::npos);
}

TEST(WhySituations, GpusAreKeptForALargerJobThatIsAhead) {
  const JobWhy found = why({.jobs = {{.gpus = 3},
                                     {.gpus = 4, .submit_s = 10, .user = "bob"},
                                     {.gpus = 1, .submit_s = 20, .user = "cy"}}},
                           "j2");
  EXPECT_EQ(causes(found), "full 100s, kept 80s");
  EXPECT_NE(why_job_text(found, TextStyle::kPlain)
                .find("  20s for 1m 20s: it fitted; GPUs were kept for a larger job.\n"
                      "    They were kept for j1 (bob, 4 GPUs).\n"
                      "    Free: 1 of 4 V100; together on one node at most 1.\n"
                      "    Instead of it: ann 3.\n"),
            std::string::npos);
}

// The shortest waiting job needs all GPUs. A shorter one that arrives at 100 s does not, and is
// started at once. That GPUs were kept for the first job is known only when it starts.
TEST(WhySituations, GpusAreKeptForAJobThatIsItselfOvertaken) {
  const JobWhy found = why({.jobs = {{.gpus = 3, .work_s = 1000},
                                     {.gpus = 4, .submit_s = 10, .work_s = 50, .user = "bob"},
                                     {.gpus = 1, .submit_s = 20, .work_s = 500, .user = "cy"},
                                     {.gpus = 1, .submit_s = 100, .work_s = 10, .user = "dan"}},
                            .policy = "sjf"},
                           "j2");
  EXPECT_EQ(causes(found), "full 50s, passed 10s, kept 970s");
  const std::vector<WaitPiece>& pieces = found.waits->jobs().front().waits.front().pieces;
  ASSERT_EQ(pieces.size(), 4U);
  EXPECT_EQ(pieces[0].cause(), WhyCause::kKept);
  EXPECT_EQ(pieces[0].other, JobId(1));
}

TEST(WhySituations, ItWaitsForTheNextRound) {
  const JobWhy found =
      why({.jobs = {{.gpus = 2, .work_s = 1000}, {.gpus = 2, .submit_s = 100}}, .policy = "gavel"},
          "j1");
  EXPECT_EQ(causes(found), "round 260s");
}

TEST(WhySituations, ItInsistsOnOneNodeForNow) {
  const JobWhy found = why({.cluster = "2xV100:4",
                            .jobs = {{.gpus = 3, .work_s = 1000},
                                     {.gpus = 3, .work_s = 1000},
                                     {.gpus = 2, .submit_s = 10}},
                            .policy = "dally:mode=manual,node_s=60,rack_s=60,preempt=none"},
                           "j2");
  EXPECT_EQ(causes(found), "timer 60s");
  EXPECT_NE(
      why_job_text(found, TextStyle::kPlain).find("dally notes: it insists on one node for 1m"),
      std::string::npos);
}

TEST(WhySituations, OneJobAtATimeHasTheCluster) {
  const JobWhy found = why(
      {.jobs = {{.gpus = 1, .work_s = 60}, {.gpus = 1, .work_s = 60}}, .policy = "stride"}, "j1");
  EXPECT_EQ(causes(found), "turn 60s");
}

// At 60 s each node switches to a small job, until that is done.
TEST(WhySituations, OthersHaveTheirTurnWhereItIsKept) {
  const JobWhy found = why({.cluster = "2xV100:2",
                            .jobs = {{.gpus = 2, .work_s = 600},
                                     {.gpus = 2, .work_s = 600, .user = "bob"},
                                     {.gpus = 1, .user = "cy"},
                                     {.gpus = 1, .work_s = 20, .user = "cy"}},
                            .policy = "gandiva-fair:balance=false"},
                           "j1");
  EXPECT_EQ(causes(found), "home 20s");
  EXPECT_NE(
      why_job_text(found, TextStyle::kPlain)
          .find("It waited 20s from 1m on, after it was stopped for j3 (cy, 1 GPU), because its "
                "turn was over:\n"
                "  1m for 20s: others had their turn on the GPUs it is kept on.\n"
                "    Free: 2 of 4 V100; together on one node at most 1.\n"
                "    Instead of it: cy 2.\n"),
      std::string::npos);
}

TEST(WhySituations, ItsUserHasItsShare) {
  const JobWhy found = why({.jobs = {{.gpus = 4, .work_s = 600},
                                     {.gpus = 4, .work_s = 600, .user = "bob"},
                                     {.gpus = 2, .submit_s = 300, .work_s = 6000, .user = "ann"}},
                            .policy = "fairlead:notes=true"},
                           "j0");
  EXPECT_EQ(causes(found), "share 450s");
  EXPECT_NE(why_job_text(found, TextStyle::kPlain)
                .find("  2m 30s for 2m 30s: its user had its share, so others went first.\n"
                      "    Free: 0 of 4 V100.\n"
                      "    Instead of it: bob 4.\n"
                      "    fairlead notes: its gang is worth 3.458 more than its price.\n"
                      "    fairlead notes: its user is 0.08 GPU-hours ahead of its share.\n"),
            std::string::npos);
}

TEST(WhySituations, ItsGroupHasItsQuota) {
  const JobWhy found = why({.jobs = {{.gpus = 2, .group = "lab", .group_quota = 2},
                                     {.gpus = 1, .submit_s = 10, .user = "ben", .group = "lab"}},
                            .policy = "gandiva-fair"},
                           "j1");
  EXPECT_EQ(causes(found), "quota 50s");  // then they take turns
}

TEST(WhySituations, TheNodeIsDown) {
  Situation situation{.jobs = {{.gpus = 2}}};
  situation.settings.faults.outages = {{.node = NodeId(0), .down = {10'000}, .up = {70'000}}};
  const JobWhy found = why(situation, "j0");
  EXPECT_EQ(causes(found), "down 60s");
}

}  // namespace
}  // namespace fairlead
