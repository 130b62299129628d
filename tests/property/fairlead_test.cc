// The guarantees of fairlead: no user falls further behind its share than the window allows,
// whatever gangs there are. Within a user and a window the shortest job is first. A user's GPUs of
// several types are the ones on which its jobs gain most.

#include "fairlead/base/overloaded.h"
#include "testing/world.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace fairlead {
namespace {

constexpr Duration kEndless = hours(100'000);
constexpr double kWindow_s = 600;
constexpr double kRound_s = 60;

// The largest shortfall of each user: its due by tickets from time 0 on, less the GPU time of its
// jobs.
class Shortfalls : public RecordSink {
 public:
  explicit Shortfalls(std::vector<double> due) : due_(std::move(due)), allocated_(due_.size()) {
    behind_s_.resize(due_.size());
    most_s_.resize(due_.size());
  }
  void on(const Record& record) override {
    pass(record.t);
    std::visit(Overloaded{[&](const record::Arrived& arrived) {
                            user_[arrived.asked.job] = arrived.asked.user.row();
                          },
                          [&](const record::Place& place) {
                            gpus_[place.job] += gpus_of(place.gang);
                            allocated_[user_[place.job]] += gpus_of(place.gang);
                          },
                          [&](const record::Stop& stop) {
                            allocated_[user_[stop.job]] -= std::exchange(gpus_[stop.job], 0);
                          },
                          [](const auto&) {}},
               record.what);
  }
  double most_s(std::size_t user) const { return most_s_[user]; }

 private:
  void pass(Time now) {
    for (std::size_t user = 0; user < due_.size(); ++user) {
      behind_s_[user] += (due_[user] - allocated_[user]) * to_seconds(now - now_);
      most_s_[user] = std::max(most_s_[user], behind_s_[user]);
    }
    now_ = now;
  }

  Time now_;
  std::vector<double> due_, allocated_, behind_s_, most_s_;
  std::map<JobId, std::size_t> user_;
  std::map<JobId, double> gpus_;
};

// Servers of 8, and gangs that tile them: all GPUs can be in use all the time.
RC_GTEST_PROP(Fairlead, KeepsNoUserFurtherBehindThanTheWindowAllows, ()) {
  const auto nodes = *rc::gen::inRange<std::int64_t>(1, 5);
  const auto users = *rc::gen::inRange<std::size_t>(2, 9);
  const double gpus = static_cast<double>(nodes) * 8;
  World world{.cluster = fmt::format("{}xV100:8", nodes), .until = Time{hours(6).ms}};
  std::vector<std::int64_t> tickets(users);
  std::vector<std::uint32_t> largest(users);
  for (std::size_t user = 0; user < users; ++user) {
    tickets[user] = *rc::gen::inRange<std::int64_t>(1, 5);
    // As many as fill the cluster.
    for (std::uint32_t left = static_cast<std::uint32_t>(gpus); left > 0;) {
      const auto gang = std::min(left, std::uint32_t{1} << *rc::gen::inRange(0, 4));
      const std::uint32_t size = std::bit_floor(gang);
      largest[user] = std::max(largest[user], size);
      left -= size;
      world.jobs.push_back({.gpus = size,
                            .work = kEndless + seconds(60 * *rc::gen::inRange(0, 1000)),
                            .user = fmt::format("u{}", user),
                            .tickets = tickets[user]});
    }
  }
  const auto all = static_cast<double>(std::accumulate(tickets.begin(), tickets.end(), 0L));
  std::vector<double> due;
  for (std::int64_t of_user : tickets) due.push_back(gpus * static_cast<double>(of_user) / all);
  Shortfalls shortfalls(due);
  const std::string policy =
      *rc::gen::element<std::string>("fairlead", "fairlead:copies=0,switch_s=0");
  run(world, policy_named(policy), {}, &shortfalls);
  for (std::size_t user = 0; user < users; ++user) {
    const double bound_s = due[user] * (kWindow_s + kRound_s) + largest[user] * kRound_s;
    if (shortfalls.most_s(user) > bound_s)
      RC_FAIL(fmt::format("user {} of {}, due {:.2f} of {}: behind {:.0f}, bound {:.0f}", user,
                          users, due[user], gpus, shortfalls.most_s(user), bound_s));
  }
}

// The large gangs leave 4 of 16 GPUs: the other user gets them, however little is due to it.
TEST(Fairlead, GivesWhatIsLeftToAUserToWhomHardlyAnythingIsDue) {
  for (const std::int64_t tickets : {100, 400, 560, 600, 640, 1'000, 1'000'000}) {
    World world{.cluster = "2xV100:8"};
    for (int job = 0; job < 2; ++job) {
      world.jobs.push_back({.gpus = 12, .work = hours(1), .user = "large", .tickets = tickets});
    }
    world.jobs.push_back({.gpus = 4, .work = seconds(600), .user = "small", .tickets = 1});
    const Outcome outcome = run(world, "fairlead:window_s=60");
    EXPECT_EQ(outcome.problems, std::vector<std::string>{});
    EXPECT_EQ(outcome.jobs[2].finish, Time{600'000}) << tickets;
  }
}

// Copies on four nodes of one GPU.
World four_nodes(std::vector<WorldJob> jobs) {
  return {.cluster = "4xV100:1", .jobs = std::move(jobs)};
}

TEST(FairleadCopies, AddTheirSpeeds) {
  const World world = four_nodes({{.work = seconds(120)}});
  for (const auto& [copies, finish_ms] : {std::pair(1, 120'000), {2, 60'000}, {0, 30'000}}) {
    const Outcome outcome = run(world, fmt::format("fairlead:switch_s=0,copies={}", copies));
    EXPECT_EQ(outcome.jobs[0].finish, Time{finish_ms}) << copies;
  }
}

TEST(FairleadCopies, AreNoMoreThanTheJobAllows) {
  const World world = four_nodes({{.copies_max = 3, .work = seconds(120)}});
  const Outcome outcome = run(world, "fairlead:switch_s=0,copies=0");
  EXPECT_EQ(outcome.jobs[0].finish, Time{40'000});
}

// The second copy of 120 s of work saves 60 s, the third 20 s, the fourth 10 s.
TEST(FairleadCopies, AreAsManyAsEachSaveMoreThanItTakesToBeginAnew) {
  const World world = four_nodes({{.work = seconds(120)}});
  for (const auto& [switch_s, finish_ms] : {std::pair(9, 30'000), {15, 40'000}, {30, 60'000}}) {
    const Outcome outcome = run(world, fmt::format("fairlead:copies=0,switch_s={}", switch_s));
    EXPECT_EQ(outcome.jobs[0].finish, Time{finish_ms}) << switch_s;
  }
}

// All four nodes work for the short job first: 20 s and 20 + 40 s. Side by side on two nodes each,
// it would be 40 and 60 s.
TEST(FairleadCopies, OfTheShortJobComeBeforeTheGangOfTheLongOne) {
  const World world = four_nodes({{.work = seconds(160)}, {.work = seconds(80)}});
  const Outcome outcome = run(world, "fairlead:copies=0,switch_s=0,critical=1,round_s=10");
  EXPECT_EQ(outcome.jobs[1].finish, Time{20'000});
  EXPECT_EQ(outcome.jobs[0].finish, Time{60'000});
}

// It arrives in the middle of a round, and its user has no GPUs.
TEST(FairleadCopies, GiveWayToAJobThatArrives) {
  World world = four_nodes({{.work = hours(2), .user = "long"}});
  world.jobs.push_back({.submit = Time{90'000}, .work = seconds(30), .user = "short"});
  const Outcome outcome = run(world, "fairlead:copies=0,switch_s=0");
  EXPECT_EQ(outcome.jobs[1].start, Time{90'000});
}

// A job of a group with a quota of two GPUs has no copies.
TEST(FairleadCopies, AreNotMadeWhereAQuotaIsToBeKept) {
  const World world = four_nodes({{.work = seconds(120), .group = "lab", .group_quota = 2}});
  EXPECT_EQ(run(world, "fairlead:copies=0,switch_s=0").jobs[0].finish, Time{120'000});
}

// The GPUs of node 0 that each job was granted, in order, one mask for each time it was placed.
class GrantedGpus : public RecordSink {
 public:
  void on(const Record& record) override {
    if (const auto* place = std::get_if<record::Place>(&record.what)) {
      of[place->job].push_back(place->gpu_masks[0]);
    }
  }
  std::size_t moves() const {
    std::size_t moves = 0;
    for (const auto& [job, masks] : of) {
      for (std::size_t i = 1; i < masks.size(); ++i) moves += masks[i] != masks[i - 1] ? 1U : 0U;
    }
    return moves;
  }
  std::map<JobId, std::vector<std::uint64_t>> of;
};

TEST(Fairlead, ElasticJobsTakeWhatIsIdle) {
  // Each job takes half an hour on the two GPUs that it asks for, and a quarter of that on eight.
  World world{.cluster = "1xV100:8"};
  for (std::int64_t at_s : {0, 120, 120}) {
    world.jobs.push_back({.submit = Time{at_s * 1000},
                          .gpus = 2,
                          .gpus_min = 1,
                          .gpus_max = 8,
                          .work = seconds(1800),
                          .user = fmt::format("u{}", world.jobs.size())});
  }
  GrantedGpus sink;
  const Outcome outcome = run(world, policy_named("fairlead"), {}, &sink);
  EXPECT_EQ(outcome.problems, std::vector<std::string>{});
  EXPECT_EQ(std::popcount(sink.of[JobId(0)][0]), 8);
  for (const auto& job : outcome.jobs) EXPECT_LE(job.finish, Time{3 * 450'000});
}

// Users with equal tickets have more gangs than a server has GPUs for. All gangs ask to run all the
// time.
World crowded_server(Time until) {
  World world{.cluster = "1xV100:4", .until = until};
  const std::vector<std::uint32_t> gangs = {1, 2, 1, 2, 1, 1, 4};
  for (std::size_t i = 0; i < gangs.size(); ++i) {
    world.jobs.push_back({.submit = Time{static_cast<std::int64_t>(i) * 30'000},
                          .gpus = gangs[i],
                          .work = kEndless,
                          .user = fmt::format("u{}", i)});
  }
  return world;
}

TEST(Fairlead, JobsTakeTurnsOnTheGpusThatTheyHad) {
  const World world = crowded_server(Time{hours(12).ms});
  for (const char* policy : {"fairlead", "fairlead:resident=true"}) {
    GrantedGpus granted;
    run(world, policy_named(policy), {}, &granted);
    EXPECT_LT(granted.moves(), 10U) << policy;
    for (std::size_t job = 0; job < world.jobs.size(); ++job) {
      EXPECT_GT(granted.of[JobId(job)].size(), 10U) << policy << ' ' << job;  // turns
    }
  }
}

TEST(Fairlead, AResidentJobMovesToAGpuThatStandsIdle) {
  // The third job takes the first one's GPU, and is still there when the second leaves the other.
  World world{.cluster = "1xV100:2"};
  world.jobs.push_back({.gpus = 1, .work = hours(2)});
  world.jobs.push_back({.gpus = 1, .work = seconds(1200)});
  world.jobs.push_back({.submit = Time{60'000}, .gpus = 1, .work = hours(1)});
  GrantedGpus sink;
  const Outcome outcome = run(world, policy_named("fairlead:resident=true,critical=1"), {}, &sink);
  EXPECT_EQ(sink.of[JobId(0)], (std::vector<std::uint64_t>{2, 1}));
  EXPECT_EQ(outcome.problems, std::vector<std::string>{});
}

}  // namespace
}  // namespace fairlead
