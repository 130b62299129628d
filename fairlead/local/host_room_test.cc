#include "fairlead/local/host_room.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

constexpr JobId kA(1), kB(2), kC(3);

TEST(HostRoom, JobsFitIfTheirStatementsDo) {
  HostRoom room(100);
  room.add(kA, 60);
  room.add(kB, 40);
  room.add(kC, 41);
  EXPECT_TRUE(room.fits(kC));
  room.come(kA);
  EXPECT_TRUE(room.fits(kA)) << "a job is not in its own way";
  EXPECT_TRUE(room.fits(kB));
  EXPECT_FALSE(room.fits(kC));
  room.leave(kA);
  EXPECT_TRUE(room.fits(kC));
}

TEST(HostRoom, AJobCountsUntilItsProcessesHaveEnded) {
  HostRoom room(100);
  room.add(kA, 60);
  room.add(kB, 60);
  room.come(kA);
  room.come(kA);  // again, by another daemon
  room.remove(kA);
  EXPECT_FALSE(room.fits(kB));
  room.leave(kA);
  EXPECT_TRUE(room.fits(kB));
  room.leave(kA);
  room.come(kB);
  room.add(kC, 41);
  EXPECT_FALSE(room.fits(kC));
}

TEST(HostRoom, AJobThatStatesNothingFitsAndDoesNotCount) {
  HostRoom room(100);
  room.add(kA, 0);
  room.add(kB, 100);
  room.come(kA);
  EXPECT_TRUE(room.fits(kB));
  room.come(kB);
  EXPECT_TRUE(room.fits(kA));
}

TEST(HostRoom, EverythingFitsIntoAMachineOfUnknownMemory) {
  HostRoom room(0);
  room.add(kA, 60);
  room.come(kA);
  room.add(kB, 4'000'000'000);
  EXPECT_TRUE(room.fits(kB));
}

}  // namespace
}  // namespace fairlead
