#include "fairlead/solve/time_shares_rows.h"

#include "fairlead/base/check.h"

#include <algorithm>

namespace fairlead {
namespace {

// Levels this close to a corner are at it.
constexpr double kAtCorner = 1e-10;

}  // namespace

LevelAnswers::LevelAnswers(const ShareRows& rows) : rows_(rows) {
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    const std::size_t first = order_.size();
    const double* const rate = &rows.rate[row * rows.types];
    for (std::uint32_t type = 0; type < rows.types; ++type) {
      if (rate[type] > 0) order_.push_back(type);
    }
    std::ranges::stable_sort(std::span(order_).subspan(first), {},
                             [&](std::uint32_t type) { return rate[type]; });
    order_end_.push_back(order_.size());
  }
}

void LevelAnswers::find_hull(std::size_t row, std::span<const double> prices) {
  const double* const rate = &rows_.rate[row * rows_.types];
  const double* const cost = &rows_.cost[row * rows_.types];
  hull_.clear();
  hull_.push_back({0, 0, kIdle});
  for (std::size_t i = row == 0 ? 0 : order_end_[row - 1]; i < order_end_[row]; ++i) {
    const std::size_t type = order_[i];
    const Point point{rate[type], cost[type] * prices[type], type};
    // The cheaper of equally fast types stays.
    if (hull_.size() > 1 && hull_.back().rate == point.rate) {
      if (hull_.back().price <= point.price) continue;
      hull_.pop_back();
    }
    // A point on or above the line from the previous point to the new one is never needed.
    while (hull_.size() > 1) {
      const Point& last = hull_.back();
      const Point& before = hull_[hull_.size() - 2];
      if ((last.price - before.price) * (point.rate - last.rate) <
          (point.price - last.price) * (last.rate - before.rate)) {
        break;
      }
      hull_.pop_back();
    }
    hull_.push_back(point);
  }
}

std::size_t LevelAnswers::point_above(double rate) const {
  std::size_t point = 1;
  while (point + 1 < hull_.size() && hull_[point].rate <= rate) ++point;
  return point;
}

template <class Visit>
void LevelAnswers::visit_shares(std::size_t row, double level, Visit visit) const {
  const double rate = std::min(1.0, rows_.floor[row] + level * rows_.part[row]);
  if (rate <= 0) return;
  const std::size_t above = point_above(rate);
  const Point& from = hull_[above - 1];
  const Point& to = hull_[above];
  const double share = std::min(1.0, (rate - from.rate) / (to.rate - from.rate));
  visit(to.type, share);
  if (from.type != kIdle && share < 1) visit(from.type, 1 - share);
}

// Returns the highest level at which one more level still costs less than `price`. Takes the
// corners apart like quickselect, so that most are never sorted.
double LevelAnswers::level_worth(double price) {
  std::size_t first = 0;
  std::size_t last = corners_.size();
  while (first < last) {
    const std::size_t middle = first + (last - first) / 2;
    const auto at = [&](std::size_t i) {
      return corners_.begin() + static_cast<std::ptrdiff_t>(i);
    };
    std::nth_element(at(first), at(middle), at(last),
                     [](const Corner& a, const Corner& b) { return a.level < b.level; });
    double below = 0;
    for (std::size_t i = first; i < middle; ++i) below += corners_[i].rise;
    const double rise = below + corners_[middle].rise;
    if (rise >= price) {
      if (below < price || middle == first) return corners_[middle].level;
      last = middle;
    } else {
      price -= rise;
      first = middle + 1;
    }
  }
  return 1;
}

ShareAnswer LevelAnswers::ask(std::span<const double> prices) {
  double price_now = 0;  // price of one more level, at level 0
  corners_.clear();
  for (std::size_t row = 0; row < rows_.rows(); ++row) {
    const double part = rows_.part[row];
    if (part <= 0) continue;
    find_hull(row, prices);
    const double weight = rows_.count[row] * part;
    const double floor = rows_.floor[row];
    const std::size_t above = point_above(floor);
    double before = slope(above);
    price_now += weight * before;
    for (std::size_t point = above + 1; point < hull_.size(); ++point) {
      const double level = (hull_[point - 1].rate - floor) / part;
      if (level >= 1) break;
      const double now = slope(point);
      corners_.push_back({level, weight * (now - before)});
      before = now;
    }
  }
  ShareAnswer answer{.prices = {prices.begin(), prices.end()}};
  answer.level = price_now >= 1 ? 0 : level_worth(1 - price_now);
  answer.value = answer.level;
  answer.usage.assign(rows_.types, 0.0);
  for (std::size_t row = 0; row < rows_.rows(); ++row) {
    if (rows_.part[row] <= 0 && rows_.floor[row] <= 0) continue;
    find_hull(row, prices);
    visit_shares(row, answer.level, [&](std::size_t type, double share) {
      answer.usage[type] += rows_.count[row] * rows_.cost[row * rows_.types + type] * share;
    });
  }
  return answer;
}

void LevelAnswers::add_shares(const ShareAnswer& answer, double weight, std::span<double> shares) {
  for (std::size_t row = 0; row < rows_.rows(); ++row) {
    if (rows_.part[row] <= 0 && rows_.floor[row] <= 0) continue;
    find_hull(row, answer.prices);
    visit_shares(row, answer.level, [&](std::size_t type, double share) {
      shares[row * rows_.types + type] += weight * share;
    });
  }
}

// One more level costs between the slopes before and after the corners at which rows are, and is
// worth 1. A row that runs at full rate could not go further at any price.
std::vector<double> LevelAnswers::row_prices(std::span<const double> prices, double level) {
  std::vector<double> price(rows_.rows(), 0.0);
  std::vector<double> rise(rows_.rows(), 0.0);
  std::vector<bool> is_full(rows_.rows(), false);
  double sum = 0;
  double rise_sum = 0;
  double full_parts = 0;
  for (std::size_t row = 0; row < rows_.rows(); ++row) {
    if (rows_.part[row] <= 0 && rows_.floor[row] <= 0) continue;
    const double rate = rows_.floor[row] + level * rows_.part[row];
    const double slack = kAtCorner * rows_.part[row];
    const double parts = rows_.count[row] * rows_.part[row];
    find_hull(row, prices);
    price[row] = rate <= slack ? 0 : slope(point_above(rate - slack));
    rise[row] = slope(point_above(rate + slack)) - price[row];
    sum += parts * price[row];
    rise_sum += parts * rise[row];
    is_full[row] = rate + slack >= 1;
    if (is_full[row]) full_parts += parts;
  }
  const double missing = std::max(0.0, 1 - sum);
  const double by_slope = std::min(missing, rise_sum);
  for (std::size_t row = 0; row < rows_.rows(); ++row) {
    if (rise_sum > 0) price[row] += rise[row] * (by_slope / rise_sum);
    if (is_full[row] && full_parts > 0) price[row] += (missing - by_slope) / full_parts;
  }
  return price;
}

ValueAnswers::ValueAnswers(const ShareRows& rows, std::span<const double> value) : rows_(rows) {
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    find_corners(row, value.subspan(row * rows.types, rows.types));
    corners_end_.push_back(corners_.size());
  }
}

void ValueAnswers::find_corners(std::size_t row, std::span<const double> value) {
  const double* const rate = &rows_.rate[row * rows_.types];
  const double floor = rows_.floor[row];
  if (floor <= 0) corners_.push_back({0, 0, 0, 0, 0});
  for (std::size_t type = 0; type < rows_.types; ++type) {
    if (rate[type] <= 0 || rate[type] < floor) continue;
    corners_.push_back({value[type], type, type, 1, 0});
    if (floor <= 0 || rate[type] == floor) continue;
    const double share = floor / rate[type];
    corners_.push_back({value[type] * share, type, type, share, 0});
    for (std::size_t slow = 0; slow < rows_.types; ++slow) {
      if (rate[slow] <= 0 || rate[slow] >= floor) continue;
      const double fast_share = (floor - rate[slow]) / (rate[type] - rate[slow]);
      corners_.push_back({value[type] * fast_share + value[slow] * (1 - fast_share), type, slow,
                          fast_share, 1 - fast_share});
    }
  }
}

const ValueAnswers::Corner& ValueAnswers::best_corner(std::size_t row,
                                                      std::span<const double> prices) const {
  const std::size_t first = row == 0 ? 0 : corners_end_[row - 1];
  FL_DCHECK(first < corners_end_[row], "row {} cannot meet its floor", row);
  const double* const cost = &rows_.cost[row * rows_.types];
  const double weight = rows_.count[row];
  std::size_t best = first;
  double best_gain = 0;
  for (std::size_t i = first; i < corners_end_[row]; ++i) {
    const Corner& corner = corners_[i];
    const double pays = cost[corner.first] * prices[corner.first] * corner.first_share +
                        cost[corner.second] * prices[corner.second] * corner.second_share;
    const double gain = corner.value - weight * pays;
    if (i > first && gain <= best_gain) continue;
    best = i;
    best_gain = gain;
  }
  return corners_[best];
}

ShareAnswer ValueAnswers::ask(std::span<const double> prices) {
  ShareAnswer answer{.prices = {prices.begin(), prices.end()}};
  answer.usage.assign(rows_.types, 0.0);
  for (std::size_t row = 0; row < rows_.rows(); ++row) {
    const Corner& corner = best_corner(row, prices);
    const double* const cost = &rows_.cost[row * rows_.types];
    answer.value += corner.value;
    answer.usage[corner.first] += rows_.count[row] * cost[corner.first] * corner.first_share;
    answer.usage[corner.second] += rows_.count[row] * cost[corner.second] * corner.second_share;
  }
  return answer;
}

void ValueAnswers::add_shares(const ShareAnswer& answer, double weight, std::span<double> shares) {
  for (std::size_t row = 0; row < rows_.rows(); ++row) {
    const Corner& corner = best_corner(row, answer.prices);
    shares[row * rows_.types + corner.first] += weight * corner.first_share;
    shares[row * rows_.types + corner.second] += weight * corner.second_share;
  }
}

}  // namespace fairlead
