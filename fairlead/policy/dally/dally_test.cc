#include "fairlead/base/overloaded.h"
#include "testing/steps.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace fairlead {
namespace {

// Racks of nodes, all of one size; `types` of the racks in turn.
struct Racks {
  std::uint32_t racks = 1;
  std::uint32_t nodes = 2;
  std::uint32_t gpus = 4;
  std::vector<std::string> types = {"A"};
};

Cluster cluster_of(const Racks& racks) {
  std::vector<NodeSpec> nodes;
  for (std::uint32_t rack = 0; rack < racks.racks; ++rack) {
    for (std::uint32_t node = 0; node < racks.nodes; ++node) {
      nodes.push_back({.name = "",
                       .gpu_type = racks.types[rack % racks.types.size()],
                       .gpus = racks.gpus,
                       .host = "",
                       .rack = fmt::format("r{}", rack)});
    }
  }
  return build_cluster("racks", {}, nodes).value();
}

// "chatty" runs at half speed in a rack and at a quarter across racks; "quiet" does not care;
// "local" runs on one node only; B is half as fast as A.
SpeedTable speeds() {
  const auto model = [](std::string name, std::array<double, kTiers> locality) {
    ModelProfile profile;
    profile.name = std::move(name);
    profile.rates = {{.gpu_type = "A", .rows = {{.gpus = 1, .consolidated = 2}}},
                     {.gpu_type = "B", .rows = {{.gpus = 1, .consolidated = 1}}}};
    profile.locality = locality;
    return profile;
  };
  SpeedTable table;
  table.models = {model("chatty", {1, 1, 0.5, 0.25}), model("quiet", {1, 1, 1, 1}),
                  model("fair", {1, 1, 0.9, 0.8})};
  table.source = "test";
  return table;
}

struct Row {
  Time submit;
  std::uint32_t gpus = 1;
  Duration work;
  std::string model = "chatty";
};

constexpr Time at_s(std::int64_t s) { return {s * 1000}; }

// Records placements and stops as text, and notes.
class RackWorld : public RecordSink {
 public:
  RackWorld(const Racks& racks, const std::vector<Row>& rows)
      : cluster_(cluster_of(racks)), trace_(workload_of(rows)) {}

  RackWorld& run(std::string_view policy, std::optional<std::uint64_t> reload_seed = {}) {
    hash_ = run_policy({.cluster = cluster_,
                        .trace = trace_,
                        .settings = {.costs = Costs::none()},
                        .models = speeds(),
                        .seed = 3},
                       policy, {this, &audit_}, reload_seed);
    return *this;
  }

  void on(const Record& record) override {
    const auto line = [&](JobId job, std::string_view what) {
      return fmt::format("{}s j{} {}", to_seconds(record.t), job.row(), what);
    };
    std::visit(Overloaded{
                   [&](const record::Stop& stop) { events_.push_back(line(stop.job, "stop")); },
                   [&](const record::Place& place) {
                     std::string gang;
                     for (Slice slice : place.gang) {
                       gang += fmt::format("{}n{}:{}", gang.empty() ? "" : " ", slice.node.row(),
                                           slice.gpus);
                     }
                     events_.push_back(line(place.job, gang));
                     widest_ = std::max(widest_, cluster_.tier_of(place.gang));
                   },
                   [&](const Note& note) {
                     const NoteFields fields = fields_of(note);
                     const std::string_view name = note_info(note.index()).name;
                     notes_.push_back(line(fields.job, fmt::format("{} {}", name, fields.value)));
                   },
                   [&](const record::End& end) { counts_ = end.counts; },
                   [](const auto&) {},
               },
               record.what);
  }

  const std::vector<std::string>& events() const { return events_; }
  const std::vector<std::string>& notes() const { return notes_; }
  const std::vector<std::string>& problems() const { return audit_.problems(); }
  const std::string& hash() const { return hash_; }
  const JobCounts& counts() const { return counts_; }
  Tier widest() const { return widest_; }

 private:
  static Workload workload_of(const std::vector<Row>& rows) {
    return numbered_jobs(rows, [](JobRow& row, const Row& from) {
      row.model = from.model;
      row.gpus = from.gpus;
      row.submit = from.submit;
      row.duration = from.work;
    });
  }

  Cluster cluster_;
  Trace trace_;
  Audit audit_;
  std::vector<std::string> events_;
  std::vector<std::string> notes_;
  std::string hash_;
  JobCounts counts_;
  Tier widest_ = Tier::kPair;
};

using Lines = std::vector<std::string>;

constexpr std::string_view kManual = "dally:mode=manual,node_s=20,rack_s=50,preempt=none";

// One rack of two nodes of four; each node has two GPUs taken for 100 s.
const Racks kOneRack{.racks = 1, .nodes = 2, .gpus = 4};
std::vector<Row> half_full(const Row& last) {
  return {{.gpus = 3, .work = seconds(100)}, {.gpus = 3, .work = seconds(100)}, last};
}

TEST(Dally, AJobWaitsForANodeUntilItsTimerEndsAndThenTakesARack) {
  RackWorld world(kOneRack, half_full({.submit = at_s(5), .gpus = 2, .work = seconds(10)}));
  world.run(kManual);
  EXPECT_EQ(world.events(), (Lines{"0s j0 n0:3", "0s j1 n1:3", "25s j2 n0:1 n1:1"}));
  EXPECT_EQ(world.notes(), (Lines{"5s j2 node_timer 20000"}));
  EXPECT_EQ(world.problems(), Lines{});
}

TEST(Dally, SaysThatATimerIsOverOfTheTierThatItWasAbout) {
  std::vector<Row> rows = half_full({.submit = at_s(5), .gpus = 2, .work = seconds(10)});
  rows[1].gpus = 4;  // no room in the rack either
  RackWorld world(kOneRack, rows);
  world.run(kManual);
  EXPECT_EQ(world.notes(), (Lines{"5s j2 node_timer 20000", "25s j2 node_timer 0"}));
}

TEST(Dally, AJobTakesTheBestTierAtOnceWhenItComesFree) {
  std::vector<Row> rows = half_full({.submit = at_s(5), .gpus = 2, .work = seconds(10)});
  rows[1].work = seconds(12);
  RackWorld world(kOneRack, rows);
  world.run(kManual);
  EXPECT_EQ(world.events().back(), "12s j2 n1:2");
}

TEST(Dally, TheNetworkIsTakenAfterTheSecondTimer) {
  // Two racks of one node; the rack timer reports nothing new after 20 s, because a rack is a node
  // here.
  RackWorld world({.racks = 2, .nodes = 1, .gpus = 4},
                  half_full({.submit = at_s(5), .gpus = 2, .work = seconds(10)}));
  world.run(kManual);
  EXPECT_EQ(world.events().back(), "55s j2 n0:1 n1:1");
  EXPECT_EQ(world.notes(), (Lines{"5s j2 node_timer 20000", "25s j2 rack_timer 30000"}));
}

TEST(Dally, TheBestTierThatAGangCanHaveIsTakenAtOnce) {
  // Six GPUs need a rack, ten the network.
  RackWorld world({.racks = 2, .nodes = 2, .gpus = 4},
                  {{.gpus = 6, .work = seconds(10)}, {.gpus = 10, .work = seconds(10)}});
  world.run(kManual);
  EXPECT_EQ(world.events(), (Lines{"0s j0 n0:4 n1:2", "0s j1 n1:2 n2:4 n3:4"}));
}

TEST(Dally, NoJobIsDelayedByOneThatWaitsForItsTimer) {
  std::vector<Row> rows = half_full({.submit = at_s(5), .gpus = 2, .work = seconds(10)});
  rows.push_back({.submit = at_s(6), .gpus = 1, .work = seconds(1)});
  RackWorld world(kOneRack, rows);
  world.run(kManual);
  EXPECT_EQ(world.events(), (Lines{"0s j0 n0:3", "0s j1 n1:3", "6s j3 n0:1", "25s j2 n0:1 n1:1"}));
}

TEST(Dally, AGangGoesWhereTheLeastIsLeftOver) {
  // Each goes to the fullest node with room; the six, which need a rack, to the empty one.
  RackWorld world({.racks = 2, .nodes = 2, .gpus = 4},
                  {{.gpus = 3, .work = seconds(100)},  // n0
                   {.gpus = 2, .work = seconds(100)},  // n1: n0 has no room
                   {.gpus = 2, .work = seconds(100)},  // n1
                   {.gpus = 6, .work = seconds(100)},  // rack 1
                   {.gpus = 1, .work = seconds(100)},
                   {.gpus = 2, .work = seconds(100)}});
  world.run(kManual);
  EXPECT_EQ(world.events(), (Lines{"0s j0 n0:3", "0s j1 n1:2", "0s j2 n1:2", "0s j3 n2:4 n3:2",
                                   "0s j4 n0:1", "0s j5 n3:2"}));
}

TEST(Dally, ModesAreTimersOfZeroAndWithoutEnd) {
  const std::vector<Row> rows = half_full({.submit = at_s(5), .gpus = 2, .work = seconds(10)});
  RackWorld no_wait(kOneRack, rows);
  no_wait.run("dally:mode=no-wait,preempt=none");
  EXPECT_EQ(no_wait.events().back(), "5s j2 n0:1 n1:1");
  EXPECT_EQ(no_wait.notes(), Lines{});
  RackWorld consolidated(kOneRack, rows);
  consolidated.run("dally:mode=fully-consolidated,preempt=none");
  EXPECT_EQ(consolidated.events().back(), "100s j2 n0:2");
}

TEST(Dally, WithTunedTimersAJobWaitsAsLongAsItWouldLose) {
  // In a rack it needs 20 s instead of 10 s, so it loses 10 s; the timer without samples is 1 s.
  std::vector<Row> rows = half_full({.submit = at_s(5), .gpus = 2, .work = seconds(10)});
  const auto start = [&] {
    RackWorld world(kOneRack, rows);
    world.run("dally:node_s=1,rack_s=1,preempt=none");
    return world.events().back();
  };
  EXPECT_EQ(start(), "15s j2 n0:1 n1:1");
  rows.back().model = "quiet";
  EXPECT_EQ(start(), "6s j2 n0:1 n1:1") << "it loses nothing";
}

TEST(Dally, OfOneClassTheQueueGoesByArrivalAndNotBySensitivity) {
  // Both arrive while the node is full; the first one does not care for the network.
  RackWorld world({.racks = 1, .nodes = 1, .gpus = 4},
                  {{.gpus = 4, .work = seconds(50)},
                   {.submit = at_s(1), .gpus = 4, .work = seconds(10), .model = "quiet"},
                   {.submit = at_s(2), .gpus = 4, .work = seconds(10)}});
  world.run("dally:preempt=both");
  EXPECT_EQ(world.events(), (Lines{"0s j0 n0:4", "50s j1 n0:4", "60s j2 n0:4"}));
}

TEST(Dally, TheTunerWaitsAsLongAsOffersLatelyTook) {
  // j2 waits 7 s for a node; so 7 s after j4 has come, it takes the rack.
  std::vector<Row> rows = half_full({.submit = at_s(5), .gpus = 2, .work = seconds(1)});
  rows[1].work = seconds(12);
  rows.push_back({.submit = at_s(20), .gpus = 3, .work = seconds(100)});
  rows.push_back({.submit = at_s(30), .gpus = 2, .work = seconds(1)});
  RackWorld world(kOneRack, rows);
  world.run("dally:node_s=20,rack_s=50,preempt=none");
  EXPECT_EQ(world.events(),
            (Lines{"0s j0 n0:3", "0s j1 n1:3", "12s j2 n1:2", "20s j3 n1:3", "37s j4 n0:1 n1:1"}));
  EXPECT_EQ(world.notes(), (Lines{"5s j2 node_timer 20000", "30s j4 node_timer 7000"}));
}

TEST(Dally, AmongTypesWithRoomTheFastestIsTaken) {
  RackWorld world({.racks = 2, .nodes = 1, .gpus = 4, .types = {"B", "A"}},
                  {{.gpus = 2, .work = seconds(10)}, {.gpus = 3, .work = seconds(10)}});
  world.run(kManual);
  EXPECT_EQ(world.events(), (Lines{"0s j0 n1:2", "0s j1 n0:3"}));
}

TEST(Dally, OnlyAGangLargerThanEveryTypeMixesTypes) {
  RackWorld world({.racks = 2, .nodes = 1, .gpus = 4, .types = {"B", "A"}},
                  {{.gpus = 6, .work = seconds(10)}, {.gpus = 4, .work = seconds(10)}});
  world.run("dally:mode=fully-consolidated,preempt=none");
  EXPECT_EQ(world.events()[0], "0s j0 n0:4 n1:2");
  EXPECT_EQ(world.counts().finished, 2);
}

// A job that the network hurts came second and runs spread; a quiet one has the node.
std::vector<Row> quiet_has_the_node(Duration chatty_work) {
  return {{.gpus = 3, .work = seconds(3000), .model = "quiet"},
          {.gpus = 3, .work = seconds(3000), .model = "quiet"},
          {.submit = at_s(1), .gpus = 2, .work = chatty_work, .model = "chatty"}};
}

TEST(Dally, ASensitiveJobTakesTheNodeFromOneThatDoesNotCare) {
  // At half speed it has 1,700 s of work left at 300 s: it saves 2 x 1,700 GPU-seconds for two
  // restarts of 5 GPUs in all.
  RackWorld world(kOneRack, quiet_has_the_node(seconds(1850)));
  world.run("dally:mode=no-wait,preempt=network");
  EXPECT_EQ(world.events()[2], "1s j2 n0:1 n1:1");
  EXPECT_EQ(Lines(world.events().begin() + 3, world.events().begin() + 7),
            (Lines{"300s j2 stop", "300s j0 stop", "300s j2 n0:2", "300s j0 n0:2 n1:1"}));
  // Its score is (2 - 1) x 1/2 x 1,700.5/1,850; it saves 3,401 GPU-seconds less 60 and 90.
  EXPECT_EQ(Lines(world.notes().begin(), world.notes().begin() + 3),
            (Lines{"300s j0 made_room 2", "300s j2 score 459595", "300s j2 saving 3251000"}));
  EXPECT_EQ(world.problems(), Lines{});
}

TEST(Dally, NoJobIsStoppedForLessThanTheRestartsCost) {
  // 70 s of work left at 300 s save 2 x 70 GPU-seconds; restarts of 5 GPUs cost 150.
  RackWorld world(kOneRack, quiet_has_the_node(seconds(220)));
  world.run("dally:mode=no-wait,preempt=network");
  EXPECT_EQ(world.events().size(), 3U);
  RackWorld cheap(kOneRack, quiet_has_the_node(seconds(220)));
  cheap.run("dally:mode=no-wait,preempt=network,switch_s=27");
  EXPECT_GT(cheap.events().size(), 3U);
}

TEST(Dally, ASensitiveJobThatHasNothingToRunOnStopsNoJob) {
  // It would wait, not run slowly, so it can save nothing except by making others wait.
  RackWorld world({.racks = 2, .nodes = 1, .gpus = 4},
                  {{.gpus = 4, .work = seconds(3000), .model = "quiet"},
                   {.gpus = 4, .work = seconds(3000), .model = "quiet"},
                   {.submit = at_s(1), .gpus = 2, .work = seconds(1000)}});
  world.run("dally:mode=no-wait,preempt=network");
  EXPECT_EQ(world.events(), (Lines{"0s j0 n0:4", "0s j1 n1:4", "3000s j2 n0:2"}));
}

TEST(Dally, NoJobIsStoppedForOneThatSuffersAsMuch) {
  std::vector<Row> rows = quiet_has_the_node(seconds(1000));
  for (Row& row : rows) row.model = "chatty";
  RackWorld world(kOneRack, rows);
  world.run("dally:mode=no-wait,preempt=network,score=slowdown");
  EXPECT_EQ(world.events().size(), 3U);
}

TEST(Dally, AJobMovesCloserTogetherIntoFreeGpusIfThatPays) {
  std::vector<Row> rows = quiet_has_the_node(seconds(1000));
  rows[1].work = seconds(200);
  const Lines moved = {"300s j2 stop", "300s j2 n1:2"};
  RackWorld world(kOneRack, rows);
  world.run("dally:mode=no-wait,preempt=network");
  EXPECT_EQ(Lines(world.events().begin() + 3, world.events().end()), moved);
  RackWorld las(kOneRack, rows);
  las.run("dally:mode=no-wait,preempt=las");
  EXPECT_EQ(las.events().size(), 3U);
}

TEST(Dally, AJobMovesToAFasterTypeWhenItComesFree) {
  // "A" is twice as fast as "B", and free from 100 s on.
  RackWorld world({.racks = 2, .nodes = 1, .gpus = 4, .types = {"B", "A"}},
                  {{.gpus = 4, .work = seconds(100)}, {.gpus = 4, .work = seconds(1000)}});
  world.run("dally:mode=no-wait,preempt=network");
  EXPECT_EQ(world.events(), (Lines{"0s j0 n1:4", "0s j1 n0:4", "300s j1 stop", "300s j1 n1:4"}));
}

TEST(Dally, JobsDoNotSwapTheFasterTypeAgainAndAgain) {
  // Both want "A". At 8,100 s j1 would save 4 x 5,950 GPU-seconds; j0 would lose 4 x 1,900 x 1.5 in
  // the slowest place for it, spread over "B", which counts twice; restarts cost 240.
  RackWorld world({.racks = 2, .nodes = 1, .gpus = 4, .types = {"B", "A"}},
                  {{.gpus = 4, .work = seconds(10'000), .model = "fair"},
                   {.gpus = 4, .work = seconds(10'000), .model = "fair"}});
  world.run("dally:mode=no-wait");
  EXPECT_EQ(world.events(), (Lines{"0s j0 n1:4", "0s j1 n0:4", "8100s j1 stop", "8100s j0 stop",
                                   "8100s j1 n1:4", "8100s j0 n0:4"}));
}

TEST(Dally, WhoWasServedLessGoesFirstUnlessRestartsCostMore) {
  // j0 leaves the first class after 250 s; j1 may have 1,000 GPU-seconds in it.
  const std::vector<Row> rows = {{.gpus = 4, .work = seconds(5000)},
                                 {.submit = at_s(400), .gpus = 4, .work = seconds(100)}};
  const Racks one{.racks = 1, .nodes = 1, .gpus = 4};
  RackWorld las(one, rows);
  las.run("dally:preempt=las,limits_gpu_s=1000");
  EXPECT_EQ(las.events(), (Lines{"0s j0 n0:4", "600s j0 stop", "600s j1 n0:4", "700s j0 n0:4"}));
  RackWorld costly(one, rows);
  costly.run("dally:preempt=las,limits_gpu_s=1000,switch_s=100");
  EXPECT_EQ(costly.events(), (Lines{"0s j0 n0:4", "5000s j1 n0:4"}));
  RackWorld none(one, rows);
  none.run("dally:preempt=none,limits_gpu_s=1000");
  EXPECT_EQ(none.events(), (Lines{"0s j0 n0:4", "5000s j1 n0:4"}));
}

TEST(Dally, WhoHasLessLeftGoesFirstIfTheClassesAreByTheTimeLeft) {
  // j0 leaves the first class by attained service after 2,500 s. By the time left, it is of the second at once.
  const std::vector<Row> rows = {{.gpus = 4, .work = seconds(5000)},
                                 {.submit = at_s(100), .gpus = 4, .work = seconds(200)}};
  const Racks one{.racks = 1, .nodes = 1, .gpus = 4};
  RackWorld attained(one, rows);
  attained.run("dally:limits_gpu_s=10000");
  EXPECT_EQ(attained.events(),
            (Lines{"0s j0 n0:4", "2700s j0 stop", "2700s j1 n0:4", "2900s j0 n0:4"}));
  RackWorld left(one, rows);
  left.run("dally:limits_gpu_s=10000,classes=left");
  EXPECT_EQ(left.events(), (Lines{"0s j0 n0:4", "300s j0 stop", "300s j1 n0:4", "500s j0 n0:4"}));
}

TEST(Dally, RefusesLimitsThatDoNotIncrease) {
  EXPECT_FALSE(parse_policy("dally:limits_gpu_s=60/60", 0)->make().has_value());
}

std::vector<Row> drawn_rows(std::uint64_t seed) {
  Rng rng(seed);
  std::vector<Row> rows;
  const std::uint64_t jobs = 1 + rng.below(30);
  for (std::uint64_t i = 0; i < jobs; ++i) {
    Row row;
    row.submit = at_s(static_cast<std::int64_t>(rng.below(2000)));
    row.gpus = static_cast<std::uint32_t>(1 + rng.below(rng.below(2) == 0 ? 4 : 16));
    row.work = seconds(static_cast<std::int64_t>(1 + rng.below(3000)));
    const std::uint64_t model = rng.below(3);
    row.model = model == 0 ? "chatty" : model == 1 ? "quiet" : "fair";
    rows.push_back(row);
  }
  return rows;
}

std::string drawn_policy() {
  return fmt::format(
      "dally:mode={},preempt={},score={},classes={},round_s={},limits_gpu_s=100/"
      "1000,switch_s={},node_s=30,rack_s=90",
      *rc::gen::element("auto", "manual", "no-wait", "fully-consolidated"),
      *rc::gen::element("none", "las", "network", "both"), *rc::gen::element("nw-sens", "slowdown"),
      *rc::gen::element("attained", "left"), *rc::gen::element(7, 60), *rc::gen::element(0, 5));
}

// 24 GPUs in six nodes of three racks, one or two types.
RC_GTEST_PROP(DallyProperty, EveryJobEndsWholeAndNothingIsAllocatedTwice, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  Racks racks{.racks = 3, .nodes = 2, .gpus = 4};
  if (*rc::gen::arbitrary<bool>()) racks.types = {"A", "B"};
  const std::string policy = drawn_policy();
  RackWorld world(racks, drawn_rows(seed));
  world.run(policy);
  RC_ASSERT(world.problems() == Lines{});
  RC_ASSERT(world.counts().pending == 0);
  RackWorld reloaded(racks, drawn_rows(seed));
  RC_ASSERT(reloaded.run(policy, seed).hash() == world.hash());
}

RC_GTEST_PROP(DallyProperty, FullyConsolidatedNeverSpreadsWhatFitsAMachine, ()) {
  std::vector<Row> rows = drawn_rows(*rc::gen::arbitrary<std::uint64_t>());
  for (Row& row : rows) row.gpus = std::min(row.gpus, 4U);
  RackWorld world({.racks = 3, .nodes = 2, .gpus = 4}, rows);
  world.run(fmt::format("dally:mode=fully-consolidated,preempt={}",
                        *rc::gen::element("none", "las", "network", "both")));
  RC_ASSERT(world.widest() <= Tier::kNode);
  RC_ASSERT(world.counts().pending == 0);
}

}  // namespace
}  // namespace fairlead
