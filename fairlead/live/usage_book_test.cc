#include "fairlead/live/usage_book.h"

#include "fairlead/model/cluster_build.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

constexpr UserId kAnn{0};
constexpr UserId kBob{1};

// Applies records to tables and the book.
struct Told {
  void on(int minute, auto what) {
    const Record record{Time{} + seconds(60 * minute), std::move(what)};
    tables.apply(record);
    book.on(record);
  }
  void arrive(int minute, JobId job, UserId user) {
    on(minute,
       record::Arrived{{.job = job, .user = user, .gpus = 2, .gpus_min = 2, .gpus_max = 2}});
  }
  void place(int minute, JobId job, std::size_t node) {
    const Slice slices[] = {{.node = NodeId(node), .gpus = 2}};
    const std::uint64_t masks[] = {3};
    on(minute, record::Place{.job = job, .gang = slices, .gpu_masks = masks});
  }
  // Returns the GPU-minutes of a user on a type.
  std::int64_t minutes(UserId user, std::size_t type, int from, int now,
                       bool is_foreign = false) const {
    const auto times = book.between(Time{} + seconds(60 * from), Time{} + seconds(60 * now));
    const auto found = times.find({user, ModelId(), GpuTypeId(type), is_foreign});
    return found == times.end() ? 0 : static_cast<std::int64_t>(found->second.gpu_ms / 60'000);
  }

  Told()
      : tables(*build_cluster("here", {},
                              {{.name = "n0", .gpu_type = "V100", .gpus = 2},
                               {.name = "n1", .gpu_type = "K80", .gpus = 2}})),
        book(tables) {
    on(0, record::User{kAnn, "ann", 1});
    on(0, record::User{kBob, "bob", 1});
  }
  Tables tables;
  UsageBook book;
};

TEST(UsageBook, ARunCountsInEachHourThatItTouches) {
  Told told;
  told.arrive(0, JobId(0), kAnn);
  told.place(30, JobId(0), 0);
  told.on(150, record::Stop{.job = JobId(0)});
  EXPECT_EQ(told.minutes(kAnn, 0, 0, 200), 240);
  EXPECT_EQ(told.minutes(kAnn, 0, 60, 200), 180);
  EXPECT_EQ(told.minutes(kAnn, 0, 120, 200), 60);
  EXPECT_EQ(told.minutes(kAnn, 0, 180, 200), 0);
  // Half of the hour from 120 counts.
  EXPECT_EQ(told.minutes(kAnn, 0, 150, 200), 30);
}

TEST(UsageBook, ARunThatGoesOnCountsUpToNow) {
  Told told;
  told.arrive(0, JobId(0), kAnn);
  told.place(0, JobId(0), 0);
  EXPECT_EQ(told.minutes(kAnn, 0, 0, 30), 60);
  EXPECT_EQ(told.minutes(kAnn, 0, 10, 30), 40);
  EXPECT_EQ(told.minutes(kAnn, 0, 100, 250), 300);
}

TEST(UsageBook, UsersAndTypesAreApart) {
  Told told;
  told.arrive(0, JobId(0), kAnn);
  told.arrive(0, JobId(1), kBob);
  told.place(0, JobId(0), 0);
  told.place(0, JobId(1), 1);
  told.on(10, record::Stop{.job = JobId(0)});
  told.on(10, record::Finished{JobId(1)});
  told.place(20, JobId(0), 1);
  told.on(50, record::Cancelled{JobId(0)});
  EXPECT_EQ(told.minutes(kAnn, 0, 0, 60), 20);
  EXPECT_EQ(told.minutes(kAnn, 1, 0, 60), 60);
  EXPECT_EQ(told.minutes(kBob, 1, 0, 60), 20);
  EXPECT_EQ(told.minutes(kBob, 0, 0, 60), 0);
}

TEST(UsageBook, TimeTakenOutsideOfJobsCountsApart) {
  Told told;
  told.arrive(0, JobId(0), kAnn);
  told.place(0, JobId(0), 0);
  told.on(10, record::Charged{kAnn, NodeId(1), {600'000}});
  told.on(100, record::Charged{kBob, NodeId(0), {300'000}});
  EXPECT_EQ(told.minutes(kAnn, 0, 0, 60), 120);
  EXPECT_EQ(told.minutes(kAnn, 1, 0, 60, true), 10);
  EXPECT_EQ(told.minutes(kBob, 0, 60, 120, true), 5) << "without any job";
}

}  // namespace
}  // namespace fairlead
