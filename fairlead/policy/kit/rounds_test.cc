#include "fairlead/policy/kit/rounds.h"

#include "fairlead/input/cluster_file.h"
#include "fairlead/policy/registry.h"
#include "fairlead/sim/sim_backend.h"
#include "testing/steps.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fairlead {
namespace {

constexpr Time at(std::int64_t ms) { return {ms}; }

class RoundsTest : public ::testing::Test {
 protected:
  void ask(std::int64_t now_ms) { rounds_.wake(at(now_ms), plan_); }

  Cluster cluster_ = racks_of_nodes(1, 1, 1);
  Jobs jobs_;
  Plan plan_{cluster_, jobs_};
  Rounds rounds_{seconds(60)};
};

TEST_F(RoundsTest, TheNextBoundaryIsTheFirstMultipleAfterNow) {
  EXPECT_EQ(rounds_.next(at(0)), at(60'000));
  EXPECT_EQ(rounds_.next(at(59'999)), at(60'000));
  EXPECT_EQ(rounds_.next(at(60'000)), at(120'000));
}

TEST_F(RoundsTest, ADecisionOnABoundaryIsARoundThoughNoneWasAskedFor) {
  EXPECT_TRUE(rounds_.due(at(0)));
  EXPECT_FALSE(rounds_.due(at(59'999)));
  EXPECT_TRUE(rounds_.due(at(120'000)));
}

TEST_F(RoundsTest, ABoundaryIsServedOnce) {
  EXPECT_TRUE(rounds_.due(at(60'000)));
  EXPECT_FALSE(rounds_.due(at(60'000)));
}

TEST_F(RoundsTest, ABoundaryThatWasNotAskedForAndHadNoDecisionIsNotMadeUpFor) {
  EXPECT_TRUE(rounds_.due(at(0)));
  EXPECT_FALSE(rounds_.due(at(60'005)));
}

TEST_F(RoundsTest, ALateWakeUpStillBeginsItsRoundAndTheNextIsOnTime) {
  ask(0);
  EXPECT_FALSE(rounds_.due(at(59'999)));
  EXPECT_TRUE(rounds_.due(at(60'005)));
  EXPECT_FALSE(rounds_.due(at(60'010))) << "served";
  EXPECT_EQ(rounds_.next(at(60'005)), at(120'000));
  ask(60'005);
  EXPECT_TRUE(rounds_.due(at(120'000)));
}

TEST_F(RoundsTest, BoundariesMissedTogetherAreOneRound) {
  ask(0);
  EXPECT_TRUE(rounds_.due(at(250'000)));
  EXPECT_FALSE(rounds_.due(at(250'001)));
  EXPECT_EQ(rounds_.next(at(250'000)), at(300'000));
}

TEST_F(RoundsTest, ALoadedCopyOwesTheSameRound) {
  ask(0);
  Writer writer;
  save(rounds_, writer);
  Rounds copy{seconds(60)};
  Reader reader(writer.bytes());
  load(copy, reader);
  EXPECT_TRUE(reader.ok());
  EXPECT_TRUE(copy.due(at(60'005)));
  EXPECT_FALSE(copy.due(at(60'006)));
}

// Two jobs that each need the whole cluster, under a policy with rounds of minutes.
class LateTest : public ::testing::TestWithParam<const char*> {
 protected:
  LateTest()
      : cluster_(racks_of_nodes(1, 1, 1)),
        workload_(numbered_jobs(std::vector<int>(2),
                                [](JobRow& row, int) {
                                  row.gpus = 1;
                                  row.duration = seconds(100'000);
                                })),
        speed_(Speed::make(cluster_, builtin_models(), workload_, "").value()),
        policy_(std::move(*parse_policy(GetParam(), 1)->make())) {
    for (JobId job : ids<JobId>(2)) {
      jobs_.add({.job = job, .user = UserId(0), .types = workload_.jobs.types[job]}, {});
    }
    plan_.emplace(cluster_, jobs_);
  }

  // Returns the job that runs from `now_ms` on, after the other job ran up to then.
  JobId runs_after(std::int64_t now_ms, std::vector<Event> news) {
    Jobs& jobs = jobs_;
    const KnownSpeed known(&speed_, cluster_, jobs, RatesNeeded::kNone, {});
    const KnownWork work(jobs, nullptr, WorkSource::kNone, {});
    std::vector<JobId> waiting;
    std::vector<JobId> running;
    for (JobId job : ids<JobId>(2)) {
      (jobs.state[job] == JobState::kRunning ? running : waiting).push_back(job);
    }
    policy_->decide({.now = at(now_ms),
                     .cluster = cluster_,
                     .users = workload_.users,
                     .jobs = jobs,
                     .speed = known,
                     .work = work,
                     .news = news,
                     .waiting = waiting,
                     .running = running},
                    *plan_);
    JobId runs;
    for (JobId job : ids<JobId>(2)) {
      jobs.attained_settled[job] = jobs.attained(job, at(now_ms));
      jobs.run_since[job] = at(now_ms);
      jobs.allocated_gpus[job] = plan_->has_gang(job) ? 1 : 0;
      jobs.state[job] = plan_->has_gang(job) ? JobState::kRunning : JobState::kWaiting;
      if (plan_->has_gang(job)) runs = job;
    }
    return runs;
  }

  const Cluster cluster_;
  Workload workload_;
  const Speed speed_;
  std::unique_ptr<Policy> policy_;
  Jobs jobs_;
  std::optional<Plan> plan_;
};

TEST_P(LateTest, ATimerNoticed5MsLateStillEndsTheTurn) {
  for (JobId job : ids<JobId>(2)) jobs_.state[job] = JobState::kWaiting;
  const std::vector<Event> arrivals = {{.kind = EventKind::kArrived, .job = JobId(0)},
                                       {.kind = EventKind::kArrived, .job = JobId(1)}};
  const std::vector<Event> woke = {{.kind = EventKind::kWoke}};
  EXPECT_EQ(runs_after(1, arrivals), JobId(0));
  EXPECT_EQ(runs_after(30'000, {}), JobId(0)) << "within the turn";
  EXPECT_EQ(runs_after(60'005, woke), JobId(1));
  EXPECT_EQ(runs_after(60'010, {}), JobId(1)) << "within the turn";
  EXPECT_EQ(runs_after(120'015, woke), JobId(0)) << "as it has run for a little less";
}

INSTANTIATE_TEST_SUITE_P(Policies, LateTest, ::testing::Values("gandiva", "stride"));

}  // namespace
}  // namespace fairlead
