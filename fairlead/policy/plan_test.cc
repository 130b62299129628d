#include "fairlead/policy/plan.h"

#include "fairlead/base/rng.h"
#include "fairlead/model/cluster_build.h"
#include "fairlead/model/job_spec.h"
#include "fairlead/model/step.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

namespace fairlead {
namespace {

Cluster small_cluster() {
  std::vector<NodeSpec> nodes;
  for (int i = 0; i < 3; ++i)
    nodes.push_back({.name = "", .gpu_type = "V100", .gpus = 4, .host = "", .rack = ""});
  return *build_cluster("test", {}, nodes);
}

Jobs waiting_jobs(std::size_t count) {
  Jobs jobs;
  for (JobId job : ids<JobId>(count)) jobs.add({.job = job, .user = UserId(0)}, {});
  for (JobState& state : jobs.state) state = JobState::kWaiting;
  return jobs;
}

std::vector<Slice> copy(Gang gang) { return {gang.begin(), gang.end()}; }

TEST(Plan, TakeSortsSlicesAndAddsUpThoseOfOneNode) {
  const Cluster cluster = small_cluster();
  Jobs jobs = waiting_jobs(1);
  Plan plan(cluster, jobs);
  plan.take(NodeId(2), 1);
  plan.take(NodeId(0), 2);
  plan.take(NodeId(2), 3);
  plan.place(JobId(0));
  EXPECT_EQ(copy(plan.gang(JobId(0))), (std::vector<Slice>{{NodeId(0), 2}, {NodeId(2), 4}}));
  EXPECT_EQ(plan.free().total(), 6U);
}

TEST(Plan, StopGivesTheGangBackToTheDraft) {
  const Cluster cluster = small_cluster();
  Jobs jobs = waiting_jobs(1);
  Plan plan(cluster, jobs);
  plan.take(NodeId(1), 4);
  plan.place(JobId(0));
  plan.stop(JobId(0), StopCause::kTurn);
  EXPECT_FALSE(plan.has_gang(JobId(0)));
  EXPECT_EQ(plan.free().on(NodeId(1)), 4U);
}

TEST(Plan, DropGivesTheOpenGangBack) {
  const Cluster cluster = small_cluster();
  Jobs jobs = waiting_jobs(1);
  Plan plan(cluster, jobs);
  plan.take(NodeId(1), 4);
  plan.drop();
  EXPECT_EQ(plan.free().total(), 12U);
}

// A job that ran on the first two GPUs of node 1, and loses its work if it leaves them.
struct PinnedPlan {
  explicit PinnedPlan(std::size_t count) : jobs(waiting_jobs(count)), plan(cluster, jobs) {
    for (JobId job : ids<JobId>(count)) {
      const Slice slice{NodeId(1), 2};
      jobs.last[job] = jobs.gangs.add({&slice, 1});
      jobs.gangs.gpu_masks(jobs.last[job])[0] = 0b11;
      jobs.cannot_move.grow_to(job) = 1;
    }
  }
  const Cluster cluster = small_cluster();
  Jobs jobs;
  Plan plan;
};

TEST(Plan, APinnedJobReturnsToItsGpusWhateverIsTakenForIt) {
  PinnedPlan pinned(1);
  pinned.plan.take(NodeId(0), 2);
  EXPECT_TRUE(pinned.plan.place(JobId(0)));
  EXPECT_EQ(copy(pinned.plan.gang(JobId(0))), (std::vector<Slice>{{NodeId(1), 2}}));
  EXPECT_EQ(pinned.plan.free().on(NodeId(0)), 4U);
}

TEST(Plan, OfTwoJobsPinnedToTheSameGpusOneWaits) {
  PinnedPlan pinned(2);
  const Plan::Mark mark = pinned.plan.mark();
  EXPECT_TRUE(pinned.plan.place_pinned(JobId(0)));
  EXPECT_FALSE(pinned.plan.place_pinned(JobId(1)));
  pinned.plan.take(NodeId(0), 2);
  EXPECT_FALSE(pinned.plan.place(JobId(1)));
  EXPECT_EQ(pinned.plan.free().total(), 10U) << "the open gang is dropped";
  pinned.plan.rollback(mark);
  EXPECT_TRUE(pinned.plan.place_pinned(JobId(1)));
  pinned.plan.stop(JobId(1), StopCause::kTurn);
  EXPECT_TRUE(pinned.plan.place_pinned(JobId(0)));
  EXPECT_EQ(pinned.plan.misuse().what, "");
}

TEST(Plan, APinnedJobWaitsIfItsNodesHaveTooFewGpus) {
  PinnedPlan pinned(2);
  pinned.jobs.cannot_move[JobId(1)] = 0;
  pinned.plan.take(NodeId(1), 3);
  EXPECT_TRUE(pinned.plan.place(JobId(1)));
  EXPECT_FALSE(pinned.plan.place_pinned(JobId(0)));
  EXPECT_FALSE(pinned.plan.has_gang(JobId(0)));
}

TEST(Plan, CopiesAreNumberedByTheirFirstNodesAndAJobCanLoseThemOnlyTogether) {
  const Cluster cluster = small_cluster();
  Jobs jobs = waiting_jobs(1);
  Plan plan(cluster, jobs);
  plan.take(NodeId(1), 2);
  plan.place(JobId(0));
  const Plan::Mark mark = plan.mark();
  plan.take(NodeId(2), 2);
  plan.place_copy(JobId(0));
  plan.take(NodeId(0), 2);
  plan.place_copy(JobId(0));
  const std::vector<Slice> copies = {{NodeId(0), 2, 0}, {NodeId(1), 2, 1}, {NodeId(2), 2, 2}};
  EXPECT_EQ(copy(plan.gang(JobId(0))), copies);
  EXPECT_EQ(copies_of(plan.gang(JobId(0))), 3U);
  EXPECT_EQ(plan.free().total(), 6U);

  plan.rollback(mark);
  EXPECT_EQ(copy(plan.gang(JobId(0))), (std::vector<Slice>{{NodeId(1), 2, 0}}));
  EXPECT_EQ(plan.free().total(), 10U);

  plan.take(NodeId(0), 1);
  plan.take(NodeId(2), 1);
  plan.place_copy(JobId(0));
  EXPECT_EQ(copies_of(plan.gang(JobId(0))), 2U);
  plan.stop(JobId(0), StopCause::kTurn);
  EXPECT_EQ(plan.free().total(), 12U);
}

TEST(Plan, AGangOfWholeTasksIsTakenTogetherFromItsNodes) {
  const Cluster cluster = small_cluster();
  Jobs jobs = waiting_jobs(1);
  jobs.task_gpus[JobId(0)] = 2;
  Plan plan(cluster, jobs);
  plan.take(NodeId(2), 1);
  plan.take(NodeId(0), 4);
  plan.take(NodeId(2), 1);
  plan.place(JobId(0));
  EXPECT_EQ(plan.misuse().what, "");
  EXPECT_TRUE(plan.has_gang(JobId(0)));
}

TEST(Plan, AGangThatSplitsATaskIsRefused) {
  const Cluster cluster = small_cluster();
  Jobs jobs = waiting_jobs(1);
  jobs.task_gpus[JobId(0)] = 2;
  Plan plan(cluster, jobs);
  plan.take(NodeId(0), 3);
  plan.take(NodeId(1), 1);
  plan.place(JobId(0));
  EXPECT_EQ(plan.misuse().what, "place: it splits a task");
  EXPECT_EQ(plan.misuse().job, JobId(0));
  EXPECT_FALSE(plan.has_gang(JobId(0)));
}

TEST(Plan, AGangBeyondTheLevelThatItsJobRequiresIsRefused) {
  const Cluster cluster = small_cluster();
  Jobs jobs = waiting_jobs(1);
  jobs.closeness[JobId(0)] = {.required = kHostLevel};
  Plan plan(cluster, jobs);
  plan.take(NodeId(0), 2);
  plan.place(JobId(0));
  EXPECT_EQ(plan.misuse().what, "");
  plan.stop(JobId(0), StopCause::kTurn);
  plan.take(NodeId(0), 1);
  plan.take(NodeId(1), 1);
  plan.place(JobId(0));
  EXPECT_EQ(plan.misuse().what, "place: it is not within the level that the job requires");
  EXPECT_FALSE(plan.has_gang(JobId(0)));
}

TEST(Plan, ACopyThatSplitsATaskIsRefused) {
  const Cluster cluster = small_cluster();
  Jobs jobs = waiting_jobs(1);
  jobs.task_gpus[JobId(0)] = 2;
  Plan plan(cluster, jobs);
  plan.take(NodeId(0), 2);
  plan.place(JobId(0));
  plan.take(NodeId(1), 3);
  plan.place_copy(JobId(0));
  EXPECT_EQ(plan.misuse().what, "place_copy: it splits a task");
}

// Returns the broken REQUIRES of a plan after `edit`.
std::string misuse_of(const std::function<void(Plan&)>& edit) {
  const Cluster cluster = small_cluster();
  Jobs jobs = waiting_jobs(2);
  Plan plan(cluster, jobs);
  edit(plan);
  return plan.misuse().what;
}

TEST(Plan, NamesTheFirstRuleThatIsBroken) {
  const JobId job(0);
  const NodeId node(0);
  EXPECT_EQ(misuse_of([&](Plan& plan) {
              plan.take(node, 2), plan.place(job), plan.stop(job, StopCause::kTurn);
            }),
            "");
  EXPECT_EQ(misuse_of([&](Plan& plan) { plan.place(job); }), "place: no slice was taken for it");
  EXPECT_EQ(misuse_of([&](Plan& plan) { plan.take(node, 1), plan.place(JobId(7)); }),
            "place: there is no such job");
  EXPECT_EQ(misuse_of([&](Plan& plan) {
              for (int i = 0; i < 2; ++i) plan.take(node, 1), plan.place(job);
            }),
            "place: it has a gang already");
  EXPECT_EQ(misuse_of([&](Plan& plan) { plan.stop(job, StopCause::kTurn); }),
            "stop: it has no gang");
  EXPECT_EQ(misuse_of([&](Plan& plan) {
              plan.take(node, 1), plan.place(job), plan.stop(job, StopCause::kHeld);
            }),
            "stop: the cause is reserved for its user");
  EXPECT_EQ(misuse_of([&](Plan& plan) { plan.take(node, 5); }),
            "take: the node has fewer GPUs free");
  EXPECT_EQ(misuse_of([&](Plan& plan) { plan.take(node, 0); }), "take: no GPU at all");
  EXPECT_EQ(misuse_of([&](Plan& plan) { plan.take(NodeId(9), 1); }), "take: there is no such node");
  EXPECT_EQ(misuse_of([&](Plan& plan) { plan.wake_at(Time{0}); }),
            "wake_at: a time that is not later than now");
  EXPECT_EQ(misuse_of([&](Plan& plan) { plan.take(node, 1), plan.place_copy(job); }),
            "place_copy: it has no gang to copy");
  EXPECT_EQ(misuse_of([&](Plan& plan) {
              plan.take(node, 1), plan.place(job);
              plan.take(node, 1), plan.place_copy(job);
            }),
            "place_copy: it has a copy on that node");
}

TEST(Plan, DoesNothingAfterARuleIsBroken) {
  const Cluster cluster = small_cluster();
  Jobs jobs = waiting_jobs(2);
  Plan plan(cluster, jobs);
  plan.take(NodeId(0), 1);
  plan.place(JobId(0));
  plan.place(JobId(0));
  plan.stop(JobId(0), StopCause::kTurn);
  plan.take(NodeId(0), 1);
  EXPECT_EQ(plan.misuse().what, "place: no slice was taken for it");
  EXPECT_EQ(plan.misuse().job, JobId(0));
  EXPECT_TRUE(plan.has_gang(JobId(0)));
  EXPECT_EQ(plan.free().on(NodeId(0)), 3U);
}

// The readable state of a plan, for comparison.
struct Picture {
  std::vector<std::vector<Slice>> gangs;
  std::vector<std::uint32_t> free;
  friend bool operator==(const Picture&, const Picture&) = default;
};

Picture picture(const Plan& plan, std::size_t jobs, const Cluster& cluster) {
  Picture picture;
  for (JobId job : ids<JobId>(jobs)) picture.gangs.push_back(copy(plan.gang(job)));
  for (NodeId node : ids<NodeId>(cluster.nodes())) picture.free.push_back(plan.free().on(node));
  return picture;
}

void random_edit(Plan& plan, Rng& rng, std::size_t jobs) {
  const JobId job(rng.below(jobs));
  if (plan.has_gang(job)) return plan.stop(job, StopCause::kTurn);
  for (std::size_t node = 0; node < 3; ++node) {
    const std::uint32_t free = plan.free().on(NodeId(node));
    if (free > 0 && rng.below(2) == 0) {
      plan.take(NodeId(node), 1 + static_cast<std::uint32_t>(rng.below(free)));
    }
  }
  // Half of the placements are given up, as what-if code does.
  if (rng.below(2) == 0) return plan.drop();
  const Plan::Mark before = [&] {
    plan.drop();
    return plan.mark();
  }();
  if (plan.free().total() == 0) return plan.rollback(before);
  for (std::size_t node = 0; node < 3; ++node) {
    if (plan.free().on(NodeId(node)) == 0) continue;
    plan.take(NodeId(node), 1);
    plan.place(job);
    return;
  }
}

TEST(Plan, RollbackRestoresEveryGangAndEveryFreeGpu) {
  const Cluster cluster = small_cluster();
  constexpr std::size_t kJobs = 6;
  Jobs jobs = waiting_jobs(kJobs);
  Plan plan(cluster, jobs);
  Rng rng(1);
  for (int round = 0; round < 2'000; ++round) {
    random_edit(plan, rng, kJobs);
    const Picture before = picture(plan, kJobs, cluster);
    const Plan::Mark mark = plan.mark();
    for (std::uint64_t edits = rng.below(8); edits > 0; --edits) random_edit(plan, rng, kJobs);
    plan.rollback(mark);
    ASSERT_EQ(picture(plan, kJobs, cluster), before) << "round " << round;
  }
}

}  // namespace
}  // namespace fairlead
