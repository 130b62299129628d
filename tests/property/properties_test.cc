// The properties of every policy in every world: each property, each variant, in random worlds.

#include "fairlead/base/overloaded.h"
#include "fairlead/base/rng.h"
#include "testing/property.h"
#include "testing/racks.h"
#include "testing/world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace fairlead {
namespace {

// Returns the problem if jobs get lost in that world, or never end.
std::string jobs_lost(const World& world, const std::string& policy) {
  const Outcome outcome = run(world, policy);
  if (!outcome.problems.empty()) return outcome.problems.front();
  const JobCounts& counts = outcome.counts;
  if (counts.finished + counts.rejected + counts.pending != std::ssize(world.jobs)) {
    return fmt::format("of {} jobs {} finished, {} were rejected, {} are pending",
                       world.jobs.size(), counts.finished, counts.rejected, counts.pending);
  }
  if (counts.pending == 0 || may_deadlock(policy)) return "";
  return fmt::format("{} jobs never finish", counts.pending);
}

TEST(Properties, GpusAreNeverAllocatedTwiceGangsAreWholeJobsAreConserved) {
  EXPECT_EQ(broken("JobsAreConserved", policy_variants(), {}, jobs_lost), "");
}

// Built-in tables: some have a speed of each model on each type, others do not.
constexpr std::string_view kTables[] = {"gavel", "published", "slides", "wang"};

// On mixed types and with every table of speeds, a policy rejects at arrival each job that it can never
// place, and all other jobs end.
TEST(Properties, EveryJobEndsOnMixedTypesWithEveryTableOfModels) {
  for (const std::string_view table : kTables) {
    const auto property = [table](World world, const std::string& policy) {
      world.cluster += ",1xV100:4,2xK80:2,1xP100:1";
      world.settings.models = table;
      world.settings.unknown_speed = UnknownSpeed::kGeneric;
      for (WorldJob& job : world.jobs) job.model.clear();  // drawn from the table
      return jobs_lost(world, policy);
    };
    const std::string title = fmt::format("MixedTypes-{}", table);
    EXPECT_EQ(broken(title, policy_variants(), {}, property), "") << table;
  }
}

constexpr Ingredients kResources = {.resources = true};

// run() checks that no gang takes CPU or memory that its node does not have.
TEST(Properties, NoNodeHasMoreTasksThanItsCpuAndMemoryAllow) {
  EXPECT_EQ(broken("Resources", policy_variants(), kResources, jobs_lost), "");
}

TEST(Properties, NoNodeHasMoreTasksThanItsCpuAndMemoryAllowWhereNodesFail) {
  const auto property = [](const World& world, const std::string& policy) -> std::string {
    const Outcome outcome = run(world, policy);
    return outcome.problems.empty() ? "" : outcome.problems.front();
  };
  constexpr Ingredients kFaults = {.resources = true, .faults = true};
  EXPECT_EQ(broken("ResourcesWithFaults", policy_variants(), kFaults, property), "");
}

// If nodes have enough for all, policies decide as if nothing limited them. Only optimus may differ: between its rounds it
// tries one gang of each kind, and jobs with other needs are of another kind.
TEST(Properties, CpuAndMemoryThatSufficeChangeNothing) {
  const auto property = [](World world, const std::string& policy) -> std::string {
    if (policy.starts_with("optimus")) return "";
    world.nodes_have = {{{kThousandthsMax}, {kThousandthsMax}}};
    const std::string limited = run(world, policy).hash;
    world.nodes_have.clear();
    return run(world, policy).hash == limited ? "" : "enough CPU and memory make a difference";
  };
  EXPECT_EQ(broken("ResourcesSuffice", policy_variants(), kResources, property), "");
}

TEST(Properties, JobsSurviveNodesThatFail) {
  const auto property = [](const World& world, const std::string& policy) -> std::string {
    const Outcome outcome = run(world, policy);
    return outcome.problems.empty() ? "" : outcome.problems.front();
  };
  EXPECT_EQ(broken("JobsSurviveFaults", policy_variants(), {.faults = true}, property), "");
}

// The sources of remaining work that policies may have, short of the exact work.
struct Telling {
  const char* name;
  WorkOptions work;
};
constexpr Telling kTellings[] = {
    {"Declared", {.source = WorkSource::kDeclared, .error = 1}},
    {"History", {.source = WorkSource::kHistory}},
    {"None", {.source = WorkSource::kNone}},
};

// Also on estimates, including jobs that outlive them.
TEST(Properties, PoliciesRunOnEstimatesOfWork) {
  for (const auto& [name, work] : kTellings) {
    const auto told = [told = work](World world, const std::string& policy) {
      world.settings.work = told;
      return jobs_lost(world, policy);
    };
    EXPECT_EQ(broken(fmt::format("Works{}", name), policy_variants(), {}, told), "") << name;
  }
}

TEST(Properties, PoliciesRunOnEstimatesOfWorkWhereNodesFail) {
  for (const auto& [name, work] : kTellings) {
    const auto told = [told = work](World world, const std::string& policy) -> std::string {
      world.settings.work = told;
      const Outcome outcome = run(world, policy);
      return outcome.problems.empty() ? "" : outcome.problems.front();
    };
    const std::string title = fmt::format("WorksWithFaults{}", name);
    EXPECT_EQ(broken(title, policy_variants(), {.faults = true}, told), "") << name;
  }
}

// A world in which policies know only measured speeds; measurements come soon and soon expire.
World measured(World world) {
  world.settings.profiles = {
      .source = SpeedSource::kMeasured, .length = seconds(2), .noise = 0.3, .age = seconds(40)};
  return world;
}

TEST(Properties, PoliciesRunOnMeasuredSpeeds) {
  const auto property = [](const World& world, const std::string& policy) {
    return jobs_lost(measured(world), policy);
  };
  EXPECT_EQ(broken("SpeedsMeasured", policy_variants(), {}, property), "");
}

TEST(Properties, PoliciesRunOnMeasuredSpeedsWhereNodesFail) {
  const auto property = [](const World& world, const std::string& policy) -> std::string {
    const Outcome outcome = run(measured(world), policy);
    return outcome.problems.empty() ? "" : outcome.problems.front();
  };
  EXPECT_EQ(broken("SpeedsMeasuredWithFaults", policy_variants(), {.faults = true}, property), "");
}

// Declared without error is as good as known.
TEST(Properties, WhatIsDeclaredWithoutErrorIsExact) {
  const auto property = [](World world, const std::string& policy) -> std::string {
    const std::string exact = run(world, policy).hash;
    world.settings.work.source = WorkSource::kDeclared;
    return run(world, policy).hash == exact ? "" : "what is declared makes a difference";
  };
  EXPECT_EQ(broken("DeclaredIsExact", policy_variants(), {}, property), "");
}

// GPU time in which each job did no work yet: starting, resuming or moving.
class Overheads : public RecordSink {
 public:
  explicit Overheads(std::size_t jobs) : sums(jobs), runs_(jobs) {}

  void on(const Record& record) override {
    std::visit(Overloaded{
                   [&](const record::Place& place) {
                     JobRun& run = runs_[place.job.row()];
                     if (place.copy == 0) run = {.since = record.t};
                     run.overhead = std::max(run.overhead, place.overhead);
                     run.gpus += gpus_of(place.gang);
                   },
                   [&](const OneOf<record::Stop, record::Finished> auto& end) {
                     const JobRun& run = runs_[end.job.row()];
                     sums[end.job.row()] +=
                         occupancy(std::min(run.overhead, record.t - run.since), run.gpus);
                   },
                   [](const auto&) {},
               },
               record.what);
  }
  std::vector<GpuTime> sums;

 private:
  struct JobRun {
    Time since;
    Duration overhead;
    std::uint32_t gpus = 0;
  };
  std::vector<JobRun> runs_;
};

// At speed 1 a job has its gang for its work and the overheads, however often it is interrupted.
TEST(Properties, WorkIsConservedThroughPreemption) {
  const auto property = [](World world, const std::string& policy) -> std::string {
    world.settings.costs.copies_exchange = {};
    Overheads overheads(world.jobs.size());
    const Outcome outcome = run(world, policy_named(policy), {}, &overheads);
    // Several copies end together at the first whole millisecond after their work.
    const bool copies = makes_copies(policy);
    const std::int64_t most = copies ? cluster_of(world.cluster)->gpus : 0;
    for (std::size_t i = 0; i < world.jobs.size(); ++i) {
      if (outcome.jobs[i].finish == Time::never()) continue;
      const GpuTime work = occupancy(world.jobs[i].work, world.jobs[i].gpus);
      const GpuTime wasted = outcome.jobs[i].allocated - work - overheads.sums[i];
      if (wasted.gpu_ms >= 0 && wasted.gpu_ms <= most) continue;
      return fmt::format("j{} had {} GPU-ms too much", i, static_cast<std::int64_t>(wasted.gpu_ms));
    }
    return "";
  };
  EXPECT_EQ(
      broken("WorkIsConserved", policy_variants(), {.models = false, .elastic = false}, property),
      "");
}

void scale(Duration& duration, std::int64_t k) { duration.ms *= k; }

World scaled(World world, std::int64_t k) {
  for (WorldJob& job : world.jobs) {
    job.submit.ms *= k;
    scale(job.work, k);
    scale(job.time_limit, k);
    if (job.logged_start != Time::never()) job.logged_start.ms *= k;
  }
  Costs& costs = world.settings.costs;
  for (Duration* cost : {&costs.start, &costs.suspend, &costs.resume}) scale(*cost, k);
  for (Duration& cost : costs.checkpoint) scale(cost, k);
  for (Duration& cost : costs.migrate) scale(cost, k);
  return world;
}

// Policies with a time scale of their own (quanta, limits) keep it, so they are left out. Speeds
// other than 1 round the moment of a finish.
TEST(Properties, ScalingAllTimesScalesTheTimeline) {
  const auto property = [](World world, const std::string& policy) -> std::string {
    world.until = Time::never();
    const std::int64_t k = 2 + static_cast<std::int64_t>(world.sim_seed % 48);
    const Outcome base = run(world, policy);
    const Outcome large = run(scaled(world, k), policy);
    for (std::size_t i = 0; i < world.jobs.size(); ++i) {
      if (base.jobs[i].finish == Time::never()) continue;
      if (large.jobs[i].start.ms != base.jobs[i].start.ms * k ||
          large.jobs[i].finish.ms != base.jobs[i].finish.ms * k ||
          large.jobs[i].preemptions != base.jobs[i].preemptions) {
        return fmt::format("j{} runs otherwise where all times are {} times as long", i, k);
      }
    }
    return "";
  };
  EXPECT_EQ(broken("ScalingTimes",
                   {"fifo", "fifo:skip=true", "sjf", "smallest", "srtf", "srsf", "yarn-cs",
                    "srtf:placement=best-fit", "as-recorded"},
                   {.models = false}, property),
            "");
}

TEST(Properties, RenamingUsersChangesNothingForTheirJobs) {
  const auto property = [](const World& world, const std::string& policy) -> std::string {
    World renamed = world;
    for (WorldJob& job : renamed.jobs)
      job.user = "x" + std::string(1, static_cast<char>('z' - job.user[1] + '0'));
    return run(world, policy).jobs == run(renamed, policy).jobs ? "" : "the names of users matter";
  };
  EXPECT_EQ(broken("RenamingUsers", policy_variants(), {}, property), "");
}

// Adds wake-ups that the policy did not ask for: decisions at random moments must change no step.
class Nudged : public Policy {
 public:
  Nudged(std::unique_ptr<Policy> inner, std::uint64_t seed) : inner_(std::move(inner)), rng_(seed) {
    set_traits(std::make_shared<const PlacementTraits>(*inner_->traits()));
  }
  std::string_view name() const override { return inner_->name(); }
  Needs needs() const override { return inner_->needs(); }
  void decide(const View& view, Plan& plan) override {
    inner_->decide(view, plan);
    const bool something_runs = plan.free().total() < plan.free().capacity();
    if (something_runs && rng_.below(3) != 0) {
      plan.wake_at({view.now.ms + 1 + static_cast<std::int64_t>(rng_.below(3'000))});
    }
  }
  void fields(Archive& archive) override { inner_->fields(archive); }

 private:
  std::unique_ptr<Policy> inner_;
  Rng rng_;
};

// las and the Gittins index weigh attained service, which grows between events, so for them a
// moment more is a decision more; the others decide on events. On clusters with several GPU types
// the types that jobs claim depend on the GPUs of other jobs at the moment (Preemption). So the
// property is limited to clusters with one type.
TEST(Properties, DecidingAtRandomMomentsChangesNothing) {
  const auto property = [](const World& world, const std::string& policy) -> std::string {
    const MakePolicy plain = policy_named(policy);
    const Outcome nudged =
        run(world, [&] { return std::make_unique<Nudged>(plain(), world.sim_seed); });
    return run(world, policy).jobs == nudged.jobs ? "" : "a decision more changes what happens";
  };
  EXPECT_EQ(broken("DecidingAtRandomMoments",
                   {"fifo", "fifo:skip=true", "sjf", "smallest", "yarn-cs",
                    "fifo:placement=best-fit", "tiresias:limits=5/60",
                    "smallest:placement=first-fit", "gavel:round_s=5,reallocation_s=12",
                    "gavel:round_s=5,reallocation_s=12,objective=fifo,aware=false",
                    "gavel:round_s=5,reallocation_s=30,objective=makespan"},
                   {.types = false}, property),
            "");
}

// Its rounds of one second have a choice only while both jobs are here.
TEST(Properties, GavelHasNoDecisionInARoundWithoutAChoice) {
  World world{.cluster = "1xV100:4"};
  world.jobs = {{.gpus = 3, .work = seconds(100'000)},
                {.submit = {50'000'500}, .gpus = 2, .work = seconds(100)}};
  const Outcome outcome = run(world, "gavel:round_s=1");
  EXPECT_EQ(outcome.counts.finished, 2);
  EXPECT_LT(outcome.engine.decisions, 2'500);
}

// Returns the difference made by saving the policy and loading it into a new one after one step in
// three.
std::string reloading_changes(const World& world, const std::string& policy) {
  const MakePolicy make = policy_named(policy, world.seed);
  Rng rng(world.sim_seed);
  const Outcome reloaded = run(world, make, [&](Simulation& simulation) {
    if (rng.below(3) == 0) simulation.reload_policy(make());
  });
  return run(world, policy).hash == reloaded.hash ? "" : "saving and loading changes what happens";
}

TEST(Properties, SavingAndLoadingAtRandomMomentsChangesNothing) {
  EXPECT_EQ(broken("SavingAndLoading", policy_variants(), {}, reloading_changes), "");
}

TEST(Properties, SavingAndLoadingChangesNothingWhereNodesFail) {
  EXPECT_EQ(
      broken("SavingAndLoadingWithFaults", policy_variants(), {.faults = true}, reloading_changes),
      "");
}

TEST(Properties, SavingAndLoadingChangesNothingOnEstimatesOfWork) {
  for (const auto& [name, work] : kTellings) {
    const auto told = [told = work](World world, const std::string& policy) {
      world.settings.work = told;
      return reloading_changes(world, policy);
    };
    const std::string title = fmt::format("SavingAndLoading{}", name);
    EXPECT_EQ(broken(title, policy_variants(), {.faults = true}, told), "") << name;
  }
}

TEST(Properties, SavingAndLoadingChangesNothingOnMeasuredSpeeds) {
  const auto property = [](const World& world, const std::string& policy) {
    return reloading_changes(measured(world), policy);
  };
  EXPECT_EQ(broken("SavingAndLoadingMeasured", policy_variants(), {.faults = true}, property), "");
}

// A job submitted after all others have finished cannot change their results.
TEST(Properties, TheFutureDoesNotChangeThePast) {
  const auto property = [](const World& world, const std::string& policy) -> std::string {
    const Outcome base = run(world, policy);
    Time last{0};
    for (const JobOutcome& job : base.jobs) {
      if (job.finish != Time::never()) last = std::max(last, job.finish);
    }
    for (const WorldJob& job : world.jobs) last = std::max(last, job.submit);
    World longer = world;
    longer.jobs.push_back({.submit = last + seconds(1), .gpus = 1, .work = seconds(5)});
    const Outcome outcome = run(longer, policy);
    for (std::size_t i = 0; i < base.jobs.size(); ++i) {
      if (base.jobs[i].finish == Time::never() || outcome.jobs[i] == base.jobs[i]) continue;
      return fmt::format("j{} runs otherwise if a job comes after all have finished", i);
    }
    return "";
  };
  EXPECT_EQ(broken("TheFuture", policy_variants(), {}, property), "");
}

}  // namespace
}  // namespace fairlead
