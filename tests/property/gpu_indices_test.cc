// The GPUs of its nodes that a gang is granted (engine.h, invariant 5): the lowest free ones of
// each node, or its last ones if the job resumes in place and they are free. A script sets the
// number of GPUs of each job on each node; the place records have the indices.
#include "testing/world.h"

#include <gtest/gtest.h>

#include <bit>

namespace fairlead {
namespace {

// From that second on the job has this gang, or no GPUs.
struct Move {
  std::int64_t at_s;
  std::size_t job;
  std::vector<Slice> gang;
};

Slice gpus(std::uint16_t count, std::size_t node) { return {.node = NodeId(node), .gpus = count}; }

// Makes its moves in the order given, and nothing else.
class Script : public Policy {
 public:
  explicit Script(std::vector<Move> moves) : moves_(std::move(moves)) {}
  std::string_view name() const override { return "script"; }
  void decide(const View& view, Plan& plan) override {
    for (const Move& move : moves_) {
      const Time at = {move.at_s * 1000};
      if (at > view.now) plan.wake_at(at);
      if (at == view.now) make(move, plan);
    }
  }
  void fields(Archive&) override {}

 private:
  static void make(const Move& move, Plan& plan) {
    const JobId job(move.job);
    if (plan.has_gang(job)) plan.stop(job, StopCause::kTurn);
    for (Slice slice : move.gang) plan.take(slice.node, slice.gpus);
    if (!move.gang.empty()) plan.place(job);
  }

  std::vector<Move> moves_;
};

// "10s j0 n0/2,3 n1/0" for each place record.
class Granted : public RecordSink {
 public:
  void on(const Record& record) override {
    const auto* place = std::get_if<record::Place>(&record.what);
    if (place == nullptr) return;
    std::string line = fmt::format("{}s j{}", to_seconds(record.t), place->job.row());
    for (std::size_t i = 0; i < place->gang.size(); ++i) {
      line += fmt::format(" n{}", place->gang[i].node.row());
      char separator = '/';
      for (std::uint64_t left = place->gpu_masks[i]; left != 0; left &= left - 1) {
        line += fmt::format("{}{}", separator, std::countr_zero(left));
        separator = ',';
      }
    }
    lines.push_back(line);
  }
  std::vector<std::string> lines;
};

using Lines = std::vector<std::string>;

// Job i asks for the number of GPUs of its first move, and has work for longer than the script.
Lines granted(const std::string& cluster, const std::vector<Move>& moves,
              const std::vector<NodeOutage>& outages = {}) {
  World world{.cluster = cluster, .until = {60'000}};
  world.settings.faults.outages = outages;
  for (const Move& move : moves) {
    if (move.job != world.jobs.size()) continue;
    world.jobs.push_back({.gpus = gpus_of(move.gang), .work = hours(1)});
  }
  Granted sink;
  const Outcome outcome = run(
      world, [&] { return std::make_unique<Script>(moves); }, {}, &sink);
  EXPECT_EQ(outcome.problems, Lines{});
  return sink.lines;
}

TEST(GpuIndices, AreTheLowestFreeOnesOfTheNode) {
  EXPECT_EQ(granted("1xV100:4", {{0, 0, {gpus(2, 0)}},
                                 {0, 1, {gpus(1, 0)}},
                                 {10, 0, {}},
                                 {10, 2, {gpus(1, 0)}},    // below job 1
                                 {20, 3, {gpus(2, 0)}}}),  // around it
            (Lines{"0s j0 n0/0,1", "0s j1 n0/2", "10s j2 n0/0", "20s j3 n0/1,3"}));
}

TEST(GpuIndices, AreTheLowestFreeOnesOfEachNode) {
  EXPECT_EQ(granted("2xV100:4", {{0, 0, {gpus(3, 1)}}, {0, 1, {gpus(4, 0), gpus(1, 1)}}}),
            (Lines{"0s j0 n1/0,1,2", "0s j1 n0/0,1,2,3 n1/3"}));
}

TEST(GpuIndices, AreTheLastOnesWhereAJobResumesInPlace) {
  EXPECT_EQ(granted("1xV100:4", {{0, 0, {gpus(2, 0)}},
                                 {0, 1, {gpus(2, 0)}},
                                 {10, 0, {}},
                                 {20, 1, {}},
                                 {30, 1, {gpus(2, 0)}},  // the lower two are free as well
                                 {40, 0, {gpus(2, 0)}}}),
            (Lines{"0s j0 n0/0,1", "0s j1 n0/2,3", "30s j1 n0/2,3", "40s j0 n0/0,1"}));
}

TEST(GpuIndices, AreKeptByAllJobsThatResumeAtOnceInAnyOrder) {
  EXPECT_EQ(granted("1xV100:4", {{0, 0, {gpus(2, 0)}},
                                 {0, 1, {gpus(2, 0)}},
                                 {10, 0, {}},
                                 {10, 1, {}},
                                 {20, 1, {gpus(2, 0)}},
                                 {20, 0, {gpus(2, 0)}}}),
            (Lines{"0s j0 n0/0,1", "0s j1 n0/2,3", "20s j1 n0/2,3", "20s j0 n0/0,1"}));
}

TEST(GpuIndices, AreTheLowestFreeOnesWhereOneOfTheLastIsTaken) {
  EXPECT_EQ(granted("1xV100:4", {{0, 0, {gpus(2, 0)}},
                                 {0, 1, {gpus(2, 0)}},
                                 {10, 1, {}},
                                 {20, 2, {gpus(1, 0)}},  // one of job 1's
                                 {30, 0, {}},
                                 {40, 1, {gpus(2, 0)}}}),
            (Lines{"0s j0 n0/0,1", "0s j1 n0/2,3", "20s j2 n0/2", "40s j1 n0/0,1"}));
}

// Job 1 finds its GPUs of node 0 free, and one of its GPUs of node 1 taken.
TEST(GpuIndices, AreKeptOnTheNodesWhereTheyAreFree) {
  EXPECT_EQ(granted("2xV100:4", {{0, 0, {gpus(2, 0)}},
                                 {0, 1, {gpus(2, 0), gpus(2, 1)}},
                                 {10, 0, {}},
                                 {10, 1, {}},
                                 {20, 2, {gpus(1, 1)}},
                                 {30, 1, {gpus(2, 0), gpus(2, 1)}}}),
            (Lines{"0s j0 n0/0,1", "0s j1 n0/2,3 n1/0,1", "20s j2 n1/0", "30s j1 n0/2,3 n1/1,2"}));
}

TEST(GpuIndices, AreTheLowestFreeOnesAfterAMigration) {
  EXPECT_EQ(granted("2xV100:4", {{0, 0, {gpus(2, 0)}},
                                 {0, 1, {gpus(2, 0)}},
                                 {10, 0, {}},
                                 {10, 1, {gpus(2, 1)}},
                                 {20, 1, {gpus(2, 0)}}}),  // back where it was before last
            (Lines{"0s j0 n0/0,1", "0s j1 n0/2,3", "10s j1 n1/0,1", "20s j1 n0/0,1"}));
}

// On the same nodes, but not as many of each.
TEST(GpuIndices, AreTheLowestFreeOnesWhereTheSlicesDiffer) {
  EXPECT_EQ(granted("2xV100:4", {{0, 0, {gpus(2, 0)}},
                                 {0, 1, {gpus(1, 0), gpus(2, 1)}},
                                 {10, 0, {}},
                                 {10, 1, {}},
                                 {20, 1, {gpus(2, 0), gpus(1, 1)}}}),
            (Lines{"0s j0 n0/0,1", "0s j1 n0/2 n1/0,1", "20s j1 n0/0,1 n1/0"}));
}

TEST(GpuIndices, AreTheLowestFreeOnesAfterTheLossOfANode) {
  EXPECT_EQ(granted("1xV100:4", {{0, 0, {gpus(2, 0)}}, {0, 1, {gpus(2, 0)}}, {30, 1, {gpus(2, 0)}}},
                    {{.node = NodeId(0), .down = {10'000}, .up = {20'000}}}),
            (Lines{"0s j0 n0/0,1", "0s j1 n0/2,3", "30s j1 n0/0,1"}));
}

TEST(GpuIndices, OfAJobThatIsStoppedAndPlacedAsBeforeInOneDecisionStay) {
  EXPECT_EQ(
      granted("1xV100:4",
              {{0, 0, {gpus(2, 0)}}, {0, 1, {gpus(2, 0)}}, {10, 0, {}}, {20, 1, {gpus(2, 0)}}}),
      (Lines{"0s j0 n0/0,1", "0s j1 n0/2,3"}));
}

TEST(GpuIndices, CountToTheLastOfTheLargestNode) {
  EXPECT_EQ(granted("1xV100:64", {{0, 0, {gpus(62, 0)}}, {0, 1, {gpus(2, 0)}}}).back(),
            "0s j1 n0/62,63");
}

}  // namespace
}  // namespace fairlead
