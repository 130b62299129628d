#include "fairlead/input/cluster_file.h"
#include "fairlead/policy/optimus/estimates.h"
#include "fairlead/policy/optimus/shares.h"
#include "testing/steps.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace fairlead {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr GpuTypeId kFirst{0};
constexpr GpuTypeId kSecond{1};

// A job whose time left is a row of a table, the same on every type: times[n - 1] with n GPUs.
struct TimedJob {
  std::vector<double> times;
  std::uint32_t gpus_min = 1;
  std::uint32_t allocated = 0;
  GpuTypeId allocated_type = kFirst;
};

std::vector<ElasticJob> share(const std::vector<TimedJob>& timed, std::vector<std::uint32_t> left,
                              double restart = 0) {
  std::vector<ElasticJob> jobs;
  for (const TimedJob& each : timed) {
    jobs.push_back({.gpus_min = each.gpus_min,
                    .gpus_max = static_cast<std::uint32_t>(each.times.size()),
                    .types = kAllTypes,
                    .allocated = each.allocated,
                    .allocated_type = each.allocated_type});
  }
  const auto time_left = [&](std::size_t job, GpuTypeId, std::uint32_t gpus) {
    return timed[job].times[gpus - 1];
  };
  share_by_gain(jobs, left, time_left, restart);
  return jobs;
}

std::vector<std::uint32_t> gpus_of(const std::vector<ElasticJob>& jobs) {
  std::vector<std::uint32_t> gpus;
  for (const ElasticJob& job : jobs) gpus.push_back(job.gpus);
  return gpus;
}

std::vector<std::uint32_t> shares(const std::vector<TimedJob>& timed, std::uint32_t gpus,
                                  double restart = 0) {
  return gpus_of(share(timed, {gpus}, restart));
}

using Gpus = std::vector<std::uint32_t>;

TEST(OptimusShares, GiveEachGpuToTheJobThatItBringsForwardMost) {
  // Gains: 50, 10, 5 and 40, 20, 10.
  const std::vector<TimedJob> jobs = {{.times = {100, 50, 40, 35}}, {.times = {100, 60, 40, 30}}};
  EXPECT_EQ(shares(jobs, 2), (Gpus{1, 1}));
  EXPECT_EQ(shares(jobs, 3), (Gpus{2, 1}));
  EXPECT_EQ(shares(jobs, 4), (Gpus{2, 2}));
  EXPECT_EQ(shares(jobs, 5), (Gpus{2, 3}));
  EXPECT_EQ(shares(jobs, 6), (Gpus{3, 3}));  // 10 each: the first in input order
  EXPECT_EQ(shares(jobs, 9), (Gpus{4, 4}));
}

TEST(OptimusShares, EqualOnesGoToTheJobWithTheFewestAsFarAsTheyHelp) {
  const std::vector<double> times[] = {{100, 10, 5, 4}, {100, 99, 98, 97}, {100, 90, 90, 90}};
  for (const auto& [gpus, expected] :
       {std::pair(5U, Gpus{2, 2, 1}), {6U, {2, 2, 2}}, {8U, {3, 3, 2}}, {12U, {4, 4, 2}}}) {
    std::vector<ElasticJob> jobs(3, {.gpus_max = 4, .types = kAllTypes});
    std::vector<std::uint32_t> left = {gpus};
    const auto time_left = [&](std::size_t job, GpuTypeId, std::uint32_t n) {
      return times[job][n - 1];
    };
    share_equally(jobs, left, time_left, 0);
    EXPECT_EQ(gpus_of(jobs), expected);
  }
}

TEST(OptimusShares, GiveTheSmallestGangsFirstToThoseWhoNeedLeast) {
  const std::vector<TimedJob> jobs = {{.times = {9, 9, 9, 9}, .gpus_min = 4},
                                      {.times = {9, 9}, .gpus_min = 2},
                                      {.times = {9, 9}, .gpus_min = 2},
                                      {.times = {9}}};
  EXPECT_EQ(shares(jobs, 3), (Gpus{0, 2, 0, 1}));
  EXPECT_EQ(shares(jobs, 5), (Gpus{0, 2, 2, 1}));
  EXPECT_EQ(shares(jobs, 9), (Gpus{4, 2, 2, 1}));
}

TEST(OptimusShares, GiveNoJobAGpuThatWouldNotHelp) {
  EXPECT_EQ(shares({{.times = {10, 10, 12}}}, 8), (Gpus{1}));
}

TEST(OptimusShares, LookPastSizesThatAreWorseOrDoNotRun) {
  // The first gains 12 by three GPUs at once, 4 each; the second 5, then 3 by one.
  const std::vector<TimedJob> jobs = {{.times = {20, 25, kNever, 8}}, {.times = {20, 15, 12}}};
  EXPECT_EQ(shares(jobs, 3), (Gpus{1, 2}));
  EXPECT_EQ(shares(jobs, 6), (Gpus{4, 2}));
  // Two GPUs are too few for the first; of three, one is worth more to the second.
  EXPECT_EQ(shares(jobs, 4), (Gpus{1, 3}));
  EXPECT_EQ(shares(jobs, 5), (Gpus{1, 3}));
}

TEST(OptimusShares, ResizeAJobOnlyForMoreThanARestart) {
  const TimedJob grows{.times = {100, 80, 60, 55}, .allocated = 2};
  EXPECT_EQ(shares({grows}, 4, 19), (Gpus{4}));  // once it restarts, every GPU more is free
  EXPECT_EQ(shares({grows}, 3, 20), (Gpus{2}));
  EXPECT_EQ(shares({grows}, 4, 30), (Gpus{2}));
  // A shrink is worth it if another job gains more than its present job loses.
  const TimedJob newcomer{.times = {100, 50}};
  EXPECT_EQ(shares({grows, newcomer}, 3, 20), (Gpus{1, 2}));
  EXPECT_EQ(shares({grows, newcomer}, 3, 31), (Gpus{2, 1}));
}

TEST(OptimusShares, KeepAJobOnItsTypeUnlessAnotherIsARestartBetter) {
  const TimedJob allocated{.times = {10}, .allocated = 1, .allocated_type = kSecond};
  EXPECT_EQ(share({allocated}, {1, 1}, 5)[0].type, kSecond);
  EXPECT_EQ(share({allocated}, {1, 0}, 5)[0].type, kFirst);
  EXPECT_EQ(share({{.times = {10}}}, {1, 1}, 5)[0].type, kFirst);
}

std::vector<TimedJob> drawn_jobs(Rng& rng, bool is_convex) {
  std::vector<TimedJob> jobs(1 + rng.below(5));
  for (TimedJob& job : jobs) {
    const std::uint64_t sizes = 1 + rng.below(6);
    std::vector<double> gains;
    for (std::uint64_t i = 0; i < sizes; ++i) gains.push_back(static_cast<double>(rng.below(20)));
    if (is_convex) std::ranges::sort(gains, std::greater<>());
    double time = 200;
    for (double gain : gains) {
      job.times.push_back(!is_convex && rng.below(5) == 0 ? kNever : time);
      time -= is_convex ? gain : gain - 5;
    }
    job.gpus_min = static_cast<std::uint32_t>(1 + rng.below(sizes));
    job.times[job.gpus_min - 1] = std::min(job.times[job.gpus_min - 1], 200.0);
    if (!is_convex && rng.below(2) == 0) {
      job.allocated = static_cast<std::uint32_t>(1 + rng.below(sizes));
      job.allocated_type = GpuTypeId(rng.below(2));
    }
  }
  return jobs;
}

RC_GTEST_PROP(OptimusShares, StayWithinCapacityAndLeaveNoGpuThatAJobWouldGainBy, ()) {
  Rng rng(*rc::gen::arbitrary<std::uint64_t>());
  const std::vector<TimedJob> timed = drawn_jobs(rng, false);
  const double restart = static_cast<double>(rng.below(20));
  std::vector<std::uint32_t> left = {static_cast<std::uint32_t>(rng.below(12)),
                                     static_cast<std::uint32_t>(rng.below(12))};
  const std::vector<ElasticJob> jobs = share(timed, left, restart);
  for (const ElasticJob& job : jobs) {
    if (job.gpus == 0) continue;
    RC_ASSERT(job.gpus >= job.gpus_min && job.gpus <= job.gpus_max);
    RC_ASSERT(job.gpus <= left[job.type.row()]);
    left[job.type.row()] -= job.gpus;
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const ElasticJob& job = jobs[i];
    if (job.gpus == 0) {
      RC_ASSERT(std::ranges::max(left) < job.gpus_min);
      continue;
    }
    const auto time = [&](std::uint32_t gpus) {
      const bool stays =
          job.allocated == 0 || (gpus == job.allocated && job.type == job.allocated_type);
      return timed[i].times[gpus - 1] + (stays ? 0 : restart);
    };
    RC_ASSERT(time(job.gpus) < kNever);
    const std::uint32_t most = std::min(job.gpus_max, job.gpus + left[job.type.row()]);
    for (std::uint32_t gpus = job.gpus + 1; gpus <= most; ++gpus) {
      RC_ASSERT(time(gpus) >= time(job.gpus));
    }
  }
}

// Returns the smallest sum of times left of jobs i.. that some division of `left` GPUs reaches.
double least_sum(const std::vector<TimedJob>& jobs, std::size_t i, std::uint32_t left) {
  if (i == jobs.size()) return 0;
  double least = kNever;
  for (std::uint32_t gpus = jobs[i].gpus_min;
       gpus <= std::min<std::size_t>(left, jobs[i].times.size()); ++gpus) {
    least = std::min(least, jobs[i].times[gpus - 1] + least_sum(jobs, i + 1, left - gpus));
  }
  return least;
}

RC_GTEST_PROP(OptimusShares, HaveTheSmallestSumOfTimesWhereGainsFall, ()) {
  Rng rng(*rc::gen::arbitrary<std::uint64_t>());
  const std::vector<TimedJob> timed = drawn_jobs(rng, true);
  std::uint32_t gpus = static_cast<std::uint32_t>(rng.below(10));
  for (const TimedJob& job : timed) gpus += job.gpus_min;
  double sum = 0;
  const std::vector<std::uint32_t> given = shares(timed, gpus);
  for (std::size_t i = 0; i < timed.size(); ++i) sum += timed[i].times[given[i] - 1];
  RC_ASSERT(sum == least_sum(timed, 0, gpus));
}

// Worlds with elastic jobs.

struct ElasticRow {
  Time submit;
  std::uint32_t gpus_min = 1;
  std::uint32_t gpus = 1;
  std::uint32_t gpus_max = 1;
  Duration work = seconds(1);  // with `gpus`, on the faster type
  std::string model = "slows";
};

// "slows": n GPUs of A run at 1 / (0.8 / n + 0.1 + 0.1 n), of B at half that. "odd": no gang of 2
// runs, and 3 are slower than 1. Any other: a model without a profile, which scales linearly.
SpeedTable speeds() {
  SpeedTable table;
  TypeRates slows{.gpu_type = "A", .rows = {}};
  for (std::uint32_t n = 1; n <= 16; ++n) {
    slows.rows.push_back({.gpus = n, .consolidated = 1 / (0.8 + 0.1 * n + 0.1 * n * n)});
  }
  TypeRates half{.gpu_type = "B", .rows = slows.rows};
  for (RateRow& row : half.rows) row.consolidated /= 2;
  table.models.push_back({.name = "slows", .rates = {slows, half}, .costs = {}});
  const std::vector<RateRow> rows = {{.gpus = 1, .consolidated = 1},
                                     {.gpus = 2, .consolidated = 0},
                                     {.gpus = 3, .consolidated = 0.3},
                                     {.gpus = 4, .consolidated = 0.9}};
  table.models.push_back({.name = "odd", .rates = {{.gpu_type = "A", .rows = rows}}, .costs = {}});
  return table;
}

class ElasticWorld : public RecordSink {
 public:
  ElasticWorld(std::string_view cluster, const std::vector<ElasticRow>& rows,
               Settings settings = {.costs = Costs::none()}, std::uint64_t seed = 3)
      : cluster_(load_cluster(std::string(cluster)).value()),
        trace_(workload_of(rows)),
        settings_(std::move(settings)),
        seed_(seed),
        finishes_s_(rows.size(), -1) {}

  // Runs the policy of that name; with a seed, it is replaced by a copy of itself now and then.
  void run(std::string_view policy, Time until = Time::never(),
           std::optional<std::uint64_t> reload_seed = {}) {
    hash_ = run_policy({.cluster = cluster_,
                        .trace = trace_,
                        .settings = settings_,
                        .models = speeds(),
                        .seed = seed_,
                        .until = until},
                       policy, {this, &audit_}, reload_seed);
  }

  void on(const Record& record) override {
    if (const auto* place = std::get_if<record::Place>(&record.what)) {
      std::string text = fmt::format("{}s j{}", to_seconds(record.t), place->job.row());
      for (Slice slice : place->gang) text += fmt::format(" n{}:{}", slice.node.row(), slice.gpus);
      places_.push_back(text);
    }
    if (const auto* finished = std::get_if<record::Finished>(&record.what)) {
      finishes_s_[finished->job.row()] = to_seconds(record.t);
    }
  }

  const std::vector<std::string>& places() const { return places_; }
  const std::vector<double>& finishes_s() const { return finishes_s_; }
  const std::vector<std::string>& problems() const { return audit_.problems(); }
  const std::string& hash() const { return hash_; }

 private:
  static Workload workload_of(const std::vector<ElasticRow>& rows) {
    return numbered_jobs(rows, [](JobRow& row, const ElasticRow& from) {
      row.model = from.model;
      row.gpus = from.gpus;
      row.gpus_min = from.gpus_min;
      row.gpus_max = from.gpus_max;
      row.submit = from.submit;
      row.duration = from.work;
    });
  }

  Cluster cluster_;
  Trace trace_;
  Settings settings_;
  std::uint64_t seed_;
  Audit audit_;
  std::vector<std::string> places_;
  std::vector<double> finishes_s_;
  std::string hash_;
};

using Places = std::vector<std::string>;

TEST(Optimus, GivesALoneJobAsManyGpusAsHelpIt) {
  // The linear model takes all there are; the one that slows gains by up to 3.
  ElasticWorld linear("1xA:8", {{.gpus = 1, .gpus_max = 16, .work = seconds(80), .model = "none"}});
  linear.run("optimus");
  EXPECT_EQ(linear.places(), (Places{"0s j0 n0:8"}));
  EXPECT_EQ(linear.finishes_s(), std::vector<double>{10});
  ElasticWorld slows("1xA:8", {{.gpus = 1, .gpus_max = 8, .work = seconds(80)}});
  slows.run("optimus");
  EXPECT_EQ(slows.places(), (Places{"0s j0 n0:3"}));
}

TEST(Optimus, SkipsSizesThatDoNotRun) {
  ElasticWorld whole("1xA:4", {{.gpus = 1, .gpus_max = 4, .work = seconds(80), .model = "odd"}});
  whole.run("optimus");
  EXPECT_EQ(whole.places(), (Places{"0s j0 n0:4"}));
  ElasticWorld part("1xA:3", {{.gpus = 1, .gpus_max = 3, .work = seconds(80), .model = "odd"}});
  part.run("optimus");
  EXPECT_EQ(part.places(), (Places{"0s j0 n0:1"}));
  // The smallest gang that runs has 3 GPUs although 2 were named.
  ElasticWorld least("1xA:3", {{.gpus_min = 2, .gpus = 3, .gpus_max = 3, .model = "odd"}});
  least.run("optimus");
  EXPECT_EQ(least.places(), (Places{"0s j0 n0:3"}));
}

TEST(Optimus, MakesRoomForNewcomersAtTheNextLookAndGrowsBack) {
  const ElasticRow job{.gpus = 1, .gpus_max = 4, .work = seconds(4000), .model = "none"};
  std::vector<ElasticRow> rows = {job, job};
  rows[1].submit = {100'000};
  rows[1].work = seconds(1200);
  ElasticWorld world("1xA:4", rows);
  world.run("optimus:switch_s=0");
  // At 600 s j0 has 1600 s of work left and j1 1200 s: GPUs 2 and 3 gain 800 and 267 s against 600
  // and 200 s. At 1200 s j1 is done.
  EXPECT_EQ(world.places(),
            (Places{"0s j0 n0:4", "600s j0 n0:2", "600s j1 n0:2", "1200s j0 n0:4"}));
  EXPECT_EQ(world.problems(), std::vector<std::string>{});
}

TEST(Optimus, OffersWhatComesFreeBetweenLooksAtTheSmallestGang) {
  const ElasticRow fixed{.gpus_min = 4, .gpus = 4, .gpus_max = 4, .work = seconds(50)};
  ElasticRow elastic{.submit = {10'000}, .gpus = 2, .gpus_max = 4, .work = seconds(9000)};
  elastic.model = "none";
  ElasticWorld world("1xA:4", {fixed, elastic});
  world.run("optimus", {700'000});
  EXPECT_EQ(world.places(), (Places{"0s j0 n0:4", "50s j1 n0:1", "600s j1 n0:4"}));
}

TEST(Optimus, KeepsAGangThatHasLittleToGain) {
  // Alone since 50 s, the second job would gain by the other GPUs, but no restart's worth.
  const ElasticRow fixed{.gpus_min = 3, .gpus = 3, .gpus_max = 3, .work = seconds(50)};
  const ElasticRow elastic{.gpus = 1, .gpus_max = 4, .work = seconds(639), .model = "none"};
  ElasticWorld kept("1xA:4", {fixed, elastic});
  kept.run("optimus:switch_s=30");
  EXPECT_EQ(kept.places(), (Places{"0s j1 n0:1", "0s j0 n0:3"}));
  ElasticWorld moved("1xA:4", {fixed, elastic});
  moved.run("optimus:switch_s=29");
  EXPECT_EQ(moved.places(), (Places{"0s j1 n0:1", "0s j0 n0:3", "600s j1 n0:4"}));
}

TEST(Optimus, TakesTheFastestTypeThatHasRoomAndNeverAMix) {
  const ElasticRow job{.gpus_min = 2, .gpus = 2, .gpus_max = 8, .work = seconds(5000)};
  ElasticWorld world("1xB:2,1xA:3", {job, job});
  world.run("optimus", {1'000});
  EXPECT_EQ(world.places(), (Places{"0s j1 n0:2", "0s j0 n1:3"}));
}

TEST(Optimus, SpreadsOverTheFreestNodesOneAfterTheOther) {
  ElasticRow job{.gpus_min = 5, .gpus = 5, .gpus_max = 5, .model = "none"};
  ElasticRow pair{.gpus_min = 2, .gpus = 2, .gpus_max = 2, .model = "none"};
  ElasticWorld world("1xA:2,1xA:4,1xA:3", {job, pair});
  world.run("optimus", {100});
  EXPECT_EQ(world.places(), (Places{"0s j1 n1:2", "0s j0 n0:2 n2:3"}));
}

std::vector<ElasticRow> drawn_rows(Rng& rng) {
  std::vector<ElasticRow> rows(1 + rng.below(15));
  for (ElasticRow& row : rows) {
    row.submit = {static_cast<std::int64_t>(rng.below(100)) * 1000};
    row.gpus_min = static_cast<std::uint32_t>(1 + rng.below(4));
    row.gpus = row.gpus_min + static_cast<std::uint32_t>(rng.below(3));
    row.gpus_max = row.gpus + static_cast<std::uint32_t>(rng.below(6));
    row.work = seconds(static_cast<std::int64_t>(1 + rng.below(200)));
    row.model = rng.below(2) == 0 ? "none" : "slows";
  }
  return rows;
}

std::string drawn_variant() {
  return *rc::gen::element<std::string>(
      "optimus:round_s=5,switch_s=1", "optimus:round_s=9,switch_s=0,speed=fit",
      "optimus:round_s=5,switch_s=3,remaining=fit", "optimus:round_s=60,speed=fit,remaining=fit");
}

// The audit and the engine look at gangs; jobs here are never larger than one type.
RC_GTEST_PROP(Optimus, FinishesEveryElasticJobWithWholeGangs, ()) {
  Rng rng(*rc::gen::arbitrary<std::uint64_t>());
  const std::string cluster = *rc::gen::element<std::string>("2xA:3", "1xA:6,2xB:4", "6xB:1");
  Settings settings;
  if (rng.below(2) == 0) settings.costs = Costs::none();
  const std::vector<ElasticRow> rows = drawn_rows(rng);
  ElasticWorld world(cluster, rows, settings);
  world.run(drawn_variant());
  RC_ASSERT(world.problems() == std::vector<std::string>{});
  RC_ASSERT(std::ranges::min(world.finishes_s()) > 0);
}

RC_GTEST_PROP(Optimus, SurvivesNodesThatFail, ()) {
  Rng rng(*rc::gen::arbitrary<std::uint64_t>());
  Settings settings{.costs = Costs::none()};
  settings.faults.mtbf_h = 0.02;
  settings.faults.mttr_h = 0.005;
  ElasticWorld world("3xA:2,1xB:6", drawn_rows(rng), settings, rng.next());
  world.run(drawn_variant(), {24 * 3'600'000});
  RC_ASSERT(world.problems() == std::vector<std::string>{});
}

RC_GTEST_PROP(Optimus, SavingAndLoadingChangesNothing, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const std::string variant = drawn_variant();
  const auto hash = [&](std::optional<std::uint64_t> reload_seed) {
    Rng rng(seed);
    ElasticWorld world("1xA:6,2xB:4", drawn_rows(rng));
    world.run(variant, Time::never(), reload_seed);
    return world.hash();
  };
  RC_ASSERT(hash({}) == hash(seed));
}

// The view of one job, before anything happened.
struct JobView {
  explicit JobView(const ElasticRow& row, std::uint32_t cluster_gpus)
      : cluster(load_cluster(fmt::format("1xA:{}", cluster_gpus)).value()) {
    WorkloadBuilder builder("test", Reading::kStrict);
    JobRow job;
    job.id = "j";
    job.model = row.model;
    job.gpus = row.gpus;
    job.duration = row.work;
    FL_CHECK(builder.add(job, "test:1:1").has_value());
    workload = builder.finish();
    speed.emplace(Speed::make(cluster, speeds(), workload, "").value());
    known.emplace(&*speed, cluster, workload.jobs, RatesNeeded::kTable, ProfileOptions{});
  }
  View view() const {
    return {.now = {},
            .cluster = cluster,
            .users = workload.users,
            .jobs = workload.jobs,
            .speed = *known,
            .work = work,
            .news = {},
            .waiting = {},
            .running = {}};
  }

  Cluster cluster;
  Workload workload;
  std::optional<Speed> speed;
  std::optional<KnownSpeed> known;
  KnownWork work{workload.jobs, nullptr, WorkSource::kNone, {}};
};

TEST(OptimusSpeed, RecoversSpeedsThatFollowTheModel) {
  const JobView job({.gpus = 2}, 16);
  const FittedSpeed fitted(job.view(), JobId(0), kFirst, 1, 2, 16);
  for (std::uint32_t gpus = 1; gpus <= 16; ++gpus) {
    const double truth = job.view().speed.best_rate(JobId(0), kFirst, gpus).value();
    EXPECT_NEAR(fitted.rate(gpus) / truth, 1, 1e-6) << gpus;
  }
}

TEST(OptimusSpeed, IsTheTableAtSampledSizesAndBetweenThemBetween) {
  const JobView job({.gpus = 1, .model = "odd"}, 4);
  const FittedSpeed fitted(job.view(), JobId(0), kFirst, 1, 1, 4);
  EXPECT_EQ(fitted.rate(1), 1);
  EXPECT_NEAR(fitted.rate(4), 3.6, 1e-9);
  EXPECT_GT(fitted.rate(3), 1);
  EXPECT_LT(fitted.rate(3), 3.6);
  EXPECT_FALSE(can_run(job.view(), JobId(0), kFirst, 2));
}

TEST(OptimusRemaining, GetsBetterAsLossesComeIn) {
  const auto mean_error = [](double progress) {
    double sum = 0;
    for (std::size_t job = 0; job < 200; ++job) {
      const double believed = MadeUpTraining(5, JobId(job)).believed_left(progress);
      sum += std::abs(believed - (1 - progress)) / 200;
    }
    return sum;
  };
  EXPECT_GT(mean_error(0), 0.2);
  EXPECT_LT(mean_error(0.5), mean_error(0.2));
  EXPECT_LT(mean_error(0.95), mean_error(0.5) / 2);
}

TEST(OptimusRemaining, DependsOnSeedAndJobAlone) {
  const auto believed = [](std::uint64_t seed, std::size_t job) {
    return MadeUpTraining(seed, JobId(job)).believed_left(0.4);
  };
  EXPECT_EQ(believed(1, 7), believed(1, 7));
  EXPECT_NE(believed(1, 7), believed(1, 8));
  EXPECT_NE(believed(1, 7), believed(2, 7));
}

TEST(OptimusRemaining, IsAnEpochAtLeast) {
  for (std::size_t job = 0; job < 50; ++job) {
    EXPECT_GT(MadeUpTraining(1, JobId(job)).believed_left(1), 0);
  }
}

}  // namespace
}  // namespace fairlead
