#include "fairlead/live/dues.h"

#include "fairlead/model/cluster_build.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

constexpr UserId kAnn{0};
constexpr UserId kBob{1};
constexpr GpuTypeId kType{0};

// Applies records to tables and dues.
struct Told {
  void on(int s, auto what) {
    const Record record{Time{} + seconds(s), std::move(what)};
    tables.apply(record);
    dues.on(record);
  }
  void arrive(int s, JobId job, UserId user) {
    on(s, record::Arrived{{.job = job, .user = user, .gpus = 2, .gpus_min = 2, .gpus_max = 2}});
  }
  void place(int s, JobId job) {
    const Slice slices[] = {{.node = NodeId(0), .gpus = 2}};
    const std::uint64_t masks[] = {3};
    on(s, record::Place{.job = job, .gang = slices, .gpu_masks = masks});
  }
  void due(int s, UserId user, double gpus) {
    on(s, Note(note::Entitlement{user, kType, note::Thousandths::of(gpus)}));
  }
  double behind(UserId user, int s) const {
    const auto due = dues.of(user, Time{} + seconds(s));
    return due ? due->behind_gpu_s : -1e9;
  }

  Told()
      : tables(*build_cluster("here", {}, {{.name = "n0", .gpu_type = "V100", .gpus = 2}})),
        dues(tables) {
    on(0, record::User{kAnn, "ann", 1});
    on(0, record::User{kBob, "bob", 1});
  }
  Tables tables;
  Dues dues;
};

TEST(Dues, AUserIsBehindByWhatItWasDueAndDidNotHave) {
  Told told;
  told.arrive(0, JobId(0), kAnn);
  told.place(0, JobId(0));
  told.arrive(100, JobId(1), kBob);
  EXPECT_FALSE(told.dues.of(kAnn, Time{} + seconds(100)));
  told.due(100, kAnn, 1);
  told.due(100, kBob, 1);
  EXPECT_EQ(told.behind(kAnn, 160), -60);
  EXPECT_EQ(told.behind(kBob, 160), 60);
  told.on(160, record::Stop{.job = JobId(0)});
  told.place(160, JobId(1));
  EXPECT_EQ(told.behind(kBob, 170), 50);
  told.due(170, kBob, 0.5);
  EXPECT_EQ(told.behind(kBob, 180), 35);
  EXPECT_EQ(told.behind(kAnn, 220), 0);
  EXPECT_EQ(told.dues.of(kAnn, Time{} + seconds(220))->since, Time{} + seconds(100));
  EXPECT_EQ(told.dues.of(kBob, Time{} + seconds(220))->gpus, 0.5);
}

TEST(Dues, ThePolicysOwnAccountStandsBesideThem) {
  Told told;
  told.arrive(0, JobId(0), kAnn);
  told.due(0, kAnn, 1);
  EXPECT_FALSE(told.dues.of(kAnn, Time{} + seconds(10))->debt_gpu_s);
  told.on(10, Note(note::Debt{kAnn, {-7'200'000}}));
  EXPECT_EQ(told.dues.of(kAnn, Time{} + seconds(20))->debt_gpu_s, -7200);
}

TEST(Dues, WhereNoJobWaitsNothingIsOwed) {
  Told told;
  told.arrive(0, JobId(0), kAnn);
  told.arrive(0, JobId(1), kBob);
  told.place(0, JobId(0));
  told.due(0, kAnn, 1);
  told.due(0, kBob, 1);
  EXPECT_EQ(told.behind(kBob, 100), 100);
  told.on(100, record::Finished{JobId(0)});
  told.place(100, JobId(1));
  EXPECT_FALSE(told.dues.of(kBob, Time{} + seconds(150)));
  told.arrive(200, JobId(2), kAnn);
  EXPECT_EQ(told.behind(kBob, 210), -10);
  EXPECT_FALSE(told.dues.of(kAnn, Time{} + seconds(210)));  // no entitlement since its return
}

}  // namespace
}  // namespace fairlead
