#include "fairlead/solve/gaming.h"

#include "fairlead/solve/testing_market.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

namespace fairlead {
namespace {

std::vector<BestLies> lies_of(const TestMarket& market, TradePrice price) {
  return best_lies(market.types, market.speeds, market.entitled, price);
}

TEST(Gaming, FindsTheReportThatPaysUnderTheSecondPrice) {
  // Two users with the same highest speedup buy together, at the speedup of the next. If one of
  // them reports a tenth less, the other buys at that price first, and pays for a smaller part of
  // the GPUs.
  const std::vector<SlideModel> models = {kVae, kSuperRes, kDcgan, kDcgan};
  const auto lies = lies_of(slide_market(models, {64, 24, 12}), TradePrice::kSlides);
  EXPECT_NEAR(lies[2].report_gain, 2.76, 0.01);
  ASSERT_EQ(lies[2].report.size(), kSlideTypes);
  EXPECT_EQ(lies[2].report[0], 1);
  EXPECT_EQ(lies[2].report[1], 1);
  EXPECT_DOUBLE_EQ(lies[2].report[2], 1 / 1.1);
  EXPECT_EQ(lies[2].report_gain, lies[3].report_gain);
}

TEST(Gaming, CountsASlowDownByWhatTheSlowGpusAreThenWorth) {
  // Speedups 1, 2, 3 and 4; the first has 10 fast GPUs. Honestly the last buys 24 / 3 = 8 of them
  // at the third's speedup, and the third the other 2 at price 2. So the third has 2 x 3 + 4 = 10.
  // If it bids 3.3, the last pays for 24 / 3.3 = 7.27 at most. The third then buys the other 2.73
  // and keeps 2.55 slow GPUs: 10.73, or 10.5 if its jobs truly are 1.1 times slower there.
  const TestMarket market{2, {1, 1, 1, 2, 1, 3, 1, 4}, {0, 10, 1, 0, 8, 0, 24, 0}};
  const BestLies lies = lies_of(market, TradePrice::kSlides)[2];
  EXPECT_NEAR(lies.report_gain, 100 * 0.8 / 11, 1e-9);
  EXPECT_EQ(lies.report, (std::vector<double>{1, 1.1}));
  EXPECT_NEAR(lies.slow_down_gain, 100 * 0.6 / 12.1, 1e-9);
  EXPECT_EQ(lies.slow_down, 1.1);
}

TEST(Gaming, FindsNothingWhereNoUserCanTrade) {
  const TestMarket market{2, {1, 0, 1, 2}, {12, 9, 12, 1}};
  for (const BestLies& lies : lies_of(market, TradePrice::kSlides)) {
    EXPECT_EQ(lies.report_gain, 0);
    EXPECT_EQ(lies.slow_down_gain, 0);
    EXPECT_TRUE(lies.report.empty());
  }
}

struct Worst {
  double report = 0;
  double slow_down = 0;
};

// The largest gains over all mixes of 2 to 4 users with the models of the slides.
Worst worst_of_slide_mixes(TradePrice price, double k80) {
  Worst worst;
  for (std::size_t users = 2; users <= 4; ++users) {
    std::vector<SlideModel> models(users, kVae);
    for (;;) {
      for (const BestLies& lies : lies_of(slide_market(models, {k80, 24, 12}), price)) {
        worst.report = std::max(worst.report, lies.report_gain);
        worst.slow_down = std::max(worst.slow_down, lies.slow_down_gain);
      }
      // The next mix: models never decrease from one user to the next.
      auto last = std::ranges::find_if(models.rbegin(), models.rend(),
                                       [](SlideModel model) { return model != kResNeXt; });
      if (last == models.rend()) break;
      const auto next = static_cast<SlideModel>(*last + 1);
      std::fill(models.rbegin(), last + 1, next);
    }
  }
  return worst;
}

TEST(Gaming, PaysUnderTheSecondPriceOfTheSlides) {
  const Worst worst = worst_of_slide_mixes(TradePrice::kSlides, 64);
  EXPECT_NEAR(worst.report, 28.74, 0.01);
  EXPECT_NEAR(worst.slow_down, 1.61, 0.01);
}

TEST(Gaming, NeverPaysUnderTheExternalPrice) {
  for (double k80 : {64, 128}) {
    const Worst worst = worst_of_slide_mixes(TradePrice::kExternal, k80);
    EXPECT_EQ(worst.report, 0);
    EXPECT_EQ(worst.slow_down, 0);
  }
}

TEST(Gaming, NeverPaysUnderTheExternalPriceWhateverIsReported) {
  EXPECT_TRUE(rc::check([] {
    const auto types = *rc::gen::inRange<std::size_t>(2, 5);
    const auto users = *rc::gen::inRange<std::size_t>(2, 7);
    TestMarket honest{types, {}, {}};
    for (std::size_t i = 0; i < users * types; ++i) {
      honest.speeds.push_back(*rc::gen::inRange(0, 40) / 5.0);  // 0: unknown
      honest.entitled.push_back(*rc::gen::inRange(0, 40) / 2.0);
    }
    TestMarket lying = honest;
    const auto liar = *rc::gen::inRange<std::size_t>(0, users);
    for (std::size_t i = liar * types; i < (liar + 1) * types; ++i) {
      // A type that the liar cannot use stays unused: its worth is unknown.
      if (honest.speeds[i] > 0) lying.speeds[i] = *rc::gen::inRange(0, 100) / 7.0;
    }
    const double truth = honest.throughput(liar, honest.traded(TradePrice::kExternal));
    const double lie = honest.throughput(liar, lying.traded(TradePrice::kExternal));
    RC_ASSERT(lie <= truth * (1 + 1e-6));
  }));
}

}  // namespace
}  // namespace fairlead
