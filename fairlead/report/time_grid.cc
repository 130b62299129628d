#include "fairlead/report/time_grid.h"

#include "fairlead/base/check.h"

#include <algorithm>
#include <utility>

namespace fairlead {

TimeGrid::TimeGrid(Time origin, Time end, std::int64_t bins_max)
    : origin_(origin), end_(end), width_(seconds(1)) {
  FL_CHECK(origin <= end && bins_max >= 1);
  const auto count = [&] { return ((end - origin).ms + width_.ms - 1) / width_.ms; };
  while (count() > bins_max) width_.ms *= 2;
  bins_ = static_cast<std::size_t>(count());
}

void TimeGrid::spread(std::vector<double>& amounts, Time from, Time to, double amount) const {
  const double per_ms = amount / static_cast<double>((to - from).ms);
  from = std::max(from, origin_);
  to = std::min(to, end_);
  while (from < to) {
    const std::int64_t bin = (from - origin_).ms / width_.ms;
    const Time next = std::min(to, origin_ + Duration{(bin + 1) * width_.ms});
    amounts[static_cast<std::size_t>(bin)] += per_ms * static_cast<double>((next - from).ms);
    from = next;
  }
}

void TimeGrid::divide_by_time(std::vector<double>& amounts) const {
  for (std::size_t bin = 0; bin < amounts.size(); ++bin) {
    const Time begin = origin_ + Duration{static_cast<std::int64_t>(bin) * width_.ms};
    amounts[bin] /= static_cast<double>((std::min(begin + width_, end_) - begin).ms);
  }
}

void DoublingBins::add(Time from, Time to, std::int64_t value) {
  if (value == 0) return;
  last_ = to;
  while ((to - origin_).ms > kBinsMax * width_.ms) coarsen();
  while (from < to) {
    const auto bin = static_cast<std::size_t>((from - origin_).ms / width_.ms);
    const Time next =
        std::min(to, origin_ + Duration{(static_cast<std::int64_t>(bin) + 1) * width_.ms});
    if (integrals_.size() <= bin) integrals_.resize(bin + 1);
    integrals_[bin] += static_cast<double>(value) * static_cast<double>((next - from).ms);
    from = next;
  }
}

void DoublingBins::coarsen() {
  width_.ms *= 2;
  for (std::size_t i = 1; i < integrals_.size(); ++i) {
    const double integral = std::exchange(integrals_[i], 0);
    integrals_[i / 2] += integral;
  }
  integrals_.resize((integrals_.size() + 1) / 2);
}

void DoublingBins::spread_to(const TimeGrid& grid, std::vector<double>& amounts) const {
  for (std::size_t bin = 0; bin < integrals_.size(); ++bin) {
    const Time from = origin_ + Duration{static_cast<std::int64_t>(bin) * width_.ms};
    grid.spread(amounts, from, std::min(from + width_, last_), integrals_[bin]);
  }
}

void DoublingLevel::begin(Time origin) {
  bins_.begin(origin);
  since_ = origin;
  has_begun_ = true;
}

void DoublingLevel::add(Time t, std::int64_t change) {
  settle(t);
  value_ += change;
}

void DoublingLevel::settle(Time t) {
  if (t == since_ || !has_begun_) return;
  bins_.add(since_, t, value_);
  since_ = t;
}

}  // namespace fairlead
