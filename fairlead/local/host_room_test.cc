#include "fairlead/local/host_room.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

constexpr JobId kA(1), kB(2), kC(3);

struct TestedRoom {
  explicit TestedRoom(std::uint32_t memory_mb) : room(tables, {.memory_mb = memory_mb}) {}
  void add(JobId job, std::uint32_t memory_mb) { room.add(job, {.memory_mb = memory_mb}); }
  Tables tables{Cluster()};
  HostRoom room;
};

TEST(HostRoom, JobsFitIfTheirStatementsDo) {
  TestedRoom tested(100);
  HostRoom& room = tested.room;
  tested.add(kA, 60);
  tested.add(kB, 40);
  tested.add(kC, 41);
  EXPECT_TRUE(room.fits(kC));
  room.come(kA);
  EXPECT_TRUE(room.fits(kA)) << "a job is not in its own way";
  EXPECT_TRUE(room.fits(kB));
  EXPECT_FALSE(room.fits(kC));
  room.leave(kA);
  EXPECT_TRUE(room.fits(kC));
}

TEST(HostRoom, AJobCountsUntilItsProcessesHaveEnded) {
  TestedRoom tested(100);
  HostRoom& room = tested.room;
  tested.add(kA, 60);
  tested.add(kB, 60);
  room.come(kA);
  room.come(kA);  // again, by another daemon
  room.remove(kA);
  EXPECT_FALSE(room.fits(kB));
  room.leave(kA);
  EXPECT_TRUE(room.fits(kB));
  room.leave(kA);
  room.come(kB);
  tested.add(kC, 41);
  EXPECT_FALSE(room.fits(kC));
}

TEST(HostRoom, AJobThatStatesNothingFitsAndDoesNotCount) {
  TestedRoom tested(100);
  HostRoom& room = tested.room;
  tested.add(kA, 0);
  tested.add(kB, 100);
  room.come(kA);
  EXPECT_TRUE(room.fits(kB));
  room.come(kB);
  EXPECT_TRUE(room.fits(kA));
}

TEST(HostRoom, EverythingFitsIntoAMachineOfUnknownMemory) {
  TestedRoom tested(0);
  HostRoom& room = tested.room;
  tested.add(kA, 60);
  room.come(kA);
  tested.add(kB, 4'000'000'000);
  EXPECT_TRUE(room.fits(kB));
}

}  // namespace
}  // namespace fairlead
