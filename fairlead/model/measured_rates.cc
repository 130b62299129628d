#include "fairlead/model/measured_rates.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace fairlead {
namespace {

int distance(Tier a, Tier b) { return std::abs(static_cast<int>(a) - static_cast<int>(b)); }

}  // namespace

std::optional<Rate> MeasuredRates::rate(const MeasuredGang& gang) const {
  if (gang.row >= rows_.size() || rows_[gang.row].empty()) return std::nullopt;
  const Measured& measured = rows_[gang.row];
  std::uint32_t size = measured.front().gpus;
  for (const Seen& seen : measured) {
    if (seen.gpus <= gang.gpus) size = seen.gpus;
  }
  const Seen* nearest = nullptr;
  for (const Seen& seen : measured) {
    if (seen.gpus != size) continue;
    const bool is_nearer =
        nearest == nullptr || distance(seen.tier, gang.tier) < distance(nearest->tier, gang.tier);
    if (is_nearer) nearest = &seen;
  }
  const double scale = (static_cast<double>(gang.gpus) * nearest->asked) /
                       (static_cast<double>(nearest->gpus) * gang.asked);
  double speed = std::min(nearest->rate.value() * scale, 1e6);
  const bool is_untried = nearest->tier > gang.tier;
  if (is_untried) speed = std::max(speed, static_cast<double>(gang.gpus) / gang.asked);
  return std::max(Rate::of(speed), Rate{1});
}

double MeasuredRates::best_per_gpu(std::size_t row) const {
  double best = 0;
  if (row >= rows_.size()) return best;
  for (const Seen& seen : rows_[row]) {
    best = std::max(best, seen.rate.value() * seen.asked / seen.gpus);
  }
  return best;
}

void MeasuredRates::change(std::size_t row) {
  ++revision_;
  changed_.push_back(row);
}

void MeasuredRates::set_now(Time now) {
  now_ = now;
  while (!due_.empty() && due_.top().first <= now) {
    const auto [due, job] = due_.top();
    due_.pop();
    if (holds_[job].is_on && holds_[job].due == due) measure(holds_[job]);
  }
  while (!ends_.empty() && std::get<Time>(ends_.top()) <= now) {
    forget(ends_.top());
    ends_.pop();
  }
}

void MeasuredRates::on_hold(JobId job, const std::optional<MeasuredGang>& gang, Rate rate) {
  Hold& hold = holds_.grow_to(job);
  const bool counts = gang && !hold.is_on;
  hold = {.gang = gang.value_or(MeasuredGang{}), .rate = rate, .is_on = true, .counts = counts};
}

void MeasuredRates::on_start(JobId job, Duration overhead) {
  Hold& hold = holds_.grow_to(job);
  if (!hold.counts) return;
  hold.due = now_ + overhead + length_;
  due_.push({hold.due, job});
}

void MeasuredRates::on_rate(JobId job, Rate rate) {
  Hold& hold = holds_.grow_to(job);
  if (!hold.counts) return;
  hold.rate = rate;
  if (hold.due <= now_) measure(hold);
}

void MeasuredRates::on_hold_end(JobId job) {
  Hold& hold = holds_.grow_to(job);
  if (hold.is_measured) {
    Seen& seen = entry(hold.gang);
    seen.last = now_;
    if (--seen.holds == 0 && age_) {
      ends_.push({now_ + *age_ + Duration{1}, hold.gang.row, seen.gpus, seen.tier});
    }
  }
  hold = {};
}

// The entry of gangs of that size and tier, which may be new.
MeasuredRates::Seen& MeasuredRates::entry(const MeasuredGang& gang) {
  if (gang.row >= rows_.size()) rows_.resize(gang.row + 1);
  Measured& measured = rows_[gang.row];
  const std::pair key(gang.gpus, gang.tier);
  const auto at = std::ranges::lower_bound(
      measured, key, {}, [](const Seen& seen) { return std::pair(seen.gpus, seen.tier); });
  const bool exists = at != measured.end() && at->gpus == gang.gpus && at->tier == gang.tier;
  return exists ? *at : *measured.insert(at, Seen{.gpus = gang.gpus, .tier = gang.tier});
}

void MeasuredRates::measure(Hold& hold) {
  if (hold.rate.fixed == 0) return;
  Seen& seen = entry(hold.gang);
  const bool is_new = seen.rate != hold.rate || seen.asked != hold.gang.asked;
  if (is_new) change(hold.gang.row);
  seen.rate = hold.rate;
  seen.asked = hold.gang.asked;
  if (!std::exchange(hold.is_measured, true)) ++seen.holds;
}

void MeasuredRates::forget(const End& end) {
  const auto [time, row, gpus, tier] = end;
  const auto is_too_old = [&, gpus = gpus, tier = tier](const Seen& seen) {
    return seen.gpus == gpus && seen.tier == tier && seen.holds == 0 && now_ - seen.last > *age_;
  };
  if (std::erase_if(rows_[row], is_too_old) > 0) change(row);
}

}  // namespace fairlead
