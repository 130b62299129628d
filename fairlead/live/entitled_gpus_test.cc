#include "fairlead/live/entitled_gpus.h"

#include "testing/scripted_world.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

// Two nodes of 4 GPUs; user 0 has a ticket, user 1 has 3.
struct TwoUsers : ScriptedWorld {
  TwoUsers() { at(0).users = {{.user = UserId(1), .name = "b", .tickets = 3}}; }
};

std::vector<double> entitled(ScriptedWorld& world) {
  world.run();
  const IdVector<UserId, double> gpus = entitled_gpus(world.tables());
  return {gpus.begin(), gpus.end()};
}

TEST(EntitledGpus, AreInProportionToTickets) {
  TwoUsers world;
  world.arrive(0, 8);
  world.arrive(0, 8, UserId(1));
  EXPECT_EQ(entitled(world), (std::vector<double>{2, 6}));
}

TEST(EntitledGpus, AreAtMostWhatAUserAsksFor) {
  TwoUsers world;
  world.arrive(0, 8);
  world.arrive(0, 1, UserId(1));
  EXPECT_EQ(entitled(world), (std::vector<double>{7, 1}));
}

TEST(EntitledGpus, AreOfThoseThatAreUp) {
  TwoUsers world;
  world.arrive(0, 4);
  world.arrive(0, 4, UserId(1));
  world.tell(1, node_event(EventKind::kGpusDown, 1));
  EXPECT_EQ(entitled(world), (std::vector<double>{1, 3}));
}

TEST(EntitledGpus, AreNoneForJobsThatAreHeldOrOver) {
  TwoUsers world;
  world.arrive(0, 4);
  world.arrive(0, 8, UserId(1));
  world.tell(1, job_event(EventKind::kHeld, 0));
  EXPECT_EQ(entitled(world), (std::vector<double>{0, 8}));
}

TEST(EntitledGpus, AreSharedByTheUsersOfAGroupUpToItsQuota) {
  ScriptedWorld world;
  world.at(0).groups = {{.group = GroupId(0), .name = "g", .tickets = 9, .quota = 2}};
  world.at(0).users = {{.user = UserId(1), .name = "b", .tickets = 1, .group = GroupId(0)},
                       {.user = UserId(2), .name = "c", .tickets = 1, .group = GroupId(0)}};
  world.arrive(0, 8);
  for (std::size_t user : {1U, 1U, 2U, 2U}) world.arrive(0, 1, UserId(user));
  EXPECT_EQ(entitled(world), (std::vector<double>{6, 1, 1}));
}

}  // namespace
}  // namespace fairlead
