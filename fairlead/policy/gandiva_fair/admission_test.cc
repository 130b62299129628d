#include "fairlead/policy/gandiva_fair/testing.h"

#include <gtest/gtest.h>

#include <vector>

namespace fairlead {
namespace {

struct Gate : Town {
  Gate(std::string_view shorthand, const std::vector<std::int64_t>& tickets,
       double jobs_per_gpu_max = 4)
      : Town(shorthand, tickets, jobs_per_gpu_max),
        admission({.jobs_per_gpu_max = jobs_per_gpu_max, .quantum = kQuantum}, accounts, homes,
                  choice) {
    admission.begin(view());
  }
  JobId arrive(UserId user, std::uint32_t gpus, TypeMask types = kAllTypes) {
    const JobId job = Town::arrive(user, gpus, types);
    admission.begin(view());
    return job;
  }
  JobId come(UserId user, std::uint32_t gpus, TypeMask types = kAllTypes) {
    const JobId job = arrive(user, gpus, types);
    admission.put_last(view(), job);
    return job;
  }
  void let_in() {
    accounts.update(now);
    admission.let_in(view(), plan);
  }
  void rotate() {
    accounts.update(now);
    admission.rotate(view(), plan, [this](JobId job, StopCause) {
      if (homes.of(job).runs) run(job, false);
      homes.move_out(view(), job);
      admission.put_last(view(), job);
      ++moved_out;
    });
  }
  // Sets the job's GPU time so far.
  void attain(JobId job, Duration gpu_time) { jobs.attained_settled[job] = {gpu_time.ms}; }
  bool is_in(JobId job) const { return homes.is_kept(job); }

  HomeChoice choice{homes, accounts};
  Admission admission;
  int moved_out = 0;
};

TEST(Admission, LetsAllInWhereThereIsRoom) {
  Gate gate("1xV100:4", {1});
  const JobId first = gate.come(kAnn, 1);
  const JobId second = gate.come(kAnn, 3);
  EXPECT_TRUE(gate.admission.has_jobs());
  gate.let_in();
  EXPECT_TRUE(gate.is_in(first));
  EXPECT_TRUE(gate.is_in(second));
  EXPECT_FALSE(gate.admission.has_jobs());
}

TEST(Admission, AUserHasAsManyInAsItIsEntitledTo) {
  // Ben, with twice the tickets, has twice as many jobs admitted.
  Gate gate("1xV100:3", {1, 2}, 1);
  for (int i = 0; i < 6; ++i) {
    gate.come(kAnn, 1);
    gate.come(kBen, 1);
  }
  gate.let_in();
  gate.admission.consider_all();
  gate.let_in();
  EXPECT_EQ(gate.accounts.due().kept().gpus(kAnn), 1) << "one per GPU of its entitlement of one";
  EXPECT_EQ(gate.accounts.due().kept().gpus(kBen), 2);
}

// --- Quotas -----------------------------------------------------------------------------------

// Ann and Ben in a group with a quota of two GPUs, on a node of four.
struct QuotaGate : Gate {
  QuotaGate() : Gate("1xV100:4", {1, 1, 1}) {
    group({kAnn, kBen}, 1, 2);
    accounts.begin(users, cluster);
  }
};

TEST(Admission, AGroupHasNoMoreInThanItsQuotaWhateverIsIdle) {
  QuotaGate gate;
  for (int i = 0; i < 3; ++i) gate.come(kAnn, 1);
  gate.come(kBen, 1);
  gate.let_in();
  EXPECT_EQ(gate.accounts.due().kept().gpus(kAnn) + gate.accounts.due().kept().gpus(kBen), 2);
  EXPECT_TRUE(gate.admission.has_jobs());
  gate.rotate();
  EXPECT_EQ(gate.accounts.due().kept().gpus(kAnn) + gate.accounts.due().kept().gpus(kBen), 2);
}

TEST(Admission, WhatAUserLeavesOfItsGroupsQuotaGoesToTheOthers) {
  QuotaGate gate;
  const JobId of_ann = gate.come(kAnn, 2);
  const JobId of_ben = gate.come(kBen, 2);
  gate.let_in();
  ASSERT_TRUE(gate.is_in(of_ann));
  gate.homes.move_out(gate.view(), of_ann);
  gate.accounts.add_demand(kAnn, -2);
  gate.admission.consider_group(kAnn);
  gate.let_in();
  EXPECT_TRUE(gate.is_in(of_ben));
}

TEST(Admission, UsersOfAGroupTakeTurnsInItsQuota) {
  QuotaGate gate;
  const JobId of_ann = gate.come(kAnn, 2);
  gate.let_in();
  gate.run(of_ann);
  const JobId of_ben = gate.come(kBen, 1);
  gate.come(kEve, 2);
  gate.let_in();
  gate.rotate();
  EXPECT_FALSE(gate.is_in(of_ben)) << "Ann is not ahead yet";
  for (int turn = 0; turn < 3; ++turn) {
    gate.wait(seconds(60));
    gate.rotate();
  }
  EXPECT_TRUE(gate.is_in(of_ben));
  EXPECT_FALSE(gate.is_in(of_ann));
  EXPECT_EQ(gate.accounts.due().kept().gpus(kEve), 2) << "another group's jobs stay";
}

TEST(Admission, TheUserThatIsFurthestBehindComesInFirst) {
  // The node keeps two GPUs' worth, both of Eve's. Ben waits a minute longer than Ann.
  Gate gate("1xV100:1", {1, 1, 1}, 1);
  for (int i = 0; i < 2; ++i) gate.keep(kEve, 1, 0);
  gate.run(JobId(0));
  const JobId of_ben = gate.come(kBen, 1);
  gate.let_in();
  gate.wait(seconds(60));
  const JobId of_ann = gate.come(kAnn, 1);
  gate.let_in();
  gate.wait(seconds(30));
  gate.accounts.update(gate.now);
  gate.homes.move_out(gate.view(), JobId(1));
  gate.admission.consider_all();
  gate.let_in();
  EXPECT_TRUE(gate.is_in(of_ben));
  EXPECT_FALSE(gate.is_in(of_ann));
}

TEST(Admission, AUsersJobsComeInTheOrderTheyArrivedAndEvictedOnesFirst) {
  Gate gate("1xV100:1", {1}, 1);
  const JobId first = gate.come(kAnn, 1);
  const JobId second = gate.come(kAnn, 1);
  const JobId evicted = gate.arrive(kAnn, 1);
  gate.admission.put_first(gate.view(), evicted);
  gate.let_in();
  EXPECT_TRUE(gate.is_in(evicted));
  EXPECT_FALSE(gate.is_in(first));
  gate.homes.move_out(gate.view(), evicted);
  gate.admission.consider(kAnn);
  gate.let_in();
  EXPECT_TRUE(gate.is_in(first));
  EXPECT_FALSE(gate.is_in(second));
}

TEST(Admission, OneJobOfAUserIsAlwaysLetIn) {
  // Ann is entitled to half a GPU, and has a job of two.
  Gate gate("1xV100:2", {1, 3}, 1);
  for (int i = 0; i < 2; ++i) gate.come(kBen, 1);
  const JobId large = gate.come(kAnn, 2);
  const JobId more = gate.come(kAnn, 1);
  gate.let_in();
  EXPECT_TRUE(gate.is_in(large));
  EXPECT_FALSE(gate.is_in(more));
}

TEST(Admission, AJobThatFindsNoRoomDelaysThoseBehindIt) {
  // The node keeps four GPUs' worth. Three are Ann's, and Ben's gang of two finds no room.
  Gate gate("1xV100:2", {9, 1, 1}, 1);
  for (int i = 0; i < 3; ++i) gate.keep(kAnn, 1, 0);
  const JobId gang = gate.come(kBen, 2);
  const JobId small = gate.come(kEve, 1);
  gate.let_in();
  EXPECT_FALSE(gate.is_in(gang));
  EXPECT_FALSE(gate.is_in(small));
  gate.homes.move_out(gate.view(), JobId(0));
  gate.let_in();
  EXPECT_TRUE(gate.is_in(gang));
}

TEST(Admission, AJobThatDoesNotFitOnNodesThatAreUpIsPassedOver) {
  Gate gate("2xV100:2", {1, 1});
  gate.homes.resize(NodeId(1), 0);
  const JobId gang = gate.come(kAnn, 4);
  const JobId small = gate.come(kBen, 1);
  gate.let_in();
  EXPECT_FALSE(gate.is_in(gang));
  EXPECT_TRUE(gate.is_in(small));
  gate.homes.resize(NodeId(1), 2);
  gate.admission.consider_all();
  gate.let_in();
  EXPECT_TRUE(gate.is_in(gang));
}

TEST(Admission, AJobThatIsOverLetsTheNextOneIn) {
  Gate gate("1xV100:1", {1}, 1);
  gate.come(kAnn, 1);
  const JobId cancelled = gate.come(kAnn, 1);
  const JobId last = gate.come(kAnn, 1);
  gate.let_in();
  gate.admission.remove(gate.view(), cancelled);
  gate.homes.move_out(gate.view(), JobId(0));
  gate.admission.consider(kAnn);
  gate.let_in();
  EXPECT_TRUE(gate.is_in(last));
  EXPECT_FALSE(gate.admission.has_jobs());
}

// --- Rotation ---------------------------------------------------------------------------------

// Ann's jobs on a GPU, of which one may be admitted.
struct Queue : Gate {
  explicit Queue(int length) : Gate("1xV100:1", {1}, 1) {
    for (int i = 0; i < length; ++i) come(kAnn, 1);
    let_in();
  }
  std::vector<bool> in() const {
    std::vector<bool> in;
    for (JobId job : ids<JobId>(jobs.size())) in.push_back(is_in(job));
    return in;
  }
};

TEST(Rotation, AJobThatHadAGpuHourMakesRoomForOneThatHadNone) {
  Queue queue(3);
  EXPECT_EQ(queue.in(), (std::vector<bool>{true, false, false}));
  queue.attain(JobId(0), hours(1) - milliseconds(1));
  queue.rotate();
  EXPECT_EQ(queue.in(), (std::vector<bool>{true, false, false}));
  queue.attain(JobId(0), hours(1));
  queue.rotate();
  EXPECT_EQ(queue.in(), (std::vector<bool>{false, true, false}));
}

TEST(Rotation, ComesToRestWhereAllHadAlike) {
  Queue queue(3);
  for (JobId job : ids<JobId>(3)) queue.attain(job, hours(2));
  for (int i = 0; i < 2; ++i) queue.rotate();
  EXPECT_EQ(queue.moved_out, 2) << "those outside came there before they had that";
  for (int i = 0; i < 5; ++i) queue.rotate();
  EXPECT_EQ(queue.moved_out, 2);
}

TEST(Rotation, ClassesAreFourTimesAsLongEach) {
  Queue queue(1);
  queue.attain(JobId(0), hours(4) - milliseconds(1));
  const JobId late = queue.arrive(kAnn, 1);
  queue.attain(late, hours(1));
  queue.admission.put_last(queue.view(), late);
  queue.rotate();
  EXPECT_FALSE(queue.is_in(late)) << "one to four hours are alike";
  queue.attain(JobId(0), hours(4));
  queue.rotate();
  EXPECT_TRUE(queue.is_in(late));
}

TEST(Rotation, AJobThatMakesRoomStandsBehindThoseOfItsClass) {
  Queue queue(3);
  for (JobId job : ids<JobId>(3)) {
    queue.attain(job, hours(1));  // as each has had its hour, the next comes in
    queue.rotate();
  }
  EXPECT_EQ(queue.in(), (std::vector<bool>{false, false, true}));
  queue.attain(JobId(2), hours(4));
  queue.rotate();
  EXPECT_EQ(queue.in(), (std::vector<bool>{true, false, false}));
}

TEST(Rotation, OneThatWaitsMakesRoomBeforeOneThatRuns) {
  Gate gate("1xV100:2", {1}, 1);
  for (int i = 0; i < 3; ++i) gate.come(kAnn, 1);
  gate.let_in();
  gate.run(JobId(0));
  for (JobId job : ids<JobId>(2)) gate.attain(job, hours(1));
  gate.rotate();
  EXPECT_TRUE(gate.is_in(JobId(0)));
  EXPECT_FALSE(gate.is_in(JobId(1)));
  EXPECT_TRUE(gate.is_in(JobId(2)));
}

TEST(Rotation, AGangNeedsAsManyGpusOfJobsThatHadMore) {
  Gate gate("1xV100:4", {1}, 1);
  for (int i = 0; i < 4; ++i) gate.come(kAnn, 1);
  const JobId gang = gate.come(kAnn, 3);
  gate.let_in();
  for (JobId job : ids<JobId>(2)) gate.attain(job, hours(1));
  gate.rotate();
  EXPECT_EQ(gate.moved_out, 0) << "two GPUs are not enough";
  gate.attain(JobId(2), hours(1));
  gate.rotate();
  EXPECT_EQ(gate.moved_out, 3);
  EXPECT_TRUE(gate.is_in(gang));
}

TEST(Rotation, AUserWithNoJobInTakesThePlaceOfTheOneFurthestAhead) {
  // The node keeps two GPUs' worth. Each user is due a third of a GPU.
  Gate gate("1xV100:1", {1, 1, 1}, 1);
  for (UserId user : {kAnn, kBen, kEve}) gate.come(user, 1);
  gate.let_in();
  EXPECT_FALSE(gate.is_in(JobId(2)));
  gate.rotate();
  EXPECT_EQ(gate.moved_out, 0) << "none is ahead";
  gate.run(JobId(0));
  gate.wait(Town::kQuantum);
  gate.rotate();
  EXPECT_FALSE(gate.is_in(JobId(0))) << "two turns ahead";
  EXPECT_TRUE(gate.is_in(JobId(1)));
  EXPECT_TRUE(gate.is_in(JobId(2)));
  gate.rotate();
  EXPECT_EQ(gate.moved_out, 1);
}

TEST(Rotation, AGangWhoseUserHasNoJobInTakesThePlacesOfSeveral) {
  // The node keeps four GPUs' worth.
  Gate gate("1xV100:2", {1, 1, 1, 1, 1}, 1);
  for (std::size_t user = 0; user < 4; ++user) gate.come(UserId(user), 1);
  gate.let_in();
  const JobId gang = gate.come(UserId(4), 2);
  gate.run(JobId(0));
  gate.wait(Town::kQuantum + Town::kQuantum);
  gate.rotate();
  EXPECT_EQ(gate.moved_out, 0) << "only one is ahead, and its place is too small";
  gate.run(JobId(1));
  gate.wait(Town::kQuantum + Town::kQuantum);
  gate.rotate();
  EXPECT_EQ(gate.moved_out, 2);
  EXPECT_TRUE(gate.is_in(gang));
  EXPECT_TRUE(gate.is_in(JobId(2)));
  EXPECT_TRUE(gate.is_in(JobId(3)));
}

TEST(Rotation, AGangOfSeveralNodesTakesPlacesOnEach) {
  // Each node keeps two GPUs' worth.
  Gate gate("2xV100:1", {1, 1, 1, 1, 1}, 1);
  for (std::size_t user = 0; user < 4; ++user) gate.come(UserId(user), 1);
  gate.let_in();
  const JobId gang = gate.come(UserId(4), 2);
  for (JobId job : ids<JobId>(2)) gate.run(job);
  gate.wait(Town::kQuantum + Town::kQuantum);
  gate.rotate();
  EXPECT_EQ(gate.moved_out, 2);
  EXPECT_TRUE(gate.is_in(gang));
  EXPECT_TRUE(gate.is_in(JobId(2)));
  EXPECT_TRUE(gate.is_in(JobId(3)));
}

// --- Saving and loading -----------------------------------------------------------------------

TEST(Admission, IsSavedAndLoaded) {
  Gate gate("1xV100:1", {1, 1}, 1);
  for (int i = 0; i < 3; ++i) gate.come(kAnn, 1);
  for (int i = 0; i < 2; ++i) gate.come(kBen, 1);
  Writer writer;
  save(gate.admission, writer);
  Admission loaded({.jobs_per_gpu_max = 1, .quantum = Town::kQuantum}, gate.accounts, gate.homes,
                   gate.choice);
  loaded.begin(gate.view());
  Reader reader(writer.bytes());
  load(loaded, reader);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader.left(), 0U);
  EXPECT_TRUE(loaded.has_jobs());
  gate.accounts.update(gate.now);
  loaded.let_in(gate.view(), gate.plan);
  EXPECT_TRUE(gate.is_in(JobId(0)));
  EXPECT_FALSE(gate.is_in(JobId(1)));
  EXPECT_TRUE(gate.is_in(JobId(3)));
  EXPECT_FALSE(gate.is_in(JobId(4)));
}

}  // namespace
}  // namespace fairlead
