// The fast policies against their plain versions: the same journal, byte for byte, in thousands of
// random small worlds.
#include "testing/world.h"

#include "reference/plain_policies.h"
#include <gtest/gtest.h>

namespace fairlead {
namespace {

using reference::Key;
using reference::Order;

std::int64_t arrival(const View& view, JobId job) { return view.jobs.arrival[job].ms; }
std::int64_t gpus(const View& view, JobId job) { return view.jobs.gpus[job]; }
std::int64_t remaining(const View& view, JobId job) { return view.oracle->remaining(job).ms; }
std::int64_t remaining_service(const View& view, JobId job) {
  return remaining(view, job) * gpus(view, job);
}
std::int64_t attained(const View& view, JobId job) {
  return view.jobs.attained(job, view.now).gpu_ms;
}

struct Pair {
  std::string fast;
  std::function<std::unique_ptr<Policy>(Placement)> plain;
};

std::vector<Pair> pairs() {
  const auto queue = [](Key key, OnMisfit on_misfit) {
    return [=](Placement placement) { return reference::plain_queue(key, on_misfit, placement); };
  };
  const auto priority = [](Key key, Order order, Duration quantum) {
    return [=](Placement placement) {
      return reference::plain_priority(key, order, quantum, placement);
    };
  };
  const auto tiresias = [](TiresiasOptions options) {
    return [=](Placement placement) mutable {
      options.placement = placement;
      return reference::plain_tiresias(options);
    };
  };
  const std::span<const std::int64_t> samples = builtin_service_samples();
  const GittinsIndex index({samples.begin(), samples.end()}, 60);
  return {
      {"fifo:", queue(arrival, OnMisfit::kStop)},
      {"fifo:skip=true,", queue(arrival, OnMisfit::kSkip)},
      {"sjf:", queue(remaining, OnMisfit::kStop)},
      {"smallest:", priority(gpus, Order::kStable, {})},
      {"srtf:", priority(remaining, Order::kStable, {})},
      {"srsf:", priority(remaining_service, Order::kStable, {})},
      {"las:quantum_s=7,", priority(attained, Order::kById, seconds(7))},
      {"tiresias:limits=5/60,", tiresias({.limits_s = {5, 60}})},
      {"tiresias:limits=3/9/27/81,unit=seconds,",
       tiresias({.unit = ServiceUnit::kTime, .limits_s = {3, 9, 27, 81}})},
      {"tiresias:limits=5/60,promote=1.5,",
       tiresias({.limits_s = {5, 60}, .promote_thousandths = 1500})},
      {"tiresias:limits=20/200,gittins=true,gittins_quantum=60,",
       tiresias({.limits_s = {20, 200}, .gittins = index})},
  };
}

class Reference : public testing::TestWithParam<Pair> {};

void expect_equal_journals(const Pair& pair, const World& world, std::string_view label) {
  constexpr std::array kPlacements = {"count", "first-fit", "best-fit", "yarn", "consolidate"};
  for (std::size_t i = 0; i < kPlacements.size(); ++i) {
    const std::string text = fmt::format("{}placement={}", pair.fast, kPlacements[i]);
    const Outcome fast = run(world, policy_named(text));
    const Outcome plain = run(world, [&] { return pair.plain(static_cast<Placement>(i)); });
    ASSERT_EQ(fast.hash, plain.hash) << text << ", " << label;
    ASSERT_TRUE(fast.problems.empty()) << text << ", " << label << ": " << fast.problems.front();
  }
}

TEST_P(Reference, GivesTheSameJournal) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    expect_equal_journals(GetParam(), random_world(seed), fmt::format("seed {}", seed));
    if (HasFatalFailure()) return;
  }
}

TEST_P(Reference, GivesTheSameJournalWhereNodesFail) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    World world = random_world(seed);
    world.sim.faults.mtbf_h = 0.02;
    world.sim.faults.mttr_h = 0.005;
    world.sim.seed = seed;
    world.until = {3'600'000};
    expect_equal_journals(GetParam(), world, fmt::format("seed {}, with faults", seed));
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, Reference, testing::ValuesIn(pairs()), [](const auto& param) {
  std::string name = param.param.fast;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
});

}  // namespace
}  // namespace fairlead
