// Points of two spirals, and a network that learns to separate them.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace trainer {

// SplitMix64: the same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

struct Point {
  double x, y, label;  // label: -1 or 1
};

// Points near one of two spiral arms that wind once around each other.
inline std::vector<Point> spirals(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<Point> points(count);
  for (Point& point : points) {
    point.label = random.uniform() < 0.5 ? -1 : 1;
    const double along = 0.1 + 0.9 * std::sqrt(random.uniform());
    const double angle = 2 * std::numbers::pi * along + (point.label > 0 ? std::numbers::pi : 0);
    point.x = along * std::cos(angle) + 0.06 * (random.uniform() - 0.5);
    point.y = along * std::sin(angle) + 0.06 * (random.uniform() - 0.5);
  }
  return points;
}

constexpr std::size_t kHidden = 32;

// 2 inputs, two layers of tanh units, one output; weights of all layers in one row, each unit's
// followed by its bias.
class Network {
 public:
  explicit Network(std::uint64_t seed) {
    Random random(seed);
    for (std::size_t layer = 0; layer + 1 < sizes_.size(); ++layer) {
      const std::size_t in = sizes_[layer];
      const double scale = std::sqrt(3.0 / static_cast<double>(in));
      for (std::size_t i = 0; i < (in + 1) * sizes_[layer + 1]; ++i)
        weights.push_back(i % (in + 1) == in ? 0 : scale * (2 * random.uniform() - 1));
    }
    for (std::size_t layer = 0; layer < sizes_.size(); ++layer)
      values_[layer].resize(sizes_[layer]);
  }

  double output(const Point& point) {
    values_[0] = {point.x, point.y};
    const double* w = weights.data();
    for (std::size_t layer = 1; layer < sizes_.size(); ++layer) {
      const std::vector<double>& in = values_[layer - 1];
      for (double& value : values_[layer]) {
        const double sum = std::inner_product(in.begin(), in.end(), w, w[in.size()]);
        value = layer + 1 < sizes_.size() ? std::tanh(sum) : sum;
        w += in.size() + 1;
      }
    }
    return values_.back()[0];
  }

  // Adds the gradient of the logistic loss at a point to `gradient`; returns the loss.
  double learn(const Point& point, std::span<double> gradient) {
    const double margin = point.label * output(point);
    std::vector<double> above{-point.label /
                              (1 + std::exp(margin))};  // the loss by each unit's sum
    std::size_t end = weights.size();
    for (std::size_t layer = sizes_.size() - 1; layer > 0; --layer) {
      const std::vector<double>& in = values_[layer - 1];
      end -= (in.size() + 1) * above.size();
      std::vector<double> below(in.size(), 0);
      for (std::size_t unit = 0; unit < above.size(); ++unit) {
        const std::size_t first = end + unit * (in.size() + 1);
        for (std::size_t i = 0; i < in.size(); ++i) {
          gradient[first + i] += above[unit] * in[i];
          below[i] += above[unit] * weights[first + i];
        }
        gradient[first + in.size()] += above[unit];
      }
      for (std::size_t i = 0; i < in.size(); ++i)
        below[i] *= 1 - in[i] * in[i];  // the slope of tanh
      above = std::move(below);
    }
    return std::log1p(std::exp(-margin));
  }

  std::vector<double> weights;

 private:
  std::array<std::size_t, 4> sizes_{2, kHidden, kHidden, 1};
  std::array<std::vector<double>, 4> values_;  // values of each unit, for the last point
};

}  // namespace trainer
