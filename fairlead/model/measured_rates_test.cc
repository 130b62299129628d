#include "fairlead/model/measured_rates.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

const JobId kJob(0);
const JobId kOther(1);

Time at(std::int64_t s) { return {s * 1000}; }

// Returns a gang on the single row of this test; its job requests two GPUs by default.
MeasuredGang gang(std::uint32_t gpus, Tier tier = Tier::kNode, std::uint32_t asked = 2) {
  return {.row = 3, .gpus = gpus, .tier = tier, .asked = asked};
}

class MeasuredRatesTest : public testing::Test {
 protected:
  void run(std::int64_t at_s, JobId job, const MeasuredGang& gang, double rate,
           Duration overhead = {}) {
    rates.set_now(at(at_s));
    rates.on_run_begin(job, gang, Rate::of(rate));
    rates.on_start(job, overhead);
  }
  void end(std::int64_t at_s, JobId job) {
    rates.set_now(at(at_s));
    rates.on_run_end(job);
  }
  // Runs the job long enough for a measurement.
  void measure(std::int64_t at_s, const MeasuredGang& gang, double rate) {
    run(at_s, kJob, gang, rate);
    end(at_s + 10, kJob);
  }
  // Returns the rate of the gang at that time; -1: not known.
  double rate(std::int64_t at_s, const MeasuredGang& gang) {
    rates.set_now(at(at_s));
    const auto known = rates.rate(gang);
    return known ? known->value() : -1;
  }

  MeasuredRates rates{seconds(10), std::nullopt};
};

TEST_F(MeasuredRatesTest, AreKnownOnceTheGangHasWorkedForTheLength) {
  run(5, kJob, gang(2), 0.5, seconds(3));
  EXPECT_EQ(rate(17, gang(2)), -1);
  EXPECT_EQ(rate(18, gang(2)), 0.5);
  end(20, kJob);
  EXPECT_EQ(rate(1'000'000, gang(2)), 0.5);
}

TEST_F(MeasuredRatesTest, OfARunThatIsCutShorterAreNot) {
  run(0, kJob, gang(2), 0.5);
  end(9, kJob);
  EXPECT_EQ(rate(60, gang(2)), -1);
  // The next run starts a new measurement.
  run(60, kJob, gang(2), 0.5);
  EXPECT_EQ(rate(69, gang(2)), -1);
  end(70, kJob);
  EXPECT_EQ(rate(70, gang(2)), 0.5);
}

// A live world measures from the first moment on, and a recovery sets the clock for each record.
TEST(MeasuredRates, OfARunThatEndsInTheInstantOfItsStartAreNot) {
  MeasuredRates rates{Duration{}, std::nullopt};
  rates.set_now(at(5));
  rates.on_run_begin(kJob, gang(2), Rate::of(0.5));
  rates.on_start(kJob, {});
  rates.set_now(at(5));
  rates.on_run_end(kJob);
  rates.set_now(at(6));
  EXPECT_EQ(rates.rate(gang(2)), std::nullopt);
}

TEST_F(MeasuredRatesTest, OfAStartThatIsNotConfirmedAreNot) {
  rates.on_run_begin(kJob, gang(2), Rate::one());
  EXPECT_EQ(rate(1000, gang(2)), -1);
  rates.on_start(kJob, {});
  EXPECT_EQ(rate(1010, gang(2)), 1);
}

TEST_F(MeasuredRatesTest, BelongToARow) {
  measure(0, gang(2), 0.5);
  MeasuredGang other = gang(2);
  for (std::size_t row : {0U, 2U, 4U, 1000U}) {
    other.row = row;
    EXPECT_EQ(rate(20, other), -1) << row;
  }
}

TEST_F(MeasuredRatesTest, AreWhatIsReportedOnceTheGangHasWorkedForTheLength) {
  rates.on_run_begin(kJob, gang(2), Rate{});  // not known beforehand
  rates.on_start(kJob, {});
  EXPECT_EQ(rate(15, gang(2)), -1);
  rates.on_rate(kJob, Rate::of(0.25));
  EXPECT_EQ(rate(15, gang(2)), 0.25);
  rates.on_rate(kJob, Rate{});  // unknown, so not a measurement
  EXPECT_EQ(rate(16, gang(2)), 0.25);
  run(20, kOther, gang(2), 0.5);
  rates.set_now(at(25));
  rates.on_rate(kOther, Rate::of(0.75));
  EXPECT_EQ(rate(29, gang(2)), 0.25);
  EXPECT_EQ(rate(30, gang(2)), 0.75);  // regardless of the number of reports
}

TEST_F(MeasuredRatesTest, AreTheLatestOfTheSameGang) {
  measure(0, gang(2), 0.5);
  measure(20, gang(2), 0.75);
  EXPECT_EQ(rate(40, gang(2)), 0.75);
}

TEST_F(MeasuredRatesTest, OfAnotherSizeAreThoseOfTheNextSmallerPerGpu) {
  measure(0, gang(2), 1);
  measure(20, gang(8), 2);
  EXPECT_EQ(rate(40, gang(1)), 0.5);
  EXPECT_EQ(rate(40, gang(2)), 1);
  EXPECT_EQ(rate(40, gang(4)), 2);
  EXPECT_EQ(rate(40, gang(8)), 2);
  EXPECT_EQ(rate(40, gang(16)), 4);
}

TEST_F(MeasuredRatesTest, AtAnotherTierAreThoseOfTheNearestTheNarrowerOfTwo) {
  measure(0, gang(4, Tier::kNode), 2);
  EXPECT_EQ(rate(40, gang(4, Tier::kSpine)), 2);
  EXPECT_EQ(rate(40, gang(4, Tier::kPair)), 2);
  measure(40, gang(4, Tier::kSpine), 1);
  EXPECT_EQ(rate(80, gang(4, Tier::kNode)), 2);
  EXPECT_EQ(rate(80, gang(4, Tier::kSpine)), 1);
  measure(80, gang(8, Tier::kPair), 4);
  measure(100, gang(8, Tier::kRack), 3);
  EXPECT_EQ(rate(120, gang(8, Tier::kNode)), 4);
  // The size comes first.
  EXPECT_EQ(rate(120, gang(8, Tier::kSpine)), 3);
}

// Otherwise a gang that started spread out would count as equally slow when consolidated, and would never be moved.
TEST_F(MeasuredRatesTest, ATierNarrowerThanAllThatWereMeasuredIsWorthATry) {
  measure(0, gang(4, Tier::kSpine, 4), 0.125);
  EXPECT_EQ(rate(20, gang(4, Tier::kSpine, 4)), 0.125);
  EXPECT_EQ(rate(20, gang(4, Tier::kNode, 4)), 1);
  EXPECT_EQ(rate(20, gang(4, Tier::kNode, 8)), 0.5);
  measure(20, gang(4, Tier::kNode, 4), 0.5);
  EXPECT_EQ(rate(40, gang(4, Tier::kNode, 4)), 0.5);
  EXPECT_EQ(rate(40, gang(4, Tier::kPair, 4)), 1);
  EXPECT_EQ(rate(40, gang(4, Tier::kRack, 4)), 0.5);
}

TEST_F(MeasuredRatesTest, AreRelativeToTheSizeThatAJobAsksFor) {
  measure(0, gang(4, Tier::kNode, 4), 0.5);
  EXPECT_EQ(rate(20, gang(4, Tier::kNode, 4)), 0.5);
  EXPECT_EQ(rate(20, gang(8, Tier::kNode, 8)), 0.5);
  EXPECT_EQ(rate(20, gang(2, Tier::kNode, 4)), 0.25);
  EXPECT_EQ(rate(20, gang(4, Tier::kNode, 8)), 0.25);
}

TEST_F(MeasuredRatesTest, OfCopiesAreNotToldApart) {
  rates.on_run_begin(kJob, gang(2), Rate::one());
  rates.on_start(kJob, {});
  rates.on_run_begin(kJob, gang(2), Rate::one());
  rates.on_start(kJob, {});
  rates.set_now(at(20));
  rates.on_rate(kJob, Rate::of(2));
  end(30, kJob);
  EXPECT_EQ(rate(40, gang(2)), -1);
  measure(40, gang(2), 1);
  EXPECT_EQ(rate(50, gang(2)), 1);
}

TEST_F(MeasuredRatesTest, OfNoGangAreNone) {
  rates.on_run_begin(kJob, std::nullopt, Rate::one());
  rates.on_start(kJob, {});
  rates.set_now(at(20));
  rates.on_rate(kJob, Rate::one());
  EXPECT_EQ(rate(20, {}), -1);
}

TEST_F(MeasuredRatesTest, TellWhenTheyChange) {
  EXPECT_EQ(rates.revision(), 0U);
  run(0, kJob, gang(2), 0.5);
  EXPECT_EQ(rates.revision(), 0U);
  rates.set_now(at(10));
  const std::uint64_t measured = rates.revision();
  EXPECT_GT(measured, 0U);
  rates.on_rate(kJob, Rate::of(0.5));
  EXPECT_EQ(rates.revision(), measured);
  rates.on_rate(kJob, Rate::of(0.75));
  EXPECT_GT(rates.revision(), measured);
}

TEST_F(MeasuredRatesTest, AreForgottenWhenNoRunHasMeasuredThemForTheAge) {
  MeasuredRates aging(seconds(10), seconds(100));
  const auto is_known = [&](std::int64_t at_s) {
    aging.set_now(at(at_s));
    return aging.rate(gang(2)).has_value();
  };
  aging.on_run_begin(kJob, gang(2), Rate::one());
  aging.on_start(kJob, {});
  EXPECT_TRUE(is_known(10));
  EXPECT_TRUE(is_known(500));  // the measurement is still running
  aging.on_run_end(kJob);
  EXPECT_TRUE(is_known(600));
  const std::uint64_t before = aging.revision();
  aging.set_now({600'001});
  EXPECT_FALSE(aging.rate(gang(2)).has_value());
  EXPECT_GT(aging.revision(), before);
  // Two runs; the second ends later.
  aging.on_run_begin(kJob, gang(2), Rate::one());
  aging.on_start(kJob, {});
  aging.set_now(at(700));
  aging.on_run_begin(kOther, gang(2), Rate::one());
  aging.on_start(kOther, {});
  aging.on_run_end(kJob);
  aging.set_now(at(750));
  aging.on_run_end(kOther);
  EXPECT_TRUE(is_known(850));
  EXPECT_FALSE(is_known(851));
}

TEST_F(MeasuredRatesTest, OfAnEarlierRunCountUntilTheirAgeOrALaterMeasurement) {
  MeasuredRates aging(seconds(10), seconds(100));
  aging.set_now(at(50));
  MeasuredRate earlier{.gpus = 2, .tier = gang(2).tier, .asked = gang(2).asked};
  earlier.rate = Rate::of(0.5);
  earlier.measurements = 3;
  earlier.agreeing = 2;
  earlier.last = at(-40);
  aging.learn(gang(2).row, earlier);
  EXPECT_EQ(aging.rate(gang(2)), Rate::of(0.5));
  EXPECT_EQ(aging.take_changed(), std::vector<std::size_t>{gang(2).row});
  aging.set_now(at(60));
  EXPECT_TRUE(aging.rate(gang(2)).has_value());
  aging.set_now({60'001});
  EXPECT_FALSE(aging.rate(gang(2)).has_value());
  earlier.last = at(60);
  aging.learn(gang(2).row, earlier);
  aging.on_run_begin(kJob, gang(2), Rate::of(0.52));
  aging.on_start(kJob, {});
  aging.set_now(at(80));
  EXPECT_EQ(aging.rate(gang(2)), Rate::of(0.52));
  EXPECT_EQ(aging.of_row(gang(2).row).at(0).measurements, 4U);
  EXPECT_EQ(aging.of_row(gang(2).row).at(0).agreeing, 3U);
  aging.learn(gang(2).row, earlier);
  EXPECT_EQ(aging.rate(gang(2)), Rate::of(0.52)) << "it is measured here";
  aging.set_now(at(500));
  EXPECT_TRUE(aging.rate(gang(2)).has_value()) << "the measurement goes on";
}

TEST_F(MeasuredRatesTest, CountTheStaysOfJobsAndHowManyAgree) {
  const auto counts = [&] {
    const MeasuredRate only = rates.of_row(gang(2).row).at(0);
    return std::pair(only.measurements, only.agreeing);
  };
  measure(0, gang(2), 0.5);
  EXPECT_EQ(counts(), std::pair(1U, 1U));
  measure(20, gang(2), 0.5);  // the next turn of the same job there
  EXPECT_EQ(counts(), std::pair(1U, 1U));
  run(40, kOther, gang(2), 0.54);
  rates.set_now(at(50));
  EXPECT_EQ(counts(), std::pair(2U, 2U));
  rates.on_rate(kOther, Rate::of(0.7));  // the measurement is corrected
  EXPECT_EQ(counts(), std::pair(2U, 1U));
  EXPECT_EQ(rates.of_row(gang(2).row).at(0).last, at(50));
  end(60, kOther);
  measure(70, gang(1), 0.5);
  measure(90, gang(2), 0.7);
  EXPECT_EQ(rates.of_row(gang(2).row).at(1).measurements, 3U);
  EXPECT_EQ(rates.of_row(gang(2).row).at(1).agreeing, 2U);
  EXPECT_EQ(rates.of_row(gang(2).row).at(1).last, at(100));
  EXPECT_TRUE(rates.of_row(99).empty());
}

TEST_F(MeasuredRatesTest, AreForgottenExceptOnGangsThatRun) {
  EXPECT_FALSE(rates.forget_row(gang(2).row));
  measure(0, gang(1), 0.5);
  run(20, kOther, gang(2), 1);
  rates.set_now(at(30));
  const std::uint64_t before = rates.revision();
  EXPECT_TRUE(rates.forget_row(gang(2).row));
  EXPECT_GT(rates.revision(), before);
  ASSERT_EQ(rates.of_row(gang(2).row).size(), 1U);
  EXPECT_EQ(rates.of_row(gang(2).row).at(0).gpus, 2U);
  EXPECT_EQ(rates.of_row(gang(2).row).at(0).measurements, 1U);
  end(40, kOther);
  EXPECT_TRUE(rates.forget_row(gang(2).row));
  EXPECT_EQ(rate(50, gang(2)), -1);
}

TEST_F(MeasuredRatesTest, ATrialIsOverOnceItsRateIsKnownOrWillHardlyBe) {
  const auto is_tried = [&](std::int64_t at_s) {
    rates.set_now(at(at_s));
    return rates.is_tried(gang(2).row);
  };
  EXPECT_FALSE(is_tried(0));
  run(0, kJob, gang(2), 0);
  EXPECT_TRUE(is_tried(5)) << "a trial runs";
  end(30, kJob);
  EXPECT_FALSE(is_tried(30)) << "it was too short";
  run(40, kJob, gang(2), 0, seconds(10));
  end(80, kJob);
  EXPECT_TRUE(is_tried(80)) << "nothing measured it in a minute";
  measure(100, {.row = 1, .gpus = 1, .tier = Tier::kPair, .asked = 1}, 0.5);
  EXPECT_TRUE(rates.is_tried(1));
  EXPECT_TRUE(rates.forget_row(1));
  EXPECT_FALSE(rates.is_tried(1));
}

}  // namespace
}  // namespace fairlead
