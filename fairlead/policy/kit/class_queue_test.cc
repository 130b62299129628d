#include "fairlead/policy/kit/class_queue.h"

#include "fairlead/base/rng.h"

#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <vector>

namespace fairlead {
namespace {

OrderKey key(std::int64_t major, std::size_t job) { return {.major = major, .job = JobId(job)}; }

TEST(ClassQueue, FirstOpenIsTheEarliestHeadOfAllClasses) {
  ClassQueue queue;
  queue.add(0, {4}, 1, key(20, 0));
  queue.add(0, {1}, 1, key(10, 1));
  queue.add(0, {1}, 1, key(5, 2));
  EXPECT_EQ(queue.gpus(), 6);
  EXPECT_EQ(queue.first_open()->head().job, JobId(2));
  queue.pop(*queue.first_open());
  EXPECT_EQ(queue.first_open()->head().job, JobId(1));
}

TEST(ClassQueue, ABlockedClassIsLeftOutUntilTheNextPass) {
  ClassQueue queue;
  queue.add(0, {1}, 1, key(5, 0));
  queue.add(0, {4}, 1, key(20, 1));
  queue.first_open()->block();
  EXPECT_EQ(queue.first_open()->head().job, JobId(1));
  queue.first_open()->block();
  EXPECT_EQ(queue.first_open(), nullptr);
  queue.unblock();
  EXPECT_EQ(queue.first_open()->head().job, JobId(0));
}

TEST(ClassQueue, TasksOfOtherSizesAreAnotherClass) {
  ClassQueue queue;
  queue.add(0, {8, 4}, 1, key(5, 0));
  queue.add(0, {8, 1}, 1, key(10, 1));
  queue.add(0, {8, 4}, 1, key(15, 2));
  EXPECT_EQ(queue.first_open()->task_gpus(), 4U);
  queue.first_open()->block();
  EXPECT_EQ(queue.first_open()->head().job, JobId(1));
  Writer writer;
  save(queue, writer);
  Reader reader(writer.bytes());
  load(queue, reader);
  EXPECT_EQ(queue.first_open()->task_gpus(), 1U) << "the other is blocked still";
  queue.unblock();
  EXPECT_EQ(queue.first_open()->head().job, JobId(0));
  EXPECT_EQ(queue.first_open()->task_gpus(), 4U);
}

// Passes over a queue that changes meanwhile, compared with a look at every class.
TEST(ClassQueue, FirstOpenKeepsUpWithWhatIsAddedTakenAndBlocked) {
  constexpr std::uint32_t kSizes = 6;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    ClassQueue queue;
    std::vector<std::set<OrderKey>> plain(kSizes);
    std::vector<bool> blocked(kSizes);
    for (std::size_t job = 0; job < 300; ++job) {
      const auto size = static_cast<std::uint32_t>(rng.below(kSizes));
      const OrderKey added = key(static_cast<std::int64_t>(rng.below(100)), job);
      const std::uint64_t what = rng.below(6);
      if (what < 2) {
        queue.add(0, {size + 1}, 1, added);
        plain[size].insert(added);
      } else if (what == 2 && !plain[size].empty()) {
        queue.erase(plain[size].rbegin()->job);
        plain[size].erase(std::prev(plain[size].end()));
      } else if (what == 3 && rng.below(4) == 0) {
        queue.unblock();
        blocked.assign(kSizes, false);
      }
      const OrderKey* expected = nullptr;
      for (std::uint32_t each = 0; each < kSizes; ++each) {
        if (blocked[each] || plain[each].empty()) continue;
        const OrderKey& head = *plain[each].begin();
        if (expected == nullptr || head < *expected) expected = &head;
      }
      ClassQueue::Class* const first = queue.first_open();
      ASSERT_EQ(first == nullptr, expected == nullptr);
      if (first == nullptr) continue;
      ASSERT_EQ(first->head(), *expected);
      const std::uint32_t taken = first->gpus() - 1;
      if (what == 4) {
        first->block();
        blocked[taken] = true;
      } else if (what == 5) {
        queue.pop(*first);
        plain[taken].erase(plain[taken].begin());
      }
    }
  }
}

// Random adds, erases and pops, compared with a sorted set; saved and loaded on the way.
TEST(ClassQueue, AgreesWithASortedSet) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    ClassQueue queue;
    std::set<OrderKey> plain;
    for (std::size_t job = 0; job < 200; ++job) {
      const OrderKey added{.major = static_cast<std::int64_t>(rng.below(50)),
                           .label = static_cast<std::int64_t>(rng.below(3)),
                           .job = JobId(job)};
      queue.add(static_cast<std::uint32_t>(rng.below(2)),
                {.gpus = static_cast<std::uint32_t>(2 * (1 + rng.below(3))),
                 .task_gpus = static_cast<std::uint32_t>(1 + rng.below(2))},
                1, added);
      plain.insert(added);
      if (rng.below(3) == 0) {
        ClassQueue::Class& first = *queue.first_open();
        ASSERT_EQ(queue.pop(first), *plain.begin());
        plain.erase(plain.begin());
      }
      if (rng.below(3) == 0) {
        const JobId erased(rng.below(job + 1));
        queue.erase(erased);
        std::erase_if(plain, [&](const OrderKey& each) { return each.job == erased; });
      }
      if (rng.below(20) == 0) {
        Writer writer;
        save(queue, writer);
        Reader reader(writer.bytes());
        load(queue, reader);
        ASSERT_TRUE(reader.ok() && reader.left() == 0);
      }
      ASSERT_EQ(queue.size(), plain.size());
    }
    while (!queue.empty()) {
      ASSERT_EQ(queue.pop(*queue.first_open()), *plain.begin());
      plain.erase(plain.begin());
    }
    EXPECT_TRUE(plain.empty());
    EXPECT_EQ(queue.gpus(), 0);
  }
}

}  // namespace
}  // namespace fairlead
