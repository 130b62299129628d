#include "fairlead/policy/dally/options.h"
#include "testing/world.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace fairlead {
namespace {

using Mode = DallyTimerOptions::Mode;

constexpr Time at_s(std::int64_t s) { return {s * 1000}; }

DallyTimerOptions small_options() {
  return dally_options(options_named("dally:samples=3,age_h=1,least_s=10,most_s=1000"))->timers;
}

TEST(DallyTimers, SizeClassesArePowersOfTwo) {
  EXPECT_EQ(DallyTimers::size_class(1), 0U);
  EXPECT_EQ(DallyTimers::size_class(2), 1U);
  EXPECT_EQ(DallyTimers::size_class(3), 2U);
  EXPECT_EQ(DallyTimers::size_class(4), 2U);
  EXPECT_EQ(DallyTimers::size_class(8), 3U);
  EXPECT_EQ(DallyTimers::size_class(9), 4U);
  EXPECT_LT(DallyTimers::size_class(0xffffffff), DallyTimers::kSizeClasses);
}

TEST(DallyTimers, WithoutSamplesATimerIsItsDefault) {
  DallyTimers timers(small_options());
  EXPECT_EQ(timers.of(3, at_s(0)).node, seconds(300));
  EXPECT_EQ(timers.of(3, at_s(0)).rack, seconds(900));
}

TEST(DallyTimers, AreTheMeanOfTheLastWaits) {
  DallyTimers timers(small_options());
  timers.accepted(3, DallyTier::kNode, at_s(0), seconds(100));
  EXPECT_EQ(timers.of(3, at_s(0)).node, seconds(100));
  timers.accepted(3, DallyTier::kNode, at_s(1), seconds(200));
  timers.accepted(3, DallyTier::kNode, at_s(2), seconds(300));
  EXPECT_EQ(timers.of(3, at_s(2)).node, seconds(200));
  timers.accepted(3, DallyTier::kNode, at_s(3), seconds(700));  // the first leaves the window
  EXPECT_EQ(timers.of(3, at_s(3)).node, seconds(400));
}

TEST(DallyTimers, AreAQuantileByNearestRank) {
  DallyTimerOptions options = small_options();
  options.samples = 10;
  for (const auto& [quantile, expected_s] :
       {std::pair(0.25, 100), std::pair(0.5, 200), std::pair(0.9, 400), std::pair(1.0, 400)}) {
    options.quantile = quantile;
    DallyTimers timers(options);
    for (std::int64_t wait_s : {400, 100, 300, 200}) {
      timers.accepted(3, DallyTier::kNode, at_s(0), seconds(wait_s));
    }
    EXPECT_EQ(timers.of(3, at_s(0)).node, seconds(expected_s)) << quantile;
  }
}

TEST(DallyTimers, ForgetWhatIsOld) {
  DallyTimers timers(small_options());
  timers.accepted(3, DallyTier::kNode, at_s(0), seconds(100));
  timers.accepted(3, DallyTier::kNode, at_s(600), seconds(200));
  EXPECT_EQ(timers.of(3, at_s(3600)).node, seconds(150));
  EXPECT_EQ(timers.of(3, at_s(3601)).node, seconds(200));
  EXPECT_EQ(timers.of(3, at_s(4201)).node, seconds(300));  // the default
}

TEST(DallyTimers, AreClamped) {
  DallyTimers timers(small_options());
  timers.accepted(3, DallyTier::kNode, at_s(0), seconds(0));
  EXPECT_EQ(timers.of(3, at_s(0)).node, seconds(10));
  timers.accepted(4, DallyTier::kNode, at_s(0), seconds(5000));
  EXPECT_EQ(timers.of(4, at_s(0)).node, seconds(1000));
}

TEST(DallyTimers, OfRacksAreAtLeastThoseOfNodes) {
  DallyTimers timers(small_options());
  timers.accepted(3, DallyTier::kRack, at_s(0), seconds(50));
  EXPECT_EQ(timers.of(3, at_s(0)).rack, seconds(300));
  timers.accepted(3, DallyTier::kNode, at_s(0), seconds(20));
  EXPECT_EQ(timers.of(3, at_s(0)).rack, seconds(50));
}

TEST(DallyTimers, OfOneSizeAndTierSayNothingAboutOthers) {
  DallyTimers timers(small_options());
  timers.accepted(3, DallyTier::kNode, at_s(0), seconds(20));
  timers.accepted(3, DallyTier::kNetwork, at_s(0), seconds(999));
  EXPECT_EQ(timers.of(2, at_s(0)).node, seconds(300));
  EXPECT_EQ(timers.of(3, at_s(0)).rack, seconds(900));
}

TEST(DallyTimers, OtherModesDoNotTune) {
  DallyTimerOptions options = small_options();
  const auto of = [&](Mode mode) {
    options.mode = mode;
    DallyTimers timers(options);
    timers.accepted(3, DallyTier::kNode, at_s(0), seconds(100));
    return timers.of(3, at_s(0));
  };
  EXPECT_EQ(of(Mode::kManual).node, seconds(300));
  EXPECT_EQ(of(Mode::kNoWait).rack, seconds(0));
  EXPECT_EQ(of(Mode::kFullyConsolidated).node, DallyTimers::kForever);
  options.rack = seconds(1);
  EXPECT_EQ(of(Mode::kManual).rack, seconds(300));
}

// A plain reference: searches all samples ever recorded.
RC_GTEST_PROP(DallyTimersProperty, AreThoseOfAllSamplesLookedThroughAnew, ()) {
  struct Seen {
    Time at;
    std::int64_t waited_ms;
  };
  DallyTimerOptions options = small_options();
  options.samples = static_cast<std::size_t>(*rc::gen::inRange(1, 8));
  options.quantile = *rc::gen::element(0.0, 0.5, 0.9, 1.0);
  DallyTimers timers(options);
  std::vector<Seen> seen;
  Time now{};
  for (int i = *rc::gen::inRange(1, 40); i > 0; --i) {
    now = now + milliseconds(*rc::gen::inRange(0, 1'000'000));
    seen.push_back({now, *rc::gen::inRange(0, 2'000'000)});
    timers.accepted(5, DallyTier::kNode, now, milliseconds(seen.back().waited_ms));
    Writer writer;
    save(timers, writer);
    timers = DallyTimers(options);
    Reader reader(writer.bytes());
    load(timers, reader);
    RC_ASSERT(reader.ok() && reader.left() == 0U);
  }
  now = now + milliseconds(*rc::gen::inRange(0, 5'000'000));

  std::vector<std::int64_t> waits;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (i + options.samples < seen.size() || now - seen[i].at > options.age) continue;
    waits.push_back(seen[i].waited_ms);
  }
  std::ranges::sort(waits);
  std::int64_t expected = options.node.ms;
  if (!waits.empty()) {
    std::int64_t sum = 0;
    for (std::int64_t wait : waits) sum += wait;
    const auto count = static_cast<std::int64_t>(waits.size());
    expected = sum / count;
    if (options.quantile > 0) {  // the first with that fraction of all at or below it
      std::size_t rank = 0;
      while (static_cast<double>(rank + 1) < options.quantile * static_cast<double>(count)) ++rank;
      expected = waits[rank];
    }
  }
  expected = std::clamp(expected, options.least.ms, options.most.ms);
  const DallyTimers::Timers found = timers.of(5, now);
  RC_ASSERT(found.node.ms == expected);
  RC_ASSERT(found.rack >= found.node);
}

}  // namespace
}  // namespace fairlead
