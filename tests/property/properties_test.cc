// What must hold for every policy in every world, on random ones (RapidCheck draws the seeds).

#include "fairlead/base/rng.h"
#include "testing/world.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

namespace fairlead {
namespace {

World drawn_world() { return random_world(*rc::gen::arbitrary<std::uint64_t>()); }
std::string drawn_policy() { return *rc::gen::elementOf(policy_variants()); }

RC_GTEST_PROP(Properties, GpusAreNeverHeldTwiceGangsAreWholeJobsAreConserved, ()) {
  const World world = drawn_world();
  const std::string policy = drawn_policy();
  const Outcome outcome = run(world, policy);
  RC_ASSERT(outcome.problems == std::vector<std::string>{});
  const auto jobs = static_cast<std::int64_t>(world.jobs.size());
  RC_ASSERT(outcome.counts.finished + outcome.counts.rejected + outcome.counts.pending == jobs);
  if (!may_refuse_gangs(policy)) RC_ASSERT(outcome.counts.pending == 0);
}

RC_GTEST_PROP(Properties, JobsSurviveNodesThatFail, ()) {
  World world = drawn_world();
  world.settings.faults.mtbf_h = 0.02;
  world.settings.faults.mttr_h = 0.005;
  world.settings.faults.checkpoint_interval = *rc::gen::element(seconds(0), seconds(1), seconds(7));
  world.sim_seed = *rc::gen::arbitrary<std::uint64_t>();
  world.until = {24 * 3'600'000};
  const std::string policy = drawn_policy();
  RC_ASSERT(run(world, policy).problems == std::vector<std::string>{});
}

// Without costs a job holds its gang for exactly its work, however often it is interrupted.
RC_GTEST_PROP(Properties, WorkIsConservedThroughPreemption, ()) {
  World world = drawn_world();
  const std::string policy = drawn_policy();
  const Outcome outcome = run(world, policy);
  for (std::size_t i = 0; i < world.jobs.size(); ++i) {
    if (outcome.jobs[i].finish == Time::never()) continue;
    // Several copies end together at the first whole millisecond after their work.
    const GpuTime wasted = outcome.jobs[i].held - occupancy(world.jobs[i].work, world.jobs[i].gpus);
    const std::int64_t copies_gpu_ms = policy.starts_with("hadare") ? 72 : 0;  // all there are

    RC_ASSERT(wasted.gpu_ms >= 0 && wasted.gpu_ms <= copies_gpu_ms);
  }
}

// Policies with a built-in time scale (quanta, limits) keep it, so they are left out.
RC_GTEST_PROP(Properties, ScalingAllTimesScalesTheTimeline, ()) {
  const World world = drawn_world();
  const std::string policy =
      *rc::gen::element<std::string>("fifo", "fifo:skip=true", "sjf", "smallest", "srtf", "srsf",
                                     "yarn-cs", "srtf:placement=best-fit");
  const std::int64_t k = *rc::gen::inRange(2, 50);
  World scaled = world;
  for (WorldJob& job : scaled.jobs) {
    job.submit.ms *= k;
    job.work.ms *= k;
  }
  const Outcome base = run(world, policy);
  const Outcome large = run(scaled, policy);
  for (std::size_t i = 0; i < world.jobs.size(); ++i) {
    if (base.jobs[i].finish == Time::never()) continue;
    RC_ASSERT(large.jobs[i].start.ms == base.jobs[i].start.ms * k);
    RC_ASSERT(large.jobs[i].finish.ms == base.jobs[i].finish.ms * k);
    RC_ASSERT(large.jobs[i].preemptions == base.jobs[i].preemptions);
  }
}

RC_GTEST_PROP(Properties, RenamingUsersChangesNothingForTheirJobs, ()) {
  const World world = drawn_world();
  const std::string policy = drawn_policy();
  World renamed = world;
  for (WorldJob& job : renamed.jobs)
    job.user = "x" + std::string(1, static_cast<char>('z' - job.user[1] + '0'));
  RC_ASSERT(run(world, policy).jobs == run(renamed, policy).jobs);
}

// Adds wake-ups that nobody asked for: extra decisions at random moments must change no step.
class Nudged : public Policy {
 public:
  Nudged(std::unique_ptr<Policy> inner, std::uint64_t seed)
      : inner_(std::move(inner)), rng_(seed) {}
  std::string_view name() const override { return inner_->name(); }
  Needs needs() const override { return inner_->needs(); }
  void decide(const View& view, Plan& plan) override {
    inner_->decide(view, plan);
    const bool something_runs = plan.free().total() < plan.free().capacity();
    if (something_runs && rng_.below(3) != 0) {
      plan.wake_at({view.now.ms + 1 + static_cast<std::int64_t>(rng_.below(3'000))});
    }
  }
  void save(Writer& writer) const override { inner_->save(writer); }
  void load(Reader& reader) override { inner_->load(reader); }

 private:
  std::unique_ptr<Policy> inner_;
  Rng rng_;
};

// las and the Gittins index weigh attained service, which grows between events, so for them a
// moment more is a decision more; everybody else decides on what happened.
// On clusters with several GPU types the types that jobs claim depend on who holds what at the
// moment (Preemption), so the property is one of clusters with one type.
RC_GTEST_PROP(Properties, DecidingAtRandomMomentsChangesNothing, ()) {
  World world = drawn_world();
  world.cluster = world.cluster.substr(0, world.cluster.find(','));
  const std::string policy = *rc::gen::element<std::string>(
      "fifo", "fifo:skip=true", "sjf", "smallest", "yarn-cs", "fifo:placement=best-fit",
      "tiresias:limits=5/60", "smallest:placement=first-fit");
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const MakePolicy plain = policy_named(policy);
  const Outcome nudged = run(world, [&] { return std::make_unique<Nudged>(plain(), seed); });
  RC_ASSERT(run(world, policy).jobs == nudged.jobs);
}

RC_GTEST_PROP(Properties, SavingAndLoadingAtRandomMomentsChangesNothing, ()) {
  const World world = drawn_world();
  const std::string policy = drawn_policy();
  const MakePolicy make = policy_named(policy);
  Rng rng(*rc::gen::arbitrary<std::uint64_t>());
  const Outcome reloaded = run(world, make, [&](Simulation& simulation) {
    if (rng.below(3) == 0) simulation.reload_policy(make());
  });
  RC_ASSERT(run(world, policy).hash == reloaded.hash);
}

// A job submitted after all others has finished cannot change what happened to them.
RC_GTEST_PROP(Properties, TheFutureDoesNotChangeThePast, ()) {
  const World world = drawn_world();
  const std::string policy = drawn_policy();
  const Outcome base = run(world, policy);
  Time last{0};
  for (const JobOutcome& job : base.jobs) {
    if (job.finish != Time::never()) last = std::max(last, job.finish);
  }
  for (const WorldJob& job : world.jobs) last = std::max(last, job.submit);
  World longer = world;
  longer.jobs.push_back({.submit = last + seconds(1), .gpus = 1, .work = seconds(5)});
  Outcome outcome = run(longer, policy);
  outcome.jobs.pop_back();
  for (std::size_t i = 0; i < base.jobs.size(); ++i) {
    if (base.jobs[i].finish != Time::never()) RC_ASSERT(outcome.jobs[i] == base.jobs[i]);
  }
}

}  // namespace
}  // namespace fairlead
