// Users, their speeds and their entitlements to GPUs of several types, for tests of trading.
#pragma once

#include "fairlead/solve/trading.h"

#include <cstddef>
#include <initializer_list>
#include <span>
#include <vector>

namespace fairlead {

struct TestMarket {
  std::size_t types = 0;
  std::vector<double> speeds;    // users x types, row by row
  std::vector<double> entitled;  // the same

  std::size_t users() const { return speeds.size() / types; }
  double throughput(std::size_t user, std::span<const double> shares) const {
    double sum = 0;
    for (std::size_t i = user * types; i < (user + 1) * types; ++i) {
      if (speeds[i] > 0) sum += speeds[i] * shares[i];
    }
    return sum;
  }
  std::vector<double> traded(TradePrice price) const {
    std::vector<double> shares = entitled;
    std::vector<Trade> trades;
    Trading().trade(types, speeds, shares, {}, price, trades);
    return shares;
  }
  // Returns the rise of each user's throughput by trading, in percent.
  std::vector<double> gains(TradePrice price) const {
    const std::vector<double> shares = traded(price);
    std::vector<double> gains;
    for (std::size_t user = 0; user < users(); ++user) {
      gains.push_back(100 * (throughput(user, shares) / throughput(user, entitled) - 1));
    }
    return gains;
  }
};

// Speeds on K80, P100 and V100 relative to K80, from the slides of Gandiva_fair.
enum SlideModel { kVae, kSuperRes, kDcgan, kGru, kLstm, kResNet50, kResNeXt, kSlideModels };
constexpr std::size_t kSlideTypes = 3;
constexpr double kSlideSpeeds[kSlideModels][kSlideTypes] = {
    {1, 1.19, 1.25}, {1, 1.73, 1.87}, {1, 4.31, 6.42}, {1, 2.58, 4.81},
    {1, 3.58, 4.81}, {1, 3.34, 5.14}, {1, 4.12, 6.33},
};
// Returns users of equal tickets with one model each on a cluster of that many K80, P100 and V100.
inline TestMarket slide_market(std::span<const SlideModel> models,
                               std::initializer_list<double> gpus) {
  TestMarket market{kSlideTypes, {}, {}};
  for (SlideModel model : models) {
    for (double speed : kSlideSpeeds[model]) market.speeds.push_back(speed);
    for (double count : gpus) {
      market.entitled.push_back(count / static_cast<double>(models.size()));
    }
  }
  return market;
}

}  // namespace fairlead
