// The auction of one pair of GPU types at the second price: slow GPUs buy fast ones.
//
// The highest bid buys from the lowest ask, at the highest speedup of a user that is below the bid.
// This repeats while that price is above the ask (Gandiva_fair, EuroSys 2020, slides). Ours: no
// user knows its speedup to the last digit. So a user's bids are spread evenly over the tenth below
// its speedup, and its asks over the tenth above it. Users of equal or nearly equal speedups thus
// bid and ask together, at a price from which all of them gain. A small change of a speedup changes
// the outcome by little. Users that are more than a tenth apart trade by the slides' rule. Ours
// too: no user sells so much that it would have more GPUs than it can use.
//
// All sales together leave no user with less throughput: buyers pay less than their speedup, and
// sellers get more than theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fairlead {

// Contains the workspace: nothing is allocated once it and `out` have reached their largest size.
class SecondPrice {
 public:
  struct User {
    double speedup;  // on a fast GPU, relative to a slow one
    double slow;     // GPUs to buy with
    double fast;     // GPUs to sell
    double room;     // additional GPUs that it can use; may be infinite
  };
  struct Sale {
    std::uint32_t buyer;  // row of the users
    std::uint32_t seller;
    double fast_gpus;
    double price;  // slow GPUs for a fast one
  };

  // Writes the sales to `out`, one for each buyer and seller that have any, in order of seller and
  // buyer. REQUIRES: users in order of speedup, all > 0; GPUs >= 0, and finite. O(users^2), and
  // less if few speedups are within a tenth of each other.
  void sell(std::span<const User> users, std::vector<Sale>& out);

 private:
  // GPUs of a user per unit of the level of bids or asks.
  struct Stake {
    std::uint32_t user;
    double density;
  };

  void list_cuts();
  double price_below(double bid) const;
  double find_bidders(double low);
  double find_askers(double low);
  double until_one_is_full(double supply, double price) const;
  void record(double fast_gpus, double price, double demand, double supply);
  void merge_sales(std::vector<Sale>& out);

  std::span<const User> users_;
  std::vector<double> rooms_;
  std::vector<double> bid_cuts_;  // falling; between two cuts the same users bid
  std::vector<double> ask_cuts_;  // rising; between two cuts the same users ask
  std::vector<Stake> bidders_;
  std::vector<Stake> askers_;
  std::vector<Sale> sales_;
};

}  // namespace fairlead
