#include "fairlead/solve/second_price.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace fairlead {
namespace {

using User = SecondPrice::User;
using Sale = SecondPrice::Sale;

constexpr double kAny = std::numeric_limits<double>::infinity();

std::vector<Sale> sales_among(const std::vector<User>& users) {
  std::vector<Sale> sales;
  SecondPrice().sell(users, sales);
  return sales;
}

double sold_by(std::uint32_t seller, const std::vector<Sale>& sales) {
  double gpus = 0;
  for (const Sale& sale : sales) gpus += sale.seller == seller ? sale.fast_gpus : 0;
  return gpus;
}

TEST(SecondPrice, IsTheHighestSpeedupBelowTheBid) {
  const auto sales = sales_among({{1.2, 12, 1, kAny}, {2, 12, 1, kAny}, {6, 12, 1, kAny}});
  ASSERT_EQ(sales.size(), 1U);
  EXPECT_EQ(sales[0].seller, 0U);
  EXPECT_EQ(sales[0].buyer, 2U);
  EXPECT_NEAR(sales[0].fast_gpus, 1, 1e-9);
  EXPECT_NEAR(sales[0].price, 2, 1e-9);
}

TEST(SecondPrice, LetsUsersOfOneSpeedupBuyTogetherAtThatOfTheNext) {
  const auto sales =
      sales_among({{1.2, 0, 3, kAny}, {2, 0, 0, kAny}, {6, 4, 0, kAny}, {6, 8, 0, kAny}});
  // 12 slow GPUs would pay for six fast ones at price 2; there are three, by thirds.
  ASSERT_EQ(sales.size(), 2U);
  EXPECT_NEAR(sales[0].fast_gpus, 1, 1e-9);
  EXPECT_NEAR(sales[1].fast_gpus, 2, 1e-9);
  EXPECT_NEAR(sales[0].price, 2, 1e-9);
}

TEST(SecondPrice, LetsUsersOfOneSpeedupSellTogether) {
  const auto sales =
      sales_among({{1, 0, 1, kAny}, {1, 0, 3, kAny}, {2, 4, 0, kAny}, {6, 4, 0, kAny}});
  EXPECT_NEAR(sold_by(0, sales), 0.5, 1e-9);
  EXPECT_NEAR(sold_by(1, sales), 1.5, 1e-9);
}

TEST(SecondPrice, IsThatOfTheNextUserForBidsAboveItOnly) {
  // The two highest are 5 % apart: about half of the first's bids are above the second's speedup.
  const auto sales =
      sales_among({{1, 0, 99, kAny}, {2, 0, 0, kAny}, {4, 40, 0, kAny}, {4.2, 42, 0, kAny}});
  ASSERT_EQ(sales.size(), 2U);
  const double above = 42 * (4.2 - 4) / (4.2 - 4.2 / 1.1);
  EXPECT_NEAR(sales[0].fast_gpus, 20, 1e-9);
  EXPECT_NEAR(sales[1].fast_gpus, above / 4 + (42 - above) / 2, 1e-9);
}

TEST(SecondPrice, FillsNoSellerBeyondWhatItCanUse) {
  // At price 2 each sale leaves the first with a GPU more: it has room for one.
  const auto sales =
      sales_among({{1, 0, 3, 1}, {1.5, 0, 3, kAny}, {2, 0, 0, kAny}, {6, 8, 0, kAny}});
  EXPECT_NEAR(sold_by(0, sales), 1, 1e-9);
  EXPECT_NEAR(sold_by(1, sales), 3, 1e-9);
}

TEST(SecondPrice, NeedsAThirdUser) {
  EXPECT_TRUE(sales_among({{1.2, 12, 1, kAny}, {6, 12, 1, kAny}}).empty());
  EXPECT_TRUE(sales_among({{1.2, 12, 1, kAny}}).empty());
  EXPECT_TRUE(sales_among({}).empty());
}

// --- In general -------------------------------------------------------------------------------

std::vector<User> any_users() {
  std::vector<User> users(*rc::gen::inRange<std::size_t>(1, 9));
  for (User& user : users) {
    user = {.speedup = *rc::gen::inRange(4, 30) / 8.0 * (1 + *rc::gen::inRange(0, 3) * 0.04),
            .slow = static_cast<double>(*rc::gen::inRange(0, 20)),
            .fast = static_cast<double>(*rc::gen::inRange(0, 20)),
            .room = *rc::gen::element(0.0, 0.5, 3.0, 20.0, kAny)};
  }
  std::ranges::sort(users, {}, &User::speedup);
  return users;
}

TEST(SecondPrice, SellsWhatThereIsToTheGainOfBoth) {
  EXPECT_TRUE(rc::check([] {
    const auto users = any_users();
    const auto sales = sales_among(users);
    for (std::uint32_t row = 0; row < users.size(); ++row) {
      const User& user = users[row];
      double sold = 0;
      double paid = 0;
      double more = 0;
      for (const Sale& sale : sales) {
        RC_ASSERT(sale.fast_gpus > 0);
        if (sale.seller == row) RC_ASSERT(sale.price >= user.speedup * (1 - 1e-9));
        if (sale.buyer == row) RC_ASSERT(sale.price <= user.speedup * (1 + 1e-9));
        if (sale.seller == row) {
          sold += sale.fast_gpus;
          more += sale.fast_gpus * (sale.price - 1);
        }
        if (sale.buyer == row) paid += sale.fast_gpus * sale.price;
      }
      RC_ASSERT(sold <= user.fast * (1 + 1e-9));
      RC_ASSERT(paid <= user.slow * (1 + 1e-9));
      RC_ASSERT(more <= user.room + 1e-6);
    }
  }));
}

// A small change of a user's speedup changes its result by little.
TEST(SecondPrice, IsContinuousInSpeedups) {
  EXPECT_TRUE(rc::check([] {
    auto users = any_users();
    const auto before = sales_among(users);
    for (User& user : users) user.speedup *= 1 + (*rc::gen::inRange(-10, 11)) * 1e-9;
    std::ranges::sort(users, {}, &User::speedup);
    const auto after = sales_among(users);
    const auto all = [](const std::vector<Sale>& sales) {
      double gpus = 0;
      for (const Sale& sale : sales) gpus += sale.fast_gpus;
      return gpus;
    };
    RC_ASSERT(std::abs(all(before) - all(after)) <= 1e-4);
  }));
}

}  // namespace
}  // namespace fairlead
