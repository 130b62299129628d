#include "fairlead/model/measured_rates.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace fairlead {
namespace {

int distance(Tier a, Tier b) { return std::abs(static_cast<int>(a) - static_cast<int>(b)); }

// Chosen: twice the change of a speed that a live world reports.
constexpr double kAgree = 0.1;

// Chosen: twice the time in which the slowest sensor of a live world measures a speed.
constexpr Duration kTrial = seconds(60);

bool agree(Rate a, Rate b) {
  return std::abs(a.value() - b.value()) <= kAgree * std::max(a.value(), b.value());
}

}  // namespace

std::optional<MeasuredRate> MeasuredRates::nearest(const MeasuredGang& gang) const {
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
  return *nearest;
}

std::optional<Rate> MeasuredRates::rate(const MeasuredGang& gang) const {
  const std::optional<MeasuredRate> nearest = this->nearest(gang);
  if (!nearest) return std::nullopt;
  double speed = std::min(nearest->speed(gang.gpus, gang.asked), 1e6);
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

std::vector<MeasuredRate> MeasuredRates::of_row(std::size_t row) const {
  std::vector<MeasuredRate> rates;
  if (row >= rows_.size()) return rates;
  for (const Seen& seen : rows_[row]) {
    rates.push_back(seen);
    if (seen.runs > 0) rates.back().last = now_;
  }
  return rates;
}

bool MeasuredRates::is_tried(std::size_t row) const {
  if (row < rows_.size() && !rows_[row].empty()) return true;
  return row < trials_.size() && (trials_[row].on > 0 || trials_[row].worked >= kTrial);
}

MeasuredRates::Trial& MeasuredRates::trial(std::size_t row) {
  if (row >= trials_.size()) trials_.resize(row + 1);
  return trials_[row];
}

bool MeasuredRates::forget_row(std::size_t row) {
  if (row >= rows_.size() || rows_[row].empty()) return false;
  rows_[row].clear();
  trial(row).worked = {};
  change(row);
  for (JobId job : ids<JobId>(runs_.size())) {
    JobRun& run = runs_[job];
    if (run.gang.row != row) continue;
    run.is_counted = false;
    if (std::exchange(run.is_measured, false)) measure(job, run);
  }
  return true;
}

void MeasuredRates::learn(std::size_t row, const MeasuredRate& rate) {
  Seen& seen = entry({.row = row, .gpus = rate.gpus, .tier = rate.tier, .asked = rate.asked});
  if (seen.measurements > 0) return;
  static_cast<MeasuredRate&>(seen) = rate;
  if (age_) ends_.push({rate.last + *age_ + Duration{1}, row, rate.gpus, rate.tier});
  change(row);
}

void MeasuredRates::change(std::size_t row) {
  ++revision_;
  changed_.push_back(row);
}

void MeasuredRates::set_now(Time now) {
  if (now == now_) return;  // a recovery sets the clock for each record, a run once an instant
  now_ = now;
  while (!due_.empty() && due_.top().first <= now) {
    const auto [due, job] = due_.top();
    due_.pop();
    if (runs_[job].is_on && runs_[job].due == due) measure(job, runs_[job]);
  }
  while (!ends_.empty() && std::get<Time>(ends_.top()) <= now) {
    forget(ends_.top());
    ends_.pop();
  }
}

void MeasuredRates::on_run_begin(JobId job, const std::optional<MeasuredGang>& gang, Rate rate) {
  JobRun& run = runs_.grow_to(job);
  const bool counts = gang && !run.is_on;
  const bool stays = counts && run.is_counted && gang->is_alike(run.gang);
  run = {.gang = gang.value_or(MeasuredGang{}),
         .rate = rate,
         .is_on = true,
         .counts = counts,
         .is_counted = stays};
  if (counts) ++trial(gang->row).on;
}

void MeasuredRates::on_start(JobId job, Duration overhead) {
  JobRun& run = runs_.grow_to(job);
  if (!run.counts) return;
  run.since = now_ + overhead;
  run.due = run.since + length_;
  due_.push({run.due, job});
}

void MeasuredRates::on_rate(JobId job, Rate rate) {
  JobRun& run = runs_.grow_to(job);
  if (!run.counts) return;
  run.rate = rate;
  if (run.due <= now_) measure(job, run);
}

void MeasuredRates::on_run_end(JobId job) {
  JobRun& run = runs_.grow_to(job);
  if (run.is_on && run.counts) {
    Trial& here = trial(run.gang.row);
    --here.on;
    if (run.since < now_) here.worked = here.worked + (now_ - run.since);
  }
  if (run.is_measured) {
    Seen& seen = entry(run.gang);
    seen.last = now_;
    if (--seen.runs == 0 && age_) {
      ends_.push({now_ + *age_ + Duration{1}, run.gang.row, seen.gpus, seen.tier});
    }
  }
  run = {.gang = run.gang, .is_counted = run.is_counted};
}

// The entry of gangs of that size and tier, which may be new.
MeasuredRates::Seen& MeasuredRates::entry(const MeasuredGang& gang) {
  if (gang.row >= rows_.size()) rows_.resize(gang.row + 1);
  Measured& measured = rows_[gang.row];
  const std::pair key(gang.gpus, gang.tier);
  const auto at = std::ranges::lower_bound(
      measured, key, {}, [](const Seen& seen) { return std::pair(seen.gpus, seen.tier); });
  const bool exists = at != measured.end() && at->gpus == gang.gpus && at->tier == gang.tier;
  if (exists) return *at;
  Seen seen;
  seen.gpus = gang.gpus;
  seen.tier = gang.tier;
  return *measured.insert(at, seen);
}

void MeasuredRates::measure(JobId job, JobRun& run) {
  if (run.rate.fixed == 0) return;
  Seen& seen = entry(run.gang);
  const bool is_new = seen.rate != run.rate || seen.asked != run.gang.asked;
  if (is_new) change(run.gang.row);
  count(job, run, seen);
  seen.rate = run.rate;
  seen.asked = run.gang.asked;
  if (!std::exchange(run.is_measured, true)) ++seen.runs;
}

// Counts the run as a measurement, or corrects the last one.
void MeasuredRates::count(JobId job, JobRun& run, Seen& seen) {
  if (!std::exchange(run.is_counted, true)) {
    seen.before = seen.rate;
    seen.agreeing_before = seen.agreeing;
    seen.latest = job;
    ++seen.measurements;
  }
  if (seen.latest == job) {
    seen.agreeing = agree(seen.before, run.rate) ? seen.agreeing_before + 1 : 1;
  }
}

void MeasuredRates::forget(const End& end) {
  const auto [time, row, gpus, tier] = end;
  const auto is_too_old = [&, gpus = gpus, tier = tier](const Seen& seen) {
    return seen.gpus == gpus && seen.tier == tier && seen.runs == 0 && now_ - seen.last > *age_;
  };
  if (std::erase_if(rows_[row], is_too_old) == 0) return;
  trial(row).worked = {};
  change(row);
}

}  // namespace fairlead
