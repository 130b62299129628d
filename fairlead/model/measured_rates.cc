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
    if (runs_[job].is_on && runs_[job].due == due) measure(runs_[job]);
  }
  while (!ends_.empty() && std::get<Time>(ends_.top()) <= now) {
    forget(ends_.top());
    ends_.pop();
  }
}

void MeasuredRates::on_run_begin(JobId job, const std::optional<MeasuredGang>& gang, Rate rate) {
  JobRun& run = runs_.grow_to(job);
  const bool counts = gang && !run.is_on;
  run = {.gang = gang.value_or(MeasuredGang{}), .rate = rate, .is_on = true, .counts = counts};
}

void MeasuredRates::on_start(JobId job, Duration overhead) {
  JobRun& run = runs_.grow_to(job);
  if (!run.counts) return;
  run.due = now_ + overhead + length_;
  due_.push({run.due, job});
}

void MeasuredRates::on_rate(JobId job, Rate rate) {
  JobRun& run = runs_.grow_to(job);
  if (!run.counts) return;
  run.rate = rate;
  if (run.due <= now_) measure(run);
}

void MeasuredRates::on_run_end(JobId job) {
  JobRun& run = runs_.grow_to(job);
  if (run.is_measured) {
    Seen& seen = entry(run.gang);
    seen.last = now_;
    if (--seen.runs == 0 && age_) {
      ends_.push({now_ + *age_ + Duration{1}, run.gang.row, seen.gpus, seen.tier});
    }
  }
  run = {};
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

void MeasuredRates::measure(JobRun& run) {
  if (run.rate.fixed == 0) return;
  Seen& seen = entry(run.gang);
  const bool is_new = seen.rate != run.rate || seen.asked != run.gang.asked;
  if (is_new) change(run.gang.row);
  seen.rate = run.rate;
  seen.asked = run.gang.asked;
  if (!std::exchange(run.is_measured, true)) ++seen.runs;
}

void MeasuredRates::forget(const End& end) {
  const auto [time, row, gpus, tier] = end;
  const auto is_too_old = [&, gpus = gpus, tier = tier](const Seen& seen) {
    return seen.gpus == gpus && seen.tier == tier && seen.runs == 0 && now_ - seen.last > *age_;
  };
  if (std::erase_if(rows_[row], is_too_old) > 0) change(row);
}

}  // namespace fairlead
