#include "fairlead/local/host_order.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

constexpr JobId kA(1), kB(2), kC(3), kD(4), kItself;
constexpr UserId kAnn(0), kBob(1);

HostJob job(JobId id, UserId user, std::int64_t cpus, Priority priority = Priority::kNormal) {
  return {.job = id, .user = user, .priority = priority, .needs = {1000 * cpus, 0}};
}

HostJob running(HostJob one) {
  one.runs = true;
  return one;
}

constexpr HostAmounts cpus(std::int64_t count, std::int64_t memory_mb = 100) {
  return {1000 * count, memory_mb};
}

using Blocks = std::map<JobId, HostBlock>;

TEST(HostOrder, JobsOfAUserStartInTheOrderOfTheirArrivals) {
  const auto blocked =
      host_order({job(kC, kAnn, 1), job(kA, kAnn, 1), job(kB, kAnn, 1)}, cpus(2), cpus(2));
  EXPECT_EQ(blocked, (Blocks{{kC, {.by = kItself}}}));
}

TEST(HostOrder, APriorityComesBeforeAnArrival) {
  const auto blocked =
      host_order({job(kA, kAnn, 1, Priority::kLow), job(kB, kAnn, 1)}, cpus(1), cpus(1));
  EXPECT_EQ(blocked, (Blocks{{kA, {.by = kItself}}}));
}

TEST(HostOrder, TheUserWithTheFewestProcessorsComesFirst) {
  const auto blocked =
      host_order({running(job(kA, kAnn, 2)), job(kB, kAnn, 1), job(kC, kBob, 1), job(kD, kBob, 1)},
                 cpus(2), cpus(4));
  EXPECT_EQ(blocked, (Blocks{{kB, {.by = kItself}}}));
}

TEST(HostOrder, NoJobPassesOneThatWaitsForOthersWithoutGpus) {
  const auto blocked =
      host_order({running(job(kA, kBob, 2)), job(kB, kAnn, 4), job(kC, kBob, 1), job(kD, kAnn, 1)},
                 cpus(2), cpus(4));
  EXPECT_EQ(blocked, (Blocks{{kB, {.by = kItself}}, {kC, {.by = kB}}, {kD, {.by = kB}}}));
}

TEST(HostOrder, OtherUsersPassOneThatWaitsForJobsWithGpus) {
  const auto blocked =
      host_order({job(kB, kAnn, 4), job(kC, kBob, 1), job(kD, kAnn, 1)}, cpus(3), cpus(3));
  EXPECT_EQ(blocked, (Blocks{{kB, {.by = kItself}}, {kD, {.by = kB}}}));
}

TEST(HostOrder, UrgentJobsComeBeforeThoseOfAllUsers) {
  const auto blocked =
      host_order({running(job(kA, kAnn, 1)), job(kB, kBob, 1), job(kC, kAnn, 2, Priority::kUrgent)},
                 cpus(1), cpus(2));
  EXPECT_EQ(blocked, (Blocks{{kB, {.by = kC}}, {kC, {.by = kItself}}}));
}

TEST(HostOrder, AJobNeedsItsMemoryToo) {
  HostJob large = job(kA, kAnn, 1);
  large.needs.memory_mb = 60;
  HostJob other = job(kB, kBob, 1);
  other.needs.memory_mb = 60;
  EXPECT_EQ(host_order({large, other}, cpus(8, 100), cpus(8, 100)),
            (Blocks{{kB, {.is_memory = true, .by = kItself}}}));
  EXPECT_EQ(host_order({job(kA, kAnn, 1)}, cpus(8, -10), cpus(8, -10)), Blocks())
      << "one that states none";
}

}  // namespace
}  // namespace fairlead
