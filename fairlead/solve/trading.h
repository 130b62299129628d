// Trading of fast for slow GPUs among users with different speedups on the fast ones.
//
// Every user is entitled to GPUs of each type. A user with jobs that run s times faster on a fast
// GPU gains by giving p < s slow GPUs for it; a user with s < p gains by selling. s is the user's
// speedup in the pair of types, p the price.
//
// There are two rules of price. With both, no trade reduces a user's throughput (the sum over
// types of speed x GPUs); this is checked. A user that does not know its speed on a type does not
// trade it.
//
//  kSlides    Gandiva_fair (EuroSys 2020, slides): the user with the highest speedup buys from the
//             user with the lowest. The price is the second-highest speedup among the users that
//             still have slow GPUs to bid. This repeats while both gain strictly. Pairs of types
//             follow each other, the widest gap first, each with the GPUs that the last pair left.
//             A pair's gap is the median speedup over the users that know both types. Ours:
//             users of nearly equal speedups buy and sell together (second_price.h).
//  kExternal  Ours. A pair trades once, at the price at which demand meets supply. Users with a
//             speedup equal to the price are left out (trade reduction, after McAfee 1992). The
//             longer side is rationed in proportion to the offers. A user's offer is fixed before
//             any report is read: the fraction gpus(b) / gpus(all types except a) of its GPUs of
//             type a goes to the pair with b. So pairs do not depend on each other, and a user's
//             report in a pair decides only its side of the price: no false report of one user
//             gains anything. (Several users that act together can gain.)
#pragma once

#include "fairlead/solve/second_price.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fairlead {

enum class TradePrice : std::uint8_t { kSlides, kExternal };

// The buyer gives price * fast_gpus GPUs of type `slow` for fast_gpus of type `fast`.
struct Trade {
  std::uint32_t buyer = 0;   // row
  std::uint32_t seller = 0;  // row
  std::uint32_t slow = 0;    // column
  std::uint32_t fast = 0;    // column
  double fast_gpus = 0;
  double price = 0;  // slow GPUs for one fast GPU
  friend bool operator==(const Trade&, const Trade&) = default;
};

// Contains the workspace: nothing is allocated once it and `out` have reached their largest size.
class Trading {
 public:
  // Rows are users, columns GPU types, row by row. `speeds`: <= 0 if unknown or impossible; only
  // the ratios within a row matter. `entitled`: GPUs, in and out. `most`: GPUs that each user can
  // use, beyond which it sells nothing; empty: any number. Writes the trades to `out`. REQUIRES:
  // equal sizes, a multiple of types >= 1 (`most`: a row each); entitled >= 0; everything except
  // `most` finite. O(types^2 x users x log users), and more if speedups are nearly equal
  // (second_price.h).
  void trade(std::size_t types, std::span<const double> speeds, std::span<double> entitled,
             std::span<const double> most, TradePrice price, std::vector<Trade>& out);

 private:
  // A user that knows its speeds on both types of a pair.
  struct Party {
    double speedup;
    std::uint32_t user;
  };
  struct Pair {
    double gap;
    std::uint32_t slow;
    std::uint32_t fast;
  };

  void find_pairs();
  // The parties of the pair, in order of their speedup.
  void find_parties(std::uint32_t slow, std::uint32_t fast);
  void trade_by_second_price(Pair pair);
  void trade_at_one_price(Pair pair);
  double offer(std::uint32_t user, std::uint32_t type, std::uint32_t to) const;
  double sale(std::uint32_t user, Pair pair, double price) const;
  double market_price(Pair pair) const;
  void exchange(const Trade& trade);
  double throughput(std::uint32_t user) const;
  double most_of(std::uint32_t user) const;
  double& gpus(std::uint32_t user, std::uint32_t type) { return entitled_[user * types_ + type]; }

  std::size_t types_ = 0;
  std::span<const double> speeds_;
  std::span<double> entitled_;
  std::span<const double> most_;
  std::vector<Trade>* out_ = nullptr;
  std::vector<Pair> pairs_;
  std::vector<Party> parties_;
  SecondPrice auction_;
  std::vector<SecondPrice::User> bidders_;
  std::vector<SecondPrice::Sale> sales_;
  std::vector<double> before_;     // entitled, before any trade
  std::vector<double> type_gpus_;  // its sum of each type
  double all_gpus_ = 0;
};

}  // namespace fairlead
