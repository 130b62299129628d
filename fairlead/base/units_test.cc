#include "fairlead/base/units.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <type_traits>
#include <vector>

namespace fairlead {
namespace {

// Expressions that must not compile, each next to its positive control: the same expression with the right unit.
template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Subtractable = requires(A a, B b) {
  a - b;
};
template <class A, class B>
concept Multipliable = requires(A a, B b) {
  a* b;
};
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a < b;
};

static_assert(Addable<Time, Duration>);
static_assert(!Addable<Time, Time>);
static_assert(Addable<Duration, Duration>);
static_assert(!Addable<Duration, GpuTime>);
static_assert(!Addable<Duration, std::int64_t>);
static_assert(Addable<Work, Work>);
static_assert(!Addable<Work, Duration>);
static_assert(Subtractable<Time, Time>);
static_assert(!Subtractable<Duration, Time>);
static_assert(Multipliable<std::int64_t, std::int64_t>);
static_assert(!Multipliable<Rate, Duration>);
static_assert(!Multipliable<Duration, std::int64_t>);
static_assert(Comparable<Duration, Duration>);
static_assert(!Comparable<Duration, Time>);
static_assert(!Comparable<Duration, GpuTime>);
static_assert(!Comparable<Rate, double>);

static_assert(std::is_assignable_v<Duration&, Duration>);
static_assert(!std::is_assignable_v<Duration&, GpuTime>);
static_assert(!std::is_assignable_v<GpuTime&, Duration>);
static_assert(!std::is_assignable_v<Time&, Duration>);
static_assert(std::is_same_v<decltype(Time() - Time()), Duration>);
static_assert(std::is_same_v<decltype(Time() + Duration()), Time>);

constexpr std::int64_t kYearMs = std::int64_t{366} * 86400 * 1000;

rc::Gen<Rate> rates() {
  return rc::gen::map(rc::gen::inRange<std::int64_t>(1, Rate::kOne * 1000),
                      [](std::int64_t fixed) { return Rate{fixed}; });
}
rc::Gen<Duration> durations() {
  return rc::gen::map(rc::gen::inRange<std::int64_t>(0, kYearMs),
                      [](std::int64_t ms) { return Duration{ms}; });
}

TEST(Rate, IsRoundedToTheNearestStep) {
  EXPECT_EQ(Rate::of(1), Rate::one());
  EXPECT_EQ(Rate::of(0), Rate{0});
  EXPECT_EQ(Rate::of(0.5).fixed, Rate::kOne / 2);
  EXPECT_EQ(Rate::of(0.6 / static_cast<double>(Rate::kOne)).fixed, 1);
  EXPECT_DOUBLE_EQ(Rate::of(0.25).value(), 0.25);
}

TEST(RateDeathTest, RejectsSpeedsThatNoTableMayHave) {
  EXPECT_DEATH(Rate::of(-0.1), "speed");
  EXPECT_DEATH(Rate::of(2e6), "speed");
  EXPECT_DEATH(Rate::of(std::nan("")), "speed");
}

TEST(Work, TakesItsReferenceDurationAtSpeedOne) {
  EXPECT_EQ(time_to_finish(reference_work(hours(3)), Rate::one()), hours(3));
  EXPECT_EQ(reference_duration(reference_work(milliseconds(17))), milliseconds(17));
  EXPECT_EQ(time_to_finish(reference_work(hours(3)), Rate::of(2)).ms, hours(3).ms / 2);
}

TEST(Work, FinishesNoEarlierThanOneMillisecond) {
  EXPECT_EQ(time_to_finish(Work{0}, Rate::one()), milliseconds(1));
  EXPECT_EQ(time_to_finish(Work{1}, Rate::of(1000)), milliseconds(1));
}

TEST(Work, RoundsAFinishUp) {
  const Rate third = Rate::of(1.0 / 3);
  const Duration finish = time_to_finish(reference_work(milliseconds(1000)), third);
  EXPECT_GE(finish.ms, 3000);
  EXPECT_LE(finish.ms, 3001);
}

// A 128-GPU job shrunk to one GPU over a slow network.
TEST(Work, KeepsAMillionthOfPrecisionForSlowJobs) {
  for (double speed : {3e-4, 1e-3, 7.7e-3}) {
    const double exact = static_cast<double>(hours(5).ms) / speed;
    const auto got =
        static_cast<double>(time_to_finish(reference_work(hours(5)), Rate::of(speed)).ms);
    EXPECT_NEAR(got / exact, 1, 1e-6) << speed;
  }
}

TEST(Work, DoesNotOverflowInLongRunsAtHighSpeed) {
  const Duration century = {kMsMax};
  const Work work = progress(Rate::of(1000), century);
  EXPECT_GT(work, reference_work(century));
  EXPECT_EQ(time_to_finish(work, Rate::of(1000)), century);
  EXPECT_EQ(reference_duration(work).ms, century.ms * 1000);
  EXPECT_EQ(time_to_finish(work - progress(Rate::of(1000), {century.ms - 1}), Rate::of(1000)),
            milliseconds(1));
}

TEST(Work, EndsEvenIfItIsTooSlowToFinish) {
  const Duration never = time_to_finish(reference_work({kMsMax}), Rate{1});
  EXPECT_GT((Time{kMsMax} + never), Time{kMsMax});
  EXPECT_LT((Time{kMsMax} + never), Time::never());
}

TEST(GpuTime, IsGpusTimesDuration) {
  EXPECT_EQ(occupancy(seconds(2), 8).gpu_ms, 16'000);
  EXPECT_DOUBLE_EQ(to_gpu_hours(occupancy(hours(1), 8)), 8);
}

RC_GTEST_PROP(WorkProperty, SettlingInPiecesEqualsSettlingOnce, ()) {
  const Rate rate = *rates();
  const auto pieces = *rc::gen::container<std::vector<Duration>>(durations());
  Work settled;
  Duration total;
  for (Duration piece : pieces) {
    settled += progress(rate, piece);
    total += piece;
  }
  RC_ASSERT(settled == progress(rate, total));
}

RC_GTEST_PROP(WorkProperty, TheFinishIsTheFirstMillisecondAtWhichTheWorkIsDone, ()) {
  const Rate rate = *rates();
  const Work work = {progress(*rates(), *durations()).fixed + 1};
  const Duration finish = time_to_finish(work, rate);
  // Beyond this a finish is cut off: nothing that slow ever ends.
  RC_PRE(finish.ms < 100'000'000'000'000'000);
  RC_ASSERT(finish.ms >= 1);
  RC_ASSERT(progress(rate, finish) >= work);
  RC_ASSERT(finish.ms == 1 || progress(rate, finish - milliseconds(1)) < work);
}

RC_GTEST_PROP(WorkProperty, SettlingOnTheWayDoesNotMoveTheFinish, ()) {
  const Rate rate = *rates();
  const Work work = reference_work({*rc::gen::inRange<std::int64_t>(2, kYearMs)});
  const Duration finish = time_to_finish(work, rate);
  RC_PRE(finish.ms > 1 && finish.ms < 100'000'000'000'000'000);
  const Duration first = {*rc::gen::inRange<std::int64_t>(1, finish.ms)};
  RC_ASSERT(first + time_to_finish(work - progress(rate, first), rate) == finish);
}

}  // namespace
}  // namespace fairlead
