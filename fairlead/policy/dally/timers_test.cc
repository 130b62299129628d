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
  return dally_options(options_named("dally:least_s=10"))->timers;
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
  for (int i = 1; i < 30; ++i) timers.accepted(3, DallyTier::kNode, at_s(i), seconds(400));
  EXPECT_EQ(timers.of(3, at_s(30)).node, seconds(390));
  timers.accepted(3, DallyTier::kNode, at_s(30), seconds(700));  // the first leaves the window
  EXPECT_EQ(timers.of(3, at_s(30)).node, seconds(410));
}

TEST(DallyTimers, ForgetWaitsOfTheDayBefore) {
  DallyTimers timers(small_options());
  timers.accepted(3, DallyTier::kNode, at_s(0), seconds(100));
  timers.accepted(3, DallyTier::kNode, at_s(600), seconds(200));
  EXPECT_EQ(timers.of(3, at_s(86'400)).node, seconds(150));
  EXPECT_EQ(timers.of(3, at_s(86'401)).node, seconds(200));
  EXPECT_EQ(timers.of(3, at_s(87'001)).node, seconds(300));  // the default
}

TEST(DallyTimers, AreClamped) {
  DallyTimers timers(small_options());
  timers.accepted(3, DallyTier::kNode, at_s(0), seconds(0));
  EXPECT_EQ(timers.of(3, at_s(0)).node, seconds(10));
  timers.accepted(4, DallyTier::kNode, at_s(0), seconds(50'000));
  EXPECT_EQ(timers.of(4, at_s(0)).node, seconds(43'200));
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
  DallyTimers timers(options);
  std::vector<Seen> seen;
  Time now{};
  for (int i = *rc::gen::inRange(1, 80); i > 0; --i) {
    now = now + milliseconds(*rc::gen::inRange(0, 10'000'000));
    seen.push_back({now, *rc::gen::inRange(0, 90'000'000)});
    timers.accepted(5, DallyTier::kNode, now, milliseconds(seen.back().waited_ms));
    Writer writer;
    save(timers, writer);
    timers = DallyTimers(options);
    Reader reader(writer.bytes());
    load(timers, reader);
    RC_ASSERT(reader.ok() && reader.left() == 0U);
  }
  now = now + milliseconds(*rc::gen::inRange(0, 100'000'000));

  std::int64_t sum = 0;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (i + 30 < seen.size() || now - seen[i].at > seconds(86'400)) continue;
    sum += seen[i].waited_ms;
    ++count;
  }
  std::int64_t expected = count == 0 ? options.node.ms : sum / count;
  expected = std::clamp(expected, options.least.ms, seconds(43'200).ms);
  const DallyTimers::Timers found = timers.of(5, now);
  RC_ASSERT(found.node.ms == expected);
  RC_ASSERT(found.rack >= found.node);
}

}  // namespace
}  // namespace fairlead
