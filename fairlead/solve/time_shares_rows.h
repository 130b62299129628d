// The answers of the rows of a ShareProblem (time_shares.h) at given prices of the GPU types, each
// row by itself. Everything is normalised: a row's largest rate is 1, a type's capacity is 1, the
// largest possible level or value is 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fairlead {

struct ShareRows {
  std::size_t types = 0;
  std::vector<double> count;  // jobs of each row
  std::vector<double> floor;  // floor of each row, <= 1
  std::vector<double> part;   // part of each row; floor + part <= 1
  std::vector<double> rate;   // rows x types; 0 where the row cannot run
  std::vector<double> cost;   // rows x types: fraction of the capacity that a full share takes

  std::size_t rows() const { return count.size(); }
};

struct ShareAnswer {
  std::vector<double> prices;
  double level = 0;           // where there is one
  double value = 0;           // value of all rows, before payment
  std::vector<double> usage;  // usage of each type's capacity
};

class ShareAnswers {
 public:
  virtual ~ShareAnswers() = default;
  // Returns the answer with the largest value - prices * usage.
  virtual ShareAnswer ask(std::span<const double> prices) = 0;
  // Adds weight times the shares of an answer that ask() returned.
  virtual void add_shares(const ShareAnswer& answer, double weight, std::span<double> shares) = 0;
};

// The value is the common level, in [0, 1]; every row meets floor + level * part as cheaply as it
// can. A row's cheapest mixes form the lower hull of (rate, price) over its types and idleness.
class LevelAnswers final : public ShareAnswers {
 public:
  // `rows` must outlive it.
  explicit LevelAnswers(const ShareRows& rows);
  ShareAnswer ask(std::span<const double> prices) override;
  void add_shares(const ShareAnswer& answer, double weight, std::span<double> shares) override;
  // Returns the decrease of the level per unit of a row's floor, at the best prices and level.
  std::vector<double> row_prices(std::span<const double> prices, double level);

 private:
  static constexpr std::size_t kIdle = static_cast<std::size_t>(-1);
  struct Point {
    double rate;
    double price;
    std::size_t type;
  };
  struct Corner {
    double level;
    double rise;  // increase of the price of one more level at the corner
  };

  void find_hull(std::size_t row, std::span<const double> prices);
  double slope(std::size_t point) const {
    return (hull_[point].price - hull_[point - 1].price) /
           (hull_[point].rate - hull_[point - 1].rate);
  }
  // Returns the first point of the hull above a rate, or the last point.
  std::size_t point_above(double rate) const;
  double level_worth(double price);
  // Calls visit(type, share) for the row's share at the level; the hull is the row's.
  template <class Visit>
  void visit_shares(std::size_t row, double level, Visit visit) const;

  const ShareRows& rows_;
  std::vector<std::uint32_t> order_;    // each row's types by rate
  std::vector<std::size_t> order_end_;  // end of each row in order_
  std::vector<Point> hull_;
  std::vector<Corner> corners_;
};

// The value is a sum over shares. Every row takes the corner of its own polytope with the best
// value after price: idle, one type, or two types if the floor needs a mix.
class ValueAnswers final : public ShareAnswers {
 public:
  // `value`: rows x types, per unit of share, of all the row's jobs together. `rows` must outlive
  // it.
  ValueAnswers(const ShareRows& rows, std::span<const double> value);
  ShareAnswer ask(std::span<const double> prices) override;
  void add_shares(const ShareAnswer& answer, double weight, std::span<double> shares) override;

 private:
  struct Corner {
    double value;
    std::size_t first;
    std::size_t second;
    double first_share;
    double second_share;
  };

  void find_corners(std::size_t row, std::span<const double> value);
  const Corner& best_corner(std::size_t row, std::span<const double> prices) const;

  const ShareRows& rows_;
  std::vector<Corner> corners_;
  std::vector<std::size_t> corners_end_;  // end of each row in corners_
};

}  // namespace fairlead
