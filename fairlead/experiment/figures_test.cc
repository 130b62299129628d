#include "fairlead/experiment/figures.h"

#include "fairlead/base/testing_docs.h"
#include "fairlead/journal/testing_journal.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <unistd.h>

namespace fairlead {
namespace {

PublishedClaim claim_of(std::string_view figure) {
  PublishedClaim claim;
  claim.figure = find_claim_figure(figure);
  return claim;
}

RunFigures run_of(double ann, double bob) {
  RunFigures run;
  run.summary = {{"fairness/jain", ann / bob}};
  run.users = {{"ann", ann}, {"bob", bob}, {"idle", 0}};
  return run;
}

double number(const PublishedClaim& claim, const RunFigures& run, const RunFigures* against) {
  const auto value = claim.figure->measure(claim, run, against);
  EXPECT_TRUE(value.has_value()) << value.error().message;
  return value ? value->number : 0;
}

std::string error_of(const PublishedClaim& claim, const RunFigures& run,
                     const RunFigures* against) {
  const auto value = claim.figure->measure(claim, run, against);
  return value ? "" : value.error().message;
}

// "`user`, `against`, (`price`)".
std::string keys_of(const ClaimFigure& figure) {
  std::string text;
  for (const auto& [keys, format] :
       {std::pair(figure.required, "{}`{}`"), {figure.optional, "{}(`{}`)"}}) {
    std::istringstream words{std::string(keys)};
    for (std::string word; words >> word;) {
      text += fmt::format(fmt::runtime(format), text.empty() ? "" : ", ", word);
    }
  }
  return text;
}

TEST(Figures, AreExplainedInTheDocumentation) {
  std::vector<DocRow> rows;
  for (const ClaimFigure& figure : claim_figures()) {
    rows.push_back({fmt::format("`{}`", figure.name),
                    std::string(figure.is_text() ? "text" : figure.unit), keys_of(figure),
                    std::string(figure.help)});
  }
  EXPECT_EQ(doc_table("docs/formats.md",
                      "| `figure` | unit | its keys (optional ones in parentheses) | meaning |"),
            rows);
}

TEST(Figures, OfTheSummaryAreFoundByKey) {
  PublishedClaim claim = claim_of("summary");
  claim.key = "fairness/jain";
  const RunFigures run = run_of(3, 4);
  EXPECT_DOUBLE_EQ(number(claim, run, nullptr), 0.75);
  const RunFigures other = run_of(3, 2);
  EXPECT_DOUBLE_EQ(number(claim, run, &other), 0.5);
  claim.key = "jct_avg_s";
  EXPECT_EQ(error_of(claim, run, nullptr), "summary.json has no such number: jct_avg_s");
}

TEST(Figures, SayWhatTheBestPolicyCouldReach) {
  RunFigures ours;
  ours.summary = {{"makespan_s", 100}, {"bounds/makespan_lower_s", 80}, {"gpu_utilization", 0.9}};
  RunFigures theirs;
  theirs.summary = {{"makespan_s", 200}, {"bounds/makespan_lower_s", 80}, {"gpu_utilization", 0.5}};
  PublishedClaim claim = claim_of("summary");
  const auto possible = [&](Bound bound, const RunFigures& run, const RunFigures* against) {
    claim.bound = bound;
    return claim.figure->measure(claim, run, against)->possible;
  };
  claim.key = "makespan_s";
  EXPECT_EQ(possible(Bound::kAtMost, ours, &theirs), 80.0 / 200);   // ours should be less
  EXPECT_EQ(possible(Bound::kAtLeast, theirs, &ours), 200.0 / 80);  // the same, upside down
  EXPECT_EQ(possible(Bound::kAtMost, ours, nullptr), 80);
  EXPECT_EQ(possible(Bound::kNone, ours, &theirs), std::nullopt);
  claim.key = "gpu_utilization";
  EXPECT_EQ(possible(Bound::kAtLeast, ours, &theirs), 1 / 0.5);
}

TEST(Figures, OverTheirBoundsSayHowFarTheBestCanBe) {
  PublishedClaim claim = claim_of("over_bound");
  claim.key = "makespan_s";
  RunFigures run;
  run.summary = {{"makespan_s", 9000}, {"bounds/makespan_lower_s", 6000}, {"queue_avg_s", 1}};
  EXPECT_DOUBLE_EQ(number(claim, run, nullptr), 1.5);
  claim.key = "queue_avg_s";
  EXPECT_EQ(error_of(claim, run, nullptr), "no bound is known of queue_avg_s");
}

TEST(Figures, OfCommunicationAreOverheads) {
  PublishedClaim claim = claim_of("communication_overhead");
  claim.bound = Bound::kAtMost;
  RunFigures ours;
  ours.summary = {{"comm_time_share", 0.5}, {"bounds/comm_time_share_lower", 0.2}};
  RunFigures theirs;
  theirs.summary = {{"comm_time_share", 0.9}};
  EXPECT_DOUBLE_EQ(number(claim, ours, nullptr), 1);        // an hour lost for each of computing
  EXPECT_DOUBLE_EQ(number(claim, ours, &theirs), 1.0 / 9);  // nine hours are lost there
  EXPECT_DOUBLE_EQ(*claim.figure->measure(claim, ours, &theirs)->possible, 0.25 / 9);
  EXPECT_EQ(error_of(claim, RunFigures{}, nullptr),
            "summary.json has no such number: comm_time_share");
}

TEST(Figures, OfTheSummaryAreGivenInHours) {
  PublishedClaim claim = claim_of("summary_h");
  claim.key = "makespan_s";
  RunFigures run;
  run.summary = {{"makespan_s", 9000}};
  EXPECT_DOUBLE_EQ(number(claim, run, nullptr), 2.5);
}

TEST(Figures, OfAWindowOfJobsNeedAllOfThemToHaveFinished) {
  PublishedClaim claim = claim_of("window_jct");
  claim.first_job = 2;
  claim.last_job = 3;
  RunFigures run;
  run.jct_h = {100, 2, 5, std::nullopt};
  EXPECT_DOUBLE_EQ(number(claim, run, nullptr), 3.5);
  claim.last_job = 4;
  EXPECT_EQ(error_of(claim, run, nullptr), "did not finish: the job at position 4");
  claim.last_job = 5;
  EXPECT_EQ(error_of(claim, run, nullptr), "the trace has fewer jobs: 4");
}

TEST(Figures, OfAWindowOfJobsCanBeOfOneUser) {
  PublishedClaim claim = claim_of("window_jct");
  claim.first_job = 1;
  claim.last_job = 3;
  claim.user = "high";
  RunFigures run;
  run.jct_h = {std::nullopt, 2, 5};
  run.job_users = {"default", "high", "high"};
  EXPECT_DOUBLE_EQ(number(claim, run, nullptr), 3.5);
  claim.last_job = 1;
  EXPECT_EQ(error_of(claim, run, nullptr), "none of the jobs at these positions is of high");
}

TEST(Figures, OfUsersJctAreOfTheOneThatWaitsLongestByComparison) {
  RunFigures run;
  run.job_users = {"ann", "bob", "ann", "bob"};
  run.jct_h = {2, 3, 4, std::nullopt};
  RunFigures other = run;
  other.jct_h = {1, 3, 4, 1};
  const auto value = claim_of("user_jct").figure->measure(claim_of("user_jct"), run, &other);
  EXPECT_DOUBLE_EQ(value->number, 6.0 / 5);
  EXPECT_EQ(value->where, "ann");
  other.jct_h = {std::nullopt, std::nullopt, std::nullopt, 1};
  EXPECT_EQ(error_of(claim_of("user_jct"), run, &other), "no job finished under both policies");
}

TEST(Figures, OfLateJobsAreOfThoseThatFinishedUnderBoth) {
  RunFigures run;
  run.jct_h = {1.06, 1.04, 2, std::nullopt};
  RunFigures other;
  other.jct_h = {1, 1, std::nullopt, 1};
  const auto value = claim_of("late_jobs").figure->measure(claim_of("late_jobs"), run, &other);
  EXPECT_DOUBLE_EQ(value->number, 50);
  other.jct_h = {std::nullopt, std::nullopt, 1, 1};
  other.jct_h[2].reset();
  EXPECT_EQ(error_of(claim_of("late_jobs"), run, &other), "no job finished under both policies");
}

TEST(Figures, OfGainCompareWork) {
  const RunFigures run = run_of(12, 9);
  const RunFigures other = run_of(10, 10);
  PublishedClaim gain = claim_of("gain");
  gain.user = "ann";
  EXPECT_NEAR(number(gain, run, &other), 20, 1e-9);
  EXPECT_NEAR(number(claim_of("gain_total"), run, &other), 5, 1e-9);
  EXPECT_NEAR(number(claim_of("gain_least"), run, &other), -10, 1e-9);
  gain.user = "idle";
  EXPECT_NE(error_of(gain, run, &other), "");
  gain.user = "cy";
  EXPECT_EQ(error_of(gain, run, &other), "the run has no such user: cy");
}

// Two jobs take turns on the V100 node in quanta of a second.
class FiguresOfAJournal : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::path(testing::TempDir()) / fmt::format("fairlead-figures-{}", getpid());
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "summary.json")
        << R"({"jct_avg_s": null, "finished": 1, "fairness": {"jain": 0.5}, "seed": 3,
               "users": [{"user": "ann", "work_gpu_hours": 2}]})";
    auto file = JournalFile::create(folder_ / "journal.flj");
    ASSERT_TRUE(file.has_value());
    TestJournal journal(*file);
    journal.begin(2, {1, 1});
    journal.arrive(0, 0, {.user = 0, .gpus = 4, .work_ms = 2000});
    journal.arrive(0, 1, {.user = 1, .gpus = 4, .work_ms = 60'000});
    place(journal, 0, 0);
    note_pass(journal, 0, 0, 250'000);
    journal.happen<record::Stop>(1000, 0);
    place(journal, 1000, 1);
    journal.happen<record::Stop>(2000, 1);
    place(journal, 2000, 0);
    note_pass(journal, 2000, 0, 500'000);
    journal.happen<record::Finished>(3000, 0);
    journal.end(10'000, {.finished = 1, .pending = 1});
    ASSERT_TRUE(file->close().has_value());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static void place(TestJournal& journal, std::int64_t t_ms, std::size_t job) {
    journal.place(t_ms, job, {.gang = {{NodeId(0), 4}}});
  }
  static void note_pass(TestJournal& journal, std::int64_t t_ms, std::size_t job,
                        std::int64_t pass) {
    journal.note(t_ms, note::Pass{JobId(job), {pass}});
  }

  std::filesystem::path folder_;
};

TEST_F(FiguresOfAJournal, AreWhoRunsInEachQuantumAndWithWhatPass) {
  const auto run = read_run(folder_, {.quantum = seconds(1), .quanta = 5});
  ASSERT_TRUE(run.has_value()) << run.error().message;
  EXPECT_EQ(run->schedule, (std::vector<std::string>{"job-0", "job-1", "job-0", "-", "-"}));
  EXPECT_EQ(run->passes.at("job-0"),
            (std::vector<std::string>{"0.25", "0.25", "0.5", "0.5", "0.5"}));

  PublishedClaim schedule = claim_of("schedule");
  schedule.quanta = 3;
  EXPECT_EQ(schedule.figure->measure(schedule, *run, nullptr)->text, "job-0 job-1 job-0");
  schedule.quanta = 6;
  EXPECT_EQ(error_of(schedule, *run, nullptr), "the run ended before quantum 5");
  PublishedClaim passes = claim_of("passes");
  passes.quanta = 1;
  passes.job = "job-1";
  EXPECT_EQ(error_of(passes, *run, nullptr), "no pass was noted of job job-1");
}

TEST_F(FiguresOfAJournal, HaveThoseOfTheSummaryThatMeanSomething) {
  const auto run = read_run(folder_, {});
  ASSERT_TRUE(run.has_value()) << run.error().message;
  const std::map<std::string, double, std::less<>> expected = {{"fairness/jain", 0.5},
                                                               {"finished", 1}};
  EXPECT_EQ(run->summary, expected);
  ASSERT_EQ(run->users.size(), 1u);
  EXPECT_EQ(run->users[0].user, "ann");
  EXPECT_EQ(run->users[0].gpu_hours, 2);
}

TEST_F(FiguresOfAJournal, AreItsFairness) {
  const auto run = read_run(folder_, {.windows = {hours(1)}, .received = {Received::kAllocated}});
  ASSERT_TRUE(run.has_value()) << run.error().message;
  ASSERT_EQ(run->windows.at(Received::kAllocated).size(), 1u);
  EXPECT_EQ(number(claim_of("window_error"), *run, nullptr), 0) << "no hour has passed";
  // Both jobs want half of the 8 GPUs until job 0 finishes, and one of them waits.
  EXPECT_NEAR(number(claim_of("idle_when_wanted"), *run, nullptr), 50, 1e-9);
  EXPECT_EQ(number(claim_of("migrations_per_hour"), *run, nullptr), 0);
}

TEST_F(FiguresOfAJournal, NeedTheSpeedsOfJobsForEffectiveGpuTime) {
  const RunQuestions questions{.windows = {hours(1)},
                               .received = {Received::kUseful, Received::kEffective}};
  EXPECT_FALSE(read_run(folder_, questions).has_value()) << "there is no jobs.csv";
  std::ofstream(folder_ / "jobs.csv") << "job,mix_speed\na,0.5\nb,1\n";
  const auto run = read_run(folder_, questions);
  ASSERT_TRUE(run.has_value()) << run.error().message;
  EXPECT_EQ(run->windows.size(), 2u);
  PublishedClaim claim = claim_of("window_shortfall");
  claim.received = "effective";
  EXPECT_EQ(number(claim, *run, nullptr), 0) << "no hour has passed";
  std::ofstream(folder_ / "jobs.csv") << "job,mix_speed\na,0\n";
  EXPECT_FALSE(read_run(folder_, questions).has_value()) << "it is damaged";
}

TEST(FiguresOfWindows, AreOfErrorsOrShortfallsInPercent) {
  RunFigures run = run_of(1, 1);
  WindowFigures figures{.window = hours(8), .steady = {}, .all = {}, .shortfalls = {}};
  figures.steady = {.largest = 0.3,
                    .mean = 0.1,
                    .count = 2,
                    .user = UserId(1),
                    .window_end = {36'000'000},
                    .quantiles = {}};
  for (const double error : {0.0, 0.3}) figures.steady.quantiles.add(error);
  figures.shortfalls.largest = 0.2;
  figures.shortfalls.mean = 0.05;
  figures.shortfalls.quantiles.add(0.2);
  run.windows[Received::kUseful] = {figures};
  const auto figure = [&](std::string_view name) {
    PublishedClaim claim = claim_of(name);
    claim.received = "useful";
    claim.window_h = 8;
    return number(claim, run, nullptr);
  };
  EXPECT_DOUBLE_EQ(figure("window_error"), 30);
  EXPECT_DOUBLE_EQ(figure("window_error_mean"), 10);
  EXPECT_DOUBLE_EQ(figure("window_error_p50"), 0);
  EXPECT_DOUBLE_EQ(figure("window_error_p99"), 30);
  EXPECT_DOUBLE_EQ(figure("window_error_p999"), 30);
  EXPECT_DOUBLE_EQ(figure("window_shortfall"), 20);
  EXPECT_DOUBLE_EQ(figure("window_shortfall_mean"), 5);
  EXPECT_DOUBLE_EQ(figure("window_shortfall_p99"), 20);
}

TEST_F(FiguresOfAJournal, HaveTheTimesOfJobsBesideIt) {
  EXPECT_FALSE(read_run(folder_, {.job_times = true}).has_value()) << "there is no jobs.csv";
  std::ofstream(folder_ / "jobs.csv") << "job,user,jct_s,status\n"
                                         "a,u,7200,finished\n"
                                         "b,v,1800,failed\n"
                                         "c,u,,pending\n"
                                         "\"d,e\",\"v,w\",900,finished\n";
  const auto run = read_run(folder_, {.job_times = true});
  ASSERT_TRUE(run.has_value()) << run.error().message;
  EXPECT_EQ(run->jct_h, (std::vector<std::optional<double>>{2, std::nullopt, std::nullopt, 0.25}));
  EXPECT_EQ(run->job_users, (std::vector<std::string>{"u", "v", "u", "v,w"}));
  std::ofstream(folder_ / "jobs.csv") << "job,user,jct_s,status\na,u,soon,finished\n";
  EXPECT_FALSE(read_run(folder_, {.job_times = true}).has_value()) << "it is damaged";
}

TEST_F(FiguresOfAJournal, AreMissedWithTheirFile) {
  std::filesystem::remove(folder_ / "journal.flj");
  EXPECT_TRUE(read_run(folder_, {}).has_value());
  EXPECT_FALSE(read_run(folder_, {.quantum = seconds(1), .quanta = 1}).has_value());
  std::filesystem::remove(folder_ / "summary.json");
  EXPECT_FALSE(read_run(folder_, {}).has_value());
}

// Every user has 2/3 of a V100 and 8/3 K80. User b buys a's V100 at the speedup of c, 1.87.
TEST(FluidGain, FollowsTheTrades) {
  Case one;
  one.cluster = "1xV100:2,1xK80:8";
  one.workload = std::vector<DrawnUser>{{.name = "a", .model = "VAE"},
                                        {.name = "b", .model = "ResNeXt50"},
                                        {.name = "c", .model = "SuperResolution"}};
  PublishedClaim claim = claim_of("fluid_gain");
  const auto gain_of = [&](const char* user) {
    claim.user = user;
    return fluid_gain(one, {}, claim).value_or(-1);
  };
  EXPECT_NEAR(gain_of("a"), 100 * 2.0 / 3 * (1.87 - 1.25) / 3.5, 1e-9);
  EXPECT_NEAR(gain_of("b"), 100 * 2.0 / 3 * (6.33 - 1.87) / (8.0 / 3 + 2.0 / 3 * 6.33), 1e-9);
  EXPECT_NEAR(gain_of("c"), 0, 1e-9);
}

TEST(FluidGain, NeedsTheSpeedsOfEveryModel) {
  Case one;
  one.cluster = "1xV100:2";
  one.workload = std::vector<DrawnUser>{{.name = "a", .model = "unknown"}};
  PublishedClaim claim = claim_of("fluid_gain");
  claim.user = "a";
  EXPECT_EQ(fluid_gain(one, {}, claim).error().message, "no speeds are known of model unknown");
}

}  // namespace
}  // namespace fairlead
