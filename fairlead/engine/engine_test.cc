// Tests the engine in a world that is late, repeats events, fails, and is changed by operators. Each test is a
// script that can be followed by hand (testing/scripted_world.h).

#include "fairlead/engine/engine.h"

#include "fairlead/model/step.h"
#include "testing/scripted_world.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(Engine, JournalsStepsBeforeTheyAreCarriedOutStopsFirst) {
  ScriptedWorld world;
  world.arrive(0, 4);
  world.arrive(5, 1);
  world.also_decide = [](const View& view, Plan& plan) {
    if (view.now != Time{5'000}) return;
    plan.stop(JobId(0), StopCause::kTurn);
    plan.take(NodeId(1), 3);
    plan.take(NodeId(0), 1);
    plan.place(JobId(0));
  };
  world.run();
  EXPECT_EQ(world.lines(),
            (Lines{"0s arrived j0", "0s place j0 n0:f", "0s -> place j0#1",  //
                   "5s arrived j1", "5s stop j0: turn", "5s place j1 n1:1", "5s place j0 n0:1 n1:e",
                   "5s -> stop j0#1", "5s -> place j1#1", "5s -> place j0#2"}));
}

TEST(Engine, JournalsTheCauseOfTheStopThatEndedTheRun) {
  ScriptedWorld world;
  world.arrive(0, 4);
  world.also_decide = [](const View& view, Plan& plan) {
    if (view.now != Time{5'000}) return;
    plan.stop(JobId(0), StopCause::kRound);
    plan.take(NodeId(1), 4);
    plan.place(JobId(0));
    plan.stop(JobId(0), StopCause::kPriority);  // a gang of the draft alone
  };
  world.tell(5, {.kind = EventKind::kTickets, .user = UserId(0), .tickets = 2});
  world.run();
  EXPECT_EQ(world.lines_at(5)[1], "stop j0: round");
}

TEST(Engine, AJobWithoutGpusIsPlacedAtOnceAndNoPolicyGetsIt) {
  ScriptedWorld world;
  world.arrive(0, 8);
  world.arrive(1, 8);
  world.arrive(2, 0);
  world.tell(3, job_event(EventKind::kHeld, 2));
  world.tell(4, job_event(EventKind::kReleased, 2));
  world.tell(5, job_event(EventKind::kEvicted, 2, 2));
  world.tell(6, job_event(EventKind::kStartFailed, 2, 3));
  world.tell(20, job_event(EventKind::kFinished, 2, 4));
  world.run();
  EXPECT_EQ(world.lines_at(2), (Lines{"arrived j2", "place j2", "-> place j2#1"}));
  EXPECT_EQ(world.lines_at(3), (Lines{"stop j2: held", "held j2", "-> stop j2#1"}));
  EXPECT_EQ(world.lines_at(4), (Lines{"released j2", "place j2", "-> place j2#2"}));
  EXPECT_EQ(world.lines_at(5), (Lines{"evicted j2", "place j2", "-> place j2#3"}));
  EXPECT_EQ(world.lines_at(16), (Lines{"released j2", "place j2", "-> place j2#4"}));
  EXPECT_EQ(world.lines_at(20), Lines{"finished j2"});
  EXPECT_EQ(world.decisions(), (std::vector<Time>{{0}, {1'000}}));
  EXPECT_EQ(gpu_time(world.tables(), JobId(2), Time{20'000}), GpuTime());
  EXPECT_EQ(world.tables().ran(JobId(2), Time{20'000}), (GpuTime{1'000 + 1'000 + 1'000 + 4'000}));
}

TEST(Engine, AJobWithoutGpusThatComesHeldIsPlacedAtItsRelease) {
  ScriptedWorld world;
  world.arrive(1, 0);
  world.tell(1, job_event(EventKind::kHeld, 0));
  world.tell(2, job_event(EventKind::kReleased, 0));
  world.tell(3, job_event(EventKind::kCancelled, 0));
  world.run();
  EXPECT_EQ(world.lines_at(1), (Lines{"arrived j0", "held j0"}));
  EXPECT_EQ(world.lines_at(2), (Lines{"released j0", "place j0", "-> place j0#1"}));
  EXPECT_EQ(world.lines_at(3), (Lines{"stop j0: cancelled", "cancelled j0", "-> stop j0#1"}));
  EXPECT_TRUE(world.decisions().empty());
}

TEST(Engine, AFinishThatComesTwiceIsIgnoredAndCounted) {
  ScriptedWorld world;
  world.arrive(0, 1);
  world.tell(5, job_event(EventKind::kFinished, 0, 1));
  world.tell(6, job_event(EventKind::kFinished, 0, 1));
  world.run();
  EXPECT_EQ(world.lines_at(5), Lines{"finished j0"});
  EXPECT_EQ(world.lines_at(6), Lines{"ignored: finished j0#1"});
  EXPECT_EQ(world.counts().ignored, 1);
  EXPECT_EQ(world.tables().counts.finished, 1);
  EXPECT_EQ(world.decisions(), (std::vector<Time>{{0}, {5'000}}));
}

TEST(Engine, AnEventAboutARunThatIsOverIsIgnoredOneAboutTheCurrentRunCounts) {
  ScriptedWorld world;
  world.arrive(0, 1);
  world.tell(5, job_event(EventKind::kEvicted, 0, 1));  // placed again at once
  for (const EventKind kind : {EventKind::kFinished, EventKind::kFailed, EventKind::kEvicted,
                               EventKind::kStartFailed, EventKind::kProgress}) {
    world.tell(6, job_event(kind, 0, 1));
  }
  world.tell(7, job_event(EventKind::kFinished, 0, 2));
  world.run();
  EXPECT_EQ(world.lines_at(5), (Lines{"evicted j0", "place j0 n0:1", "-> place j0#2"}));
  EXPECT_EQ(world.lines_at(6),
            (Lines{"ignored: finished j0#1", "ignored: failed j0#1", "ignored: evicted j0#1",
                   "ignored: start failed j0#1", "ignored: progress j0#1"}));
  EXPECT_EQ(world.lines_at(7), Lines{"finished j0"});
}

TEST(Engine, EventsAboutWhatIsNotThereAreIgnored) {
  ScriptedWorld world;
  world.tell(1, job_event(EventKind::kFinished, 7, 1));
  world.tell(1, job_event(EventKind::kCancelled, 7));
  world.tell(1, node_event(EventKind::kGpusDown, 2));
  world.tell(1, {.kind = EventKind::kTickets, .user = UserId(1), .tickets = 2});
  world.tell(1, {.kind = EventKind::kTickets, .user = UserId(0), .tickets = 0});
  world.tell(1, {.kind = EventKind::kArrived, .job = JobId(0)});  // without its JobSpec
  world.run();
  EXPECT_EQ(world.lines_with("ignored").size(), 6U);
  EXPECT_EQ(world.counts().ignored, 6);
  EXPECT_EQ(world.decisions().size(), 0U);
}

TEST(Engine, AJobThatExitsWhileItIsSuspendedFinishes) {
  ScriptedWorld world;
  world.arrive(0, 1);
  world.arrive(5, 1);
  world.also_decide = [](const View& view, Plan& plan) {
    if (view.now == Time{5'000}) plan.stop(JobId(0), StopCause::kTurn);
  };
  world.tell(6, job_event(EventKind::kFinished, 0, 1));
  world.run();
  EXPECT_EQ(world.lines_at(6), Lines{"finished j0"});
}

TEST(Engine, AJobThatExitsWhileItsUserHoldsItFinishes) {
  ScriptedWorld world;
  world.arrive(0, 1);
  world.tell(5, job_event(EventKind::kHeld, 0));
  world.tell(6, job_event(EventKind::kFinished, 0, 1));
  world.run();
  EXPECT_EQ(world.lines_at(6), Lines{"finished j0"});
  EXPECT_TRUE(world.tables().held_until.empty());
}

TEST(Engine, AnEvictionOfAJobThatWaitsIsIgnored) {
  ScriptedWorld world;
  world.arrive(0, 8);
  world.arrive(1, 8);
  world.tell(5, job_event(EventKind::kEvicted, 1, 0));
  world.tell(5, job_event(EventKind::kEvicted, 1, 1));
  world.run();
  EXPECT_EQ(world.lines_at(5), (Lines{"ignored: evicted j1#0", "ignored: evicted j1#1"}));
}

TEST(Engine, ANodeThatGoesDownTwiceIsDownOnce) {
  ScriptedWorld world;
  world.tell(5, node_event(EventKind::kGpusDown, 0));
  world.tell(6, node_event(EventKind::kGpusDown, 0));
  world.tell(7, node_event(EventKind::kGpusUp, 0));
  world.tell(8, node_event(EventKind::kGpusUp, 0));
  world.run();
  EXPECT_EQ(world.lines(), (Lines{"5s down n0", "6s ignored: GPUs down n0", "7s up n0",
                                  "8s ignored: GPUs up n0"}));
}

// Jobs 0 and 1 have two GPUs of node 0 each; the upper two go down.
TEST(Engine, GpusThatGoDownEvictOnlyTheJobsOnThemAndTheNodeKeepsTheRest) {
  ScriptedWorld world;
  world.arrive(0, 2);
  world.arrive(1, 2);
  world.tell(5, node_event(EventKind::kGpusDown, 0, 0xc));
  world.tell(6, job_event(EventKind::kFinished, 0, 1));
  world.arrive(7, 2);
  world.tell(8, node_event(EventKind::kGpusUp, 0, 0xc));
  world.run();
  EXPECT_EQ(world.lines_at(5),
            (Lines{"evicted j1", "down n0:c", "place j1 n1:3", "-> stop j1#1", "-> place j1#2"}));
  EXPECT_EQ(world.lines_at(7), (Lines{"arrived j2", "place j2 n0:3", "-> place j2#1"}));
  EXPECT_EQ(world.lines_at(8), Lines{"up n0:c"});
}

TEST(Engine, ANodeThatGoesDownBeforeItsEvictionsAreToldEvictsItselfAndStopsTheGangs) {
  ScriptedWorld world;
  world.arrive(0, 4);
  world.tell(5, node_event(EventKind::kGpusDown, 0));
  world.tell(6, job_event(EventKind::kEvicted, 0, 1));
  world.run();
  EXPECT_EQ(world.lines_at(5),
            (Lines{"evicted j0", "down n0", "place j0 n1:f", "-> stop j0#1", "-> place j0#2"}));
  EXPECT_EQ(world.lines_at(6), Lines{"ignored: evicted j0#1"});
}

// Fails each start one second after its step.
void fail_starts(ScriptedWorld& world) {
  world.reports_steps = true;
  world.on_step = [&world](Time now, const Step& step) {
    Event event = job_event(EventKind::kStartFailed, step.job.row(), step.run);
    event.reason = "no image";
    world.tell(now.ms / 1000 + 1, event);
  };
}

TEST(Engine, AJobWhoseStartFailedIsHeldTwiceAsLongEachTimeAtMostForRetryMaxAndFailsInTheEnd) {
  ScriptedWorld world;
  world.options.retry_max = seconds(60);
  world.options.starts_max = 6;
  world.arrive(0, 1);
  fail_starts(world);
  world.run();
  EXPECT_EQ(world.lines_with("start failed"),
            (Lines{"1s start failed j0, retry at 11s", "12s start failed j0, retry at 32s",
                   "33s start failed j0, retry at 73s", "74s start failed j0, retry at 134s",
                   "135s start failed j0, retry at 195s", "196s start failed j0, retry at 256s"}));
  EXPECT_EQ(world.lines_at(11), (Lines{"released j0", "place j0 n0:1", "-> place j0#2"}));
  EXPECT_EQ(world.lines().back(), "196s failed j0: no image");
  EXPECT_EQ(world.tables().counts.failed, 1);
}

TEST(Engine, AStartThatSucceedsBeginsTheRetriesAnew) {
  ScriptedWorld world;
  world.reports_steps = true;
  world.arrive(0, 1);
  world.tell(1, job_event(EventKind::kStartFailed, 0, 1));  // again at 11 s
  world.tell(12, job_event(EventKind::kStarted, 0, 2));
  world.tell(13, job_event(EventKind::kEvicted, 0, 2));
  world.tell(14, job_event(EventKind::kStartFailed, 0, 3));
  world.run();
  EXPECT_EQ(world.lines_at(14), Lines{"start failed j0, retry at 24s"});
}

TEST(Engine, AnOperatorMayReleaseAJobBeforeItsRetry) {
  ScriptedWorld world;
  world.reports_steps = true;
  world.arrive(0, 1);
  world.tell(1, job_event(EventKind::kStartFailed, 0, 1));
  world.tell(3, job_event(EventKind::kReleased, 0));
  world.run();
  EXPECT_EQ(world.lines_with("released"), Lines{"3s released j0"});
}

TEST(Engine, FailedStartsOfThreeJobsCordonTheirNode) {
  ScriptedWorld world;
  for (int job = 0; job < 3; ++job) world.arrive(0, 1);
  fail_starts(world);
  world.run();
  EXPECT_EQ(world.lines_with("cordoned").front(), "1s cordoned n0: no image");
  EXPECT_EQ(world.lines_with("closed").front(), "1s closed n0:f");
  EXPECT_EQ(world.lines_at(11).at(3), "place j0 n1:1");
}

TEST(Engine, FailedStartsOfOneJobCordonNothing) {
  ScriptedWorld world;
  world.arrive(0, 1);
  fail_starts(world);
  world.run();
  EXPECT_EQ(world.lines_with("start failed").size(), 10U);
  EXPECT_EQ(world.lines_with("cordoned"), Lines{});
}

TEST(Engine, AStartThatSucceedsInBetweenClearsTheFailuresOfItsNode) {
  ScriptedWorld world;
  world.reports_steps = true;
  for (int job = 0; job < 4; ++job) world.arrive(0, 1);
  world.tell(1, job_event(EventKind::kStartFailed, 0, 1));
  world.tell(2, job_event(EventKind::kStartFailed, 1, 1));
  world.tell(3, job_event(EventKind::kStarted, 3, 1));
  world.tell(4, job_event(EventKind::kStartFailed, 2, 1));
  world.run();
  EXPECT_EQ(world.lines_with("cordoned"), Lines{});
}

// Job 0 has two GPUs of node 0; the other two are idle.
TEST(Engine, ACordonedNodeTakesNoFurtherGangsThoseItHasGoOnUntilItIsUncordoned) {
  ScriptedWorld world;
  world.arrive(0, 2);
  world.tell(5, node_event(EventKind::kCordoned, 0));
  world.arrive(6, 2);
  world.tell(7, job_event(EventKind::kFinished, 0, 1));
  world.arrive(8, 4);  // node 1 has only two left
  world.tell(9, node_event(EventKind::kUncordoned, 0));
  world.run();
  EXPECT_EQ(world.lines_at(5), (Lines{"cordoned n0", "closed n0:c"}));
  EXPECT_EQ(world.lines_at(6), (Lines{"arrived j1", "place j1 n1:3", "-> place j1#1"}));
  EXPECT_EQ(world.lines_at(7), (Lines{"finished j0", "closed n0:3"}));
  EXPECT_EQ(world.lines_at(8), Lines{"arrived j2"});
  EXPECT_EQ(world.lines_at(9), (Lines{"uncordoned n0", "place j2 n0:f", "-> place j2#1"}));
}

TEST(Engine, AJobThatItsUserHoldsIsStoppedAndWaitsForItsRelease) {
  ScriptedWorld world;
  world.arrive(0, 8);
  world.arrive(1, 8);
  world.tell(5, job_event(EventKind::kHeld, 0));
  world.tell(6, job_event(EventKind::kHeld, 0));
  world.tell(7, job_event(EventKind::kFinished, 1, 1));
  world.tell(8, job_event(EventKind::kReleased, 0));
  world.tell(9, job_event(EventKind::kReleased, 0));
  world.run();
  EXPECT_EQ(world.lines_at(5), (Lines{"stop j0: held", "held j0", "place j1 n0:f n1:f",
                                      "-> stop j0#1", "-> place j1#1"}));
  EXPECT_EQ(world.lines_at(6), Lines{"ignored: held j0#0"});
  EXPECT_EQ(world.lines_at(7), Lines{"finished j1"});
  EXPECT_EQ(world.lines_at(8), (Lines{"released j0", "place j0 n0:f n1:f", "-> place j0#2"}));
  EXPECT_EQ(world.lines_at(9), Lines{"ignored: released j0#0"});
}

TEST(Engine, AJobThatIsCancelledWhileItRunsIsStopped) {
  ScriptedWorld world;
  world.arrive(0, 8);
  world.arrive(1, 8);
  world.tell(5, job_event(EventKind::kCancelled, 0));
  world.tell(6, job_event(EventKind::kCancelled, 0));
  world.run();
  EXPECT_EQ(world.lines_at(5), (Lines{"stop j0: cancelled", "cancelled j0", "place j1 n0:f n1:f",
                                      "-> stop j0#1", "-> place j1#1"}));
  EXPECT_EQ(world.lines_at(6), Lines{"ignored: cancelled j0#0"});
}

TEST(Engine, TicketsAreThoseNamedLast) {
  ScriptedWorld world;
  world.tell(5, {.kind = EventKind::kTickets, .user = UserId(0), .tickets = 3});
  world.tell(6, {.kind = EventKind::kTickets, .user = UserId(0), .tickets = 3});
  world.run();
  EXPECT_EQ(world.lines_at(5), Lines{"u0 has 3 tickets"});
  EXPECT_EQ(world.tables().users.tickets[UserId(0)], 3);
  EXPECT_EQ(world.decisions(), std::vector<Time>{{5'000}});
}

TEST(Engine, GpusWhoseStopFailedAreDownUntilItIsStopped) {
  ScriptedWorld world;
  world.reports_steps = true;
  world.arrive(0, 4);
  world.tell(5, job_event(EventKind::kCancelled, 0));
  world.tell(6, job_event(EventKind::kStopFailed, 0, 1));
  world.arrive(7, 4);
  world.arrive(8, 4);
  world.tell(9, job_event(EventKind::kStopFailed, 0, 1));
  world.tell(10, job_event(EventKind::kStopped, 0, 1));
  world.tell(11, job_event(EventKind::kStopped, 0, 1));
  world.run();
  EXPECT_EQ(world.lines_at(6), (Lines{"stop failed j0#1", "down n0"}));
  EXPECT_EQ(world.lines_at(7), (Lines{"arrived j1", "place j1 n1:f", "-> place j1#1"}));
  EXPECT_EQ(world.lines_at(8), Lines{"arrived j2"});
  EXPECT_EQ(world.lines_at(9), Lines{"ignored: stop failed j0#1"});
  EXPECT_EQ(world.lines_at(10), (Lines{"stopped j0#1", "up n0", "place j2 n0:f", "-> place j2#1"}));
  EXPECT_EQ(world.lines_at(11), Lines{"ignored: stopped j0#1"});
}

// The GPUs were granted to the next job as soon as the stop was issued.
TEST(Engine, AStopThatFailsEvictsTheGangThatWasToFollow) {
  ScriptedWorld world;
  world.reports_steps = true;
  world.arrive(0, 4);
  world.arrive(1, 4);
  world.arrive(2, 4);
  world.tell(5, job_event(EventKind::kCancelled, 0));
  world.tell(6, job_event(EventKind::kStopFailed, 0, 1));
  world.run();
  EXPECT_EQ(world.lines_at(5).at(2), "place j2 n0:f");
  EXPECT_EQ(world.lines_at(6),
            (Lines{"stop failed j0#1", "evicted j2", "down n0", "-> stop j2#1"}));
}

// The policy sets timers for 10, 20 and 30 s; at 5 s the clock of the world is at 100 s.
ScriptedWorld::Instant& ask_for_timers(ScriptedWorld& world) {
  world.arrive(0, 1);
  world.also_decide = [](const View& view, Plan& plan) {
    if (view.now != Time{0}) return;
    for (const std::int64_t s : {10, 20, 30}) plan.wake_at(Time{s * 1000});
  };
  world.at(5).present = Time{100'000};
  return world.at(5);
}

TEST(Engine, TimersThatAreNoticedLateFireAtTheirOwnInstants) {
  ScriptedWorld world;
  ask_for_timers(world);
  world.run();
  EXPECT_EQ(world.decisions(), (std::vector<Time>{{0}, {10'000}, {20'000}, {30'000}}));
  EXPECT_EQ(world.counts().late_max, seconds(95));
  EXPECT_EQ(world.counts().skips, 0);
}

TEST(Engine, ALagBeyondTheSlackIsOneDecisionAndSaysSo) {
  ScriptedWorld world;
  world.options.slack = seconds(80);
  ask_for_timers(world);
  world.run();
  EXPECT_EQ(world.decisions(), (std::vector<Time>{{0}, {100'000}}));
  EXPECT_EQ(world.lines_with("skipped"), Lines{"100s skipped"});
  EXPECT_EQ(world.counts().skips, 1);
}

// At 7 s no timer is due yet.
TEST(Engine, WhatHappensBeforeTheFirstTimerSkipsNone) {
  ScriptedWorld world;
  world.options.slack = seconds(80);
  ask_for_timers(world);
  world.arrive(7, 1);
  world.run();
  EXPECT_EQ(world.decisions(), (std::vector<Time>{{0}, {7'000}, {100'000}}));
  EXPECT_EQ(world.lines_with("skipped"), Lines{"100s skipped"});
}

// An event that is reported at 2 s, after an instant of 5 s, counts as just after 5 s.
TEST(Engine, InstantsNeverDecreaseWhateverTheWorldSays) {
  ScriptedWorld world;
  world.arrive(5, 1);
  world.arrive(6, 1);
  world.at(6).now = Time{2'000};
  world.run();
  EXPECT_EQ(world.lines(),
            (Lines{"5s arrived j0", "5s place j0 n0:1", "5s -> place j0#1", "5.001s arrived j1",
                   "5.001s place j1 n0:2", "5.001s -> place j1#1"}));
}

TEST(Engine, AUserWhoComesLaterMaySubmitAtOnce) {
  ScriptedWorld world;
  world.at(5).users.push_back({.user = UserId(1), .name = "bob", .tickets = 2});
  world.at(5).users.push_back({.user = UserId(1), .name = "bob", .tickets = 2});
  world.arrive(5, 1, UserId(1));
  world.arrive(6, 1, UserId(2));  // an unknown user
  world.run();
  EXPECT_EQ(world.lines_at(5), (Lines{"user bob", "arrived j0", "place j0 n0:1", "-> place j0#1"}));
  EXPECT_EQ(world.lines_at(6), Lines{"ignored: arrived j1#0"});
}

TEST(Engine, AUserMayComeWithItsGroupAndNoGangIsLargerThanItsQuota) {
  ScriptedWorld world;
  world.at(5).groups = {{.group = GroupId(0), .name = "vision", .tickets = 3, .quota = 1},
                        {.group = GroupId(5), .name = "far", .tickets = 3}};
  world.at(5).users = {{.user = UserId(1), .name = "bob", .group = GroupId(0)},
                       {.user = UserId(2), .name = "eve", .group = GroupId(1)}};
  world.arrive(5, 1, UserId(1));
  world.arrive(6, 2, UserId(1));
  world.run();
  EXPECT_EQ(world.lines_at(5),
            (Lines{"group vision", "user bob", "arrived j0", "place j0 n0:1", "-> place j0#1"}));
  EXPECT_EQ(world.lines_at(6), Lines{"rejected j1: larger than the quota of its user's group"});
  const Users& users = world.tables().users;
  EXPECT_EQ(users.groups.tickets[GroupId(0)], 3);
  EXPECT_EQ(users.group_of(UserId(1)), GroupId(0));
  EXPECT_EQ(users.quota_of(UserId(1)), 1);
  EXPECT_TRUE(users.group_of(UserId(0)).is_none());
}

TEST(Engine, ANodeThatJoinsIsUsedAtOnceOneThatCannotJoinIsNot) {
  ScriptedWorld world;
  const Cluster::NodeRow row{
      .name = "new", .type = GpuTypeId(0), .host = HostId(2), .rack = RackId(0), .gpus = 4};
  Cluster::NodeRow unknown = row;
  unknown.type = GpuTypeId(1);
  world.at(4).nodes.push_back({NodeId(2), unknown});
  world.at(5).nodes.push_back({NodeId(2), row});
  world.arrive(5, 12);
  world.run();
  EXPECT_EQ(world.lines_at(4), Lines{});
  EXPECT_EQ(world.lines_at(5),
            (Lines{"node new", "arrived j0", "place j0 n0:f n1:f n2:f", "-> place j0#1"}));
}

TEST(Engine, ANodeThatJoinsTakesAJobThatWaits) {
  ScriptedWorld world;
  world.arrive(0, 8);
  world.arrive(1, 4);
  world.at(5).nodes.push_back(
      {NodeId(2),
       {.name = "new", .type = GpuTypeId(0), .host = HostId(2), .rack = RackId(0), .gpus = 4}});
  world.run();
  EXPECT_EQ(world.lines_at(5), (Lines{"node new", "place j1 n2:f", "-> place j1#1"}));
}

TEST(Engine, AJobMayTakeAnyRowAndComesOnce) {
  ScriptedWorld world;
  world.at(5).jobs = {{.job = JobId(9), .user = UserId(0)}, {.job = JobId(9), .user = UserId(0)}};
  world.tell(5, job_event(EventKind::kArrived, 9));
  world.tell(5, job_event(EventKind::kArrived, 9));
  world.run();
  EXPECT_EQ(world.lines_at(5),
            (Lines{"arrived j9", "ignored: arrived j9#0", "place j9 n0:1", "-> place j9#1"}));
}

}  // namespace
}  // namespace fairlead
