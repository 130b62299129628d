#include "fairlead/metrics/metrics.h"

#include "fairlead/journal/testing_journal.h"
#include "fairlead/model/step.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace fairlead {
namespace {

using Asked = TestJournal::Asked;

const NodeId kV100Node(0);
const NodeId kK80Node(1);

// Two users with tickets 1 and 3 on 8 GPUs, times in ms:
//   job 0 (u0, 4 GPUs, work 10 s) arrives at 1 s, runs on the V100 node from 2 s with 1 s of
//         overhead, is stopped at 5 s, moves to the K80 node at 5 s at speed 1/2, finishes at 21 s
//   job 1 (u1, 4 GPUs, work 4 s) arrives at 3 s, runs on the V100 node from 5 s to 9 s
//   job 2 (u1, 100 GPUs) is rejected at 3 s
//   job 3 (u0, 1 GPU, work 1 s) arrives at 9 s and is cancelled at 11 s without having run
void write_small_run(RecordSink& sink) {
  TestJournal journal(sink);
  journal.begin(4, {1, 3});
  journal.arrive(1000, 0, {.user = 0, .gpus = 4, .work_ms = 10000, .model = "vgg"});
  journal.place(2000, 0, {.gang = {{kV100Node, 4}}, .overhead_ms = 1000});
  journal.arrive(3000, 1, {.user = 1, .gpus = 4, .work_ms = 4000});
  journal.reject(3000, 2, {.user = 1, .gpus = 100}, "larger than the cluster");
  journal.happen<record::Stop>(5000, 0);
  journal.place(
      5000, 0,
      {.gang = {{kK80Node, 4}}, .kind = PlaceKind::kMigrate, .rate = 0.5, .locality = 0.75});
  journal.place(5000, 1, {.gang = {{kV100Node, 4}}});
  journal.happen<record::Finished>(9000, 1);
  journal.arrive(9000, 3, {.user = 0, .gpus = 1, .work_ms = 1000});
  journal.happen<record::Cancelled>(11000, 3);
  journal.happen<record::Finished>(21000, 0);
  journal.end(30000, {.finished = 2, .failed = 1, .rejected = 1, .pending = 0, .unsubmitted = 0});
}

Summary small_run() {
  Metrics metrics;
  write_small_run(metrics);
  return metrics.summary({});
}

TEST(Metrics, NamesTheRun) {
  const Summary summary = small_run();
  EXPECT_EQ(summary.policy, "fifo");
  EXPECT_EQ(summary.options, "skip=true");
  EXPECT_EQ(summary.cluster, "tiny");
  EXPECT_EQ(summary.trace, "t.csv");
  EXPECT_EQ(summary.seed, 7u);
}

TEST(Metrics, AccountsForEveryJob) {
  const Summary summary = small_run();
  EXPECT_EQ(summary.jobs_read, 4);
  EXPECT_EQ(summary.finished + summary.failed + summary.rejected + summary.pending, 4);
  EXPECT_EQ(summary.jobs_rejected, (CountByReason{{"larger than the cluster", 1}}));
  EXPECT_EQ(summary.users[0].jobs, 2);
  EXPECT_EQ(summary.users[1].jobs, 2);
}

TEST(Metrics, MeasuresTimesOfFinishedJobs) {
  const Summary summary = small_run();
  EXPECT_EQ(summary.makespan_s, 20);               // 1 s to 21 s
  EXPECT_EQ(summary.jct_avg_s, (20.0 + 6.0) / 2);  // jobs 0 and 1
  EXPECT_EQ(summary.jct_p50_s, 6);                 // nearest rank: the first of two
  EXPECT_EQ(summary.jct_p90_s, 20);
  EXPECT_EQ(summary.jct_p99_s, 20);
  EXPECT_EQ(summary.queue_avg_s, (1.0 + 2.0) / 2);
}

// By the log job 0 started at 2 s, as here, and job 1 at 4 s, a second earlier; job 3 never ran here.
TEST(Metrics, ComparesWaitsWithThoseOfALog) {
  struct Logging : RecordSink {
    void on(const Record& record) override {
      Record logged = record;
      if (auto* arrived = std::get_if<record::Arrived>(&logged.what)) {
        constexpr std::int64_t kStarts_ms[] = {2000, 4000, 0, 10'000};
        arrived->asked.logged.start = {kStarts_ms[arrived->asked.job.row()]};
      }
      metrics.on(logged);
    }
    Metrics metrics;
  };
  Logging logging;
  write_small_run(logging);
  const LoggedSummary logged = logging.metrics.summary({}).logged;
  EXPECT_EQ(logged.starts, 2);
  EXPECT_EQ(logged.kept, 1);
  EXPECT_EQ(logged.later, 1);
  EXPECT_EQ(logged.queue_avg_s, (1.0 + 1.0) / 2);
  EXPECT_EQ(logged.queue_avg_here_s, (1.0 + 2.0) / 2);
  EXPECT_EQ(small_run().logged, LoggedSummary());
}

TEST(Metrics, MeasuresGpuTime) {
  const Summary summary = small_run();
  // Job 0 has 4 GPUs for 3 s and 16 s, job 1 for 4 s; 8 GPUs for 20 s.
  const double allocated_gpu_s = 4 * 19 + 4 * 4;
  EXPECT_DOUBLE_EQ(summary.gpu_hours, allocated_gpu_s / 3600);
  EXPECT_DOUBLE_EQ(*summary.gpu_utilization, allocated_gpu_s / (8 * 20));
  EXPECT_DOUBLE_EQ(summary.users[0].gpu_hours, 4 * 19 / 3600.0);
  EXPECT_DOUBLE_EQ(summary.users[1].gpu_hours, 4 * 4 / 3600.0);
  // A finished job has done its work, 10 s x 4 and 4 s x 4.
  EXPECT_DOUBLE_EQ(summary.users[0].work_gpu_hours, 40 / 3600.0);
  EXPECT_DOUBLE_EQ(summary.users[1].work_gpu_hours, 16 / 3600.0);
  EXPECT_EQ(summary.users[1].throughput_share, 0) << "no time was contended";
  // After its overhead job 0 runs for 2 s and 16 s, job 1 for 4 s; a quarter of the 16 s is lost.
  EXPECT_DOUBLE_EQ(*summary.comm_time_share, 0.25 * 16 / (2 + 16 + 4));
  EXPECT_EQ(summary.preemptions, 1);
  EXPECT_EQ(summary.migrations, 1);
}

TEST(Metrics, CountsPlacementsByTheWidestLinkOfTheGang) {
  Metrics metrics;
  TestJournal journal(metrics);
  journal.begin(3, {1});
  for (std::size_t id : {0U, 1U, 2U}) journal.arrive(0, id, {.gpus = 2});
  journal.place(0, 0, {.gang = {{kV100Node, 2}}});
  journal.place(0, 1, {.gang = {{kV100Node, 1}, {kK80Node, 1}}});
  journal.place(0, 2, {.gang = {{kK80Node, 3}}});
  journal.happen<record::Stop>(500, 2);
  journal.place(500, 2, {.gang = {{kK80Node, 2}}});
  journal.end(1000, {.pending = 3});
  EXPECT_EQ(metrics.summary({}).placements, (std::array<std::int64_t, kTiers>{2, 1, 1, 0}));
}

// 4 GPUs for 10 s: at first a fifth of the speed is lost; from 4 s on, at half the speed, three
// fifths.
TEST(Metrics, TimeLostToCommunicationFollowsTheSpeed) {
  Metrics metrics;
  TestJournal journal(metrics);
  journal.begin(1, {1});
  journal.arrive(0, 0, {.gpus = 4, .work_ms = 5600});
  journal.place(0, 0, {.gang = {{kV100Node, 4}}, .rate = 0.8, .locality = 0.8});
  journal.speed(4000, 0, 0.4);
  journal.happen<record::Finished>(10000, 0);
  journal.end(10000, {.finished = 1});
  EXPECT_NEAR(*metrics.summary({}).comm_time_share, (0.2 * 4 + 0.6 * 6) / 10, 1e-9);
}

// Both copies work from 2 s on, 8 s at a speed of 1.25 together.
TEST(Metrics, CopiesOfAJobAreOneJobWithMoreGpusAndMoreWork) {
  Metrics metrics({.bin = {10000}, .bins_max = 8});
  TestJournal journal(metrics);
  journal.begin(1, {1});
  journal.arrive(0, 0, {.gpus = 2, .work_ms = 60000});
  journal.place(0, 0, {.gang = {{kV100Node, 2}}, .overhead_ms = 1000, .rate = 0.75});
  journal.place(0, 0, {.gang = {{kK80Node, 2}}, .overhead_ms = 2000, .rate = 0.5, .copy = 1});
  journal.end(10000, {.pending = 1});
  const Summary summary = metrics.summary({});
  EXPECT_DOUBLE_EQ(summary.gpu_hours, (2 + 2) * 10 / 3600.0);
  EXPECT_DOUBLE_EQ(summary.users[0].work_gpu_hours, 2 * 1.25 * 8 / 3600);
  ASSERT_EQ(metrics.timeline().rows().size(), 1U);
  EXPECT_EQ(metrics.timeline().rows()[0].running_job_ms, 10000);
  EXPECT_EQ(metrics.timeline().rows()[0].waiting_job_ms, 0);
}

// A loss of 5 s: 2 s ran at speed 0.5 and 3 s at speed 1.
TEST(Metrics, WorkLostWithANodeIsLostAtTheSpeedAtWhichItWasDone) {
  Metrics metrics;
  TestJournal journal(metrics);
  journal.begin(1, {1});
  journal.arrive(0, 0, {.gpus = 1, .work_ms = 60000});
  journal.place(0, 0, {.gang = {{kV100Node, 1}}});
  journal.speed(10000, 0, 0.5);
  journal.evict(12000, 0, 5000);
  journal.end(20000, {.pending = 1});
  EXPECT_DOUBLE_EQ(metrics.summary({}).users[0].work_gpu_hours, (10 + 1 - 1 - 3) / 3600.0);
}

TEST(Metrics, MeasuresFairness) {
  const Summary summary = small_run();
  // Demand never exceeds 8 GPUs, so each user is entitled to its demand: u0 4 GPUs for 20 s and one
  // for 2 s, u1 4 GPUs for 6 s.
  const double received0 = 76.0 / 82;
  const double received1 = 16.0 / 24;
  EXPECT_DOUBLE_EQ(summary.users[0].entitled_gpu_hours, 82 / 3600.0);
  EXPECT_DOUBLE_EQ(summary.users[1].entitled_gpu_hours, 24 / 3600.0);
  EXPECT_DOUBLE_EQ(*summary.fairness.share_error_max, 1 - received1);
  EXPECT_DOUBLE_EQ(*summary.fairness.share_error_avg, (2 - received0 - received1) / 2);
  EXPECT_DOUBLE_EQ(*summary.fairness.jain,
                   (received0 + received1) * (received0 + received1) /
                       (2 * (received0 * received0 + received1 * received1)));
}

TEST(Metrics, MeasuresFinishTimeFairness) {
  const Summary summary = small_run();
  // Job 1 lives 6 s beside job 0: n = 2, an equal share is 4 GPUs, alone it takes its 4 s.
  // Job 0 lives 20 s: n = (2 + 2x6 + 2x2 + 10) / 20 = 1.4, its share suffices, alone 10 s.
  EXPECT_DOUBLE_EQ(*summary.fairness.ftf_max, 2);
  EXPECT_DOUBLE_EQ(*summary.fairness.ftf_avg, (2 + 1.5) / 2);
}

// Both jobs have 60 s of work and are alone in their time; job 1 waits for 30 s.
TEST(Metrics, AllowsTheOverheadOfTheFirstRunInBoundedFinishTimeFairness) {
  Metrics metrics;
  TestJournal journal(metrics);
  journal.begin(3, {1, 1});
  journal.arrive(0, 0, {.user = 0, .gpus = 4, .work_ms = 60'000});
  journal.place(0, 0, {.gang = {{kV100Node, 4}}, .overhead_ms = 20'000});
  journal.happen<record::Finished>(80'000, 0);
  journal.arrive(100'000, 1, {.user = 1, .gpus = 4, .work_ms = 60'000});
  journal.place(130'000, 1, {.gang = {{kV100Node, 4}}, .overhead_ms = 10'000});
  // The first run ends within its overhead, of which 5 s are allowed; the overhead of the second is not.
  journal.happen<record::Stop>(135'000, 1);
  journal.place(135'000, 1,
                {.gang = {{kK80Node, 4}}, .kind = PlaceKind::kResume, .overhead_ms = 10'000});
  journal.happen<record::Finished>(205'000, 1);
  // A job of a millisecond less than 60 s is left out.
  journal.arrive(300'000, 2, {.user = 1, .gpus = 4, .work_ms = 59'999});
  journal.place(400'000, 2, {.gang = {{kV100Node, 4}}});
  journal.happen<record::Finished>(459'999, 2);
  journal.end(460'000, {.finished = 3});
  const Summary summary = metrics.summary({});
  EXPECT_DOUBLE_EQ(*summary.fairness.bounded_ftf_p50, 1);
  EXPECT_DOUBLE_EQ(*summary.fairness.bounded_ftf_p99, 100.0 / 60);
  EXPECT_DOUBLE_EQ(*summary.fairness.bounded_ftf_max, 100.0 / 60);
  EXPECT_DOUBLE_EQ(*summary.users[0].bounded_ftf_max, 1);
  EXPECT_DOUBLE_EQ(*summary.users[1].bounded_ftf_max, 100.0 / 60);
  EXPECT_DOUBLE_EQ(*summary.fairness.ftf_max, 159.999 / 59.999);
}

TEST(Metrics, AllowsTheOverheadThatAWorldReports) {
  Metrics metrics;
  TestJournal journal(metrics);
  journal.begin(1, {1});
  journal.arrive(0, 0, {.gpus = 4, .work_ms = 60'000});
  const std::vector<Slice> gang = {{kV100Node, 4}};
  const std::vector<std::uint64_t> masks = {15};
  metrics.on({{0},
              record::Place{.job = JobId(0),
                            .gang = gang,
                            .gpu_masks = masks,
                            .overhead = {5000},
                            .is_reported = true}});
  metrics.on({{40'000}, record::Started{JobId(0), {40'000}}});
  journal.happen<record::Finished>(100'000, 0);
  journal.end(100'000, {.finished = 1});
  EXPECT_DOUBLE_EQ(*metrics.summary({}).fairness.bounded_ftf_max, 1);
}

// From 2 s to 10 s both users ask for 8 of the 8 GPUs and are entitled to 4. On the mean of both
// types their gangs have a speed of 0.625: u0 has 1 of it, u1 0.25.
TEST(Metrics, MeasuresWhatGpusAreWorthToTheirUsers) {
  Metrics metrics;
  TestJournal journal(metrics);
  journal.begin(4, {1, 1});
  journal.arrive(0, 0, {.user = 0, .gpus = 4, .work_ms = 60'000});
  journal.arrive(0, 1, {.user = 1, .gpus = 4, .work_ms = 60'000});
  journal.place(0, 0, {.gang = {{kV100Node, 4}}, .overhead_ms = 1000});
  journal.place(0, 1, {.gang = {{kK80Node, 4}}, .overhead_ms = 4000, .rate = 0.25});
  journal.arrive(2000, 2, {.user = 0, .gpus = 4});
  journal.arrive(2000, 3, {.user = 1, .gpus = 4});
  journal.happen<record::Cancelled>(10'000, 2);
  journal.happen<record::Cancelled>(10'000, 3);
  journal.end(15'000, {.failed = 2, .pending = 2});
  RunFacts facts;
  facts.bounds.resize(4, {.time = {1000}, .cluster_ms = 1000, .mix_speed = 0.625});
  const Summary summary = metrics.summary(facts);
  const auto seconds_of = [](double gpu_hours) { return gpu_hours * 3600; };
  EXPECT_NEAR(seconds_of(summary.users[0].contended_entitled_gpu_hours), 4 * 8, 1e-9);
  EXPECT_NEAR(seconds_of(summary.users[1].contended_entitled_gpu_hours), 4 * 8, 1e-9);
  EXPECT_NEAR(seconds_of(summary.users[0].contended_useful_gpu_hours), 4 * 8, 1e-9);
  EXPECT_NEAR(seconds_of(summary.users[1].contended_useful_gpu_hours), 4 * 6, 1e-9);
  EXPECT_NEAR(seconds_of(summary.users[0].contended_effective_gpu_hours), 4 * 8 / 0.625, 1e-9);
  EXPECT_NEAR(seconds_of(summary.users[1].contended_effective_gpu_hours), 4 * 6 * 0.4, 1e-9);
  EXPECT_NEAR(*summary.fairness.useful_shortfall_max, 0.25, 1e-12);
  // u0 has more than its share.
  EXPECT_NEAR(*summary.fairness.effective_shortfall_max, 1 - 9.6 / 32, 1e-12);
  EXPECT_NEAR(*summary.fairness.effective_shortfall_avg, (1 - 9.6 / 32) / 2, 1e-12);
  EXPECT_EQ(*summary.fairness.share_error_max, 0) << "all that allocated GPUs tell";
}

// From 2 s to 6 s 12 GPUs are asked for and 8 are there.
TEST(Metrics, SharesOfWorkAreThoseOfContendedTime) {
  Metrics metrics;
  TestJournal journal(metrics);
  journal.begin(3, {1, 1});
  journal.arrive(0, 0, {.user = 0, .gpus = 4, .work_ms = 100'000});
  journal.arrive(0, 1, {.user = 0, .gpus = 4, .work_ms = 5000});
  journal.place(0, 0, {.gang = {{kV100Node, 4}}, .overhead_ms = 1000});
  journal.arrive(2000, 2, {.user = 1, .gpus = 4, .work_ms = 100'000});
  journal.place(3000, 2, {.gang = {{kK80Node, 4}}, .rate = 0.5});
  journal.speed(4000, 2, 1);
  journal.happen<record::Cancelled>(6000, 1);
  journal.evict(8000, 2, 3000);  // a third of its work from 5 s on was done in contended time
  journal.end(9000, {.failed = 1, .pending = 2});
  const Summary summary = metrics.summary({});
  EXPECT_DOUBLE_EQ(summary.users[0].contended_work_gpu_hours, 4 * 4 / 3600.0);
  EXPECT_DOUBLE_EQ(summary.users[1].contended_work_gpu_hours, 4 * (0.5 + 2 - 1) / 3600.0);
  EXPECT_DOUBLE_EQ(summary.users[1].throughput_share, 1.5 / 5.5);
}

TEST(Metrics, MeasuresTimesOfEachUser) {
  const Summary summary = small_run();
  EXPECT_EQ(summary.users[0].jct_avg_s, 20);
  EXPECT_EQ(summary.users[0].queue_avg_s, 1);
  EXPECT_EQ(summary.users[1].jct_avg_s, 6);
  EXPECT_EQ(summary.users[1].queue_avg_s, 2);
  EXPECT_EQ(summary.users[0].bounded_ftf_max, std::nullopt) << "no job of 60 s";
}

TEST(Metrics, StretchesTheTimeAloneOfAJobLargerThanItsShare) {
  Metrics metrics;
  TestJournal journal(metrics);
  journal.begin(2, {1});
  for (std::size_t job : {0u, 1u}) journal.arrive(0, job, {.gpus = 8, .work_ms = 1000});
  journal.place(0, 0, {.gang = {{kV100Node, 4}, {kK80Node, 4}}});
  journal.happen<record::Finished>(1000, 0);
  journal.place(1000, 1, {.gang = {{kV100Node, 4}, {kK80Node, 4}}});
  journal.happen<record::Finished>(2000, 1);
  journal.end(2000, {.finished = 2});
  // Job 0: n = 2, alone on 4 of its 8 GPUs 2 s; JCT 1 s. Job 1: n = 1.5, alone 1.5 s; JCT 2 s.
  EXPECT_DOUBLE_EQ(*metrics.summary({}).fairness.ftf_max, 2 / 1.5);
  EXPECT_DOUBLE_EQ(*metrics.summary({}).fairness.ftf_avg, (0.5 + 2 / 1.5) / 2);
}

TEST(Metrics, BoundsAreOfTheFinishedJobs) {
  const Summary plain = small_run();
  EXPECT_DOUBLE_EQ(*plain.bounds.jct_avg_lower_s, (10.0 + 4.0) / 2);
  EXPECT_DOUBLE_EQ(*plain.bounds.makespan_lower_s, 10);  // the longest job; packed: 56 / 8

  Metrics metrics;
  write_small_run(metrics);
  RunFacts facts;
  facts.bounds.resize(4);
  facts.bounds[JobId(0)] = {{5000}, 25'000};
  facts.bounds[JobId(1)] = {{4000}, 2'000};
  const Summary faster = metrics.summary(facts);
  EXPECT_DOUBLE_EQ(*faster.bounds.jct_avg_lower_s,
                   (2.0 + 27.0) / 2);                     // one machine, the short first
  EXPECT_DOUBLE_EQ(*faster.bounds.makespan_lower_s, 27);  // one machine: 2 + 25
}

TEST(Metrics, ARunThatWasCutOffIsMeasuredUpToItsEnd) {
  Metrics metrics;
  TestJournal journal(metrics);
  journal.begin(2, {1});
  journal.arrive(0, 0, {.gpus = 4, .work_ms = 60000});
  journal.place(0, 0, {.gang = {{kV100Node, 4}}, .overhead_ms = 1000, .rate = 0.5});
  journal.speed(5000, 0, 1);
  journal.unsubmitted(10000, 1, {.gpus = 2}, 20000);
  journal.end(10000, {.pending = 2, .unsubmitted = 1});

  const Summary summary = metrics.summary({});
  EXPECT_EQ(summary.pending, 2);
  EXPECT_EQ(summary.users[0].jobs, 2);
  EXPECT_DOUBLE_EQ(*summary.gpu_utilization, 0.5);
  EXPECT_DOUBLE_EQ(summary.users[0].work_gpu_hours, 4 * (0.5 * 4 + 5) / 3600);
  EXPECT_DOUBLE_EQ(summary.users[0].entitled_gpu_hours, 40 / 3600.0);
  EXPECT_FALSE(summary.makespan_s.has_value());
  EXPECT_FALSE(summary.jct_avg_s.has_value());
  EXPECT_FALSE(summary.fairness.ftf_avg.has_value());
  EXPECT_EQ(metrics.jobs().status[JobId(1)], JobStatus::kUnsubmitted);
  EXPECT_EQ(metrics.jobs().submit[JobId(1)], Time{20000});
}

// 4 of 8 GPUs for 5 s, and then nothing until the other job is cancelled.
TEST(Metrics, ARunIsMeasuredUntilItsLastJobLeavesHoweverThatEnds) {
  Metrics metrics;
  TestJournal journal(metrics);
  journal.begin(2, {1});
  journal.arrive(0, 0, {.gpus = 4, .work_ms = 5000});
  journal.arrive(0, 1, {.gpus = 8});
  journal.place(0, 0, {.gang = {{kV100Node, 4}}});
  journal.happen<record::Finished>(5000, 0);
  journal.happen<record::Cancelled>(10000, 1);
  journal.end(20000, {.finished = 1, .failed = 1});
  EXPECT_DOUBLE_EQ(*metrics.summary({}).gpu_utilization, 4.0 * 5 / (8 * 10));
  EXPECT_EQ(metrics.summary({}).makespan_s, 10);
}

TEST(Metrics, CountsOnlyNodesThatAreUpAsCapacity) {
  Metrics metrics;
  TestJournal journal(metrics);
  journal.begin(1, {1});
  journal.arrive(0, 0, {.gpus = 8, .work_ms = 4000});
  journal.place(0, 0, {.gang = {{kV100Node, 4}, {kK80Node, 4}}});
  journal.evict(2000, 0, 1500);
  journal.node<record::GpusDown>(2000, 1);
  journal.node<record::GpusUp>(4000, 1);
  journal.place(4000, 0, {.gang = {{kV100Node, 4}, {kK80Node, 4}}, .kind = PlaceKind::kResume});
  journal.end(5000, {.pending = 1});
  const Summary summary = metrics.summary({});
  EXPECT_DOUBLE_EQ(*summary.gpu_utilization, 24.0 / (16 + 8 + 8));
  EXPECT_DOUBLE_EQ(summary.users[0].entitled_gpu_hours, 32 / 3600.0);
  EXPECT_DOUBLE_EQ(summary.users[0].work_gpu_hours, 8 * (2 - 1.5 + 1) / 3600);
  EXPECT_EQ(summary.preemptions, 0);  // a lost node is not the policy's doing
}

TEST(Metrics, AnEmptyRunHasNoAverages) {
  Metrics metrics;
  TestJournal(metrics).begin(0, {});
  TestJournal(metrics).end(0, {});
  const Summary summary = metrics.summary({});
  EXPECT_EQ(summary.jobs_read, 0);
  EXPECT_FALSE(summary.gpu_utilization.has_value());
  EXPECT_FALSE(summary.bounds.makespan_lower_s.has_value());
  EXPECT_FALSE(summary.fairness.jain.has_value());
}

TEST(Metrics, KeepsAJobTable) {
  Metrics metrics;
  write_small_run(metrics);
  const JobTable& jobs = metrics.jobs();
  const JobId job(0);
  EXPECT_EQ(jobs.names[job], "job-0");
  EXPECT_EQ(jobs.models[job], "vgg");
  EXPECT_EQ(jobs.models[JobId(1)], "");
  EXPECT_EQ(jobs.start[job].ms, 2000);
  EXPECT_EQ(jobs.queued(job).ms, 1000);
  EXPECT_EQ(jobs.gpu_types(job, metrics.gpu_types()), "V100+K80");
  EXPECT_EQ(jobs.preemptions[job], 1u);
  EXPECT_EQ(jobs.status[JobId(2)], JobStatus::kRejected);
  EXPECT_EQ(jobs.status[JobId(3)], JobStatus::kFailed);
  EXPECT_EQ(jobs.start[JobId(3)], Time::never());
}

TEST(Metrics, AreTheSameFromTheJournalFile) {
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / "fairlead_metrics_test.journal";
  Result<JournalFile> file = JournalFile::create(path);
  ASSERT_TRUE(file.has_value()) << file.error().message;
  Metrics live;
  Tee tee({&*file, &live});
  write_small_run(tee);
  ASSERT_TRUE(file->close().has_value());
  Metrics replayed;
  const Result<JournalEnd> status = read_finished_journal(path, replayed);
  ASSERT_TRUE(status.has_value()) << status.error().message;
  std::filesystem::remove(path);
  EXPECT_EQ(live.summary({}), replayed.summary({}));
  EXPECT_EQ(live.timeline().rows().size(), replayed.timeline().rows().size());
}

// One job of 4 GPUs and 10 s of work, whose world reports: placed at 1 s with an expected overhead of
// 5 s, started at 3 s, finished at 13 s.
void write_reported_run(RecordSink& sink) {
  TestJournal journal(sink);
  journal.begin(1, {1});
  journal.arrive(1000, 0, {.user = 0, .gpus = 4, .work_ms = 10000});
  const std::vector<Slice> gang = {{kV100Node, 4}};
  const std::vector<std::uint64_t> masks = {15};
  sink.on({{1000},
           record::Place{.job = JobId(0),
                         .gang = gang,
                         .gpu_masks = masks,
                         .overhead = {5000},
                         .is_reported = true,
                         .locality = Rate::of(0.5)}});
  sink.on({{3000}, record::Started{JobId(0), {1500}}});
  journal.happen<record::Finished>(13000, 0);
  journal.end(13000, {.finished = 1});
}

TEST(Metrics, WhereStartsAreReportedOverheadLastsUntilThen) {
  JobTable jobs;
  jobs.arrive({.job = JobId(0), .user = UserId(0), .gpus = 4, .work = seconds(10)}, {0},
              JobStatus::kPending);
  const std::vector<Slice> gang = {{kV100Node, 4}};
  jobs.place({.job = JobId(0), .gang = gang, .overhead = {5000}, .is_reported = true}, {1000}, 1);
  EXPECT_EQ(jobs.change_rate(JobId(0), {2000}, Rate::one()).busy, GpuTime{});
  jobs.start_work(JobId(0), {3000});
  const Service service = jobs.end_run(JobId(0), {13'000});
  EXPECT_EQ(service.allocated, (GpuTime{4 * 12'000}));
  EXPECT_EQ(service.busy, (GpuTime{4 * 10'000}));

  Metrics metrics;
  write_reported_run(metrics);
  EXPECT_DOUBLE_EQ(*metrics.summary({}).comm_time_share, 0.5);
}

TEST(Metrics, AStartThatFailsEndsARunAndIsNoPreemption) {
  Metrics metrics;
  TestJournal journal(metrics);
  journal.begin(1, {1});
  journal.arrive(0, 0, {.gpus = 4, .work_ms = 10000});
  journal.place(0, 0, {.gang = {{kV100Node, 4}}});
  metrics.on({{2000}, record::StartFailed{JobId(0), {5000}, "no disk"}});
  metrics.on({{5000}, record::Released{JobId(0)}});
  journal.place(5000, 0, {.gang = {{kV100Node, 4}}});
  metrics.on({{7000}, record::Stop{.job = JobId(0), .cause = StopCause::kHeld}});
  metrics.on({{7000}, record::Held{JobId(0)}});
  metrics.on({{8000}, record::Ignored{EventKind::kFinished, JobId(7), NodeId(9), 1}});
  journal.end(10000, {.pending = 1});
  const Summary summary = metrics.summary({});
  EXPECT_EQ(summary.preemptions, 0);  // its user held it
  EXPECT_DOUBLE_EQ(summary.gpu_hours, 4 * 4.0 / 3600);
  EXPECT_EQ(
      summary.open_world,
      (OpenWorldSummary{
          .events_ignored = 1, .starts_failed = 1, .stops_failed = 0, .skips = 0, .held = 1}));
  // While it is held, from 2 to 5 s and from 7 s on, it asks for nothing.
  EXPECT_DOUBLE_EQ(summary.users[0].entitled_gpu_hours, 4 * 4.0 / 3600);
}

TEST(Metrics, UsersNodesAndJobsMayComeLater) {
  Metrics metrics;
  TestJournal journal(metrics);
  journal.begin(1, {1});
  journal.arrive(0, 0, {.user = 0, .gpus = 8, .work_ms = 10000});
  metrics.on({{4000}, record::User{.user = UserId(1), .name = "late", .tickets = 3}});
  journal.arrive(4000, 1, {.user = 1, .gpus = 8, .work_ms = 1000});
  metrics.on({{8000},
              record::Node{.node = NodeId(2),
                           .name = "n2",
                           .type = GpuTypeId(0),
                           .host = HostId(2),
                           .rack = RackId(0),
                           .gpus = 4}});
  metrics.on({{10000}, record::Tickets{UserId(1), 1}});
  journal.place(10000, 1, {.gang = {{kV100Node, 4}, {NodeId(2), 4}}});
  journal.end(12000, {.pending = 2});
  const Summary summary = metrics.summary({});
  EXPECT_EQ(summary.jobs_read, 2);
  ASSERT_EQ(summary.users.size(), 2U);
  EXPECT_EQ(summary.users[1].user, "late");
  EXPECT_EQ(summary.users[1].tickets, 1);
  EXPECT_DOUBLE_EQ(summary.users[1].gpu_hours, 8 * 2.0 / 3600);
  // 8 GPUs, then 2 and 6, then 4 and 8 of 12, because the job asks for 8; at last 6 and 6.
  EXPECT_DOUBLE_EQ(summary.users[0].entitled_gpu_hours * 3600, 8 * 4 + 2 * 4 + 4 * 2 + 6 * 2);
  EXPECT_DOUBLE_EQ(summary.users[1].entitled_gpu_hours * 3600, 6 * 4 + 8 * 2 + 6 * 2);
  EXPECT_DOUBLE_EQ(*summary.gpu_utilization, 16.0 / (8 * 8 + 12 * 4));
}

TEST(Metrics, SumUpTheUsersOfAGroup) {
  Metrics metrics;
  TestJournal journal(metrics);
  journal.begin(3, {1});
  metrics.on({{}, record::Group{GroupId(0), "lab", 1, 3}});
  metrics.on({{}, record::User{UserId(1), "ann", 1, GroupId(0)}});
  metrics.on({{}, record::User{UserId(2), "ben", 2, GroupId(0)}});
  for (std::size_t user = 0; user < 3; ++user) {
    journal.arrive(0, user, {.user = user, .gpus = 4, .work_ms = 10000});
  }
  journal.place(0, 0, {.gang = {{kV100Node, 4}}});
  journal.place(1000, 1, {.gang = {{kK80Node, 4}}});
  journal.end(9000, {.pending = 3});
  const Summary summary = metrics.summary({});
  // Without its quota of 3 the group would have 4 of 8 GPUs.
  EXPECT_DOUBLE_EQ(summary.users[0].entitled_gpu_hours * 3600, 4 * 9);
  EXPECT_DOUBLE_EQ(summary.users[1].entitled_gpu_hours * 3600, 1 * 9);
  EXPECT_EQ(summary.users[0].group, "");
  EXPECT_EQ(summary.users[2].group, "lab");
  ASSERT_EQ(summary.groups.size(), 1U);
  const GroupSummary& lab = summary.groups[0];
  EXPECT_EQ(lab.group, "lab");
  EXPECT_EQ(lab.quota, 3);
  EXPECT_EQ(lab.users, 2);
  EXPECT_EQ(lab.jobs, 2);
  EXPECT_DOUBLE_EQ(lab.gpu_hours * 3600, 4 * 8);
  EXPECT_DOUBLE_EQ(lab.entitled_gpu_hours * 3600, 3 * 9);
}

TEST(Metrics, GpusThatAreGoneOrClosedAreNoCapacity) {
  Metrics metrics;
  TestJournal journal(metrics);
  journal.begin(1, {1});
  journal.arrive(0, 0, {.gpus = 2, .work_ms = 100000});
  journal.place(0, 0, {.gang = {{kV100Node, 2}}});
  metrics.on({{1000}, record::GpusDown{kV100Node, 0b1000}});  // 7 are left
  metrics.on({{2000}, record::Cordoned{kV100Node, ""}});
  metrics.on({{2000}, record::Closed{kV100Node, 0b0100}});     // 6
  metrics.on({{3000}, record::GpusDown{kK80Node, kAllGpus}});  // 2
  metrics.on({{4000}, record::GpusUp{kV100Node, 0b1000}});     // 3
  metrics.on({{5000}, record::Uncordoned{kV100Node}});         // 4
  journal.end(6000, {.pending = 1});
  EXPECT_DOUBLE_EQ(*metrics.summary({}).gpu_utilization, 2 * 6.0 / (8 + 7 + 6 + 2 + 3 + 4));
}

}  // namespace
}  // namespace fairlead
