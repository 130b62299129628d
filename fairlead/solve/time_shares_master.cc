#include "fairlead/solve/time_shares_master.h"

#include "fairlead/base/check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace fairlead {
namespace {

// A gain below this fraction of the value is not worth a step; one below this fraction of the terms
// that make it is rounding.
constexpr double kGain = 1e-13;
constexpr double kRounding = 2e-15;
constexpr double kPivot = 1e-11;
constexpr int kStepsMax = 1000;
// After this many steps without a change, the first candidate is taken instead of the best, which
// cannot go round for ever (Bland 1977).
constexpr int kIdleSteps = 20;
constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

}  // namespace

void ShareMaster::start(double value, std::span<const double> usage) {
  types_ = usage.size();
  values_.clear();
  usages_.clear();
  add(value, usage);
  basis_.resize(size());
  std::iota(basis_.begin(), basis_.end(), std::size_t{0});
  FL_CHECK(invert(), "a first answer must stand alone");
  price();
}

void ShareMaster::add(double value, std::span<const double> usage) {
  FL_CHECK(usage.size() == types_, "{} types, not {}", usage.size(), types_);
  values_.push_back(value);
  usages_.insert(usages_.end(), usage.begin(), usage.end());
}

double ShareMaster::coefficient(std::size_t column, std::size_t row) const {
  if (column < types_) return column == row ? 1 : 0;
  return row == types_ ? 1 : usages_[(column - types_) * types_ + row];
}

// Gauss-Jordan with row pivoting.
bool ShareMaster::invert() {
  const std::size_t n = size();
  work_.resize(n * n);
  inverse_.assign(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    inverse_[i * n + i] = 1;
    for (std::size_t j = 0; j < n; ++j) work_[i * n + j] = coefficient(basis_[j], i);
  }
  for (std::size_t j = 0; j < n; ++j) {
    std::size_t pivot = j;
    for (std::size_t i = j + 1; i < n; ++i) {
      if (std::abs(work_[i * n + j]) > std::abs(work_[pivot * n + j])) pivot = i;
    }
    if (std::abs(work_[pivot * n + j]) < kPivot) return false;
    for (std::size_t k = 0; k < n; ++k) {
      std::swap(work_[pivot * n + k], work_[j * n + k]);
      std::swap(inverse_[pivot * n + k], inverse_[j * n + k]);
    }
    const double scale = 1 / work_[j * n + j];
    for (std::size_t k = 0; k < n; ++k) {
      work_[j * n + k] *= scale;
      inverse_[j * n + k] *= scale;
    }
    for (std::size_t i = 0; i < n; ++i) {
      const double factor = work_[i * n + j];
      if (i == j || factor == 0) continue;
      for (std::size_t k = 0; k < n; ++k) {
        work_[i * n + k] -= factor * work_[j * n + k];
        inverse_[i * n + k] -= factor * inverse_[j * n + k];
      }
    }
  }
  return true;
}

// Every right-hand side is 1, so a row of the inverse adds up to the amount of its basic column.
void ShareMaster::price() {
  const std::size_t n = size();
  amounts_.assign(n, 0.0);
  duals_.assign(n, 0.0);
  value_ = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double value = value_of(basis_[i]);
    for (std::size_t k = 0; k < n; ++k) {
      amounts_[i] += inverse_[i * n + k];
      duals_[k] += value * inverse_[i * n + k];
    }
    amounts_[i] = std::max(0.0, amounts_[i]);
    value_ += value * amounts_[i];
  }
}

double ShareMaster::gain(double value, std::span<const double> usage) const {
  double gain = value - rest();
  double terms = std::abs(value) + std::abs(rest());
  for (std::size_t k = 0; k < types_; ++k) {
    gain -= duals_[k] * usage[k];
    terms += std::abs(duals_[k]) * usage[k];
  }
  return gain <= std::max(kGain * std::abs(value_), kRounding * terms) ? 0 : gain;
}

// Returns the column that gains most, or the first that gains.
std::size_t ShareMaster::entering(bool first) const {
  const std::size_t columns = types_ + values_.size();
  const double rounding =
      std::max(kGain * std::abs(value_), kRounding * *std::ranges::max_element(prices()));
  double best = 0;
  std::size_t column = kNone;
  for (std::size_t j = 0; j < columns; ++j) {
    double by = 0;
    if (j < types_) {
      by = -duals_[j] <= rounding ? 0 : -duals_[j];
    } else {
      by = gain(values_[j - types_], std::span(usages_).subspan((j - types_) * types_, types_));
    }
    if (by <= best || std::ranges::find(basis_, j) != basis_.end()) continue;
    best = by;
    column = j;
    if (first) break;
  }
  return column;
}

// Returns the place in the basis that the column empties first; of several, the one with the
// largest pivot.
std::size_t ShareMaster::leaving(std::size_t column, bool first) const {
  const std::size_t n = size();
  std::size_t place = kNone;
  double least = std::numeric_limits<double>::infinity();
  double pivot = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double step = 0;
    for (std::size_t k = 0; k < n; ++k) step += inverse_[i * n + k] * coefficient(column, k);
    if (step <= kPivot) continue;
    const double ratio = amounts_[i] / step;
    const bool better = first ? basis_[i] < basis_[place == kNone ? i : place] : step > pivot;
    if (ratio > least || (ratio == least && !better)) continue;
    least = ratio;
    pivot = step;
    place = i;
  }
  return place;
}

bool ShareMaster::optimise() {
  int idle = 0;
  for (int step = 0; step < kStepsMax; ++step) {
    const bool first = idle > kIdleSteps;
    const std::size_t column = entering(first);
    if (column == kNone) return true;
    const std::size_t place = leaving(column, first);
    if (place == kNone) return false;
    const std::size_t left = std::exchange(basis_[place], column);
    const double before = value_;
    if (!invert()) {
      basis_[place] = left;
      FL_CHECK(invert(), "the basis before stood");
      return false;
    }
    price();
    idle = value_ > before ? 0 : idle + 1;
  }
  return true;
}

std::vector<double> ShareMaster::weights() const {
  std::vector<double> weights(values_.size(), 0.0);
  double sum = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    if (basis_[i] < types_) continue;
    weights[basis_[i] - types_] = amounts_[i];
    sum += amounts_[i];
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

}  // namespace fairlead
