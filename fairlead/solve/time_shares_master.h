// The small linear program inside ShareSolver (time_shares.h): mixes whole answers. The mix keeps
// within the capacity of every GPU type and has the largest value. The program has one row per type
// and one for the weights, which add up to 1; answers are added to it one by one (Dantzig and
// Wolfe, "Decomposition principle for linear programs", 1960). Solved by the simplex method with a
// dense inverse, recomputed at each pivot: there are few rows.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace fairlead {

class ShareMaster {
 public:
  // Starts with the answer of this value that uses this fraction of each type's capacity. REQUIRES:
  // no fraction above 1 (by more than rounding).
  void start(double value, std::span<const double> usage);
  // Adds an answer; `usage` may be above 1.
  void add(double value, std::span<const double> usage);
  // Finds the best mix of all answers, or, if rounding lets it take too many steps, a mix next to
  // it. Returns false if rounding spoilt it: the mix is then a feasible one. O(types x answers) per
  // step.
  bool optimise();

  // Results of the best mix. The weights are by answer in the order of their addition.
  double value() const { return value_; }
  std::vector<double> weights() const;
  // Returns the worth of more capacity of each type, >= 0 up to rounding.
  std::span<const double> prices() const { return std::span(duals_).first(types_); }
  // Returns the improvement of the mix per weight of an answer; 0 if that is not more than
  // rounding.
  double gain(double value, std::span<const double> usage) const;

 private:
  // Columns: the idle fraction of each type, then the answers.
  std::size_t size() const { return types_ + 1; }
  double coefficient(std::size_t column, std::size_t row) const;
  double value_of(std::size_t column) const {
    return column < types_ ? 0 : values_[column - types_];
  }
  // Returns the worth of one more weight.
  double rest() const { return duals_[types_]; }
  bool invert();
  void price();
  std::size_t entering(bool first) const;
  std::size_t leaving(std::size_t column, bool first) const;

  std::size_t types_ = 0;
  std::vector<double> values_;
  std::vector<double> usages_;  // answer by answer
  std::vector<std::size_t> basis_;
  std::vector<double> inverse_;  // row by row
  std::vector<double> work_;
  std::vector<double> amounts_;  // amounts of the basis
  std::vector<double> duals_;
  double value_ = 0;
};

}  // namespace fairlead
