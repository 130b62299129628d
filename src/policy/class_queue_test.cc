#include "policy/class_queue.h"

#include "base/rng.h"

#include <gtest/gtest.h>

#include <set>

namespace fairlead {
namespace {

OrderKey key(std::int64_t major, std::size_t job) { return {.major = major, .job = JobId(job)}; }

TEST(ClassQueue, FirstOpenIsTheEarliestHeadOfAllClasses) {
  ClassQueue queue;
  queue.add(0, 4, 1, key(20, 0));
  queue.add(0, 1, 1, key(10, 1));
  queue.add(0, 1, 1, key(5, 2));
  EXPECT_EQ(queue.gpus(), 6);
  EXPECT_EQ(queue.first_open()->head().job, JobId(2));
  queue.pop(*queue.first_open());
  EXPECT_EQ(queue.first_open()->head().job, JobId(1));
}

TEST(ClassQueue, ABlockedClassIsLeftOutUntilTheNextPass) {
  ClassQueue queue;
  queue.add(0, 1, 1, key(5, 0));
  queue.add(0, 4, 1, key(20, 1));
  queue.first_open()->block();
  EXPECT_EQ(queue.first_open()->head().job, JobId(1));
  queue.first_open()->block();
  EXPECT_EQ(queue.first_open(), nullptr);
  queue.unblock();
  EXPECT_EQ(queue.first_open()->head().job, JobId(0));
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
                static_cast<std::uint32_t>(1 + rng.below(3)), 1, added);
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
        queue.save(writer);
        Reader reader(writer.bytes());
        queue.load(reader);
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
