#include "fairlead/solve/trading.h"

#include "fairlead/solve/testing_market.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fairlead {
namespace {

void expect_gains(const std::vector<SlideModel>& models, double k80,
                  const std::vector<double>& expected) {
  const auto gains = slide_market(models, {k80, 24, 12}).gains(TradePrice::kSlides);
  for (std::size_t user = 0; user < expected.size(); ++user) {
    EXPECT_NEAR(gains[user], expected[user], 0.1) << "user " << user << ", " << k80 << " K80";
  }
}

TEST(SecondPriceTrading, GivesTheGainsOfTheSlidesCluster) {
  const std::vector<SlideModel> equal_middle = {kVae, kSuperRes, kSuperRes, kResNeXt};
  expect_gains(equal_middle, 64, {19.0, 0, 0, 46.4});
  expect_gains(equal_middle, 128, {11.9, 0, 0, 36.6});
  const std::vector<SlideModel> spread = {kVae, kSuperRes, kGru, kResNeXt};
  expect_gains(spread, 64, {51.8, 9.6, 16.0, 8.5});
  expect_gains(spread, 128, {34.9, 18.4, 6.6, 14.5});
}

TEST(SecondPriceTrading, LetsTheHighestBuyFromTheLowestAtTheSecondHighestSpeedup) {
  // Speedups 1.2, 2 and 6, one fast and twelve slow GPUs each.
  const TestMarket market{2, {1, 1.2, 1, 2, 1, 6}, {12, 1, 12, 1, 12, 1}};
  std::vector<double> shares = market.entitled;
  std::vector<Trade> trades;
  Trading().trade(2, market.speeds, shares, {}, TradePrice::kSlides, trades);
  EXPECT_EQ(trades, (std::vector<Trade>{{2, 0, 0, 1, 1, 2}}));
  EXPECT_EQ(shares, (std::vector<double>{14, 0, 12, 1, 10, 2}));
}

TEST(SecondPriceTrading, NeedsAThirdUserForAPrice) {
  const TestMarket market{2, {1, 1.2, 1, 6}, {12, 1, 12, 1}};
  EXPECT_EQ(market.traded(TradePrice::kSlides), market.entitled);
}

TEST(SecondPriceTrading, GoesOnWithTheNextBuyerWhenTheFirstHasNothingLeftToGive) {
  // The highest has 2 slow GPUs for 1 fast one at price 2; then the user at 2 buys at 1.5.
  const TestMarket market{2, {1, 1.2, 1, 1.5, 1, 2, 1, 6}, {4, 4, 4, 0, 3, 0, 2, 0}};
  std::vector<double> shares = market.entitled;
  std::vector<Trade> trades;
  Trading().trade(2, market.speeds, shares, {}, TradePrice::kSlides, trades);
  ASSERT_EQ(trades.size(), 2U);
  EXPECT_EQ(trades[0].buyer, 2U);
  EXPECT_NEAR(trades[0].fast_gpus, 2, 1e-9);
  EXPECT_NEAR(trades[0].price, 1.5, 1e-9);
  EXPECT_EQ(trades[1].buyer, 3U);
  EXPECT_NEAR(trades[1].fast_gpus, 1, 1e-9);
  EXPECT_NEAR(trades[1].price, 2, 1e-9);
}

TEST(SecondPriceTrading, LetsNoUserSellBeyondWhatItCanUse) {
  // As above, but the seller has eight GPUs and jobs for nine: at price 2 it can sell one fast GPU.
  const TestMarket market{2, {1, 1.2, 1, 2, 1, 6}, {4, 4, 12, 0, 12, 0}};
  std::vector<double> shares = market.entitled;
  std::vector<Trade> trades;
  const std::vector<double> most = {9, 99, 99};
  Trading().trade(2, market.speeds, shares, most, TradePrice::kSlides, trades);
  ASSERT_EQ(trades.size(), 1U);
  EXPECT_NEAR(trades[0].fast_gpus, 1, 1e-9);
  // By the other rule the price is 3, at which the twelve slow GPUs of the highest pay for all four.
  shares = market.entitled;
  Trading().trade(2, market.speeds, shares, most, TradePrice::kExternal, trades);
  ASSERT_EQ(trades.size(), 1U);
  EXPECT_NEAR(trades[0].price, 3, 1e-9);
  EXPECT_NEAR(trades[0].fast_gpus, 0.5, 1e-9);
}

TEST(SecondPriceTrading, LetsEqualSellersSellTogether) {
  // The buyer pays for 2 of the 4 fast GPUs of two equal sellers, which have 1 and 3.
  const TestMarket market{2, {2, 2, 1, 1, 1, 2, 1, 6}, {0, 1, 0, 3, 4, 0, 4, 0}};
  const auto shares = market.traded(TradePrice::kSlides);
  const std::vector<double> expected = {1, 0.5, 3, 1.5, 4, 0, 0, 2};
  for (std::size_t i = 0; i < shares.size(); ++i) EXPECT_NEAR(shares[i], expected[i], 1e-9);
}

TEST(OnePriceTrading, BalancesDemandAndSupplyBetweenTwoSpeedups) {
  // 12 slow GPUs pay for 4 fast ones at price 3, between the speedups 1.2 and 6.
  const TestMarket market{2, {1, 1.2, 1, 6}, {12, 4, 12, 4}};
  std::vector<double> shares = market.entitled;
  std::vector<Trade> trades;
  Trading().trade(2, market.speeds, shares, {}, TradePrice::kExternal, trades);
  EXPECT_EQ(trades, (std::vector<Trade>{{1, 0, 0, 1, 4, 3}}));
  EXPECT_EQ(shares, (std::vector<double>{24, 0, 0, 8}));
}

TEST(OnePriceTrading, LeavesTheUserWhoseSpeedupIsThePriceOut) {
  // At price 2 the highest pays for 6 fast GPUs, and the lowest has 1. The price stays at the user
  // with speedup 2, which does not trade, and the buyer is rationed.
  const TestMarket market{2, {1, 1.2, 1, 2, 1, 6}, {12, 1, 12, 9, 12, 1}};
  EXPECT_EQ(market.traded(TradePrice::kExternal), (std::vector<double>{14, 0, 12, 9, 10, 2}));
}

TEST(OnePriceTrading, RationsTheLongerSideByWhatItOffers) {
  // Sellers with 1 and 3 fast GPUs; at price 2 the buyer pays for 2 of them.
  const TestMarket market{2, {1, 1.1, 1, 1.2, 1, 2, 1, 6}, {0, 1, 0, 3, 9, 0, 4, 0}};
  EXPECT_EQ(market.traded(TradePrice::kExternal),
            (std::vector<double>{1, 0.5, 3, 1.5, 9, 0, 0, 2}));
}

TEST(OnePriceTrading, OffersEachTypeInFixedPartsToTheOthers) {
  // 20 GPUs of type 0, 10 of type 1, 30 of type 2. In the pair (0, 1) the third user offers 10/40
  // of its 16 slow GPUs and the first 20/50 of its 5 fast ones: 4 for 2 at the price of the second.
  const TestMarket market{3, {3, 3, 3, 1, 2, 2, 1, 4, 4}, {0, 5, 0, 4, 5, 0, 16, 0, 30}};
  std::vector<double> shares = market.entitled;
  std::vector<Trade> trades;
  Trading().trade(3, market.speeds, shares, {}, TradePrice::kExternal, trades);
  const auto in_pair = std::ranges::find_if(
      trades, [](const Trade& trade) { return trade.slow == 0 && trade.fast == 1; });
  ASSERT_NE(in_pair, trades.end());
  EXPECT_EQ(*in_pair, (Trade{2, 0, 0, 1, 2, 2}));
}

TestMarket any_market() {
  TestMarket market;
  market.types = *rc::gen::inRange<std::size_t>(1, 5);
  const auto users = *rc::gen::inRange<std::size_t>(1, 8);
  std::vector<double> gpus;
  for (std::size_t type = 0; type < market.types; ++type) {
    gpus.push_back(*rc::gen::inRange(0, 100));
  }
  std::vector<double> tickets(users);
  for (double& count : tickets) count = *rc::gen::inRange(1, 5);
  const double all_tickets = std::accumulate(tickets.begin(), tickets.end(), 0.0);
  for (std::size_t user = 0; user < users; ++user) {
    for (std::size_t type = 0; type < market.types; ++type) {
      market.speeds.push_back(*rc::gen::inRange(-1, 30) / 4.0);  // -1 and 0: unknown
      market.entitled.push_back(gpus[type] * tickets[user] / all_tickets);
    }
  }
  return market;
}

TradePrice any_price() { return *rc::gen::element(TradePrice::kSlides, TradePrice::kExternal); }

bool is_close(double a, double b) { return std::abs(a - b) <= 1e-6 * (1 + std::abs(a)); }

TEST(Trading, LetsNoUserLose) {
  EXPECT_TRUE(rc::check([] {
    const TestMarket market = any_market();
    const auto shares = market.traded(any_price());
    for (std::size_t user = 0; user < market.users(); ++user) {
      const double before = market.throughput(user, market.entitled);
      RC_ASSERT(market.throughput(user, shares) >= before * (1 - 1e-9));
    }
    for (double share : shares) RC_ASSERT(share >= 0);
  }));
}

TEST(Trading, KeepsTheGpusOfEachType) {
  EXPECT_TRUE(rc::check([] {
    const TestMarket market = any_market();
    const auto shares = market.traded(any_price());
    for (std::size_t type = 0; type < market.types; ++type) {
      double before = 0;
      double after = 0;
      for (std::size_t i = type; i < shares.size(); i += market.types) {
        before += market.entitled[i];
        after += shares[i];
      }
      RC_ASSERT(is_close(before, after));
    }
  }));
}

TEST(Trading, DoesNotDependOnTheOrderOfUsers) {
  EXPECT_TRUE(rc::check([] {
    const TestMarket market = any_market();
    const TradePrice price = any_price();
    std::vector<std::size_t> order(market.users());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[*rc::gen::inRange<std::size_t>(0, i)]);
    }
    TestMarket mixed{market.types, {}, {}};
    for (std::size_t user : order) {
      for (std::size_t i = user * market.types; i < (user + 1) * market.types; ++i) {
        mixed.speeds.push_back(market.speeds[i]);
        mixed.entitled.push_back(market.entitled[i]);
      }
    }
    const auto shares = market.traded(price);
    const auto mixed_shares = mixed.traded(price);
    for (std::size_t i = 0; i < mixed_shares.size(); ++i) {
      const std::size_t from = order[i / market.types] * market.types + i % market.types;
      RC_ASSERT(is_close(mixed_shares[i], shares[from]));
    }
  }));
}

TEST(Trading, LooksOnlyAtRatiosWithinARowOfSpeeds) {
  EXPECT_TRUE(rc::check([] {
    const TestMarket market = any_market();
    const TradePrice price = any_price();
    TestMarket scaled = market;
    for (std::size_t i = 0; i < scaled.speeds.size(); ++i) {
      // A power of two: rounding must not break a tie between gaps of pairs.
      scaled.speeds[i] *= static_cast<double>(1 << (i / market.types));
    }
    const auto shares = market.traded(price);
    const auto scaled_shares = scaled.traded(price);
    for (std::size_t i = 0; i < shares.size(); ++i)
      RC_ASSERT(is_close(shares[i], scaled_shares[i]));
  }));
}

TEST(Trading, ScalesWithTheCluster) {
  EXPECT_TRUE(rc::check([] {
    const TestMarket market = any_market();
    const TradePrice price = any_price();
    TestMarket scaled = market;
    for (double& gpus : scaled.entitled) gpus *= 3;
    const auto shares = market.traded(price);
    const auto scaled_shares = scaled.traded(price);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      RC_ASSERT(is_close(3 * shares[i], scaled_shares[i]));
    }
  }));
}

TEST(Trading, LeavesTypesOfUnknownSpeedAlone) {
  EXPECT_TRUE(rc::check([] {
    const TestMarket market = any_market();
    const auto shares = market.traded(any_price());
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (market.speeds[i] <= 0) RC_ASSERT(shares[i] == market.entitled[i]);
    }
  }));
}

}  // namespace
}  // namespace fairlead
