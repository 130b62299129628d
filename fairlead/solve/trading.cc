#include "fairlead/solve/trading.h"

#include "fairlead/base/check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

namespace fairlead {
namespace {

// Speedups this close, relative to each other, are equal: they come from divisions.
constexpr double kEqual = 1e-9;
// Smaller amounts of GPUs are rounding errors: they are neither bid nor sold.
constexpr double kDust = 1e-9;

bool is_below(double a, double b) { return a * (1 + kEqual) < b; }

}  // namespace

void Trading::trade(std::size_t types, std::span<const double> speeds, std::span<double> entitled,
                    std::span<const double> most, TradePrice price, std::vector<Trade>& out) {
  FL_CHECK(types >= 1 && speeds.size() == entitled.size() && speeds.size() % types == 0,
           "{} types, {} speeds, {} entitlements", types, speeds.size(), entitled.size());
  types_ = types;
  speeds_ = speeds;
  entitled_ = entitled;
  most_ = most;
  out_ = &out;
  out.clear();
  before_.assign(entitled.begin(), entitled.end());
  type_gpus_.assign(types, 0.0);
  for (std::size_t i = 0; i < entitled.size(); ++i) type_gpus_[i % types] += entitled[i];
  all_gpus_ = std::accumulate(type_gpus_.begin(), type_gpus_.end(), 0.0);

  find_pairs();
  for (Pair pair : pairs_) {
    find_parties(pair.slow, pair.fast);
    if (price == TradePrice::kSlides) {
      trade_by_second_price(pair);
    } else {
      trade_at_one_price(pair);
    }
  }
}

void Trading::find_pairs() {
  pairs_.clear();
  for (std::uint32_t a = 0; a < types_; ++a) {
    for (std::uint32_t b = a + 1; b < types_; ++b) {
      find_parties(a, b);
      const std::size_t count = parties_.size();
      if (count < 2) continue;
      const double median =
          std::sqrt(parties_[(count - 1) / 2].speedup * parties_[count / 2].speedup);
      pairs_.push_back(median >= 1 ? Pair{median, a, b} : Pair{1 / median, b, a});
    }
  }
  std::ranges::sort(pairs_, {},
                    [](const Pair& pair) { return std::tuple(-pair.gap, pair.slow, pair.fast); });
}

void Trading::find_parties(std::uint32_t slow, std::uint32_t fast) {
  parties_.clear();
  for (std::uint32_t user = 0; user < speeds_.size() / types_; ++user) {
    const double on_slow = speeds_[user * types_ + slow];
    const double on_fast = speeds_[user * types_ + fast];
    if (on_slow > 0 && on_fast > 0) parties_.push_back({on_fast / on_slow, user});
  }
  std::ranges::sort(parties_, {}, [](const Party& p) { return std::tuple(p.speedup, p.user); });
}

void Trading::trade_by_second_price(Pair pair) {
  bidders_.clear();
  for (const Party& party : parties_) {
    double has = 0;
    for (std::uint32_t type = 0; type < types_; ++type) has += gpus(party.user, type);
    bidders_.push_back({.speedup = party.speedup,
                        .slow = gpus(party.user, pair.slow),
                        .fast = gpus(party.user, pair.fast),
                        .room = std::max(0.0, most_of(party.user) - has)});
  }
  auction_.sell(bidders_, sales_);
  for (const SecondPrice::Sale& sale : sales_) {
    exchange({parties_[sale.buyer].user, parties_[sale.seller].user, pair.slow, pair.fast,
              sale.fast_gpus, sale.price});
  }
}

// Returns the fraction of a user's GPUs of `type` that it offers for GPUs of type `to`. It depends
// on the entitlements alone.
double Trading::offer(std::uint32_t user, std::uint32_t type, std::uint32_t to) const {
  const double others = all_gpus_ - type_gpus_[type];
  return others <= 0 ? 0 : before_[user * types_ + type] * (type_gpus_[to] / others);
}

// Returns the fast GPUs that a user sells at the price: its offer, but limited so that it does not
// end with more GPUs than it can use. The room between its GPUs and its demand is divided among the
// pairs in proportion to its offers. So pairs do not depend on each other.
double Trading::sale(std::uint32_t user, Pair pair, double price) const {
  const double offered = offer(user, pair.fast, pair.slow);
  if (price <= 1) return offered;
  const std::span has = std::span(before_).subspan(user * types_, types_);
  const double room = most_of(user) - std::accumulate(has.begin(), has.end(), 0.0);
  const double part = type_gpus_[pair.slow] / (all_gpus_ - type_gpus_[pair.fast]);
  return std::min(offered, std::max(0.0, room) * part / (price - 1));
}

// Returns the price at which the slow GPUs of all users above it pay for the fast GPUs of all users
// below it. It lies between two speedups, or at a speedup whose own users trade a fraction. 0:
// there is no demand or no supply.
double Trading::market_price(Pair pair) const {
  double bids = 0;  // slow GPUs of the parties not yet passed
  for (auto it = parties_.rbegin(); it != parties_.rend(); ++it) {
    bids += offer(it->user, pair.slow, pair.fast);
  }
  double supply = 0;  // fast GPUs of the passed parties
  for (const Party& party : parties_) {
    if (supply > 0 && bids <= party.speedup * supply) return bids / supply;
    bids = std::max(0.0, bids - offer(party.user, pair.slow, pair.fast));
    supply += offer(party.user, pair.fast, pair.slow);
    if (bids <= party.speedup * supply) return party.speedup;
  }
  return 0;
}

void Trading::trade_at_one_price(Pair pair) {
  const double price = market_price(pair);
  double demand = 0;
  double supply = 0;
  for (const Party& party : parties_) {
    if (is_below(party.speedup, price)) supply += sale(party.user, pair, price);
    if (is_below(price, party.speedup)) demand += offer(party.user, pair.slow, pair.fast) / price;
  }
  if (demand <= kDust || supply <= kDust) return;
  const double bought = std::min(1.0, supply / demand);
  const double sold = std::min(1.0, demand / supply);
  // The pairing does not matter at one price; the highest buys from the lowest first.
  std::size_t seller = 0;
  double left = sale(parties_[0].user, pair, price) * sold;
  for (auto it = parties_.rbegin(); is_below(price, it->speedup); ++it) {
    double wanted = offer(it->user, pair.slow, pair.fast) / price * bought;
    for (;;) {
      const double amount = std::min(wanted, left);
      if (amount > kDust) {
        exchange({it->user, parties_[seller].user, pair.slow, pair.fast, amount, price});
      }
      wanted -= amount;
      left -= amount;
      if (wanted <= kDust) break;
      if (!is_below(parties_[++seller].speedup, price)) return;
      left = sale(parties_[seller].user, pair, price) * sold;
    }
  }
}

void Trading::exchange(const Trade& trade) {
  const double buyer_before = throughput(trade.buyer);
  const double seller_before = throughput(trade.seller);
  const double slow_gpus = trade.fast_gpus * trade.price;
  const auto move = [&](std::uint32_t from, std::uint32_t to, std::uint32_t type, double amount) {
    const double rest = gpus(from, type) - amount;
    FL_CHECK(rest >= -kDust, "user {} gives {} of type {}", from, amount, type);
    gpus(from, type) = std::max(0.0, rest);
    gpus(to, type) += amount;
  };
  move(trade.seller, trade.buyer, trade.fast, trade.fast_gpus);
  move(trade.buyer, trade.seller, trade.slow, slow_gpus);
  const auto check = [&](std::uint32_t user, double before) {
    FL_CHECK(throughput(user) >= before * (1 - 1e-9), "user {} falls from {} to {}", user, before,
             throughput(user));
  };
  check(trade.buyer, buyer_before);
  check(trade.seller, seller_before);
  out_->push_back(trade);
}

double Trading::most_of(std::uint32_t user) const {
  return most_.empty() ? std::numeric_limits<double>::infinity() : most_[user];
}

double Trading::throughput(std::uint32_t user) const {
  double sum = 0;
  for (std::size_t type = 0; type < types_; ++type) {
    const std::size_t i = user * types_ + type;
    if (speeds_[i] > 0) sum += speeds_[i] * entitled_[i];
  }
  return sum;
}

}  // namespace fairlead
