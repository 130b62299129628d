// The engine and the simulated world together, driven by a small FIFO policy of the test's own.

#include "fairlead/sim/sim_backend.h"

#include "fairlead/base/overloaded.h"
#include "fairlead/journal/audit.h"
#include "fairlead/model/cluster_build.h"
#include "fairlead/model/step.h"
#include "fairlead/model/workload.h"
#include "fairlead/run/simulation.h"
#include "testing/borrowed_policy.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <ostream>
#include <set>

namespace fairlead {
namespace {

// Places waiting jobs in arrival order on the first nodes with free GPUs; evicted jobs wait again.
class TestFifo : public Policy {
 public:
  std::string_view name() const override { return "test-fifo"; }
  Needs needs() const override { return {.elastic = is_elastic, .copies = makes_copies}; }
  void decide(const View& view, Plan& plan) override {
    for (const Event& event : view.news) {
      seen.push_back({view.now.ms, event.kind, event.job});
      if (event.kind == EventKind::kArrived || event.kind == EventKind::kEvicted) {
        queue_.push_back(event.job);
      }
    }
    while (!queue_.empty() && plan.free().total() >= view.jobs.gpus[queue_.front()]) {
      std::uint32_t wanted = view.jobs.gpus[queue_.front()];
      for (NodeId node : ids<NodeId>(view.cluster.nodes())) {
        const std::uint32_t part = std::min(wanted, plan.free().on(node));
        if (part > 0) plan.take(node, part);
        wanted -= part;
      }
      plan.place(queue_.front());
      queue_.pop_front();
    }
    if (extra) extra(view, plan);
  }
  void fields(Archive&) override {}

  struct Seen {
    std::int64_t ms;
    EventKind kind;
    JobId job;
    friend bool operator==(const Seen&, const Seen&) = default;
  };
  std::vector<Seen> seen;
  std::function<void(const View&, Plan&)> extra;
  bool is_elastic = false;
  bool makes_copies = false;

 private:
  std::deque<JobId> queue_;
};

struct Line {
  std::int64_t ms;
  std::size_t kind;  // index of the record's type
  std::uint32_t row;
  friend bool operator==(const Line&, const Line&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Line& line) {
    return out << line.ms << " ms kind " << line.kind << " row " << line.row;
  }
};

template <class What>
Line line(std::int64_t ms, std::uint32_t row) {
  return {ms, Record::What(What()).index(), row};
}

class Lines : public RecordSink {
 public:
  void on(const Record& record) override {
    const auto add = [&](auto id) {
      lines.push_back({record.t.ms, record.what.index(), id.row()});
    };
    std::visit(
        Overloaded{
            [&](const OneOf<record::Arrived, record::Rejected, record::Unsubmitted> auto& job) {
              add(job.asked.job);
            },
            [&](const record::Place& place) {
              places.push_back(place);
              add(place.job);
            },
            [&](const OneOf<record::GpusDown, record::GpusUp> auto& change) { add(change.node); },
            [&](const record::End& last) {
              counts = last.counts;
              end = record.t;
            },
            [&](const OneOf<record::Finished, record::Evicted, record::Stop, record::Speed> auto&
                    of_job) { add(of_job.job); },
            [](const auto&) {},
        },
        record.what);
  }
  std::vector<Line> lines;
  std::vector<record::Place> places;
  JobCounts counts;
  Time end;
};

struct World {
  explicit World(Settings given = {.costs = Costs::none()}, std::uint64_t given_seed = 0)
      : settings(std::move(given)), seed(given_seed) {
    std::vector<NodeSpec> nodes(
        2, {.name = "", .gpu_type = "V100", .gpus = 4, .host = "", .rack = ""});
    cluster = *build_cluster("test", {}, nodes);
    workload.users.names.push_back("ann");
    workload.users.tickets.push_back(1);
  }
  void job(std::int64_t submit_ms, std::uint32_t gpus, std::int64_t work_ms) {
    Jobs& jobs = workload.jobs;
    jobs.user.push_back(UserId(0));
    jobs.model.push_back(ModelId::none());
    jobs.gpus.push_back(gpus);
    jobs.gpus_min.push_back(gpus);
    jobs.gpus_max.push_back(gpus);
    jobs.task_gpus.push_back(1);
    jobs.closeness.push_back({});
    jobs.arrival.push_back({submit_ms});
    jobs.types.push_back(kAllTypes);
    workload.names.push_back(fmt::format("j{}", jobs.size() - 1));
    workload.durations.push_back({work_ms});
    workload.reference_types.push_back({});
  }
  void run(Time until = Time::never()) {
    auto simulation = Simulation::make({.cluster = cluster,
                                        .trace = Trace(workload),
                                        .policy = std::make_unique<BorrowedPolicy>(policy),
                                        .settings = settings,
                                        .models = SpeedTable(),
                                        .seed = seed,
                                        .until = until,
                                        .measured = false});
    ASSERT_TRUE(simulation.has_value()) << simulation.error().message;
    simulation->add_sink(out);
    simulation->add_sink(audit);
    ASSERT_TRUE(simulation->run().has_value());
    EXPECT_EQ(audit.problems(), std::vector<std::string>{});
    EXPECT_TRUE(audit.passed());
  }

  Settings settings;
  std::uint64_t seed = 0;
  Cluster cluster;
  Workload workload;
  TestFifo policy;
  Lines out;
  Audit audit;
};

TEST(Simulation, JobsRunInTurnAndTheClockJumps) {
  World world;
  world.job(0, 4, 10'000);
  world.job(1'000, 8, 5'000);
  world.run();
  const std::vector<Line> expected = {
      line<record::Arrived>(0, 0),     line<record::Place>(0, 0),
      line<record::Arrived>(1'000, 1), line<record::Finished>(10'000, 0),
      line<record::Place>(10'000, 1),  line<record::Finished>(15'000, 1),
  };
  EXPECT_EQ(world.out.lines, expected);
  EXPECT_EQ(world.out.counts.finished, 2);
}

TEST(Simulation, EventsOfOneInstantComeTogetherFinishesFirst) {
  World world;
  world.job(0, 4, 10'000);
  world.job(0, 4, 10'000);
  world.job(10'000, 8, 1'000);
  world.run();
  const std::vector<TestFifo::Seen> expected = {
      {0, EventKind::kArrived, JobId(0)},       {0, EventKind::kArrived, JobId(1)},
      {10'000, EventKind::kFinished, JobId(0)}, {10'000, EventKind::kFinished, JobId(1)},
      {10'000, EventKind::kArrived, JobId(2)},  {11'000, EventKind::kFinished, JobId(2)},
  };
  EXPECT_EQ(world.policy.seen, expected);
}

TEST(Simulation, CostsAreOverheadAtTheBeginningOfARun) {
  World world({.costs = {.start = seconds(10)}, .faults = {}});
  world.job(0, 1, 5'000);
  world.run();
  EXPECT_EQ(world.out.lines.back(), line<record::Finished>(15'000, 0));
}

// One copy from 0 s, which starts in 10 s; two copies from 20 s, after 10 s of work, which exchange
// parameters for 10 s after every 40 s: 1.6 times one, from 27 s on.
TEST(Simulation, CopiesAddTheirSpeedsLessTheExchangeAndBeginTogether) {
  World world(
      {.costs = {.copies_exchange = seconds(10), .copies_every = seconds(40)}, .faults = {}});
  world.job(0, 1, 90'000);
  world.policy.makes_copies = true;
  world.policy.extra = [](const View& view, Plan& plan) {
    if (view.now.ms == 0) plan.wake_at(Time{20'000});
    if (view.news.front().kind != EventKind::kWoke) return;
    plan.take(NodeId(1), 1);
    plan.place_copy(JobId(0));
  };
  world.run();
  const std::vector<Line> expected = {
      line<record::Arrived>(0, 0),    line<record::Place>(0, 0),
      line<record::Stop>(20'000, 0),  line<record::Place>(20'000, 0),
      line<record::Place>(20'000, 0), line<record::Finished>(77'000, 0),
  };
  EXPECT_EQ(world.out.lines, expected);
  EXPECT_EQ(world.out.places.back().copy, 1U);
}

TEST(Simulation, StopAndPlaceInOnePlanIsAMigration) {
  World world({.costs = {.start = {}}, .faults = {}});
  world.job(0, 1, 60'000);
  world.policy.extra = [](const View& view, Plan& plan) {
    if (view.now.ms == 0) plan.wake_at(Time{20'000});
    if (view.news.front().kind != EventKind::kWoke) return;
    plan.stop(JobId(0), StopCause::kTurn);
    plan.take(NodeId(1), 1);
    plan.place(JobId(0));
  };
  world.run();
  const std::vector<Line> expected = {
      line<record::Arrived>(0, 0),       line<record::Place>(0, 0),
      line<record::Stop>(20'000, 0),     line<record::Place>(20'000, 0),
      line<record::Finished>(67'000, 0),
  };
  EXPECT_EQ(world.out.lines, expected);  // 7 s for moving one GPU's job
  EXPECT_EQ(world.out.places[1].kind, PlaceKind::kMigrate);
}

// A job that saves every 15 s of training is moved at 20 s, and again within the overhead of 7 s. It repeats 5 s: 4 s
// of them are left when it moves for the second time.
TEST(Simulation, AMoveLosesTheWorkSinceTheLastCheckpoint) {
  const auto finish = [](std::vector<std::int64_t> moves_ms) {
    World world({.costs = {.start = {}}, .faults = {}});
    world.job(0, 1, 60'000);
    world.workload.jobs.extras.push_back({.checkpoint_every_s = 15});
    world.policy.extra = [moves_ms](const View& view, Plan& plan) {
      if (view.now.ms == 0) {
        for (std::int64_t ms : moves_ms) plan.wake_at(Time{ms});
      }
      if (view.news.front().kind != EventKind::kWoke) return;
      const bool is_home = view.jobs.last_gang(JobId(0)).front().node == NodeId(0);
      plan.stop(JobId(0), StopCause::kTurn);
      plan.take(NodeId(is_home ? 1 : 0), 1);
      plan.place(JobId(0));
    };
    world.run();
    return world.out.lines.back();
  };
  EXPECT_EQ(finish({}), line<record::Finished>(60'000, 0));
  EXPECT_EQ(finish({20'000}), line<record::Finished>(72'000, 0));
  EXPECT_EQ(finish({20'000, 28'000}), line<record::Finished>(28'000 + 7'000 + 4'000 + 40'000, 0));
}

TEST(Simulation, StopAndPlaceOnTheSameSlicesIsNoStep) {
  World world;
  world.job(0, 2, 60'000);
  world.policy.extra = [](const View& view, Plan& plan) {
    if (view.now.ms == 0) plan.wake_at(Time{20'000});
    if (view.news.front().kind != EventKind::kWoke) return;
    plan.stop(JobId(0), StopCause::kTurn);
    plan.take(NodeId(0), 2);
    plan.place(JobId(0));
    plan.stop(JobId(0), StopCause::kTurn);
    plan.take(NodeId(0), 2);
    plan.place(JobId(0));
  };
  world.run();
  EXPECT_EQ(world.out.lines.size(), 3U);
  EXPECT_EQ(world.out.lines.back(), line<record::Finished>(60'000, 0));
}

TEST(Simulation, AJobLargerThanTheClusterIsRejectedWithAReason) {
  World world;
  world.job(0, 9, 1'000);
  world.job(0, 1, 1'000);
  world.run();
  EXPECT_EQ(world.out.lines[0], line<record::Rejected>(0, 0));
  EXPECT_EQ(world.out.counts, (JobCounts{.finished = 1, .failed = 0, .rejected = 1, .pending = 0}));
}

// A gang that the policy may not shrink must fit unchanged.
TEST(Simulation, AJobThatWouldFitWithFewerGpusIsRejectedOnlyIfThePolicyIsNotElastic) {
  for (const bool is_elastic : {true, false}) {
    World world;
    world.job(0, 9, 1'000);
    world.workload.jobs.gpus_min[JobId(0)] = 8;
    world.policy.is_elastic = is_elastic;
    world.run();
    ASSERT_FALSE(world.out.lines.empty());
    EXPECT_EQ(world.out.lines[0],
              is_elastic ? line<record::Arrived>(0, 0) : line<record::Rejected>(0, 0));
  }
}

// 2 GPUs for 20 s, none for 10 s, 2 for 10 s.
TEST(Simulation, AttainedServiceAddsUpOverTheRunsOfAJob) {
  World world;
  world.job(0, 2, 60'000);
  std::vector<std::int64_t> attained_gpu_s;
  world.policy.extra = [&](const View& view, Plan& plan) {
    if (view.now.ms == 0) {
      for (const std::int64_t ms : {20'000, 30'000, 40'000}) plan.wake_at({ms});
    }
    if (view.news.front().kind != EventKind::kWoke) return;
    const Int128 gpu_ms = view.jobs.attained(JobId(0), view.now).gpu_ms;
    attained_gpu_s.push_back(static_cast<std::int64_t>(gpu_ms / 1000));
    if (view.now.ms == 20'000) plan.stop(JobId(0), StopCause::kTurn);
    if (view.now.ms != 30'000) return;
    plan.take(NodeId(0), 2);
    plan.place(JobId(0));
  };
  world.run();
  EXPECT_EQ(attained_gpu_s, (std::vector<std::int64_t>{40, 40, 60}));
}

// So that a long run needs no more room than its largest moment.
TEST(Simulation, AJobThatLeavesGivesTheStorageOfItsGangBack) {
  World world;
  for (int i = 0; i < 5; ++i) world.job(i * 1'000, 4, 500);
  std::set<std::uint32_t> offsets;
  world.policy.extra = [&](const View& view, Plan& plan) {
    for (JobId job : view.running) offsets.insert(view.jobs.last[job].offset);
    if (view.news.front().kind == EventKind::kArrived) plan.wake_at(view.now + milliseconds(100));
  };
  world.run();
  EXPECT_EQ(world.out.counts.finished, 5);
  EXPECT_EQ(offsets.size(), 1U);
}

TEST(Simulation, AnEvictedJobGivesTheStorageOfItsGangBack) {
  FaultOptions faults;
  faults.outages = {{NodeId(0), Time{1'000}, Time{2'000}}, {NodeId(1), Time{3'000}, Time{4'000}}};
  World world({.costs = Costs::none(), .faults = faults});
  world.job(0, 4, 60'000);
  std::set<std::uint32_t> offsets;
  world.policy.extra = [&](const View& view, Plan&) {
    for (JobId job : view.running) offsets.insert(view.jobs.last[job].offset);
  };
  world.run();
  EXPECT_EQ(world.out.places.size(), 3U);
  EXPECT_EQ(offsets.size(), 1U);
}

TEST(Simulation, UntilStopsTheClockAndCountsWhatIsPending) {
  World world;
  world.job(0, 1, 100'000);
  world.job(10'000, 1, 100'000);
  world.job(60'000, 1, 100'000);
  world.run(Time{50'000});
  EXPECT_EQ(world.out.counts.pending, 3);
  EXPECT_EQ(world.out.counts.unsubmitted, 1);
}

// The job waits for ever, because its policy could shrink it and does not.
TEST(Simulation, ARunThatIsCutOffLastsUntilThenThoughNothingMoreHappens) {
  World world;
  world.job(10'000, 9, 1'000);
  world.workload.jobs.gpus_min[JobId(0)] = 8;
  world.policy.is_elastic = true;
  world.run(Time{50'000});
  EXPECT_EQ(world.out.counts.pending, 1);
  EXPECT_EQ(world.out.end, Time{50'000});
}

TEST(Simulation, AWakeUpAfterTheLastJobDoesNotProlongTheRun) {
  World world;
  world.job(0, 1, 10'000);
  world.policy.extra = [](const View& view, Plan& plan) {
    if (view.now.ms == 0) plan.wake_at(Time{99'000});
  };
  world.run();
  EXPECT_EQ(world.out.end, Time{10'000});
}

TEST(Simulation, AFinishAtUntilStillCounts) {
  World world;
  world.job(0, 1, 50'000);
  world.run(Time{50'000});
  EXPECT_EQ(world.out.counts.finished, 1);
}

// The job waits for ever, because its policy could shrink it and does not.
TEST(Simulation, AWakeUpAtUntilIsServed) {
  World world;
  world.job(0, 9, 1'000);
  world.workload.jobs.gpus_min[JobId(0)] = 8;
  world.policy.is_elastic = true;
  world.policy.extra = [](const View& view, Plan& plan) {
    if (view.now.ms == 0) plan.wake_at(Time{50'000});
  };
  world.run(Time{50'000});
  EXPECT_EQ(world.policy.seen.back(), (TestFifo::Seen{50'000, EventKind::kWoke, JobId::none()}));
}

TEST(Simulation, AJobKeepsAllItsWorkWhereItSavesItAllTheTime) {
  FaultOptions faults;
  faults.outages = {{NodeId(0), Time{25'000}, Time{40'000}}};
  faults.checkpoint_interval = {};
  World world({.costs = Costs::none(), .faults = faults});
  world.job(0, 8, 60'000);
  world.run();
  EXPECT_EQ(world.out.lines.back(), line<record::Finished>(75'000, 0));
}

TEST(Simulation, ANodeThatGoesDownEvictsItsJobsWhichLoseWorkSinceTheirCheckpoint) {
  FaultOptions faults;
  faults.outages = {{NodeId(0), Time{25'000}, Time{40'000}}};
  faults.checkpoint_interval = seconds(10);
  World world({.costs = Costs::none(), .faults = faults});
  world.job(0, 8, 60'000);  // on both nodes: 20 of 25 s are kept, 40 s are left at 40 s
  world.run();
  const std::vector<Line> expected = {
      line<record::Arrived>(0, 0),      line<record::Place>(0, 0),
      line<record::Evicted>(25'000, 0), line<record::GpusDown>(25'000, 0),
      line<record::GpusUp>(40'000, 0),  line<record::Place>(40'000, 0),
      line<record::Finished>(80'000, 0)};
  EXPECT_EQ(world.out.lines, expected);
  EXPECT_EQ(world.out.places[1].kind, PlaceKind::kStart) << "its hosts' memory is gone";
}

// Whichever of them would finish first.
TEST(Simulation, JobsEvictedAtOneInstantAreEvictedInTheirOrderBeforeTheirNodesGoDown) {
  FaultOptions faults;
  faults.outages = {{NodeId(0), Time{10'000}, Time{20'000}},
                    {NodeId(1), Time{10'000}, Time{20'000}}};
  World world({.costs = Costs::none(), .faults = faults});
  world.job(0, 1, 90'000);
  world.job(0, 1, 30'000);
  world.job(0, 2, 60'000);
  world.job(0, 4, 20'000);  // on the other node
  world.run(Time{15'000});
  ASSERT_EQ(world.out.lines.size(), 14U);
  const std::vector<Line> expected = {
      line<record::Evicted>(10'000, 0),  line<record::Evicted>(10'000, 1),
      line<record::Evicted>(10'000, 2),  line<record::Evicted>(10'000, 3),
      line<record::GpusDown>(10'000, 0), line<record::GpusDown>(10'000, 1)};
  EXPECT_EQ(std::vector<Line>(world.out.lines.begin() + 8, world.out.lines.end()), expected);
}

TEST(Simulation, RandomFaultsAreRepeatableAndLoseNoJob) {
  std::vector<std::vector<Line>> runs;
  for (int i = 0; i < 2; ++i) {
    FaultOptions faults;
    faults.mtbf_h = 0.05;
    faults.mttr_h = 0.01;
    faults.checkpoint_interval = seconds(5);
    World world({.costs = Costs::none(), .faults = faults}, 7);
    for (int job = 0; job < 50; ++job)
      world.job(job * 1'000, 1 + static_cast<std::uint32_t>(job) % 8, 60'000);
    world.run();
    EXPECT_EQ(world.out.counts.finished, 50);
    runs.push_back(world.out.lines);
  }
  EXPECT_EQ(runs[0], runs[1]);
}

// Settling a job at extra moments changes nothing: wake-ups stop and resume it in place for free.
TEST(Simulation, TimeSlicesAtOddMomentsLoseNoWork) {
  World world;
  world.job(0, 3, 100'003);
  Time next{1};
  world.policy.extra = [&next](const View& view, Plan& plan) {
    const bool woke = view.news.back().kind == EventKind::kWoke;
    if (woke && plan.has_gang(JobId(0))) plan.stop(JobId(0), StopCause::kTurn);
    if (woke && !view.running.empty()) {
      plan.take(NodeId(1), 3);
      plan.place(JobId(0));
    }
    next = Time{view.now.ms + 7 + view.now.ms % 13};
    if (!view.running.empty() || view.now.ms == 0) plan.wake_at(next);
  };
  world.run();
  EXPECT_EQ(world.out.lines.back(), line<record::Finished>(100'003, 0));
}

TEST(Costs, AModelsOwnCostsReplaceTheDefaults) {
  ModelProfile profile;
  profile.costs.start_s = 46.0;
  const Costs costs;
  EXPECT_EQ(costs.overhead(PlaceKind::kStart, 1, nullptr), seconds(10));
  EXPECT_EQ(costs.overhead(PlaceKind::kStart, 1, &profile), seconds(46));
  EXPECT_EQ(costs.overhead(PlaceKind::kResume, 16, &profile), seconds(1));
  EXPECT_EQ(costs.overhead(PlaceKind::kMigrate, 1, nullptr), seconds(7));
  EXPECT_EQ(costs.overhead(PlaceKind::kMigrate, 8, nullptr), seconds(30));
  EXPECT_EQ(costs.overhead(PlaceKind::kMigrate, 9, nullptr), seconds(60));
  EXPECT_EQ(Costs::none().overhead(PlaceKind::kMigrate, 9, nullptr), seconds(0));
}

// Copies at speed 2 that exchange for 10 s after every 40 s keep 1.6, and half of that counts.
TEST(Costs, OfACopyAreItsExchangesAndItsEfficiency) {
  const Costs costs{.copies_exchange = seconds(10), .copies_every = seconds(40)};
  EXPECT_EQ(costs.rate_of_copy(Rate::of(2)), Rate::of(1.6));
  Costs half = costs;
  half.copies_efficiency = 0.5;
  EXPECT_EQ(half.rate_of_copy(Rate::of(2)), Rate::of(0.8));
}

TEST(Simulation, AGpuThatGoesDownEvictsOnlyTheJobOnIt) {
  FaultOptions faults;
  faults.outages = {{NodeId(0), Time{10'000}, Time{20'000}, 0b0010}};
  World world({.costs = Costs::none(), .faults = faults});
  world.job(0, 1, 60'000);
  world.job(0, 1, 60'000);
  world.run(Time{15'000});
  const std::vector<Line> expected = {line<record::Evicted>(10'000, 1),
                                      line<record::GpusDown>(10'000, 0)};
  ASSERT_GE(world.out.lines.size(), 6U);
  EXPECT_EQ(std::vector<Line>(world.out.lines.begin() + 4, world.out.lines.begin() + 6), expected);
}

// The failure of a node in a failed rack has no immediate effect, and the run continues.
TEST(Simulation, FailuresOfRacksAreRepeatableAndLoseNoJob) {
  std::vector<std::vector<Line>> runs;
  for (int i = 0; i < 2; ++i) {
    FaultOptions faults;
    faults.mtbf_h = 0.05;
    faults.rack_mtbf_h = 0.05;
    faults.mttr_h = 0.02;
    World world({.costs = Costs::none(), .faults = faults}, 7);
    for (int job = 0; job < 20; ++job) world.job(job * 5'000, 2, 60'000);
    world.run();
    EXPECT_EQ(world.out.counts.finished, 20);
    runs.push_back(world.out.lines);
  }
  EXPECT_EQ(runs[0], runs[1]);
}

}  // namespace
}  // namespace fairlead
