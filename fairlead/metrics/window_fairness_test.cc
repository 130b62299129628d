#include "fairlead/metrics/window_fairness.h"

#include "fairlead/base/rng.h"
#include "fairlead/journal/testing_journal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace fairlead {
namespace {

const NodeId kV100Node(0);
const NodeId kK80Node(1);

WindowFairnessOptions by_second(std::vector<Duration> windows, Duration quantum = {}) {
  return {.windows = std::move(windows), .step = seconds(1), .quantum = quantum};
}

// Two users of equal tickets, each with a job of all 8 GPUs from 0 s on, take turns of 2 s.
WindowFairness taking_turns(const WindowFairnessOptions& options) {
  WindowFairness fairness(options);
  TestJournal journal(fairness);
  journal.begin(2, {1, 1});
  journal.arrive(0, 0, {.user = 0, .gpus = 8});
  journal.arrive(0, 1, {.user = 1, .gpus = 8});
  for (std::size_t turn = 0; turn < 4; ++turn) {
    const auto t_ms = static_cast<std::int64_t>(2000 * turn);
    if (turn > 0) journal.happen<record::Stop>(t_ms, (turn + 1) % 2);
    journal.place(t_ms, turn % 2, {.gang = {{kV100Node, 4}, {kK80Node, 4}}});
  }
  journal.end(8000, {.pending = 2});
  return fairness;
}

TEST(WindowFairness, SeesNoErrorOverWholeTurns) {
  const WindowFairness fairness = taking_turns(by_second({seconds(4), seconds(8)}));
  const WindowErrors four = fairness.windows()[0].steady;
  EXPECT_EQ(four.largest, 0);
  EXPECT_EQ(four.mean, 0);
  EXPECT_TRUE(four.user.is_none());
  EXPECT_EQ(four.count, 2 * 5);  // ends at 4 .. 8 s
  EXPECT_EQ(fairness.windows()[1].steady.count, 2);
}

TEST(WindowFairness, MeasuresTheErrorInPartsOfTheEntitlement) {
  const WindowFairness fairness = taking_turns(by_second({seconds(1), seconds(3)}));
  // In a second a user has 8 GPUs or none, and is entitled to 4.
  EXPECT_EQ(fairness.windows()[0].steady.largest, 1);
  EXPECT_EQ(fairness.windows()[0].steady.mean, 1);
  // In three seconds it has 8 or 16 GPU-seconds of 12.
  EXPECT_DOUBLE_EQ(fairness.windows()[1].steady.largest, 1.0 / 3);
  EXPECT_DOUBLE_EQ(fairness.windows()[1].steady.mean, 1.0 / 3);
}

TEST(WindowFairness, AllowsForAQuantumOfTheLargestGang) {
  // A quarter of a second of 8 GPUs, of the 4 GPU-seconds that are missing.
  const auto quarter = taking_turns(by_second({seconds(1)}, milliseconds(250)));
  EXPECT_DOUBLE_EQ(quarter.windows()[0].steady.largest, 0.5);
  const auto whole = taking_turns(by_second({seconds(1)}, seconds(2)));
  EXPECT_EQ(whole.windows()[0].steady.largest, 0);
}

TEST(WindowFairness, AllowsOnlyForJobsOfTheWindow) {
  // u0 starves with a job of 1 GPU; its job of 8 GPUs goes away at 2 s.
  WindowFairness fairness(by_second({seconds(2)}, seconds(1)));
  TestJournal journal(fairness);
  journal.begin(3, {1, 1});
  journal.arrive(0, 0, {.user = 0, .gpus = 1});
  journal.arrive(0, 1, {.user = 0, .gpus = 8});
  journal.arrive(0, 2, {.user = 1, .gpus = 8});
  journal.place(0, 2, {.gang = {{kV100Node, 4}, {kK80Node, 4}}});
  journal.happen<record::Cancelled>(2000, 1);
  journal.end(4000, {.pending = 2});
  const WindowErrors errors = fairness.windows()[0].steady;
  // The window from 2 s on: 2 GPU-seconds missing less 1 x 1 s. At 3 s: 5 missing less 8.
  EXPECT_EQ(errors.largest, 0.5);
  EXPECT_EQ(errors.window_end, Time{4000});
  EXPECT_EQ(errors.user, UserId(0));
}

// Both users want 8 GPUs and are entitled to 4. At 4 s u1's demand shrinks to 4, its full entitlement; u0 has all GPUs.
TEST(WindowFairness, CountsShortfallsWhereMoreWasWantedThanWasDueAllTheTime) {
  WindowFairness fairness(by_second({seconds(2)}, milliseconds(500)));
  TestJournal journal(fairness);
  journal.begin(3, {1, 1});
  journal.arrive(0, 0, {.user = 0, .gpus = 8});
  journal.arrive(0, 1, {.user = 1, .gpus = 4});
  journal.arrive(0, 2, {.user = 1, .gpus = 4});
  journal.place(0, 0, {.gang = {{kV100Node, 4}, {kK80Node, 4}}});
  journal.happen<record::Cancelled>(4000, 2);
  journal.end(8000, {.failed = 1, .pending = 2});
  const WindowFigures figures = fairness.windows()[0];
  // u0: windows that end at 2 .. 8 s, with more than its share; u1: those that end at 2, 3 and 4 s,
  // which lack 8 GPU-seconds less 4 x 0.5.
  EXPECT_EQ(figures.shortfalls.count, 7 + 3);
  EXPECT_EQ(figures.shortfalls.largest, 0.75);
  EXPECT_EQ(figures.shortfalls.user, UserId(1));
  EXPECT_EQ(figures.shortfalls.window_end, Time{2000});
  EXPECT_DOUBLE_EQ(figures.shortfalls.mean, 3 * 0.75 / 10);
  EXPECT_EQ(figures.shortfalls.quantiles.at(0.7), 0);
  EXPECT_EQ(figures.shortfalls.quantiles.at(0.99), 0.75);
  EXPECT_EQ(figures.steady.count, 2 * 7);
  EXPECT_EQ(figures.steady.quantiles.at(0.5), 0.5) << "u0: 8 too many, less 8 x 0.5";
  EXPECT_EQ(figures.steady.quantiles.at(0.9), 0.75);
}

// A gang of 8 runs all the time, but one second of two is overhead.
TEST(WindowFairness, ComparesWhatOfTheGpusWasUseful) {
  WindowFairnessOptions options = by_second({seconds(2)});
  options.received = Received::kUseful;
  WindowFairness fairness(options);
  TestJournal journal(fairness);
  journal.begin(1, {1});
  journal.arrive(0, 0, {.user = 0, .gpus = 8});
  for (const std::int64_t t_ms : {0, 2000, 4000}) {
    if (t_ms > 0) journal.happen<record::Stop>(t_ms, 0);
    journal.place(t_ms, 0, {.gang = {{kV100Node, 4}, {kK80Node, 4}}, .overhead_ms = 1000});
  }
  journal.end(6000, {.pending = 1});
  EXPECT_EQ(fairness.windows()[0].steady.largest, 0.5);
  EXPECT_EQ(fairness.windows()[0].steady.mean, 0.5);
}

TEST(WindowFairness, SaysWhoseErrorWasLargestAndWhen) {
  // u1 has 3 of 4 tickets, so 6 GPUs; it uses 4 from 2 s to 4 s, otherwise 6.
  WindowFairness fairness(by_second({seconds(2)}));
  TestJournal journal(fairness);
  journal.begin(4, {1, 3});
  journal.arrive(0, 0, {.user = 0, .gpus = 8});
  journal.arrive(0, 1, {.user = 1, .gpus = 4});
  journal.arrive(0, 2, {.user = 1, .gpus = 4});
  journal.place(0, 1, {.gang = {{kV100Node, 4}}});
  journal.place(0, 2, {.gang = {{kK80Node, 2}}});
  journal.happen<record::Stop>(2000, 2);
  journal.place(4000, 2, {.gang = {{kK80Node, 2}}});
  journal.place(4000, 0, {.gang = {{kK80Node, 2}}});
  journal.end(7000, {.pending = 3});
  const WindowErrors errors = fairness.windows()[0].steady;
  EXPECT_EQ(errors.user, UserId(0));  // no GPUs at first
  EXPECT_EQ(errors.largest, 1);
  EXPECT_EQ(errors.window_end, Time{2000});
  // u0: 1 at 2 s, 3 s and 4 s, 1/2 at 5 s; u1: 1/6 at 3 s, 1/3 at 4 s, 1/6 at 5 s; else 0.
  EXPECT_NEAR(errors.mean, (3.5 + 2.0 / 3) / 12, 1e-12);
}

TEST(WindowFairness, CallsAWindowSteadyIfTheUserWasEntitledAllTheTime) {
  WindowFairness fairness(by_second({seconds(2)}));
  TestJournal journal(fairness);
  journal.begin(4, {1, 1});
  journal.arrive(500, 0, {.user = 0, .gpus = 1});
  journal.place(500, 0, {.gang = {{kV100Node, 1}}});
  // Its next job comes as the first one goes: no gap. The one after comes later.
  journal.happen<record::Finished>(2500, 0);
  journal.arrive(2500, 1, {.user = 0, .gpus = 1});
  journal.place(2500, 1, {.gang = {{kV100Node, 1}}});
  journal.happen<record::Finished>(4500, 1);
  journal.arrive(4600, 2, {.user = 0, .gpus = 1});
  journal.place(4600, 2, {.gang = {{kV100Node, 1}}});
  journal.happen<record::Finished>(8000, 2);
  journal.end(9000, {.finished = 3});
  const WindowFigures figures = fairness.windows()[0];
  EXPECT_EQ(figures.steady.count, 4);  // ends at 3 s, 4 s, 7 s and 8 s
  EXPECT_EQ(figures.all.count, 6);     // and at 5 s and 6 s
  EXPECT_EQ(figures.all.largest, 0);
}

TEST(WindowFairness, CallsNoWindowSteadyWhileEveryNodeIsDown) {
  WindowFairness fairness(by_second({seconds(1)}));
  TestJournal journal(fairness);
  journal.begin(1, {1});
  journal.arrive(0, 0, {.user = 0, .gpus = 8});
  journal.node<record::GpusDown>(1500, 0);
  journal.node<record::GpusDown>(1500, 1);
  journal.node<record::GpusUp>(3500, 0);
  journal.end(5000, {.pending = 1});
  const WindowFigures figures = fairness.windows()[0];
  EXPECT_EQ(figures.steady.count, 2);  // ends at 1 s and 5 s
  EXPECT_EQ(figures.all.count, 4);     // and at 2 s and 4 s
}

TEST(WindowFairness, CountsIdleGpusWhileThereIsDemandForAll) {
  WindowFairness fairness(by_second({}));
  TestJournal journal(fairness);
  journal.begin(2, {1});
  journal.arrive(1000, 0, {.user = 0, .gpus = 4});  // half of the capacity is wanted: not counted
  journal.place(2000, 0, {.gang = {{kV100Node, 4}}});
  journal.arrive(3000, 1, {.user = 0, .gpus = 8});  // 12 wanted; 4 of 8 idle for 2 s
  journal.node<record::GpusDown>(5000, 1);          // none of 4 idle for 4 s
  journal.happen<record::Cancelled>(9000, 1);       // 4 wanted of 4 for 1 s
  journal.node<record::GpusUp>(10000, 1);
  journal.happen<record::Finished>(12000, 0);
  journal.end(12000, {.finished = 1, .failed = 1});
  EXPECT_DOUBLE_EQ(fairness.idle_when_wanted(), 8.0 / (16 + 16 + 4));
}

TEST(WindowFairness, CountsMigrationsPerHourAndPerGpuHour) {
  WindowFairness fairness(by_second({}));
  TestJournal journal(fairness);
  journal.begin(1, {1});
  journal.arrive(1000, 0, {.user = 0, .gpus = 4});
  journal.place(1000, 0, {.gang = {{kV100Node, 4}}});
  for (std::int64_t minute = 1; minute <= 3; ++minute) {
    const std::int64_t t_ms = 1000 + minute * 60000;
    journal.happen<record::Stop>(t_ms, 0);
    const bool back = minute == 2;
    journal.place(t_ms, 0,
                  {.gang = {{back ? kV100Node : kK80Node, 4}}, .kind = PlaceKind::kMigrate});
  }
  journal.happen<record::Stop>(1801000, 0);
  journal.place(1801000, 0, {.gang = {{kK80Node, 4}}, .kind = PlaceKind::kResume});
  journal.happen<record::Finished>(3601000, 0);
  journal.end(9000000, {.finished = 1});
  EXPECT_DOUBLE_EQ(fairness.migrations_per_hour(), 3);
  EXPECT_DOUBLE_EQ(fairness.migrations_per_gpu_hour(), 0.75);
}

TEST(WindowFairness, IsZeroOfARunWithoutJobs) {
  WindowFairness fairness;
  TestJournal journal(fairness);
  journal.begin(0, {1});
  journal.end(86400000, {});
  EXPECT_EQ(fairness.windows()[0].all.count, 0);
  EXPECT_EQ(fairness.windows()[0].all.mean, 0);
  EXPECT_EQ(fairness.idle_when_wanted(), 0);
  EXPECT_EQ(fairness.migrations_per_hour(), 0);
  EXPECT_EQ(fairness.migrations_per_gpu_hour(), 0);
}

// The events of each second of a random run, for the plain calculation of windows.
struct Second {
  std::vector<double> allocated;
  std::vector<double> entitled;
  std::vector<std::uint32_t> largest_gang;
};

constexpr std::size_t kUsers = 3;
constexpr std::int64_t kQuantumMs = 500;

// One job per user at a time, which comes, runs, stops and goes at random at whole seconds.
std::vector<Second> write_random_run(RecordSink& sink, Rng rng, std::int64_t length_s) {
  struct Has {
    std::size_t job = 0;
    std::uint16_t gpus = 0;  // 0: no job
    bool runs = false;
  };
  constexpr std::int64_t kTickets[kUsers] = {1, 2, 3};
  TestJournal journal(sink);
  journal.begin(10000, {kTickets[0], kTickets[1], kTickets[2]});
  std::vector<Has> has(kUsers);
  std::vector<Second> run;
  std::size_t jobs = 0;
  for (std::int64_t s = 0; s < length_s; ++s) {
    std::vector<Claim> claims;
    Second second;
    for (std::size_t user = 0; user < kUsers; ++user) {
      Has& now = has[user];
      // The first second has an arrival, so that windows begin with it.
      if (now.gpus > 0 && rng.below(8) == 0) {
        journal.happen<record::Finished>(s * 1000, now.job);
        now = {};
      }
      if (now.gpus == 0 && (s == 0 || rng.below(4) == 0)) {
        now = {jobs++, static_cast<std::uint16_t>(1 + rng.below(8)), false};
        journal.arrive(s * 1000, now.job, {.user = user, .gpus = now.gpus});
      }
      if (now.gpus > 0 && rng.below(2) == 0) {
        now.runs = !now.runs;
        if (now.runs) {
          journal.place(s * 1000, now.job, {.gang = {{kV100Node, now.gpus}}});
        } else {
          journal.happen<record::Stop>(s * 1000, now.job);
        }
      }
      claims.push_back({kTickets[user], now.gpus});
      second.allocated.push_back(now.runs ? now.gpus : 0);
      second.largest_gang.push_back(now.gpus);
    }
    second.entitled = fair_share(claims, 8);
    run.push_back(second);
  }
  journal.end(length_s * 1000, {.pending = 1});
  return run;
}

// The user's seconds of one window, added up.
struct Plain {
  double error = 0;
  bool entitled = false;
  bool always_entitled = true;
};
Plain add_up(std::span<const Second> window, std::size_t user) {
  Plain plain;
  double allocated = 0;
  double entitled = 0;
  double gang = 0;
  for (const Second& second : window) {
    allocated += second.allocated[user];
    entitled += second.entitled[user];
    gang = std::max<double>(gang, second.largest_gang[user]);
    if (second.entitled[user] <= 0) plain.always_entitled = false;
  }
  plain.entitled = entitled > 0;
  plain.error =
      std::max(0.0, std::abs(allocated - entitled) - kQuantumMs / 1000.0 * gang) / entitled;
  return plain;
}

WindowFigures plain_figures(std::span<const Second> run, std::size_t window, std::size_t step) {
  WindowFigures figures;
  const auto count = [](WindowErrors& errors, double error) {
    ++errors.count;
    errors.mean += error;
    errors.largest = std::max(errors.largest, error);
  };
  for (std::size_t begin = 0; begin + window <= run.size(); begin += step) {
    for (std::size_t user = 0; user < kUsers; ++user) {
      const Plain plain = add_up(run.subspan(begin, window), user);
      if (!plain.entitled) continue;
      count(figures.all, plain.error);
      if (plain.always_entitled) count(figures.steady, plain.error);
    }
  }
  figures.all.mean /= static_cast<double>(figures.all.count);
  figures.steady.mean /= static_cast<double>(figures.steady.count);
  return figures;
}

void expect_equal(const WindowErrors& actual, const WindowErrors& expected) {
  EXPECT_GT(expected.count, 0);
  EXPECT_EQ(actual.count, expected.count);
  EXPECT_NEAR(actual.largest, expected.largest, 1e-9);
  EXPECT_NEAR(actual.mean, expected.mean, 1e-9);
}

TEST(WindowFairness, AgreesWithAPlainCalculation) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    WindowFairness fairness({.windows = {seconds(4), seconds(20)},
                             .step = seconds(2),
                             .quantum = milliseconds(kQuantumMs)});
    const auto run = write_random_run(fairness, Rng(seed), 200);
    for (const WindowFigures& figures : fairness.windows()) {
      const auto window = static_cast<std::size_t>(figures.window.ms / 1000);
      const WindowFigures plain = plain_figures(run, window, 2);
      expect_equal(figures.all, plain.all);
      expect_equal(figures.steady, plain.steady);
    }
  }
}

TEST(WindowFairness, UsersMayComeLater) {
  WindowFairness fairness(by_second({seconds(2)}));
  TestJournal journal(fairness);
  journal.begin(1, {1});
  journal.arrive(0, 0, {.user = 0, .gpus = 8});
  journal.place(0, 0, {.gang = {{kV100Node, 4}, {kK80Node, 4}}});
  fairness.on({{3000}, record::User{.user = UserId(1), .name = "late", .tickets = 1}});
  journal.arrive(3000, 1, {.user = 1, .gpus = 8});  // beyond the jobs of the trace
  journal.end(6000, {.pending = 2});
  const WindowErrors all = fairness.windows()[0].all;
  // u0 in windows that end at 2 .. 6 s, the other at 4 .. 6 s; it starves.
  EXPECT_EQ(all.count, 5 + 3);
  EXPECT_EQ(all.largest, 1);
}

TEST(WindowFairness, AJobThatIsHeldAsksForNothing) {
  WindowFairness fairness(by_second({seconds(2)}));
  TestJournal journal(fairness);
  journal.begin(1, {1});
  journal.arrive(0, 0, {.user = 0, .gpus = 8});
  journal.place(0, 0, {.gang = {{kV100Node, 4}, {kK80Node, 4}}});
  fairness.on({{2000}, record::StartFailed{JobId(0), {9000}, "no disk"}});
  fairness.on({{3000}, record::Held{JobId(0)}});
  journal.happen<record::Cancelled>(7000, 0);
  journal.end(7000, {.failed = 1});
  const WindowErrors all = fairness.windows()[0].all;
  EXPECT_EQ(all.largest, 0);
  EXPECT_EQ(all.count, 2);  // those that end at 2 s and 3 s
  EXPECT_EQ(fairness.idle_when_wanted(), 0);
}

TEST(WindowFairness, FollowsTicketsAndGpus) {
  WindowFairness fairness(by_second({seconds(1)}));
  TestJournal journal(fairness);
  journal.begin(2, {1, 1});
  journal.arrive(0, 0, {.user = 0, .gpus = 4});
  journal.arrive(0, 1, {.user = 1, .gpus = 8});
  journal.place(0, 0, {.gang = {{kV100Node, 2}}});
  journal.place(0, 1, {.gang = {{kK80Node, 2}}});
  fairness.on({{0}, record::GpusDown{kV100Node, 0b1100}});
  fairness.on({{0}, record::GpusDown{kK80Node, 0b1100}});
  journal.end(2000, {.pending = 2});
  EXPECT_EQ(fairness.windows()[0].all.largest, 0);

  WindowFairness other(by_second({seconds(1)}));
  TestJournal again(other);
  again.begin(2, {1, 1});
  again.arrive(0, 0, {.user = 0, .gpus = 8});
  again.arrive(0, 1, {.user = 1, .gpus = 8});
  again.place(0, 0, {.gang = {{kV100Node, 2}}});
  other.on({{0}, record::Tickets{UserId(1), 3}});
  again.end(1000, {.pending = 2});
  // u0 is entitled to 2 of 8 GPUs and uses them; u1 to 6.
  EXPECT_EQ(other.windows()[0].all.largest, 1);
  EXPECT_EQ(other.windows()[0].all.user, UserId(1));
  EXPECT_EQ(other.windows()[0].all.mean, 0.5);
}

}  // namespace
}  // namespace fairlead
