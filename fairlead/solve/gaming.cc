#include "fairlead/solve/gaming.h"

#include "fairlead/base/check.h"

#include <algorithm>

namespace fairlead {
namespace {

// One user's search. `truth` has the true speeds of all users.
class Search {
 public:
  Search(std::size_t types, std::span<const double> truth, std::span<const double> entitled,
         TradePrice price, std::span<const double> factors)
      : types_(types),
        truth_(truth),
        entitled_(entitled),
        price_(price),
        slow_downs_(factors),
        reported_(truth.begin(), truth.end()) {
    factors_.push_back(1);
    for (double factor : factors) {
      FL_CHECK(factor > 1, "factor {}", factor);
      factors_.push_back(factor);
      factors_.push_back(1 / factor);
    }
  }

  BestLies best(std::size_t user) {
    user_ = user;
    const auto honest = truth_.subspan(user * types_, types_);
    honest_ = throughput(honest);
    best_ = {};
    find_known(honest);
    if (honest_ > 0 && known_.size() > 1) {
      try_reports(honest);
      try_slow_downs(honest);
    }
    std::ranges::copy(honest, own().begin());
    return best_;
  }

 private:
  std::span<double> own() { return std::span(reported_).subspan(user_ * types_, types_); }

  // Finds the types of known speed for the user, its slowest first.
  void find_known(std::span<const double> honest) {
    known_.clear();
    for (std::size_t type = 0; type < types_; ++type) {
      if (honest[type] > 0) known_.push_back(type);
    }
    const auto slowest =
        std::ranges::min_element(known_, {}, [&](std::size_t type) { return honest[type]; });
    if (slowest != known_.end()) std::iter_swap(known_.begin(), slowest);
  }

  void try_reports(std::span<const double> honest) {
    choice_.assign(known_.size(), 0);
    for (;;) {
      std::size_t i = 1;
      while (i < known_.size() && ++choice_[i] == factors_.size()) choice_[i++] = 0;
      if (i == known_.size()) return;
      for (std::size_t k = 1; k < known_.size(); ++k) {
        own()[known_[k]] = honest[known_[k]] * factors_[choice_[k]];
      }
      const double gain = gain_over_honest(honest);
      if (gain <= best_.report_gain) continue;
      best_.report_gain = gain;
      best_.report.assign(types_, 1.0);
      for (std::size_t k = 1; k < known_.size(); ++k) {
        best_.report[known_[k]] = factors_[choice_[k]];
      }
    }
  }

  void try_slow_downs(std::span<const double> honest) {
    for (double factor : slow_downs_) {
      std::ranges::copy(honest, own().begin());
      own()[known_[0]] /= factor;
      const double gain = gain_over_honest(own());
      if (gain <= best_.slow_down_gain) continue;
      best_.slow_down_gain = gain;
      best_.slow_down = factor;
    }
  }

  // Returns the gain in percent for a user with these `speeds`, whatever it reports. A gain within
  // rounding counts as 0.
  double gain_over_honest(std::span<const double> speeds) {
    const double gain = 100 * (throughput(speeds) / honest_ - 1);
    return gain > 1e-6 ? gain : 0;
  }

  // Returns the worth of the user's own share after all have traded by the reports.
  double throughput(std::span<const double> speeds) {
    shares_.assign(entitled_.begin(), entitled_.end());
    trading_.trade(types_, reported_, shares_, {}, price_, trades_);
    double sum = 0;
    for (std::size_t type = 0; type < types_; ++type) {
      if (speeds[type] > 0) sum += speeds[type] * shares_[user_ * types_ + type];
    }
    return sum;
  }

  std::size_t types_;
  std::span<const double> truth_;
  std::span<const double> entitled_;
  TradePrice price_;
  std::span<const double> slow_downs_;
  std::vector<double> factors_;  // factors of reports
  std::vector<double> reported_;
  std::size_t user_ = 0;
  double honest_ = 0;  // the user's throughput if all are honest
  BestLies best_;
  std::vector<std::size_t> known_;
  std::vector<std::size_t> choice_;  // index of a factor, for each known type
  Trading trading_;
  std::vector<double> shares_;
  std::vector<Trade> trades_;
};

}  // namespace

std::span<const double> usual_lie_factors() {
  static constexpr double kFactors[] = {1.05, 1.1, 1.25, 1.5, 2, 3, 4, 5, 6, 7};
  return kFactors;
}

std::vector<BestLies> best_lies(std::size_t types, std::span<const double> speeds,
                                std::span<const double> entitled, TradePrice price,
                                std::span<const double> factors) {
  Search search(types, speeds, entitled, price, factors);
  std::vector<BestLies> lies;
  for (std::size_t user = 0; user < speeds.size() / types; ++user) {
    lies.push_back(search.best(user));
  }
  return lies;
}

}  // namespace fairlead
