#include "fairlead/solve/second_price.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <tuple>

namespace fairlead {
namespace {

constexpr double kSpread = 1.1;  // factor of bids below a speedup, and of asks above it
// Smaller amounts of GPUs are rounding errors: they are neither bid nor sold.
constexpr double kDust = 1e-9;

void sort_and_unite(std::vector<double>& cuts, auto order) {
  std::ranges::sort(cuts, order);
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
}

}  // namespace

void SecondPrice::sell(std::span<const User> users, std::vector<Sale>& out) {
  users_ = users;
  rooms_.clear();
  for (const User& user : users) rooms_.push_back(user.room);
  sales_.clear();
  list_cuts();
  // Bids went down to `bid`, asks up to `ask`; each is in the part before its next cut.
  std::size_t bid_cut = 1;
  std::size_t ask_cut = 1;
  double bid = bid_cuts_.empty() ? 0 : bid_cuts_[0];
  double ask = ask_cuts_.empty() ? 0 : ask_cuts_[0];
  while (bid_cut < bid_cuts_.size() && ask_cut < ask_cuts_.size()) {
    const double lowest_bid = bid_cuts_[bid_cut];
    const double price = price_below(lowest_bid);
    if (ask >= price) break;
    const double demand = find_bidders(lowest_bid);
    const double supply = find_askers(ask_cuts_[ask_cut - 1]);
    const double highest_ask = std::min(ask_cuts_[ask_cut], price);
    const double bids = demand * (bid - lowest_bid) / price;
    const double asks = supply * (highest_ask - ask);
    const double sold = std::min({bids, asks, until_one_is_full(supply, price)});
    if (sold > 0) record(sold, price, demand, supply);
    bid = sold == bids ? lowest_bid : bid - sold * price / demand;
    ask = sold == asks ? highest_ask : ask + sold / supply;
    if (bid == lowest_bid) ++bid_cut;
    if (ask == ask_cuts_[ask_cut]) ++ask_cut;
  }
  merge_sales(out);
}

void SecondPrice::list_cuts() {
  bid_cuts_.clear();
  ask_cuts_.clear();
  for (const User& user : users_) {
    if (user.slow > kDust)
      bid_cuts_.insert(bid_cuts_.end(), {user.speedup, user.speedup / kSpread});
    if (user.fast > kDust)
      ask_cuts_.insert(ask_cuts_.end(), {user.speedup, user.speedup * kSpread});
  }
  // Prices change there, too.
  for (const User& user : users_) bid_cuts_.push_back(user.speedup);
  sort_and_unite(bid_cuts_, std::greater());
  sort_and_unite(ask_cuts_, std::less());
}

// Returns the highest speedup up to the bid; 0: none.
double SecondPrice::price_below(double bid) const {
  const auto above = std::ranges::upper_bound(users_, bid, {}, &User::speedup);
  return above == users_.begin() ? 0 : std::prev(above)->speedup;
}

// Finds the users that bid just above that, and returns the sum of their densities.
double SecondPrice::find_bidders(double low) {
  bidders_.clear();
  double demand = 0;
  auto user = std::ranges::upper_bound(users_, low, {}, &User::speedup);
  for (; user != users_.end() && user->speedup / kSpread <= low; ++user) {
    if (user->slow <= kDust) continue;
    const double density = user->slow / (user->speedup - user->speedup / kSpread);
    bidders_.push_back({static_cast<std::uint32_t>(user - users_.begin()), density});
    demand += density;
  }
  return demand;
}

// Finds the users that ask just above that and have room for their payment.
double SecondPrice::find_askers(double low) {
  askers_.clear();
  double supply = 0;
  for (std::uint32_t row = 0; row < users_.size() && users_[row].speedup <= low; ++row) {
    const User& user = users_[row];
    if (user.speedup * kSpread <= low || user.fast <= kDust || rooms_[row] <= kDust) continue;
    const double density = user.fast / (user.speedup * kSpread - user.speedup);
    askers_.push_back({row, density});
    supply += density;
  }
  return supply;
}

// Returns the fast GPUs that may be sold before a seller has all the GPUs that it can use.
double SecondPrice::until_one_is_full(double supply, double price) const {
  double least = std::numeric_limits<double>::infinity();
  if (price <= 1) return least;
  for (const Stake& asker : askers_) {
    least = std::min(least, rooms_[asker.user] / (price - 1) * (supply / asker.density));
  }
  return least;
}

// Bidders and askers have parts by density; the pairing of buyers and sellers does not matter.
void SecondPrice::record(double fast_gpus, double price, double demand, double supply) {
  std::size_t buyer = 0;
  double wanted = fast_gpus * bidders_[0].density / demand;
  for (const Stake& asker : askers_) {
    double left = fast_gpus * asker.density / supply;
    rooms_[asker.user] -= left * (price - 1);
    while (left > 0) {
      const double amount = buyer + 1 == bidders_.size() ? left : std::min(left, wanted);
      sales_.push_back({bidders_[buyer].user, asker.user, amount, price});
      left -= amount;
      wanted -= amount;
      if (left <= 0) break;
      wanted = fast_gpus * bidders_[++buyer].density / demand;
    }
  }
}

void SecondPrice::merge_sales(std::vector<Sale>& out) {
  std::ranges::sort(sales_, {},
                    [](const Sale& s) { return std::tuple(s.seller, s.buyer, s.price); });
  out.clear();
  for (std::size_t i = 0; i < sales_.size();) {
    Sale whole = sales_[i];
    double paid = 0;
    whole.fast_gpus = 0;
    for (; i < sales_.size() && sales_[i].seller == whole.seller && sales_[i].buyer == whole.buyer;
         ++i) {
      whole.fast_gpus += sales_[i].fast_gpus;
      paid += sales_[i].fast_gpus * sales_[i].price;
    }
    if (whole.fast_gpus <= kDust) continue;
    whole.price = paid / whole.fast_gpus;
    out.push_back(whole);
  }
}

}  // namespace fairlead
