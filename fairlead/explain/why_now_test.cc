// The causes of waits of present jobs, from the tables of a running engine. Two nodes of 4 GPUs.

#include "fairlead/explain/why_now.h"

#include "fairlead/model/step.h"
#include "testing/scripted_world.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

constexpr JobId kLast(2);

std::string cause_of(const ScriptedWorld& world, JobId job, const PlacementTraits& traits = {},
                     const PresentWaits& waits = {}) {
  const WhyNow::Answer answer =
      WhyNow(world.tables(), waits, &traits, world.tables().now).cause(job);
  const std::string name(why_cause_info(answer.cause).name);
  return answer.other.is_none() ? name : fmt::format("{} j{}", name, answer.other.row());
}

TEST(WhyNow, JobsThatCameFirstHaveTheGpus) {
  ScriptedWorld world;
  world.arrive(0, 8);
  world.arrive(1, 4);
  world.run();
  EXPECT_EQ(cause_of(world, JobId(1)), "full");
}

TEST(WhyNow, ALaterJobWentFirst) {
  ScriptedWorld world;
  world.arrive(0, 8);
  world.arrive(1, 8);
  world.arrive(2, 8);
  world.also_decide = [](const View& view, Plan& plan) {
    if (view.now != Time{2'000}) return;
    plan.stop(JobId(0), StopCause::kTurn);
    for (const NodeId node : {NodeId(0), NodeId(1)}) plan.take(node, 4);
    plan.place(kLast);
  };
  world.run();
  EXPECT_EQ(cause_of(world, JobId(0)), "passed");
}

// Scripted FIFO stops at the first job that does not fit.
struct Blocked {
  Blocked() {
    world.arrive(0, 6);
    world.arrive(1, 4);
    world.arrive(2, 1);
    world.also_decide = [](const View& view, Plan& plan) {
      if (view.now == Time{2'000} && plan.has_gang(kLast)) plan.stop(kLast, StopCause::kPolicy);
    };
    world.run();
  }
  ScriptedWorld world;
};

TEST(WhyNow, AJobThatFitsWaitsForOneThatDoesNot) {
  const Blocked blocked;
  EXPECT_EQ(cause_of(blocked.world, JobId(1)), "full");
  EXPECT_EQ(cause_of(blocked.world, kLast), "kept j1");
}

TEST(WhyNow, AJobThatFitsWaitsForTheNextRoundOfAPolicyWithRounds) {
  const Blocked blocked;
  EXPECT_EQ(cause_of(blocked.world, kLast, {.round = seconds(60)}), "round");
}

TEST(WhyNow, GpusAreTooScatteredForThePlacementOfThePolicy) {
  ScriptedWorld world;
  world.arrive(0, 1);
  world.arrive(0, 4);
  world.arrive(1, 3);
  world.also_decide = [](const View& view, Plan& plan) {
    if (view.now != Time{1'000} || !plan.has_gang(kLast)) return;
    plan.stop(kLast, StopCause::kPolicy);
    plan.stop(JobId(1), StopCause::kMove);
    plan.take(NodeId(0), 2);
    plan.take(NodeId(1), 2);
    plan.place(JobId(1));
  };
  world.run();
  EXPECT_EQ(cause_of(world, kLast, {.placement = Placement::kConsolidate}), "scattered");
  EXPECT_EQ(cause_of(world, kLast), "unexplained");
}

TEST(WhyNow, ItsUserHoldsItOrItsStartIsTriedAgain) {
  ScriptedWorld world;
  world.arrive(0, 1);
  world.tell(1, job_event(EventKind::kHeld, 0));
  world.run();
  EXPECT_EQ(cause_of(world, JobId(0)), "held");
}

TEST(WhyNow, TheGpusAreDown) {
  ScriptedWorld world;
  world.tell(0, node_event(EventKind::kGpusDown, 0));
  world.arrive(1, 8);
  world.run();
  EXPECT_EQ(cause_of(world, JobId(0)), "down");
}

TEST(WhyNow, ItsUserIsAheadOfItsShareByThePolicysNotes) {
  ScriptedWorld world;
  world.at(0).users.push_back({.user = UserId(1), .name = "bob", .tickets = 1});
  world.arrive(0, 8, UserId(1));
  world.arrive(1, 4);
  world.run();
  PresentWaits waits;
  waits.on({{0}, Note(note::Debt{UserId(0), {-1}})});
  EXPECT_EQ(cause_of(world, JobId(1), {}, waits), "share");
  waits.on({{0}, Note(note::Debt{UserId(0), {1}})});
  EXPECT_EQ(cause_of(world, JobId(1), {}, waits), "full");
}

TEST(PresentWaits, KeepsTheStartOfAWaitTheStopAndTheNotesOfAJobUntilItEnds) {
  PresentWaits waits;
  const JobId job(3);
  EXPECT_EQ(waits.find(job), nullptr);
  waits.on({{1'000}, record::Stop{.job = job, .cause = StopCause::kTurn}});
  waits.on({{1'000}, Note(note::NodeTimer{job, seconds(5)})});
  waits.on({{2'000}, record::Held{job}});
  ASSERT_NE(waits.find(job), nullptr);
  EXPECT_EQ(waits.find(job)->since, Time{1'000});
  EXPECT_EQ(waits.find(job)->stop, StopCause::kTurn);
  EXPECT_EQ(waits.find(job)->timer, Time{6'000});
  EXPECT_EQ(waits.find(job)->notes.size(), 1U);
  waits.on({{3'000}, record::Finished{job}});
  EXPECT_EQ(waits.find(job), nullptr);
}

TEST(PresentWaits, AReleaseEndsTheStopByItsUser) {
  PresentWaits waits;
  waits.on({{1}, record::Stop{.job = kLast, .cause = StopCause::kHeld}});
  EXPECT_TRUE(waits.find(kLast)->stop.has_value());
  waits.on({{2}, record::Released{kLast}});
  EXPECT_FALSE(waits.find(kLast)->stop.has_value());
}

TEST(PresentWaits, ATimerEndsWithItsWait) {
  PresentWaits waits;
  waits.on({{1}, Note{note::NodeTimer{kLast, seconds(900)}}});
  EXPECT_EQ(waits.find(kLast)->timer, Time{900'001});
  EXPECT_FALSE(waits.find(kLast)->since.has_value()) << "the wait began before the first record";
  waits.on({{2}, record::Stop{.job = kLast, .cause = StopCause::kTurn}});
  EXPECT_EQ(waits.find(kLast)->timer, Time{});
}

}  // namespace
}  // namespace fairlead
