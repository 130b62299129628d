#include "fairlead/policy/gandiva_fair/testing.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace fairlead {
namespace {

struct Rota : Town {
  Rota(std::string_view shorthand, const std::vector<std::int64_t>& tickets,
       TurnRule rule = TurnRule::kWeight, bool resident = false)
      : Town(shorthand, tickets),
        turns({.rule = rule, .resident = resident, .quantum = kQuantum}, homes, accounts) {}

  // Runs one quantum: chosen jobs have their GPUs until the next.
  void quantum() {
    homes.charge();
    update();
    turns.begin();
    turns.choose_spreads(view());
    for (const SpreadJob& spread : homes.spreads()) stop(spread.client);
    for (NodeId node : homes.nodes().contended()) {
      turns.choose(view(), node);
      for (const StrideClient& client : homes.nodes()[node].queue) stop(client);
    }
    for (JobId job : ids<JobId>(jobs.size())) {
      if (client(job).chosen) start(job);
    }
    wait(kQuantum);
  }
  void stop(const StrideClient& client) {
    if (!client.chosen && homes.of(client.job).runs) run(client.job, false);
  }
  void start(JobId job) {
    if (!homes.of(job).runs) run(job);
    if (jobs.last[job].empty()) has_run(job);
    ++turns_of[job];
  }
  void all_have_run() {
    for (JobId job : ids<JobId>(jobs.size())) has_run(job);
  }
  bool is_chosen(JobId job) const { return client(job).chosen; }

  Turns turns;
  std::map<JobId, int> turns_of;
};

// --- One node ---------------------------------------------------------------------------------

TEST(Turns, UsersAtOneToTwoTakeTurnsAtOneToTwo) {
  Rota rota("1xV100:4", {1, 2});
  const JobId of_ann = rota.keep(kAnn, 4, 0);
  const JobId of_ben = rota.keep(kBen, 4, 0);
  for (int i = 0; i < 30; ++i) rota.quantum();
  EXPECT_NEAR(rota.turns_of[of_ann], 10, 1);
  EXPECT_NEAR(rota.turns_of[of_ben], 20, 1);
  EXPECT_EQ(rota.turns_of[of_ann] + rota.turns_of[of_ben], 30);
}

TEST(Turns, AGangOfTheNodeHasItsTurnsBesideManySmallJobs) {
  Rota rota("1xV100:4", {1, 1});
  for (int i = 0; i < 8; ++i) rota.keep(kAnn, 1, 0);
  const JobId gang = rota.keep(kBen, 4, 0);
  for (int i = 0; i < 20; ++i) rota.quantum();
  EXPECT_NEAR(rota.turns_of[gang], 10, 1);
}

TEST(Turns, AUsersJobsHaveEqualTurns) {
  Rota rota("1xV100:4", {1, 1});
  for (int i = 0; i < 6; ++i) rota.keep(kAnn, 1, 0);
  for (int i = 0; i < 4; ++i) rota.keep(kBen, 1, 0);
  for (int i = 0; i < 30; ++i) rota.quantum();
  for (JobId job : ids<JobId>(6)) EXPECT_NEAR(rota.turns_of[job], 10, 1);
}

TEST(Turns, AWholeNodeIsPreferredToAHalfIdleOneWhereDebtsAreEqual) {
  // Three GPUs of one user, or the gang of another beside a GPU of a third.
  Rota rota("1xV100:4", {1, 1, 1});
  const JobId three = rota.keep(kAnn, 3, 0);
  const JobId two = rota.keep(kBen, 2, 0);
  const JobId other = rota.keep(kEve, 2, 0);
  rota.all_have_run();
  rota.update();
  rota.turns.begin();
  rota.turns.choose_spreads(rota.view());
  rota.turns.choose(rota.view(), NodeId(0));
  EXPECT_FALSE(rota.is_chosen(three)) << "one GPU would stand idle beside it";
  EXPECT_TRUE(rota.is_chosen(two));
  EXPECT_TRUE(rota.is_chosen(other));
}

TEST(Turns, NodesMakeUpForWhatAUserLostOnOthers) {
  // Ann shares one node with a user of many tickets, and another with Ben: she catches up there.
  Rota rota("2xV100:2", {2, 2, 2});
  const JobId first = rota.keep(kAnn, 2, 0);
  rota.keep(kEve, 2, 0);
  const JobId second = rota.keep(kAnn, 2, 1);
  rota.keep(kBen, 2, 1);
  for (int i = 0; i < 30; ++i) rota.quantum();
  // Entitled to 4/3 of the GPUs each, of 2: Ann's two jobs together get two thirds of a node.
  EXPECT_NEAR(rota.turns_of[first] + rota.turns_of[second], 20, 2);
}

TEST(Turns, ByStrideGoToTheSmallestPassThatFitsAndStrictlyToNoOtherThanTheNext) {
  const auto chosen = [](TurnRule rule) {
    Rota rota("1xV100:4", {1}, rule);
    const std::vector<std::uint32_t> gangs = {3, 2, 1};
    for (std::uint32_t gpus : gangs) rota.keep(kAnn, gpus, 0);
    for (StrideClient& client : rota.homes.queue(NodeId(0))) client.pass = client.job.row();
    rota.turns.begin();
    rota.turns.choose_spreads(rota.view());
    rota.turns.choose(rota.view(), NodeId(0));
    return std::vector<bool>{rota.is_chosen(JobId(0)), rota.is_chosen(JobId(1)),
                             rota.is_chosen(JobId(2))};
  };
  EXPECT_EQ(chosen(TurnRule::kStride), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(chosen(TurnRule::kStrict), (std::vector<bool>{true, false, false}));
}

// --- The centre -------------------------------------------------------------------------------

// A job of Ann's on both nodes, and one of Ben's on each.
struct Pair : Rota {
  explicit Pair(TurnRule rule = TurnRule::kWeight) : Rota("2xV100:2", {1, 1}, rule) {
    spread(kAnn, {{NodeId(0), 2}, {NodeId(1), 2}});
    for (std::size_t node = 0; node < 2; ++node) keep(kBen, 2, node);
    all_have_run();
  }
  bool spread_runs() const { return is_chosen(JobId(0)); }
};

TEST(Turns, AJobOfSeveralNodesRunsWhenItOutweighsWhatItsNodesLose) {
  Pair pair;
  // Due two GPUs each. The large job weighs 4 x (5 - 1)^3 = 256, the others 2 x (5 - 1/2)^3 = 182
  // each.
  pair.quantum();
  EXPECT_FALSE(pair.spread_runs());
  // Ann is a turn behind, Ben a turn ahead: 4 x 5^3 = 500 against 2 x 2 x (4 - 1/2)^3 = 171.
  pair.quantum();
  EXPECT_TRUE(pair.spread_runs());
  for (int i = 2; i < 20; ++i) pair.quantum();
  EXPECT_EQ(pair.turns_of[JobId(0)], 10);
  EXPECT_EQ(pair.turns_of[JobId(1)], 10) << "the rest of the time";
}

TEST(Turns, ByStrideAJobOfSeveralNodesRunsWhenItsPassIsNotAboveTheMeanOfAny) {
  Pair pair(TurnRule::kStride);
  for (int i = 0; i < 20; ++i) pair.quantum();
  EXPECT_NEAR(pair.turns_of[JobId(0)], 10, 1);
  EXPECT_NEAR(pair.turns_of[JobId(1)], 10, 1);
}

TEST(Turns, ANodeLosesNothingByAJobThatLeavesRoomForItsOwn) {
  // Node 1 has a GPU for the large job and three for its own.
  Rota rota("2xV100:4", {1, 9});
  const JobId large = rota.spread(kAnn, {{NodeId(0), 4}, {NodeId(1), 1}});
  const JobId beside = rota.keep(kBen, 3, 1);
  rota.keep(kBen, 1, 1);
  rota.all_have_run();
  rota.quantum();
  EXPECT_TRUE(rota.is_chosen(large));
  EXPECT_TRUE(rota.is_chosen(beside));
}

TEST(Turns, WhatAJobOfSeveralNodesLeavesOfANodeIsForItsOwnJobs) {
  Rota rota("2xV100:4", {9, 1});
  const JobId large = rota.spread(kAnn, {{NodeId(0), 4}, {NodeId(1), 1}});
  const JobId other = rota.keep(kBen, 4, 1);
  const JobId small = rota.keep(kBen, 3, 1);
  rota.all_have_run();
  rota.quantum();
  EXPECT_TRUE(rota.is_chosen(large));
  EXPECT_FALSE(rota.is_chosen(other));
  EXPECT_TRUE(rota.is_chosen(small));
}

TEST(Turns, OfTwoJobsThatShareANodeTheFirstClaimsIt) {
  for (TurnRule rule : {TurnRule::kWeight, TurnRule::kStride}) {
    Rota rota("3xV100:2", {1}, rule);
    const JobId first = rota.spread(kAnn, {{NodeId(0), 2}, {NodeId(1), 2}});
    const JobId second = rota.spread(kAnn, {{NodeId(1), 2}, {NodeId(2), 2}});
    rota.quantum();
    EXPECT_TRUE(rota.is_chosen(first));
    EXPECT_FALSE(rota.is_chosen(second));
  }
}

// --- Between quanta ---------------------------------------------------------------------------

TEST(Turns, BetweenQuantaGpusGoToTheSmallestPassThatFits) {
  Rota rota("1xV100:4", {1});
  const JobId runner = rota.keep(kAnn, 2, 0);
  const JobId late = rota.keep(kAnn, 2, 0);
  const JobId early = rota.keep(kAnn, 2, 0);
  const JobId large = rota.keep(kAnn, 4, 0);
  rota.run(runner);
  for (StrideClient& client : rota.homes.queue(NodeId(0))) {
    client.pass = client.job == late ? 2 : client.job == early ? 1 : 0;
  }
  EXPECT_EQ(rota.turns.next(rota.view(), NodeId(0), 2), early);
  EXPECT_EQ(rota.turns.next(rota.view(), NodeId(0), 4), large);
  EXPECT_TRUE(rota.turns.next(rota.view(), NodeId(0), 1).is_none());
}

// --- Resident jobs ----------------------------------------------------------------------------

// Three jobs of a GPU on a node of two, in this order; the first two had the same GPU.
struct Residents : Rota {
  explicit Residents(bool resident, const std::vector<UserId>& of = {kAnn, kAnn, kAnn})
      : Rota("1xV100:2", {1, 1}, TurnRule::kWeight, resident) {
    for (std::size_t i = 0; i < 3; ++i) {
      const JobId job = keep(of[i], 1, 0);
      has_run(job);
      jobs.gangs.gpu_masks(jobs.last[job])[0] = i < 2 ? 1 : 2;
    }
    for (StrideClient& client : homes.queue(NodeId(0))) client.pass = 0.1 * client.job.row();
  }
  std::vector<bool> chosen() {
    update();
    turns.begin();
    turns.choose_spreads(view());
    turns.choose(view(), NodeId(0));
    return {is_chosen(JobId(0)), is_chosen(JobId(1)), is_chosen(JobId(2))};
  }
};

TEST(Turns, ResidentJobsThatHadTheSameGpuDoNotRunTogetherWhereAnotherHasTheOther) {
  EXPECT_EQ(Residents(false).chosen(), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(Residents(true).chosen(), (std::vector<bool>{true, false, true}));
}

TEST(Turns, AResidentJobOfAUserTwoTurnsBehindTakesAnyGpu) {
  // Ben has the second job, and GPU 0, which Ann's first job needs too. Ann has both GPUs for long.
  Residents residents(true, {kAnn, kBen, kAnn});
  residents.update();
  for (JobId job : {JobId(0), JobId(2)}) residents.run(job);
  residents.wait(seconds(180));
  for (JobId job : {JobId(0), JobId(2)}) residents.run(job, false);
  EXPECT_TRUE(residents.chosen()[1]);
}

}  // namespace
}  // namespace fairlead
