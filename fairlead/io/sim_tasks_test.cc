#include "fairlead/io/sim_tasks.h"

#include <gtest/gtest.h>

#include <csignal>

namespace fairlead {
namespace {

TaskSpec spec(std::size_t job, RunId run, std::vector<std::string> command) {
  return {.id = {JobId(job), run}, .command = std::move(command), .gpus = {0}};
}

// Tasks, and a clock that the test sets.
struct Machine {
  void pass(Duration time) {
    now = now + time;
    tasks.advance(now, ended);
  }
  TaskStatus status(TaskId id) const {
    for (const TaskStatus& status : tasks.statuses()) {
      if (status.id == id) return status;
    }
    return {};
  }
  SimTasks tasks{1};
  Time now;
  std::vector<TaskId> ended;
};

constexpr TaskId kFirst{JobId(0), 1};
constexpr TaskId kSecond{JobId(0), 2};

TEST(SimTasks, ATaskEndsAfterItsWorkWithItsCode) {
  Machine machine;
  ASSERT_TRUE(machine.tasks.start({}, spec(0, 1, {"work", "5000", "exit=3"})));
  machine.pass(milliseconds(4999));
  EXPECT_TRUE(machine.ended.empty());
  machine.pass(milliseconds(1));
  EXPECT_EQ(machine.ended, std::vector{kFirst});
  EXPECT_EQ(machine.status(kFirst).end, (TaskEnd{.code = 3}));
  EXPECT_TRUE(machine.tasks.has_failed(JobId(0)));
}

TEST(SimTasks, OneThatMayBeRetriedFailsOnlySoOften) {
  Machine machine;
  const std::vector<std::string> command = {"work", "5000", "exit=3", "times=1", "retries=1"};
  EXPECT_EQ(
      SimWork::of(command).command(),
      (std::vector<std::string>{"work", "5000", "every=10000", "exit=3", "times=1", "retries=1"}));
  ASSERT_TRUE(machine.tasks.start({}, spec(0, 1, command)));
  machine.pass(seconds(5));
  EXPECT_EQ(machine.status(kFirst).end, (TaskEnd{.code = 3}));
  EXPECT_FALSE(machine.tasks.has_failed(JobId(0)));
  ASSERT_TRUE(machine.tasks.start(machine.now, spec(0, 2, command)));
  machine.pass(seconds(5));
  EXPECT_EQ(machine.status(kSecond).end, TaskEnd());
  EXPECT_TRUE(machine.tasks.is_done(JobId(0)));
  EXPECT_TRUE(machine.tasks.problems().empty());
  static_cast<void>(machine.tasks.start(machine.now, spec(0, 3, command)));
  EXPECT_EQ(machine.tasks.problems().size(), 1U);
}

TEST(SimTasks, WhileItIsFrozenItDoesNotWork) {
  Machine machine;
  ASSERT_TRUE(machine.tasks.start({}, spec(0, 1, {"work", "5000"})));
  machine.pass(seconds(2));
  machine.tasks.freeze(machine.now, kFirst);
  machine.tasks.freeze(machine.now, kFirst);
  machine.pass(hours(1));
  EXPECT_EQ(machine.status(kFirst).state, TaskStatus::State::kFrozen);
  machine.tasks.thaw(machine.now, kFirst);
  machine.pass(milliseconds(2999));
  EXPECT_TRUE(machine.ended.empty());
  machine.pass(milliseconds(1));
  EXPECT_EQ(machine.ended.size(), 1U);
}

TEST(SimTasks, ABrittleOneMayDieOfIt) {
  std::size_t died = 0;
  Machine machine;
  for (std::size_t job = 0; job < 20; ++job) {
    ASSERT_TRUE(machine.tasks.start(machine.now, spec(job, 1, {"work", "5000", "brittle"})));
    machine.tasks.freeze(machine.now, {JobId(job), 1});
    machine.pass(hours(1));
    died += machine.status({JobId(job), 1}).end.signal == SIGKILL ? 1U : 0U;
  }
  EXPECT_GT(died, 3U);
  EXPECT_LT(died, 17U);
}

TEST(SimTasks, AskedToEndItWritesACheckpointAndTheNextGoesOn) {
  Machine machine;
  const std::vector<std::string> command = {"work", "5000", "term=checkpoint:500"};
  ASSERT_TRUE(machine.tasks.start({}, spec(0, 1, command)));
  machine.pass(seconds(2));
  machine.tasks.freeze(machine.now, kFirst);
  machine.tasks.interrupt(machine.now, kFirst);
  machine.pass(milliseconds(500));
  EXPECT_EQ(machine.status(kFirst).end, (TaskEnd{.signal = SIGTERM, .was_asked = true}));
  EXPECT_FALSE(machine.tasks.is_done(JobId(0)));
  ASSERT_TRUE(machine.tasks.start(machine.now, spec(0, 2, command)));
  machine.pass(milliseconds(2500));
  EXPECT_EQ(machine.status(kSecond).end, TaskEnd());
  EXPECT_TRUE(machine.tasks.problems().empty());
}

TEST(SimTasks, OneThatIgnoresItIsKilledAndHasItsLastCheckpoint) {
  Machine machine;
  const std::vector<std::string> command = {"work", "5000", "term=ignore", "every=2000"};
  ASSERT_TRUE(machine.tasks.start({}, spec(0, 1, command)));
  machine.pass(seconds(1));
  machine.tasks.interrupt(machine.now, kFirst);
  machine.pass(seconds(2));
  EXPECT_TRUE(machine.ended.empty());
  machine.tasks.kill(machine.now, kFirst);
  machine.pass(seconds(60));
  EXPECT_EQ(machine.status(kFirst).end, (TaskEnd{.signal = SIGKILL, .was_asked = true}));
  ASSERT_TRUE(machine.tasks.start(machine.now, spec(0, 2, command)));
  EXPECT_EQ(machine.tasks.progress(machine.now, kSecond), "2000 5000");
  machine.pass(seconds(3));
  EXPECT_TRUE(machine.tasks.is_done(JobId(0)));
}

TEST(SimTasks, OneThatHangsEndsOnlyIfItIsKilled) {
  Machine machine;
  ASSERT_TRUE(machine.tasks.start({}, spec(0, 1, {"work", "10", "hang", "term=ignore"})));
  machine.pass(hours(100));
  machine.tasks.interrupt(machine.now, kFirst);
  machine.pass(hours(100));
  EXPECT_TRUE(machine.ended.empty());
  machine.tasks.kill(machine.now, kFirst);
  machine.pass(seconds(60));
  EXPECT_EQ(machine.ended.size(), 1U);
}

TEST(SimTasks, TheFirstStartsOfAJobMayFailAndLeaveNothing) {
  Machine machine;
  EXPECT_FALSE(machine.tasks.start({}, spec(0, 1, {"work", "10", "nostart=1"})));
  EXPECT_TRUE(machine.tasks.statuses().empty());
  EXPECT_TRUE(machine.tasks.has_failed(JobId(0)));
  EXPECT_TRUE(machine.tasks.start({}, spec(0, 2, {"work", "10", "nostart=1"})));
}

TEST(SimTasks, ALossOfPowerEndsAllAndTheirEndsAreNotKnown) {
  Machine machine;
  ASSERT_TRUE(machine.tasks.start({}, spec(0, 1, {"work", "5000"})));
  machine.tasks.lose_power(machine.now);
  EXPECT_FALSE(machine.status(kFirst).end.is_known);
  EXPECT_EQ(machine.tasks.next(), Time::never());
}

TEST(SimTasks, WhatADaemonMustNeverDoIsAProblem) {
  Machine machine;
  ASSERT_TRUE(machine.tasks.start({}, spec(0, 1, {"work", "5000"})));
  EXPECT_FALSE(machine.tasks.start({}, spec(0, 1, {"work", "5000"})));
  EXPECT_EQ(machine.tasks.problems().back(), "job 0 run 1 is started twice");
  ASSERT_TRUE(machine.tasks.start({}, spec(0, 2, {"work", "5000"})));
  EXPECT_EQ(machine.tasks.problems().back(), "job 0 run 2 is started while run 1 is alive");
  machine.tasks.forget(kFirst);
  EXPECT_EQ(machine.tasks.problems().back(), "job 0 run 1 is forgotten, but alive");
}

TEST(SimWork, IsWrittenAsItIsRead) {
  const std::vector<std::string> command = {
      "work", "70",      "every=9",   "exit=2",  "term=checkpoint:4",
      "hang", "brittle", "nostart=3", "broken=7"};
  EXPECT_EQ(SimWork::of(command).command(), command);
  EXPECT_EQ(SimWork::of({"sleep"}).work, seconds(1));
}

}  // namespace
}  // namespace fairlead
