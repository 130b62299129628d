// The fast policies against their plain versions: the same journal, byte for byte, in thousands of
// random small worlds.
#include "fairlead/base/overloaded.h"
#include "testing/world.h"

#include "reference/plain_policies.h"
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace fairlead {
namespace {

using reference::Key;
using reference::Order;

std::int64_t arrival(const View& view, JobId job) { return view.jobs.arrival[job].ms; }
std::int64_t gpus(const View& view, JobId job) { return view.jobs.gpus[job]; }
std::int64_t remaining(const View& view, JobId job) { return view.work.remaining(job).ms; }
std::int64_t remaining_service(const View& view, JobId job) {
  return remaining(view, job) * gpus(view, job);
}
std::int64_t attained(const View& view, JobId job) {
  return saturated_gpu_ms(view.jobs.attained(job, view.now));
}

struct Pair {
  friend void PrintTo(const Pair& pair, std::ostream* out) { *out << pair.fast; }

  std::string fast;
  std::function<std::unique_ptr<Policy>(Placement)> plain;
};

std::vector<Pair> pairs() {
  const auto queue = [](Key key, OnMisfit on_misfit) {
    return [=](Placement placement) { return reference::plain_queue(key, on_misfit, placement); };
  };
  const auto priority = [](Key key, Order order, Duration quantum, bool jobs_return = false) {
    return [=](Placement placement) {
      return reference::plain_priority(key, order, quantum, jobs_return, placement);
    };
  };
  const auto tiresias = [](const std::string& options) -> Pair {
    const auto plain = [options](Placement placement) {
      auto made = tiresias_options(options_named("tiresias:" + options)).value();
      made.placement = placement;
      return reference::plain_tiresias(std::move(made));
    };
    return {"tiresias:" + options + ",", plain};
  };
  return {
      {"fifo:", queue(arrival, OnMisfit::kStop)},
      {"fifo:skip=true,", queue(arrival, OnMisfit::kSkip)},
      {"sjf:", queue(remaining, OnMisfit::kStop)},
      {"smallest:", priority(gpus, Order::kByArrival, {})},
      {"srtf:", priority(remaining, Order::kStable, {})},
      {"srsf:", priority(remaining_service, Order::kStable, {})},
      {"las:quantum_s=7,", priority(attained, Order::kByArrival, seconds(7), true)},
      tiresias("limits=5/60"),
      tiresias("limits=3/9/27/81,unit=seconds"),
      tiresias("limits=5/60,promote=1.5"),
      tiresias("limits=20/200,gittins=true,gittins_quantum_gpu_s=60"),
  };
}

// The records as lines, to show the first difference of two journals.
class Lines : public RecordSink {
 public:
  void on(const Record& record) override {
    std::string line = fmt::format("{} ms, record kind {}", record.t.ms, record.what.index());
    std::visit(
        Overloaded{
            [&](const record::Place& place) {
              line += fmt::format(", job {}", place.job.row());
              for (Slice slice : place.gang) {
                line += fmt::format(" n{}:{}", slice.node.row(), slice.gpus);
              }
            },
            [&](const OneOf<record::Stop, record::Finished, record::Speed, record::Evicted> auto&
                    of_job) { line += fmt::format(", job {}", of_job.job.row()); },
            [&](const Note& note) { line += fmt::format(", note {}", fields_of(note).value); },
            [](const auto&) {}},
        record.what);
    lines.push_back(line);
  }
  std::vector<std::string> lines;
};

std::string first_difference(const World& world, const MakePolicy& fast, const MakePolicy& plain) {
  Lines ours;
  Lines theirs;
  run(world, fast, {}, &ours);
  run(world, plain, {}, &theirs);
  const auto [a, b] = std::ranges::mismatch(ours.lines, theirs.lines);
  return fmt::format("fast: {}\nplain: {}", a == ours.lines.end() ? "the end" : *a,
                     b == theirs.lines.end() ? "the end" : *b);
}

// How many random worlds each test draws.
#if defined(FAIRLEAD_SANITIZE) || \
    !defined(__OPTIMIZE__)  // slow builds that look for something else
constexpr std::uint64_t kWorlds = 40;
constexpr std::uint64_t kWorldsWithFaults = 12;
#else
constexpr std::uint64_t kWorlds = 400;
constexpr std::uint64_t kWorldsWithFaults = 120;
#endif

class Reference : public testing::TestWithParam<Pair> {};

void expect_equal_journals(const Pair& pair, const World& world, std::string_view label) {
  constexpr const char* kPlacements[] = {"count",      "count,mixed=true",    "first-fit",
                                         "best-fit",   "best-fit,mixed=true", "yarn",
                                         "consolidate"};
  for (const std::string placement : kPlacements) {
    const std::string text = fmt::format("{}placement={}", pair.fast, placement);
    const Placement same = *placement_named(placement.substr(0, placement.find(',')));
    const MakePolicy make_plain = [&] {
      return pair.plain(same.mixing(placement.ends_with("true")));
    };
    const Outcome fast = run(world, policy_named(text));
    ASSERT_EQ(fast.hash, run(world, make_plain).hash)
        << text << ", " << label << "\n"
        << first_difference(world, policy_named(text), make_plain);
    ASSERT_TRUE(fast.problems.empty()) << text << ", " << label << ": " << fast.problems.front();
  }
}

TEST_P(Reference, GivesTheSameJournal) {
  for (std::uint64_t seed = 0; seed < kWorlds; ++seed) {
    expect_equal_journals(GetParam(), random_world(seed), fmt::format("seed {}", seed));
    if (HasFatalFailure()) return;
  }
}

TEST_P(Reference, GivesTheSameJournalWhereNodesFail) {
  for (std::uint64_t seed = 0; seed < kWorldsWithFaults; ++seed) {
    World world = random_world(seed);
    world.settings.faults.mtbf_h = 0.02;
    world.settings.faults.mttr_h = 0.005;
    world.sim_seed = seed;
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
