// The guarantees of fairlead: no user falls further behind its share than the window allows,
// whatever gangs there are. Within a user and a window the shortest job is first. A user's GPUs of
// several types are the ones on which its jobs gain most.

#include "fairlead/base/overloaded.h"
#include "fairlead/solve/share_meter.h"
#include "testing/world.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace fairlead {
namespace {

constexpr Duration kEndless = hours(100'000);
constexpr double kWindow_s = 600;
constexpr double kRound_s = 150;

// The GPUs due to each user by tickets and demand, less the GPU time of its jobs. For clusters of which all GPUs
// are up.
class Shortfalls : public RecordSink {
 public:
  struct User {
    double allocated = 0;    // GPUs
    double allocated_s = 0;  // GPU-seconds
    double due_most = 0;     // GPUs, the most up to now
    double most_s = 0;       // GPU-seconds due less allocated, the most up to now
  };

  explicit Shortfalls(std::int64_t gpus) { shares_.set_gpus({}, gpus); }
  void on(const Record& record) override {
    pass(record.t);
    std::visit(Overloaded{[&](const record::User& user) {
                            shares_.add_user(user.tickets);
                            users_.push_back({});
                          },
                          [&](const record::Arrived& arrived) {
                            jobs_[arrived.asked.job] = {arrived.asked.user, arrived.asked.gpus};
                            demand(arrived.asked.job, 1);
                          },
                          [&](const record::Place& place) {
                            const double others = place.copy > 0 ? jobs_[place.job].allocated : 0;
                            allocate(place.job, others + gpus_of(place.gang));
                          },
                          [&](const record::Stop& stop) { allocate(stop.job, 0); },
                          [&](const record::Finished& finished) {
                            allocate(finished.job, 0);
                            demand(finished.job, -1);
                          },
                          [](const auto&) {}},
               record.what);
  }
  const IdVector<UserId, User>& users() const { return users_; }

 private:
  struct Job {
    UserId user;
    std::int64_t gpus = 0;  // asked for
    double allocated = 0;
  };

  void demand(JobId job, int sign) {
    shares_.add_demand(now_, jobs_[job].user, sign * jobs_[job].gpus);
  }
  void allocate(JobId id, double gpus) {
    Job& job = jobs_[id];
    users_[job.user].allocated += gpus - std::exchange(job.allocated, gpus);
  }
  void pass(Time now) {
    if (now == now_) return;
    for (UserId id : ids<UserId>(users_.size())) {
      User& user = users_[id];
      user.allocated_s += user.allocated * to_seconds(now - now_);
      user.due_most = std::max(user.due_most, shares_.share(id));
      user.most_s =
          std::max(user.most_s, shares_.entitled_gpu_ms(id, now) / 1000 - user.allocated_s);
    }
    now_ = now;
  }

  Time now_;
  ShareMeter shares_;
  IdVector<UserId, User> users_;
  std::map<JobId, Job> jobs_;
};

// Servers of 8, and users who stay to the end with gangs that tile them: all GPUs can be in use all the time.
struct Backlog {
  World world;
  std::int64_t gpus = 0;
  std::vector<std::uint32_t> largest;  // gang, by user
};

// `singles`: each user has as many more jobs of one GPU, so that others cannot leave gaps.
Backlog draw_backlog(bool singles) {
  const auto nodes = *rc::gen::inRange<std::int64_t>(1, 5);
  Backlog drawn{.world = {.cluster = fmt::format("{}xV100:8", nodes), .until = Time{hours(4).ms}},
                .gpus = nodes * 8,
                .largest = {}};
  const auto users = *rc::gen::inRange<std::size_t>(2, 9);
  for (std::size_t user = 0; user < users; ++user) {
    const auto tickets = *rc::gen::inRange<std::int64_t>(1, 5);
    std::uint32_t largest = 1;
    const auto add = [&](std::uint32_t size) {
      largest = std::max(largest, size);
      drawn.world.jobs.push_back({.gpus = size,
                                  .work = kEndless + seconds(60 * *rc::gen::inRange(0, 1000)),
                                  .user = fmt::format("u{}", user),
                                  .tickets = tickets});
    };
    for (auto left = static_cast<std::uint32_t>(drawn.gpus); left > 0;) {
      const auto size = std::bit_floor(std::min(left, std::uint32_t{1} << *rc::gen::inRange(0, 4)));
      add(size);
      left -= size;
    }
    for (std::int64_t gpu = 0; singles && gpu < drawn.gpus; ++gpu) add(1);
    drawn.largest.push_back(largest);
  }
  return drawn;
}

// Users with short jobs of one GPU come and go. Returns their number.
std::size_t add_visitors(World& world) {
  const auto visitors = *rc::gen::inRange<std::size_t>(1, 5);
  for (std::size_t visitor = 0; visitor < visitors; ++visitor) {
    const auto arrival = seconds(*rc::gen::inRange(0, 3 * 3600));
    const auto tickets = *rc::gen::inRange<std::int64_t>(1, 9);
    const auto jobs = *rc::gen::inRange(1, 17);
    for (int job = 0; job < jobs; ++job) {
      world.jobs.push_back({.submit = Time{} + arrival,
                            .work = seconds(*rc::gen::inRange(600, 3600)),
                            .user = fmt::format("visitor{}", visitor),
                            .tickets = tickets});
    }
  }
  return visitors;
}

RC_GTEST_PROP(Fairlead, KeepsNoUserFurtherBehindThanTheWindowAllows, ()) {
  Backlog drawn = draw_backlog(false);
  Shortfalls shortfalls(drawn.gpus);
  const std::string policy = *rc::gen::element<std::string>(
      "fairlead", "fairlead:copies=0,switch_s=0,round_s=150", "fairlead:patience_s=60",
      "fairlead:patience_s=60,job_patience_s=600", "fairlead:job_patience_s=600");
  run(drawn.world, policy_named(policy), {}, &shortfalls);
  for (std::size_t row = 0; row < drawn.largest.size(); ++row) {
    const Shortfalls::User& user = shortfalls.users()[UserId(row)];
    // Jobs have their turns until their user is a window ahead.
    const double windows = policy.find("job_patience_s") != policy.npos ? 2 : 1;
    const double bound_s =
        user.due_most * (windows * kWindow_s + kRound_s) + drawn.largest[row] * kRound_s;
    if (user.most_s > bound_s)
      RC_FAIL(fmt::format("user {}, due {:.2f} of {}: behind {:.0f}, bound {:.0f}", row,
                          user.due_most, drawn.gpus, user.most_s, bound_s));
  }
}

// A visitor takes its lead away when it goes: the others lose at most their part of the longest lead.
RC_GTEST_PROP(Fairlead, KeepsNoUserFurtherBehindIfOthersComeAndGo, ()) {
  Backlog drawn = draw_backlog(true);
  const std::size_t users = drawn.largest.size();
  const std::size_t visitors = add_visitors(drawn.world);
  Shortfalls shortfalls(drawn.gpus);
  run(drawn.world, policy_named("fairlead"), {}, &shortfalls);
  double lost_s = 0;
  for (std::size_t row = users; row < users + visitors; ++row) {
    lost_s += shortfalls.users()[UserId(row)].due_most * (kWindow_s + 2 * kRound_s) + kRound_s;
  }
  for (std::size_t row = 0; row < users; ++row) {
    const Shortfalls::User& user = shortfalls.users()[UserId(row)];
    const double bound_s = user.due_most * (kWindow_s + kRound_s) + drawn.largest[row] * kRound_s +
                           user.due_most / static_cast<double>(drawn.gpus) * lost_s;
    if (user.most_s > bound_s)
      RC_FAIL(fmt::format("user {}, due {:.2f} of {}: behind {:.0f}, bound {:.0f}", row,
                          user.due_most, drawn.gpus, user.most_s, bound_s));
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

// The gang of ann has two turns of three, and restarts on 4 GPUs, of 30 or 60 s. The jobs of ben and eve restart less.
TEST(Fairlead, RestartsAreNotChargedToTheirUsersUpToTwoSwitches) {
  for (const double resume_s : {30, 60}) {
    World world{.cluster = "1xV100:8", .until = Time{hours(8).ms}};
    world.settings.costs.resume = milliseconds(std::llround(1000 * resume_s));
    world.jobs.push_back({.gpus = 4, .work = kEndless, .user = "ann"});
    for (int job = 0; job < 16; ++job)
      world.jobs.push_back({.work = kEndless, .user = job % 2 == 0 ? "ben" : "eve"});
    Shortfalls shortfalls(8);
    const Outcome outcome = run(world, policy_named("fairlead:round_s=120"), {}, &shortfalls);
    std::map<std::string, double> restarting_s;
    for (std::size_t job = 0; job < world.jobs.size(); ++job) {
      restarting_s[world.jobs[job].user] +=
          resume_s * static_cast<double>(outcome.jobs[job].preemptions) * world.jobs[job].gpus;
    }
    const auto computing_s = [&](UserId user, const char* name) {
      return shortfalls.users()[user].allocated_s - restarting_s[name];
    };
    EXPECT_NEAR(computing_s(UserId(0), "ann") / computing_s(UserId(1), "ben"), 1, 0.03) << resume_s;
    EXPECT_NEAR(computing_s(UserId(0), "ann") / computing_s(UserId(2), "eve"), 1, 0.03) << resume_s;
    EXPECT_GT(restarting_s["ann"], 1.5 * restarting_s["ben"]) << resume_s;
  }
}

// Returns the start of a job that arrives in the middle of a round, when the endless jobs of ann have all GPUs.
Time start_of(Duration work, const char* user, std::string_view policy = "fairlead") {
  World world{.cluster = "1xV100:2", .until = Time{hours(1).ms}};
  for (int job = 0; job < 2; ++job) world.jobs.push_back({.work = kEndless, .user = "ann"});
  world.jobs.push_back({.submit = Time{90'000}, .work = work, .user = user});
  return run(world, policy).jobs[2].start;
}

TEST(Fairlead, AJobInterruptsARoundIfItEndsWithinOneOrItsUserHasNoGpus) {
  EXPECT_EQ(start_of(seconds(140), "ann"), Time{90'000});
  EXPECT_EQ(start_of(hours(2), "ann"), Time{150'000});
  EXPECT_EQ(start_of(hours(2), "ben"), Time{90'000});
}

// The default switch is 30 s.
TEST(Fairlead, RoundsLastAQuarterOfTheWindowAndAtLeastTwoSwitches) {
  EXPECT_EQ(start_of(hours(2), "ann", "fairlead:window_s=600"), Time{150'000});
  EXPECT_EQ(start_of(hours(2), "ann", "fairlead:window_s=400"), Time{100'000});
  EXPECT_EQ(start_of(hours(2), "ann", "fairlead:window_s=120"), Time{120'000});
  EXPECT_EQ(start_of(hours(2), "ann", "fairlead:window_s=120,switch_s=50"), Time{100'000});
}

TEST(Fairlead, AUserWithoutGpusWaitsForAWideGangNoLongerThanItsPatience) {
  const auto start = [](std::string_view policy) {
    World world{.cluster = "1xV100:8", .until = Time{hours(1).ms}};
    world.jobs.push_back({.gpus = 8, .work = kEndless, .user = "ben"});
    world.jobs.push_back({.submit = Time{160'000}, .work = seconds(100), .user = "ann"});
    const Outcome outcome = run(world, policy);
    EXPECT_EQ(outcome.problems, std::vector<std::string>{});
    EXPECT_LE(outcome.jobs[1].preemptions, 0);
    return outcome.jobs[1].start;
  };
  EXPECT_EQ(start("fairlead:patience_s=60"), Time{220'000});
  EXPECT_GT(start("fairlead"), Time{400'000}) << "the gang is worth more";
}

TEST(Fairlead, AUserWithoutGpusKeepsWaitingIfItsGangIsLargerThanItsShare) {
  World world{.cluster = "1xV100:8", .until = Time{seconds(400).ms}};
  world.jobs.push_back({.gpus = 8, .work = kEndless, .user = "ben"});
  world.jobs.push_back({.submit = Time{160'000}, .gpus = 8, .work = kEndless, .user = "ann"});
  EXPECT_EQ(run(world, "fairlead:patience_s=60").jobs[1].start,
            run(world, "fairlead").jobs[1].start);
}

// The longest time of each job without GPUs, between two runs or before the first.
class Waits : public RecordSink {
 public:
  void on(const Record& record) override {
    if (const auto* arrived = std::get_if<record::Arrived>(&record.what))
      since_[arrived->asked.job] = record.t;
    if (const auto* stop = std::get_if<record::Stop>(&record.what)) since_[stop->job] = record.t;
    if (const auto* place = std::get_if<record::Place>(&record.what)) end(place->job, record.t);
  }
  // Returns the longest wait of any job, up to that time.
  Duration longest(Time now) {
    while (!since_.empty()) end(since_.begin()->first, now);
    return longest_;
  }

 private:
  void end(JobId job, Time now) {
    if (!since_.contains(job)) return;
    longest_ = std::max(longest_, now - since_[job]);
    since_.erase(job);
  }

  std::map<JobId, Time> since_;
  Duration longest_{};
};

// Rounds last 150 s, of which 24 are an hour.
TEST(Fairlead, AGangComesFirstAmongItsUsersJobsAfterItsPatience) {
  World world{.cluster = "1xV100:2", .until = Time{hours(2).ms}};
  for (std::uint32_t gpus : {1U, 1U, 2U}) world.jobs.push_back({.gpus = gpus, .work = kEndless});
  EXPECT_EQ(run(world, "fairlead").jobs[2].start, Time::never());
  const Outcome outcome = run(world, "fairlead:job_patience_s=3600");
  EXPECT_EQ(outcome.jobs[2].start, Time{seconds(3600).ms});
  EXPECT_EQ(outcome.jobs[2].allocated.gpu_ms, 2 * seconds(150).ms) << "a turn";
}

TEST(Fairlead, AJobThatHasRunComesFirstAfterItsPatience) {
  World world{.cluster = "1xV100:1", .until = Time{hours(3).ms}};
  world.jobs.push_back({.work = hours(200'000)});
  world.jobs.push_back({.submit = Time{seconds(300).ms}, .work = kEndless});
  EXPECT_EQ(run(world, "fairlead").jobs[0].allocated.gpu_ms, seconds(300).ms);
  // Turns from 300 + 3600 s and 300 + 3600 + 150 + 3600 s on.
  EXPECT_EQ(run(world, "fairlead:job_patience_s=3600").jobs[0].allocated.gpu_ms,
            seconds(300 + 150 + 150).ms);
}

TEST(Fairlead, ALongQueueOfEqualJobsStaysAQueue) {
  World world{.cluster = "1xV100:2", .until = Time{hours(12).ms}};
  for (int job = 0; job < 8; ++job) world.jobs.push_back({.work = kEndless});
  const Outcome outcome = run(world, "fairlead:job_patience_s=3600");
  EXPECT_EQ(std::ranges::count_if(outcome.jobs,
                                  [](const JobOutcome& job) { return job.start != Time::never(); }),
            2);
}

// Each user has gangs of 1, 1 and 2 GPUs. One GPU is due to ann, one to ben and two to eve.
TEST(Fairlead, GangsLargerThanTheirUsersDueWaitNoLongerThanTheirPatience) {
  World world{.cluster = "1xV100:4", .until = Time{hours(12).ms}};
  world.settings.work.source = WorkSource::kNone;
  for (const char* user : {"ann", "ben", "eve"}) {
    for (std::uint32_t gpus : {1U, 1U, 2U}) {
      world.jobs.push_back({.gpus = gpus,
                            .work = kEndless,
                            .user = user,
                            .tickets = user == std::string_view("eve") ? 2 : 1});
    }
  }
  const auto longest = [&](const std::string& options) {
    Waits waits;
    run(world, policy_named("fairlead:resident=true,patience_s=60" + options), {}, &waits);
    return waits.longest(world.until);
  };
  EXPECT_GT(longest(""), hours(3));
  EXPECT_LE(longest(",job_patience_s=3600"), hours(1) + seconds(300));
}

TEST(Fairlead, WithoutSharesEveryJobInterruptsARound) {
  EXPECT_EQ(start_of(hours(2), "ann", "fairlead:window_s=inf"), Time{90'000});
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
  const Outcome outcome = run(world, "fairlead:copies=0,switch_s=0,round_s=10");
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
  const Outcome outcome = run(world, policy_named("fairlead:resident=true"), {}, &sink);
  EXPECT_EQ(sink.of[JobId(0)], (std::vector<std::uint64_t>{2, 1}));
  EXPECT_EQ(outcome.problems, std::vector<std::string>{});
}

}  // namespace
}  // namespace fairlead
