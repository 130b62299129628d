#include "fairlead/policy/gandiva/turns.h"

#include "fairlead/base/rng.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

using Jobs = std::vector<JobId>;

Jobs visited(TurnOrder& turns) {
  Jobs jobs;
  turns.visit_waiting([](std::size_t) { return true; }, [&](JobId job) { jobs.push_back(job); });
  return jobs;
}

TEST(TurnOrder, ThoseWhoWaitedGoAheadOfThoseWhoRan) {
  TurnOrder turns;
  turns.reserve(1, 4);
  for (JobId job : ids<JobId>(4)) turns.add(job);
  turns.wait(JobId(1), 0);
  turns.wait(JobId(3), 0);
  turns.end_turn(Jobs{JobId(0), JobId(2)});
  Jobs all = {JobId(0), JobId(1), JobId(2), JobId(3)};
  turns.sort(all);
  EXPECT_EQ(all, (Jobs{JobId(1), JobId(3), JobId(0), JobId(2)}));
}

TEST(TurnOrder, AClosedQueueIsLeftOutFromThenOn) {
  TurnOrder turns;
  turns.reserve(2, 4);
  for (JobId job : ids<JobId>(4)) {
    turns.add(job);
    turns.wait(job, job.row() % 2);
  }
  Jobs jobs;
  turns.visit_waiting([&](std::size_t queue) { return queue == 1 || jobs.empty(); },
                      [&](JobId job) { jobs.push_back(job); });
  EXPECT_EQ(jobs, (Jobs{JobId(0), JobId(1), JobId(3)}));
}

TEST(TurnOrder, AVisitMayMoveItsJobToAnotherQueue) {
  TurnOrder turns;
  turns.reserve(2, 4);
  for (JobId job : ids<JobId>(4)) {
    turns.add(job);
    turns.wait(job, job.row() % 2);
  }
  Jobs jobs;
  turns.visit_waiting([](std::size_t) { return true; },
                      [&](JobId job) {
                        jobs.push_back(job);
                        turns.end_wait(job);
                        if (job == JobId(1)) turns.wait(job, 0);
                      });
  EXPECT_EQ(jobs, (Jobs{JobId(0), JobId(1), JobId(2), JobId(3)}));
  EXPECT_EQ(turns.waiting(), 1U);
  EXPECT_EQ(turns.queue(0).front(), JobId(1));
}

// Jobs come, go, wait, run and see turns end at random, compared with a plain list that is stably
// partitioned. Now and then all of it is saved and loaded.
TEST(TurnOrder, IsAStablePartitionAtTheEndOfEachTurn) {
  constexpr std::size_t kQueues = 3;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    TurnOrder turns;
    turns.reserve(kQueues, 0);
    Jobs plain;
    std::size_t jobs = 0;
    for (int round = 0; round < 200; ++round) {
      const JobId some = plain.empty() ? JobId() : plain[rng.below(plain.size())];
      const std::uint64_t what = rng.below(8);
      if (plain.empty() || what == 0) {
        turns.reserve(0, ++jobs);
        turns.add(JobId(jobs - 1));
        plain.push_back(JobId(jobs - 1));
      } else if (what == 1) {
        turns.remove(some);
        std::erase(plain, some);
      } else if (what == 2) {
        Jobs running;
        std::ranges::copy_if(plain, std::back_inserter(running),
                             [&](JobId job) { return !turns.waits(job); });
        turns.end_turn(running);
        std::stable_partition(plain.begin(), plain.end(),
                              [&](JobId job) { return turns.waits(job); });
      } else if (what == 3) {
        Writer writer;
        save(turns, writer);
        Reader reader(writer.bytes());
        load(turns, reader);
        ASSERT_TRUE(reader.ok() && reader.left() == 0);
      } else if (turns.waits(some)) {
        turns.end_wait(some);
      } else {
        turns.wait(some, rng.below(kQueues));
      }
      Jobs sorted = plain;
      std::ranges::sort(sorted);
      turns.sort(sorted);
      ASSERT_EQ(sorted, plain);
      Jobs waiting;
      std::ranges::copy_if(plain, std::back_inserter(waiting),
                           [&](JobId job) { return turns.waits(job); });
      ASSERT_EQ(visited(turns), waiting);
    }
  }
}

}  // namespace
}  // namespace fairlead
