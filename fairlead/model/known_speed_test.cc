#include "fairlead/model/known_speed.h"

#include "fairlead/input/cluster_file.h"
#include "fairlead/input/models_file.h"
#include "fairlead/model/cluster_build.h"
#include "fairlead/model/profile_options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace fairlead {
namespace {

const GpuTypeId kV100(0);
const GpuTypeId kK80(1);
const NodeId kV100Node(0);
const NodeId kK80Node(1);

// Jobs of the list below.
const JobId kAnnVae(0);
const JobId kAnnVaeAgain(1);
const JobId kAnnDcgan(2);
const JobId kBenVae(3);
const JobId kAnnNameless(4);  // no model
const JobId kJobs(5);         // the number of jobs

Workload jobs_of_two_users() {
  Workload workload;
  const UserId ann(0);
  const UserId ben(1);
  const ModelId vae = workload.models.push_back("VAE");
  const ModelId dcgan = workload.models.push_back("DCGAN");
  const std::array<std::pair<UserId, ModelId>, 5> asked = {
      {{ann, vae}, {ann, vae}, {ann, dcgan}, {ben, vae}, {ann, ModelId()}}};
  for (const auto& [user, model] : asked) {
    workload.jobs.user.push_back(user);
    workload.jobs.model.push_back(model);
    workload.jobs.gpus.push_back(2);
    workload.reference_types.push_back("");
  }
  return workload;
}

// One V100 node and one K80 node, with the known speeds there.
struct Known {
  explicit Known(RatesNeeded needed, const ProfileOptions& options = {})
      : cluster(*parse_cluster_shorthand("1xV100:4,1xK80:4")),
        workload(jobs_of_two_users()),
        truth(*Speed::make(cluster, builtin_models(), workload, "K80")),
        speed(&truth, cluster, workload.jobs, needed, options) {
    for (JobId job : ids<JobId>(workload.jobs.size())) speed.add_job(job);
  }
  Known(const Known&) = delete;

  void run(std::int64_t at_ms, JobId job, const std::vector<Slice>& gang, Duration overhead = {}) {
    speed.set_now({at_ms});
    speed.on_run_begin(job, gang, truth.rate(job, gang));
    speed.on_start(job, gang, overhead);
  }
  std::optional<Rate> rate_at(std::int64_t at_ms, JobId job, GpuTypeId type,
                              std::uint32_t gpus = 2) {
    speed.set_now({at_ms});
    return speed.rate(job, type, gpus, Tier::kPair);
  }
  Rate true_rate(JobId job, GpuTypeId type, std::uint32_t gpus = 2) const {
    return truth.rate(job, type, gpus, Tier::kPair);
  }

  Cluster cluster;
  Workload workload;
  Speed truth;
  KnownSpeed speed;
};

TEST(KnownSpeed, IsNothingWhereNothingIsNeeded) {
  Known known(RatesNeeded::kNone);
  known.run(0, kAnnVae, {{kV100Node, 2}});
  for (JobId job : ids<JobId>(kJobs.row())) {
    EXPECT_FALSE(known.rate_at(3'600'000, job, kV100).has_value());
  }
}

TEST(KnownSpeed, IsTheTableWhereTheTableIsNeeded) {
  // The noise of profiles does not affect the table.
  Known known(RatesNeeded::kTable, {.noise = 0.5});
  for (JobId job : ids<JobId>(kJobs.row())) {
    for (GpuTypeId type : {kV100, kK80}) {
      for (std::uint32_t gpus : {1U, 2U, 4U}) {
        EXPECT_EQ(known.rate_at(0, job, type, gpus), known.true_rate(job, type, gpus));
      }
    }
  }
}

TEST(ProfiledSpeed, IsNotKnownBeforeAnyRun) {
  Known known(RatesNeeded::kProfiled);
  for (JobId job : ids<JobId>(kJobs.row())) {
    for (GpuTypeId type : {kV100, kK80}) {
      EXPECT_FALSE(known.rate_at(3'600'000, job, type).has_value());
    }
  }
}

TEST(ProfiledSpeed, IsKnownOnceTheOverheadAndTheLengthAreOver) {
  Known known(RatesNeeded::kProfiled, {.length = seconds(10)});
  known.run(5'000, kAnnVae, {{kV100Node, 2}}, seconds(2));
  EXPECT_FALSE(known.rate_at(16'999, kAnnVae, kV100).has_value());
  EXPECT_EQ(known.rate_at(17'000, kAnnVae, kV100), known.true_rate(kAnnVae, kV100));
  // At every gang size.
  EXPECT_EQ(known.rate_at(17'000, kAnnVae, kV100, 4), known.true_rate(kAnnVae, kV100, 4));
}

TEST(ProfiledSpeed, IsThatOfTheTypeThatRan) {
  Known known(RatesNeeded::kProfiled);
  known.run(0, kAnnVae, {{kV100Node, 2}});
  EXPECT_TRUE(known.rate_at(60'000, kAnnVae, kV100).has_value());
  EXPECT_FALSE(known.rate_at(60'000, kAnnVae, kK80).has_value());
}

TEST(ProfiledSpeed, IsThatOfAllJobsOfTheUserAndModelAndOfNoOther) {
  Known known(RatesNeeded::kProfiled);
  known.run(0, kAnnVae, {{kV100Node, 2}});
  EXPECT_EQ(known.rate_at(60'000, kAnnVaeAgain, kV100), known.true_rate(kAnnVaeAgain, kV100));
  EXPECT_FALSE(known.rate_at(60'000, kAnnDcgan, kV100).has_value());
  EXPECT_FALSE(known.rate_at(60'000, kAnnNameless, kV100).has_value());
  EXPECT_FALSE(known.rate_at(60'000, kBenVae, kV100).has_value());
}

TEST(ProfiledSpeed, OfAGangOfTwoTypesIsThatOfBoth) {
  Known known(RatesNeeded::kProfiled);
  known.run(0, kAnnVae, {{kV100Node, 1}, {kK80Node, 1}});
  EXPECT_TRUE(known.rate_at(60'000, kAnnVae, kV100).has_value());
  EXPECT_TRUE(known.rate_at(60'000, kAnnVae, kK80).has_value());
}

TEST(ProfiledSpeed, StaysKnownAndCountsFromTheFirstRunThatEnds) {
  Known known(RatesNeeded::kProfiled, {.length = seconds(10)});
  known.run(0, kAnnVae, {{kV100Node, 2}}, seconds(60));
  known.run(20'000, kAnnVaeAgain, {{kV100Node, 2}});  // known at 30 s, not at 70 s
  EXPECT_FALSE(known.rate_at(29'999, kAnnVae, kV100).has_value());
  EXPECT_TRUE(known.rate_at(30'000, kAnnVae, kV100).has_value());
  known.run(40'000, kAnnVae, {{kV100Node, 2}}, seconds(60));
  EXPECT_TRUE(known.rate_at(40'000, kAnnVae, kV100).has_value());
}

// --- Measured ---------------------------------------------------------------------------------

const ProfileOptions kMeasured = {.source = SpeedSource::kMeasured, .length = seconds(10)};

TEST(MeasuredSpeed, IsThatOfTheGangThatRanLongEnough) {
  Known known(RatesNeeded::kProfiled, kMeasured);
  known.run(0, kAnnVae, {{kV100Node, 2}}, seconds(2));
  EXPECT_FALSE(known.rate_at(11'999, kAnnVae, kV100).has_value());
  EXPECT_EQ(known.rate_at(12'000, kAnnVae, kV100), known.true_rate(kAnnVae, kV100));
  EXPECT_EQ(known.rate_at(12'000, kAnnVaeAgain, kV100), known.true_rate(kAnnVae, kV100));
  EXPECT_FALSE(known.rate_at(12'000, kAnnVae, kK80).has_value());
  EXPECT_FALSE(known.rate_at(12'000, kAnnDcgan, kV100).has_value());
  EXPECT_FALSE(known.rate_at(12'000, kBenVae, kV100).has_value());
  // Twice as many GPUs count as twice as fast, regardless of the table.
  EXPECT_EQ(known.rate_at(12'000, kAnnVae, kV100, 4)->fixed,
            2 * known.true_rate(kAnnVae, kV100).fixed);
}

TEST(MeasuredSpeed, IsNotThatOfARunThatIsCutShort) {
  Known known(RatesNeeded::kProfiled, kMeasured);
  known.run(0, kAnnVae, {{kV100Node, 2}});
  known.speed.set_now({9'999});
  known.speed.on_run_end(kAnnVae);
  EXPECT_FALSE(known.rate_at(60'000, kAnnVae, kV100).has_value());
}

TEST(MeasuredSpeed, IsWhatJobsReport) {
  Known known(RatesNeeded::kProfiled, kMeasured);
  known.run(0, kAnnVae, {{kV100Node, 2}});
  known.speed.set_now({30'000});
  known.speed.on_rate(kAnnVae, Rate::of(0.125));
  EXPECT_EQ(known.rate_at(30'000, kAnnVae, kV100), Rate::of(0.125));
}

TEST(MeasuredSpeed, IsThatOfAllTypesOfTheProduct) {
  const Cluster cluster = *build_cluster("c", {},
                                         {{.name = "a", .gpu_type = "V100/pool=a", .gpus = 4},
                                          {.name = "b", .gpu_type = "V100", .gpus = 4},
                                          {.name = "k", .gpu_type = "K80", .gpus = 4}});
  Workload workload = jobs_of_two_users();
  KnownSpeed speed(nullptr, cluster, workload.jobs, RatesNeeded::kProfiled, kMeasured);
  for (JobId job : ids<JobId>(workload.jobs.size())) speed.add_job(job);
  const std::vector<Slice> both = {{NodeId(0), 1}, {NodeId(1), 1}};
  speed.on_run_begin(kAnnVae, both, Rate::of(0.5));
  speed.on_start(kAnnVae, both, {});
  speed.set_now({20'000});
  EXPECT_EQ(speed.rate(kAnnVae, GpuTypeId(0), 2, Tier::kRack), Rate::of(0.5));
  EXPECT_EQ(speed.rate(kAnnVae, GpuTypeId(1), 2, Tier::kRack), Rate::of(0.5));
  EXPECT_FALSE(speed.rate(kAnnVae, GpuTypeId(2), 2, Tier::kRack).has_value());
}

TEST(MeasuredSpeed, OfAGangOfTwoTypesIsThatOfNeither) {
  Known known(RatesNeeded::kProfiled, kMeasured);
  known.run(0, kAnnVae, {{kV100Node, 1}, {kK80Node, 1}});
  EXPECT_FALSE(known.rate_at(60'000, kAnnVae, kV100).has_value());
  EXPECT_FALSE(known.rate_at(60'000, kAnnVae, kK80).has_value());
}

TEST(MeasuredSpeed, IsForgotten) {
  ProfileOptions options = kMeasured;
  options.age = seconds(100);
  Known known(RatesNeeded::kProfiled, options);
  known.run(0, kAnnVae, {{kV100Node, 2}});
  known.speed.set_now({20'000});
  known.speed.on_run_end(kAnnVae);
  EXPECT_TRUE(known.rate_at(120'000, kAnnVae, kV100).has_value());
  EXPECT_FALSE(known.rate_at(120'001, kAnnVae, kV100).has_value());
}

TEST(MeasuredSpeed, OfAnEarlierRunIsKnownFromTheStart) {
  Known before(RatesNeeded::kProfiled, kMeasured);
  before.run(0, kAnnVae, {{kV100Node, 2}});
  before.speed.set_now({20'000});
  const std::vector<LearnedSpeed> learned = before.speed.learned();
  ASSERT_EQ(learned.size(), 1U);
  Known after(RatesNeeded::kProfiled, kMeasured);
  after.speed.learn(learned[0]);
  EXPECT_EQ(after.rate_at(0, kAnnVae, kV100), before.rate_at(20'000, kAnnVae, kV100));
  EXPECT_FALSE(after.rate_at(0, kAnnVae, kK80).has_value());
}

TEST(MeasuredSpeed, HasAnAnswerFromTheStartForPoliciesThatNeedAllRates) {
  Known known(RatesNeeded::kTable, kMeasured);
  for (JobId job : ids<JobId>(kJobs.row())) {
    for (GpuTypeId type : {kV100, kK80}) {
      EXPECT_EQ(known.rate_at(0, job, type, 1), Rate::of(0.5));
      EXPECT_EQ(known.rate_at(0, job, type, 2), Rate::one());
      EXPECT_EQ(known.rate_at(0, job, type, 4), Rate::of(2));
    }
  }
  EXPECT_EQ(known.speed.revision(), 0U);
  known.run(0, kAnnVae, {{kV100Node, 2}});
  // The ratio between the GPU types is not known yet.
  EXPECT_EQ(known.rate_at(10'000, kAnnVae, kK80), known.true_rate(kAnnVae, kV100));
  EXPECT_GT(known.speed.revision(), 0U);
  known.run(20'000, kAnnVaeAgain, {{kK80Node, 2}});
  EXPECT_EQ(known.rate_at(30'000, kAnnVae, kK80), known.true_rate(kAnnVae, kK80));
  EXPECT_EQ(known.rate_at(30'000, kAnnVae, kV100), known.true_rate(kAnnVae, kV100));
}

TEST(MeasuredSpeed, OnATypeThatWasNotTriedIsWhatOthersGainThere) {
  Known known(RatesNeeded::kTable, kMeasured);
  known.run(0, kAnnVae, {{kV100Node, 2}}, {});
  known.run(20'000, kAnnVaeAgain, {{kK80Node, 2}}, {});
  known.run(40'000, kAnnDcgan, {{kK80Node, 2}}, {});
  const double gain =
      known.true_rate(kAnnVae, kV100).value() / known.true_rate(kAnnVae, kK80).value();
  const double rate = known.true_rate(kAnnDcgan, kK80).value();
  EXPECT_NEAR(known.rate_at(50'000, kAnnDcgan, kV100)->value(), gain * rate, 1e-5);
  // The unmeasured profile has speed 1 in the mean over the four GPUs of each type.
  const double mean = std::sqrt(known.rate_at(50'000, kBenVae, kV100)->value() *
                                known.rate_at(50'000, kBenVae, kK80)->value());
  EXPECT_NEAR(mean, 1, 1e-5);
  EXPECT_NEAR(known.rate_at(50'000, kBenVae, kV100)->value(), std::sqrt(gain), 1e-5);
}

TEST(MeasuredSpeed, BeforeAnythingIsThatOfTheTableOfGpuTypes) {
  ProfileOptions options = kMeasured;
  options.factors = {
      .source = "test",
      .types = {{.gpu_type = "V100", .factor = 9}, {.gpu_type = "K80", .factor = 1}}};
  Known known(RatesNeeded::kTable, options);
  EXPECT_EQ(known.rate_at(0, kAnnVae, kV100), Rate::of(3));
  EXPECT_EQ(known.rate_at(0, kAnnVae, kK80, 4), Rate::of(2 / 3.));
}

TEST(MeasuredSpeed, OnATypeThatWasNotTriedHasTheErrorsOfWhatOthersGain) {
  ProfileOptions noisy = kMeasured;
  noisy.noise = 0.2;
  noisy.seed = 7;
  Known known(RatesNeeded::kTable, noisy);
  known.run(0, kAnnVae, {{kV100Node, 2}});
  known.run(20'000, kAnnVaeAgain, {{kK80Node, 2}});
  const double gain = known.rate_at(30'000, kAnnVae, kV100)->value() /
                      known.rate_at(30'000, kAnnVae, kK80)->value();
  EXPECT_NEAR(known.rate_at(30'000, kAnnDcgan, kV100)->value() /
                  known.rate_at(30'000, kAnnDcgan, kK80)->value(),
              gain, 1e-4);
}

TEST(MeasuredSpeed, IsAllThereIsWithoutATable) {
  const Cluster cluster = *parse_cluster_shorthand("1xV100:4,1xK80:4");
  const Workload workload = jobs_of_two_users();
  KnownSpeed speed(nullptr, cluster, workload.jobs, RatesNeeded::kTable, {});
  for (JobId job : ids<JobId>(workload.jobs.size())) speed.add_job(job);
  EXPECT_EQ(speed.rate(kAnnVae, kV100, 2, Tier::kPair), Rate::one());
  EXPECT_FALSE(speed.skew(kAnnVae).has_value());
  speed.on_run_begin(kAnnVae, std::vector<Slice>{{kV100Node, 2}}, Rate::of(0.75));
  speed.on_start(kAnnVae, std::vector<Slice>{{kV100Node, 2}}, {});
  speed.set_now({10'000});
  EXPECT_EQ(speed.rate(kAnnVae, kV100, 2, Tier::kPair), Rate::of(0.75));
}

// The GPU types that a job runs on are known, and so are the types that its gang does not fit on.
TEST(MeasuredSpeed, OfAGangThatCannotRunIsZero) {
  const Cluster cluster = *parse_cluster_shorthand("1xV100:4,1xK80:4");
  Workload workload = jobs_of_two_users();
  const SpeedTable table = *parse_models_yaml(
      "models: [{name: VAE, rates: {V100: 1, K80: 0}}, {name: DCGAN, rates: {V100: 1, K80: 1}}]",
      "test");
  const Speed truth = *Speed::make(cluster, table, workload, "V100");
  KnownSpeed speed(&truth, cluster, workload.jobs, RatesNeeded::kTable, kMeasured);
  for (JobId job : ids<JobId>(workload.jobs.size())) speed.add_job(job);
  EXPECT_EQ(speed.rate(kAnnVae, kK80, 2, Tier::kPair), Rate{0});
  EXPECT_EQ(speed.rate(kAnnVae, kV100, 2, Tier::kPair), Rate::one());
}

TEST(MeasuredSpeed, HasNoise) {
  ProfileOptions noisy = kMeasured;
  noisy.noise = 0.2;
  noisy.seed = 7;
  Known known(RatesNeeded::kProfiled, noisy);
  known.run(0, kAnnVae, {{kV100Node, 2}});
  const double error =
      known.rate_at(60'000, kAnnVae, kV100)->value() / known.true_rate(kAnnVae, kV100).value();
  EXPECT_NE(error, 1);
  EXPECT_NEAR(error, 1, 0.2);
}

// --- Noise ------------------------------------------------------------------------------------

// Returns profiled rate / true rate of each job on each type.
std::vector<double> errors(double noise, std::uint64_t seed) {
  Known known(RatesNeeded::kProfiled, {.noise = noise, .seed = seed});
  std::vector<double> errors;
  for (JobId job : ids<JobId>(kJobs.row())) {
    known.run(0, job, {{kV100Node, 1}, {kK80Node, 1}});
    for (GpuTypeId type : {kV100, kK80}) {
      errors.push_back(known.rate_at(60'000, job, type)->value() /
                       known.true_rate(job, type).value());
    }
  }
  return errors;
}

TEST(ProfileNoise, IsBoundedAndReachesFar) {
  double least = 1;
  double most = 1;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (double error : errors(0.2, seed)) {
      EXPECT_GE(error, 0.8 - 1e-6);
      EXPECT_LE(error, 1.2 + 1e-6);
      least = std::min(least, error);
      most = std::max(most, error);
    }
  }
  EXPECT_LT(least, 0.82);
  EXPECT_GT(most, 1.18);
}

TEST(ProfileNoise, BelongsToAProfileAndType) {
  const std::vector<double> all = errors(0.2, 7);
  // Ann's two jobs of one model share an error; every other profile and type has its own.
  EXPECT_NEAR(all[0], all[2], 1e-6);
  EXPECT_NEAR(all[1], all[3], 1e-6);
  std::set<std::int64_t> different;
  for (double error : all) different.insert(std::llround(error * 1e6));
  EXPECT_EQ(different.size(), all.size() - 2);
}

TEST(ProfileNoise, IsTheSameEveryTimeItIsAsked) {
  Known known(RatesNeeded::kProfiled, {.noise = 0.2, .seed = 7});
  known.run(0, kAnnVae, {{kV100Node, 2}});
  const auto first = known.rate_at(60'000, kAnnVae, kV100);
  known.run(70'000, kAnnVae, {{kV100Node, 2}});
  EXPECT_EQ(known.rate_at(90'000, kAnnVae, kV100), first);
  // The error is the same fraction at every gang size.
  const auto four = known.rate_at(90'000, kAnnVae, kV100, 4);
  EXPECT_NEAR(four->value() / first->value(), 2, 1e-6);
}

TEST(ProfileNoise, FollowsTheSeed) {
  EXPECT_EQ(errors(0.2, 7), errors(0.2, 7));
  EXPECT_NE(errors(0.2, 7), errors(0.2, 8));
  for (double error : errors(0, 7)) EXPECT_EQ(error, 1);
}

TEST(ProfileNoise, LeavesWhatIsInfeasibleInfeasible) {
  const Cluster cluster = *parse_cluster_shorthand("1xV100:4,1xK80:4");
  Workload workload = jobs_of_two_users();
  const SpeedTable table = *parse_models_yaml(
      "models: [{name: VAE, rates: {V100: 1, K80: 0}}, {name: DCGAN, rates: {V100: 1, K80: 1}}]",
      "test");
  const Speed truth = *Speed::make(cluster, table, workload, "V100");
  KnownSpeed speed(&truth, cluster, workload.jobs, RatesNeeded::kProfiled, {.noise = 0.2});
  for (JobId job : ids<JobId>(workload.jobs.size())) speed.add_job(job);
  speed.on_start(kAnnVae, std::vector<Slice>{{kK80Node, 1}}, {});
  speed.set_now({60'000});
  EXPECT_EQ(speed.rate(kAnnVae, kK80, 1, Tier::kPair), Rate{0});
}

// The skew is known before any run: the fraction of all gradients in the largest tensor.
TEST(KnownSpeed, TheSkewOfAModelIsKnownFromTheStartIfTheModelSaysIt) {
  const Cluster cluster = *parse_cluster_shorthand("1xV100:4");
  const std::string_view half = "{bytes_mb: 100, largest_tensor_mb: 50, compute_ms: 1}";
  const std::string text = fmt::format(
      "models:\n"
      "  - {{name: VAE, rates: {{V100: 1}}, communication: {}}}\n"
      "  - {{name: DCGAN, rates: {{V100: 1}}, communication: {{bytes_mb: 1, compute_ms: 1}}}}\n",
      half);
  const SpeedTable table = *parse_models_yaml(text, "m.yaml");
  Workload workload = jobs_of_two_users();
  const Speed truth = *Speed::make(cluster, table, workload, "V100");
  const KnownSpeed speed(&truth, cluster, workload.jobs, RatesNeeded::kNone, {});
  EXPECT_EQ(speed.skew(kAnnVae), 0.5);
  EXPECT_EQ(speed.skew(kBenVae), 0.5);
  EXPECT_EQ(speed.skew(kAnnDcgan), std::nullopt);
  EXPECT_EQ(speed.skew(kAnnNameless), std::nullopt);
}

TEST(KnownSpeed, ATensorIsNotLargerThanAllThatIsExchanged) {
  const auto parsed = parse_models_yaml(
      "models: [{name: a, rates: {V100: 1}, communication: "
      "{bytes_mb: 10, largest_tensor_mb: 11, compute_ms: 1}}]",
      "m.yaml");
  ASSERT_FALSE(parsed.has_value());
  EXPECT_NE(parsed.error().message.find("from 0 to 10"), std::string::npos)
      << parsed.error().message;
}

// --- Predicted ---------------------------------------------------------------------------------

// 8 Gbit/s are 1 MB in a millisecond.
const Links kSlowLinks = {.pair_gbps = 80, .node_gbps = 16, .rack_gbps = 8, .spine_gbps = 2};
// A gang of two with speed 1 makes a step in 100 ms.
const JobProfile kProfile = {.parameters_kb = 120'000,
                             .gradients_kb = 100'000,
                             .largest_tensor_kb = 40'000,
                             .workers = 2,
                             .samples = 32,
                             .step_us = 100'000};

// Two nodes of each type in a rack, and no table.
struct Predicted {
  explicit Predicted(RatesNeeded needed = RatesNeeded::kTable)
      : cluster(*build_cluster("c", kSlowLinks,
                               {{.name = "a", .gpu_type = "V100", .gpus = 4, .rack = "r"},
                                {.name = "b", .gpu_type = "V100", .gpus = 4, .rack = "r"},
                                {.name = "k", .gpu_type = "K80", .gpus = 4, .rack = "r"},
                                {.name = "l", .gpu_type = "K80", .gpus = 4, .rack = "r"}})),
        workload(jobs_of_two_users()),
        speed(nullptr, cluster, workload.jobs, needed, {}) {
    for (JobId job : ids<JobId>(workload.jobs.size())) speed.add_job(job);
  }
  Predicted(const Predicted&) = delete;

  // Lets a gang work for as long as a measurement needs.
  void measure(JobId job, const std::vector<Slice>& gang, double rate) {
    speed.on_run_begin(job, gang, Rate::of(rate));
    speed.on_start(job, gang, {});
    now_ms += 20'000;
    speed.set_now({now_ms});
    speed.on_run_end(job);
  }
  double rate(JobId job, std::uint32_t gpus, Tier tier, GpuTypeId type = kV100) const {
    return speed.rate(job, type, gpus, tier)->value();
  }

  Cluster cluster;
  Workload workload;
  KnownSpeed speed;
  std::int64_t now_ms = 0;
};

const std::vector<Slice> kTwoOnANode = {{NodeId(0), 2}};
const std::vector<Slice> kOneOnEach = {{NodeId(0), 1}, {NodeId(1), 1}};

// A pair exchanges 100 MB in 10 ms: 5.5 ms lengthen the step, and the rest hides behind the computation. So a step of
// 100 ms computes for 94.5 ms, beside which 63.03 ms can hide.
TEST(PredictedSpeed, FollowsFromOneMeasurementTheProfileAndTheLinks) {
  Predicted known;
  known.measure(kAnnVae, kTwoOnANode, 1);
  EXPECT_EQ(known.rate(kAnnVae, 2, Tier::kRack), 1) << "without a profile, no tier costs anything";
  EXPECT_TRUE(known.speed.see_profile(kAnnVae, kProfile));
  for (const JobId job : {kAnnVae, kAnnVaeAgain}) {
    EXPECT_EQ(known.rate(job, 2, Tier::kPair), 1);
    EXPECT_NEAR(known.rate(job, 2, Tier::kNode), 100 / (94.5 + 0.55 * 50), 1e-6);
    EXPECT_NEAR(known.rate(job, 2, Tier::kRack), 100 / (94.5 + 0.55 * 100), 1e-6);
    EXPECT_NEAR(known.rate(job, 2, Tier::kSpine), 100 / (94.5 + 400 - 0.667 * 94.5), 1e-6);
    EXPECT_NEAR(known.rate(job, 1, Tier::kPair), 0.5 * 100 / 94.5, 1e-6);
    EXPECT_NEAR(known.rate(job, 4, Tier::kNode), 2 * 100 / (94.5 + 0.55 * 75), 1e-6);
    EXPECT_NEAR(known.rate(job, 4, Tier::kRack), 2 * 100 / (94.5 + 150 - 0.667 * 94.5), 1e-6);
  }
  EXPECT_EQ(known.rate(kAnnDcgan, 2, Tier::kRack), 1) << "another model";
  EXPECT_EQ(known.rate(kBenVae, 2, Tier::kRack), 1) << "another user";
}

TEST(PredictedSpeed, OfAGangWithoutABatchSizeFollowsFromTheStepOfOneGpu) {
  Predicted known;
  JobProfile profile = kProfile;
  profile.samples = 0;
  profile.step_us = 200'000;  // which two GPUs divide
  known.speed.see_profile(kAnnVae, profile);
  known.measure(kAnnVae, kTwoOnANode, 1);
  EXPECT_NEAR(known.rate(kAnnVae, 2, Tier::kRack), 100 / 149.5, 1e-6);
}

TEST(PredictedSpeed, GivesWayToMeasurements) {
  Predicted known;
  known.speed.see_profile(kAnnVae, kProfile);
  known.measure(kAnnVae, kTwoOnANode, 1);
  known.measure(kAnnVaeAgain, kOneOnEach, 0.9);
  EXPECT_EQ(known.rate(kAnnVae, 2, Tier::kRack), Rate::of(0.9).value());
  EXPECT_EQ(known.rate(kAnnVae, 2, Tier::kPair), 1);
}

TEST(PredictedSpeed, OfANarrowerGangFollowsFromAWiderOne) {
  Predicted known;
  known.speed.see_profile(kAnnVae, kProfile);
  known.measure(kAnnVae, kOneOnEach, 100 / 149.5);
  EXPECT_NEAR(known.rate(kAnnVae, 2, Tier::kPair), 1, 1e-6);
}

TEST(PredictedSpeed, OnAnUnmeasuredTypeHasTheGainOfOtherModels) {
  Predicted known;
  known.speed.see_profile(kAnnVae, kProfile);
  known.measure(kAnnVae, kTwoOnANode, 1);
  known.measure(kAnnDcgan, kTwoOnANode, 1);
  known.measure(kAnnDcgan, {{NodeId(2), 2}}, 0.25);
  EXPECT_NEAR(known.rate(kAnnVae, 2, Tier::kRack, kK80), 0.25 * known.rate(kAnnVae, 2, Tier::kRack),
              1e-6);
}

TEST(PredictedSpeed, OnATypeThatWasNotTriedIsUnknownToPoliciesThatProfile) {
  Predicted known(RatesNeeded::kProfiled);
  known.speed.see_profile(kAnnVae, kProfile);
  EXPECT_FALSE(known.speed.rate(kAnnVae, kV100, 2, Tier::kRack).has_value());
  known.measure(kAnnVae, kTwoOnANode, 1);
  EXPECT_NEAR(known.rate(kAnnVae, 2, Tier::kRack), 100 / 149.5, 1e-6);
  EXPECT_FALSE(known.speed.rate(kAnnVae, kK80, 2, Tier::kRack).has_value());
}

TEST(PredictedSpeed, OfAGangThatIsFasterThanItsLinksIsNotPredicted) {
  Predicted known;
  JobProfile profile = kProfile;
  profile.step_us = 9'500;  // 9.5 ms for a pair; the links need 10
  known.speed.see_profile(kAnnVae, profile);
  known.measure(kAnnVae, kTwoOnANode, 1);
  EXPECT_EQ(known.rate(kAnnVae, 2, Tier::kRack), 1);
}

TEST(PredictedSpeed, ChangesWithTheProfileAlone) {
  Predicted known;
  known.measure(kAnnVae, kTwoOnANode, 1);
  std::uint64_t revision = known.speed.revision();
  const auto see = [&](const JobProfile& profile) {
    const bool is_news = known.speed.see_profile(kAnnVaeAgain, profile);
    EXPECT_EQ(known.speed.revision() > revision, is_news);
    revision = known.speed.revision();
    return is_news;
  };
  JobProfile profile = kProfile;
  profile.step_us = 1;
  EXPECT_TRUE(see(profile));
  EXPECT_EQ(known.speed.learned().at(0).profile, profile);
  profile = kProfile;
  EXPECT_TRUE(see(profile));
  EXPECT_FALSE(see(profile));
  profile.step_us = 107'500;
  EXPECT_FALSE(see(profile)) << "a speed varies by as much";
  profile.step_us = 112'500;
  EXPECT_TRUE(see(profile));
  profile.gradients_kb += 1;
  EXPECT_TRUE(see(profile));
  EXPECT_EQ(known.speed.learned().at(0).profile, profile);
}

TEST(PredictedSpeed, HasTheSkewOfTheProfile) {
  Predicted known;
  EXPECT_FALSE(known.speed.skew(kAnnVae).has_value());
  known.speed.see_profile(kAnnVae, kProfile);
  EXPECT_DOUBLE_EQ(known.speed.skew(kAnnVae).value(), 0.4);
  EXPECT_DOUBLE_EQ(known.speed.skew(kAnnVaeAgain).value(), 0.4);
  EXPECT_FALSE(known.speed.skew(kBenVae).has_value());
}

TEST(PredictedSpeed, IsNotNeededBesideATable) {
  Known known(RatesNeeded::kTable);
  EXPECT_FALSE(known.speed.see_profile(kAnnVae, kProfile));
  EXPECT_EQ(known.rate_at(0, kAnnVae, kV100), known.true_rate(kAnnVae, kV100));
}

}  // namespace
}  // namespace fairlead
