#include "fairlead/run/simulation.h"

#include "fairlead/input/cluster_file.h"
#include "fairlead/input/models_file.h"
#include "fairlead/journal/audit.h"
#include "fairlead/metrics/metrics.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

namespace fairlead {
namespace {

// A policy that runs a test's function.
class Scripted : public Policy {
 public:
  using Decide = std::function<void(const View&, Plan&)>;
  explicit Scripted(Decide decide) : decide_(std::move(decide)) {}
  std::string_view name() const override { return "scripted"; }
  void decide(const View& view, Plan& plan) override { decide_(view, plan); }
  void fields(Archive&) override {}

 private:
  Decide decide_;
};

class Profiling : public Scripted {
 public:
  using Scripted::Scripted;
  Needs needs() const override { return {.rates = RatesNeeded::kProfiled}; }
};

// Places job 0 on 2 GPUs of node 0 at once.
void place_first(const View& view, Plan& plan) {
  if (view.now.ms != 0) return;
  plan.take(NodeId(0), 2);
  plan.place(JobId(0));
}

const JobRow kTwoJobs[] = {
    {.id = "a", .user = "ann", .gpus = 2, .duration = seconds(100)},
    {.id = "b", .user = "bob", .gpus = 4, .submit = {5000}, .duration = seconds(50)}};

SimulationInputs inputs_of(std::span<const JobRow> jobs, Costs costs = Costs::none()) {
  SimulationInputs inputs{.cluster = load_cluster("1xV100:4").value(),
                          .trace = Trace::of("test", jobs).value()};
  inputs.settings.costs = costs;
  return inputs;
}

// The error of a run under a policy that does that.
std::string error_of(Scripted::Decide decide) {
  SimulationInputs inputs = inputs_of(kTwoJobs);
  inputs.policy = std::make_unique<Scripted>(std::move(decide));
  Simulation simulation = Simulation::make(std::move(inputs)).value();
  const Status status = simulation.run();
  return status ? "" : status.error().message;
}

// A model of the table slides, on one GPU type that it has and one that it has not.
SimulationInputs unknown_speed_inputs(UnknownSpeed rule) {
  static const JobRow kJobs[] = {{.id = "a", .model = "ResNet50", .duration = seconds(7200)},
                                 {.id = "b", .model = "ResNet50", .duration = seconds(7200)}};
  SimulationInputs inputs{.cluster = load_cluster("1xV100:1,1xA100:1").value(),
                          .trace = Trace::of("test", kJobs).value()};
  inputs.settings.costs = Costs::none();
  inputs.settings.reference_gpu = "V100";
  inputs.settings.unknown_speed = rule;
  EXPECT_TRUE(inputs.use_policy("fifo"));
  return inputs;
}

RunResult result_of(SimulationInputs inputs) {
  Simulation simulation = Simulation::make(std::move(inputs)).value();
  EXPECT_TRUE(simulation.run());
  return simulation.result();
}

TEST(Simulation, RefusesSpeedsThatTheTableDoesNotHave) {
  const auto simulation = Simulation::make(unknown_speed_inputs(UnknownSpeed::kError));
  ASSERT_FALSE(simulation);
  EXPECT_EQ(simulation.error().kind, Error::Kind::kInput);
  EXPECT_TRUE(simulation.error().message.ends_with("ResNet50 on A100 (2 jobs)"))
      << simulation.error().message;
}

TEST(Simulation, IsRightWithTheModernTable) {
  SimulationInputs inputs = unknown_speed_inputs(UnknownSpeed::kError);
  inputs.settings.models = "modern";
  const RunResult result = result_of(std::move(inputs));
  EXPECT_EQ(result.jobs.at(0).finish, Time{7'200'000});
  EXPECT_EQ(result.jobs.at(1).finish, Time{3'791'151})
      << "7,200 s x 833 / 1,582 images/s, rounded up";
  EXPECT_TRUE(result.summary.assumed.speeds.empty());
}

TEST(Simulation, NamesTheSpeedsThatItAssumes) {
  const RunResult result = result_of(unknown_speed_inputs(UnknownSpeed::kSlowest));
  EXPECT_EQ(result.summary.assumed.speeds,
            (std::vector<AssumedSpeed>{{"ResNet50", "A100", "as slow as on its slowest type", 2}}));
  EXPECT_EQ(result.jobs.at(1).finish, Time{37'008'001});
  const RunResult generic = result_of(unknown_speed_inputs(UnknownSpeed::kGeneric));
  EXPECT_LT(generic.jobs.at(1).finish, Time{3'600'000}) << "an A100 is more than twice a V100";
}

TEST(Simulation, CountsJobsWithoutAModelWhereTypesDiffer) {
  SimulationInputs inputs = inputs_of(kTwoJobs);
  ASSERT_TRUE(inputs.use_policy("fifo"));
  EXPECT_EQ(result_of(std::move(inputs)).summary.assumed.jobs_without_model, 0);
  inputs = inputs_of(kTwoJobs);
  inputs.cluster = load_cluster("1xV100:4,1xK80:4").value();
  ASSERT_TRUE(inputs.use_policy("fifo"));
  const Summary summary = result_of(std::move(inputs)).summary;
  EXPECT_EQ(summary.assumed.jobs_without_model, 2);
  EXPECT_EQ(summary.assumed.reference_type, "V100");
  EXPECT_EQ(summary.assumed.reference_jobs, 2);
  EXPECT_FALSE(summary.assumed.reference_is_named);
}

TEST(Simulation, CountsTheJobsWhosePlacementsAreLimitedOnce) {
  static const JobRow kJobs[] = {
      {.id = "a", .gpus = 1, .asks = {.cpus = {2000}}, .duration = seconds(10)},
      {.id = "b", .gpus = 1, .duration = seconds(10)}};
  SimulationInputs inputs = inputs_of(kJobs);
  inputs.cluster.node_has.resize(1, CpuMemory{.cpus = {8000}});
  ASSERT_TRUE(inputs.use_policy("fifo"));
  const Assumptions assumed = result_of(std::move(inputs)).summary.assumed;
  EXPECT_EQ(assumed.resources, "CPU and memory limit placements on 1 of 1 nodes");
  EXPECT_EQ(assumed.resources_jobs, 1);
}

TEST(Simulation, RefusesATraceOfWhichTooMuchCannotBeUsed) {
  WorkloadBuilder builder("test", Reading::kLenient);
  ASSERT_TRUE(builder.add({.id = "a", .duration = seconds(1)}, "test"));
  ASSERT_TRUE(builder.add({.id = "b"}, "test")) << "of no duration";
  const Trace trace(builder.finish());
  for (const bool allowed : {false, true}) {
    SimulationInputs inputs{.cluster = load_cluster("1xV100:4").value(), .trace = trace};
    inputs.settings.rejects_allowed = allowed;
    ASSERT_TRUE(inputs.use_policy("fifo"));
    EXPECT_EQ(Simulation::make(std::move(inputs)).has_value(), allowed);
  }
}

TEST(Simulation, GivesItsResultInMemory) {
  SimulationInputs inputs = inputs_of(kTwoJobs);
  ASSERT_TRUE(inputs.use_policy("fifo").has_value());
  Simulation simulation = Simulation::make(std::move(inputs)).value();
  Audit audit;
  simulation.add_sink(audit);
  ASSERT_TRUE(simulation.run().has_value());
  EXPECT_TRUE(simulation.is_over());
  EXPECT_TRUE(audit.passed());
  const RunResult result = simulation.result();
  EXPECT_EQ(result.summary.policy, "fifo");
  EXPECT_EQ(result.summary.finished, 2);
  EXPECT_EQ(result.summary.users[1].user, "bob");
  ASSERT_EQ(result.jobs.size(), 2U);
  EXPECT_EQ(result.jobs[1].job, "b");
  EXPECT_EQ(result.jobs[1].start, Time{100'000});
  EXPECT_EQ(result.jobs[1].finish, Time{150'000});
  EXPECT_EQ(result.jobs[1].queue, seconds(95));
  EXPECT_EQ(result.jobs[1].status, "finished");
  EXPECT_EQ(result.timeline.front().user, "ann");
  EXPECT_DOUBLE_EQ(result.timeline.front().gpus_allocated, 2);
}

TEST(Simulation, StepsOneInstantAtATime) {
  SimulationInputs inputs = inputs_of(kTwoJobs);
  ASSERT_TRUE(inputs.use_policy("fifo").has_value());
  Simulation simulation = Simulation::make(std::move(inputs)).value();
  std::vector<std::int64_t> instants;
  while (simulation.step().value()) instants.push_back(simulation.now().ms);
  EXPECT_EQ(instants, (std::vector<std::int64_t>{0, 5000, 100'000, 150'000}));
  EXPECT_EQ(simulation.counts().decisions, 4);
  EXPECT_FALSE(simulation.step().value());
}

TEST(Simulation, AJobThatTheEndCameBeforeIsInTheJournalAndPending) {
  SimulationInputs inputs = inputs_of(kTwoJobs);
  inputs.until = Time{1000};
  ASSERT_TRUE(inputs.use_policy("fifo").has_value());
  Simulation simulation = Simulation::make(std::move(inputs)).value();
  Audit audit;
  simulation.add_sink(audit);
  ASSERT_TRUE(simulation.run().has_value());
  EXPECT_EQ(audit.problems(), std::vector<std::string>{});
  const RunResult result = simulation.result();
  EXPECT_EQ(result.summary.pending, 2);
  EXPECT_EQ(result.jobs[1].submit, Time{5000});
  EXPECT_EQ(result.jobs[1].status, "pending");
  EXPECT_FALSE(result.jobs[1].start.has_value());
}

TEST(Simulation, EqualInputsOnTwoThreadsGiveEqualJournals) {
  const auto hash = [](std::string& into) {
    SimulationInputs inputs = inputs_of(kTwoJobs);
    FL_CHECK(inputs.use_policy("tiresias").has_value());
    Simulation simulation = Simulation::make(std::move(inputs)).value();
    JournalFile journal;
    simulation.add_sink(journal);
    FL_CHECK(simulation.run().has_value() && journal.close().has_value());
    into = journal.hash();
  };
  std::string here;
  std::string there;
  std::thread thread([&] { hash(there); });
  hash(here);
  thread.join();
  EXPECT_EQ(here, there);
}

TEST(Simulation, ARefusedRowIsNamed) {
  const JobRow rows[] = {{.id = "a", .duration = seconds(1)}, {.id = "b", .gpus = 0}};
  EXPECT_EQ(Trace::of("mine", rows).error().message.substr(0, 7), "mine:2:");
}

TEST(Simulation, APolicyThatBreaksARuleOfPlanEndsTheRunWithItsName) {
  EXPECT_EQ(error_of([](const View& view, Plan& plan) {
              plan.take(NodeId(0), 2);
              plan.place(view.waiting[0]);
              plan.place(view.waiting[0]);
            }),
            "policy scripted broke a rule of Plan at 0 s: place: no slice was taken for it: job a");
  EXPECT_EQ(error_of([](const View&, Plan& plan) { plan.take(NodeId(0), 1); }),
            "policy scripted broke a rule of Plan at 0 s: decide: a gang is left open");
  EXPECT_EQ(
      error_of([](const View& view, Plan& plan) {
        plan.take(NodeId(0), 3);
        plan.place(view.waiting[0]);
      }),
      "policy scripted broke a rule of Plan at 0 s: place: a gang of 3 GPUs, where 2 to 2 are "
      "allowed: job a");
}

// The job may have 1 to 4 GPUs of either node, but not where its model does not run; the policy asks
// for neither elastic jobs nor copies.
TEST(Simulation, APlacementThatTheJobOrTheNeedsDoNotAllowEndsTheRun) {
  const auto error_on = [](const char* rates, Scripted::Decide decide) {
    const JobRow job[] = {{.id = "a",
                           .model = "m",
                           .gpus = 2,
                           .gpus_min = 1,
                           .gpus_max = 4,
                           .duration = seconds(100)}};
    SimulationInputs inputs = inputs_of(job);
    inputs.cluster = load_cluster("1xV100:4,1xK80:4").value();
    inputs.models =
        parse_models_yaml(fmt::format("models: [{{name: m, rates: {}}}]", rates), "test").value();
    inputs.policy = std::make_unique<Scripted>(std::move(decide));
    const Status status = Simulation::make(std::move(inputs)).value().run();
    return status ? "" : status.error().message;
  };
  const std::string broke = "policy scripted broke a rule of Plan at 0 s: ";
  const char* const both = "{V100: 1, K80: 1}";
  EXPECT_EQ(error_on(both, place_first), "");
  for (const std::uint32_t gpus : {1U, 4U}) {
    const auto resize = [gpus](const View&, Plan& plan) {
      plan.take(NodeId(0), gpus);
      plan.place(JobId(0));
    };
    EXPECT_EQ(
        error_on(both, resize),
        broke + fmt::format("place: a gang of {} GPUs, where 2 to 2 are allowed: job a", gpus));
  }
  const auto copy = [](const View& view, Plan& plan) {
    place_first(view, plan);
    plan.take(NodeId(1), 2);
    plan.place_copy(JobId(0));
  };
  EXPECT_EQ(error_on(both, copy), broke + "place_copy: its needs() do not ask for copies: job a");
  const auto on_k80 = [](const View&, Plan& plan) {
    plan.take(NodeId(1), 2);
    plan.place(JobId(0));
  };
  EXPECT_EQ(error_on("{V100: 1, K80: 0}", on_k80),
            broke + "place: its model does not run on node n1: job a");
}

TEST(Simulation, APolicyThatIsWokenForEverWithoutPlacingAnythingEndsTheRun) {
  const std::string error =
      error_of([](const View& view, Plan& plan) { plan.wake_at(view.now + seconds(1)); });
  EXPECT_EQ(
      error,
      "policy scripted has brought the jobs to a standstill at 10005 s: it was woken 10000 "
      "times without placing any of 2 waiting jobs; 4 GPUs are free, and the first that waits "
      "asks for 2: job a");
}

// It waits longer than a standstill takes: it is the node that it waits for, not the policy.
TEST(Simulation, APolicyThatWaitsForANodeToComeBackEndsNoRun) {
  SimulationInputs inputs = inputs_of(std::span(kTwoJobs).first(1));
  inputs.settings.faults.outages = {{NodeId(0), Time{1000}, Time{30'000'000}}};
  inputs.policy = std::make_unique<Scripted>([](const View& view, Plan& plan) {
    plan.wake_at(view.now + seconds(1));
    if (view.waiting.empty() || plan.free().total() < 2) return;
    plan.take(NodeId(0), 2);
    plan.place(view.waiting[0]);
  });
  Simulation simulation = Simulation::make(std::move(inputs)).value();
  const Status status = simulation.run();
  ASSERT_TRUE(status.has_value()) << status.error().message;
  EXPECT_EQ(simulation.result().summary.finished, 1);
}

// The error that ends a run of two jobs under that policy.
std::string error_under(std::string_view policy, const FaultOptions& faults,
                        const UnreliableOptions& unreliable) {
  static const JobRow kJobs[] = {{.id = "a", .gpus = 4, .duration = seconds(300)},
                                 {.id = "b", .gpus = 4, .duration = seconds(300)}};
  SimulationInputs inputs = inputs_of(kJobs, Costs());
  inputs.settings.faults = faults;
  inputs.settings.unreliable = unreliable;
  EXPECT_TRUE(inputs.use_policy(policy));
  Simulation simulation = Simulation::make(std::move(inputs)).value();
  const Status status = simulation.run();
  return status ? "" : status.error().message;
}

TEST(Simulation, FailuresThatLetNoJobWorkEndTheRun) {
  const std::string error = error_under("fifo", {.mtbf_h = 1e-9}, {});
  EXPECT_NE(error.find("the run gets nowhere under policy fifo: in 10000"), error.npos) << error;
  EXPECT_NE(error.find("jobs worked 0 s in total: failures took their GPUs"), error.npos) << error;
  EXPECT_NE(error.find("use rarer failures, or a lower start_s or checkpoint_interval_s"),
            error.npos)
      << error;
}

TEST(Simulation, LossesOfGpusThatLetNoJobWorkEndTheRun) {
  const std::string error = error_under("fifo", {}, {.gpu_losses_per_h = 10'000});
  EXPECT_NE(error.find("the run gets nowhere under policy fifo"), error.npos) << error;
}

// With so many nodes one is always down. That alone must not keep the run going.
TEST(Simulation, NodesThatFailForEverAfterTheLastJobEndNoLater) {
  static const JobRow kJob[] = {{.id = "a", .duration = seconds(1)}};
  SimulationInputs inputs = inputs_of(kJob);
  inputs.cluster = load_cluster("40xV100:1").value();
  inputs.settings.faults = {.mtbf_h = 1, .mttr_h = 1};
  ASSERT_TRUE(inputs.use_policy("fifo"));
  EXPECT_EQ(result_of(std::move(inputs)).summary.finished, 1);
}

// Each outage is news, so the policy's turns are not idle.
TEST(Simulation, TurnsShorterThanAStartBetweenOutagesEndTheRun) {
  FaultOptions faults;
  for (std::int64_t t = 60'000; t < 500'000'000; t += 60'000) {
    faults.outages.push_back({NodeId(0), Time{t}, Time{t + 1'000}});
  }
  const std::string error = error_under("stride:quantum_s=1", faults, {});
  EXPECT_NE(error.find("use a longer quantum or lower costs"), error.npos) << error;
}

// Job b arrives at 5 s; nothing else happens, and nothing is noted.
TEST(Simulation, WakeUpsAndNotesOfADraftThatIsRolledBackNeverWere) {
  class Notes : public RecordSink {
   public:
    void on(const Record& record) override { count += std::holds_alternative<Note>(record.what); }
    int count = 0;
  };
  SimulationInputs inputs = inputs_of(kTwoJobs);
  inputs.policy = std::make_unique<Scripted>([](const View& view, Plan& plan) {
    const Plan::Mark mark = plan.mark();
    plan.wake_at(view.now + seconds(1));
    plan.note(note::Queue{JobId(0), 0});
    plan.rollback(mark);
  });
  Simulation simulation = Simulation::make(std::move(inputs)).value();
  Notes notes;
  simulation.add_sink(notes);
  std::vector<std::int64_t> instants;
  while (simulation.step().value()) instants.push_back(simulation.now().ms);
  EXPECT_EQ(instants, (std::vector<std::int64_t>{0, 5000}));
  EXPECT_EQ(notes.count, 0);
}

// A start takes 30 s, and a profile 10 s of work.
TEST(Simulation, AProfileIsKnownOnceItsJobHasWorkedForItsLength) {
  const JobRow job[] = {{.id = "a", .model = "VAE", .gpus = 2, .duration = seconds(100)}};
  SimulationInputs inputs = inputs_of(job);
  inputs.settings.costs.start = seconds(30);
  std::vector<std::int64_t> known_at;
  inputs.policy = std::make_unique<Profiling>([&known_at](const View& view, Plan& plan) {
    place_first(view, plan);
    for (const std::int64_t ms : {20'000, 39'999, 40'000}) {
      if (view.now.ms == 0) plan.wake_at({ms});
      const bool is_known = view.speed.best_rate(JobId(0), GpuTypeId(0), 2).fixed > 0;
      if (view.now.ms == ms && is_known) known_at.push_back(ms);
    }
  });
  ASSERT_TRUE(Simulation::make(std::move(inputs)).value().run().has_value());
  EXPECT_EQ(known_at, std::vector<std::int64_t>{40'000});
}

TEST(Simulation, TheNoiseOfProfilesFollowsTheSeedOfTheRun) {
  const auto known = [](std::uint64_t seed) {
    const JobRow job[] = {{.id = "a", .model = "VAE", .gpus = 2, .duration = seconds(100)}};
    Rate rate;
    SimulationInputs inputs = inputs_of(job);
    inputs.seed = seed;
    inputs.settings.profiles.noise = 0.5;
    inputs.policy = std::make_unique<Profiling>([&rate](const View& view, Plan& plan) {
      place_first(view, plan);
      if (view.now.ms == 0) plan.wake_at(Time{50'000});
      if (view.now.ms == 50'000) rate = view.speed.best_rate(JobId(0), GpuTypeId(0), 2);
    });
    Simulation simulation = Simulation::make(std::move(inputs)).value();
    EXPECT_TRUE(simulation.run().has_value());
    EXPECT_GT(rate.fixed, 0);
    return rate.fixed;
  };
  EXPECT_EQ(known(1), known(1));
  EXPECT_NE(known(1), known(2));
}

TEST(Simulation, AModelsOwnCostsAreChargedUnlessTheSettingsLeaveThemOut) {
  const auto finish_ms = [](bool model_costs) {
    const JobRow job[] = {{.id = "a", .model = "VAE", .gpus = 2, .duration = seconds(100)}};
    SimulationInputs inputs = inputs_of(job);
    inputs.models = builtin_models();
    for (ModelProfile& model : inputs.models->models) model.costs.start_s = 46;
    inputs.settings.model_costs = model_costs;
    FL_CHECK(inputs.use_policy("fifo").has_value());
    Simulation simulation = Simulation::make(std::move(inputs)).value();
    EXPECT_TRUE(simulation.run().has_value());
    return simulation.result().jobs[0].finish.value().ms;
  };
  EXPECT_EQ(finish_ms(true), 146'000);
  EXPECT_EQ(finish_ms(false), 100'000);
}

// 800 GPU-seconds are half of what 8 GPUs have in 200 s.
TEST(Simulation, ALoadIsThatOfTheWholeCluster) {
  const JobRow jobs[] = {{.id = "a", .gpus = 4, .duration = seconds(100)},
                         {.id = "b", .gpus = 4, .submit = {1000}, .duration = seconds(100)}};
  SimulationInputs inputs = inputs_of(jobs);
  inputs.cluster = load_cluster("2xV100:4").value();
  inputs.settings.load = 0.5;
  ASSERT_TRUE(inputs.use_policy("fifo").has_value());
  Simulation simulation = Simulation::make(std::move(inputs)).value();
  ASSERT_TRUE(simulation.run().has_value());
  EXPECT_EQ(simulation.result().jobs[1].submit, Time{200'000});
}

// A V100 is twice as fast: it does in 50 s what took a K80 100 s.
TEST(Simulation, ABoundIsOfTheTypeOnWhichTheJobWasMeasured) {
  const JobRow jobs[] = {{.id = "a", .model = "m", .duration = seconds(100), .gpu_type = "V100"},
                         {.id = "b",
                          .model = "m",
                          .submit = {1'000'000},
                          .duration = seconds(100),
                          .gpu_type = "K80"}};
  SimulationInputs inputs = inputs_of(jobs);
  inputs.cluster = load_cluster("1xV100:1,1xK80:1").value();
  inputs.models =
      parse_models_yaml("models: [{name: m, rates: {V100: 2, K80: 1}}]", "test").value();
  ASSERT_TRUE(inputs.use_policy("fifo").has_value());
  Simulation simulation = Simulation::make(std::move(inputs)).value();
  ASSERT_TRUE(simulation.run().has_value());
  EXPECT_NEAR(*simulation.result().summary.bounds.jct_avg_lower_s, (100.0 + 50) / 2, 0.001);
}

// The quantum is a tenth of a start's cost, so no job works in its turn.
TEST(Simulation, AQuantumShorterThanTheOverheadOfAStartEndsTheRun) {
  std::vector<JobRow> jobs;
  for (const char* id : {"a", "b", "c", "d", "e", "f"}) {
    jobs.push_back({.id = id, .gpus = 4, .duration = seconds(100)});
  }
  for (const char* policy : {"gandiva:quantum_s=1", "gandiva-fair:quantum_s=1"}) {
    SimulationInputs inputs = inputs_of(jobs, Costs());
    ASSERT_TRUE(inputs.use_policy(policy).has_value());
    Simulation simulation = Simulation::make(std::move(inputs)).value();
    const Status status = simulation.run();
    ASSERT_FALSE(status.has_value()) << policy;
    EXPECT_NE(status.error().message.find("before the overhead of its start or move is over"),
              std::string::npos)
        << status.error().message;
  }
}

TEST(Simulation, ANodeThatNeverComesBackHidesNoStandstill) {
  std::vector<JobRow> jobs;
  for (const char* id : {"a", "b", "c"})
    jobs.push_back({.id = id, .gpus = 4, .duration = seconds(9)});
  SimulationInputs inputs = inputs_of(jobs, Costs());
  inputs.cluster = load_cluster("2xV100:4").value();
  inputs.settings.faults.outages = {{NodeId(1), Time{0}, Time::never()}};
  ASSERT_TRUE(inputs.use_policy("gandiva:quantum_s=1").has_value());
  Simulation simulation = Simulation::make(std::move(inputs)).value();
  EXPECT_FALSE(simulation.run().has_value());
}

}  // namespace
}  // namespace fairlead
