#include "fairlead/model/known_work.h"

#include "fairlead/base/check.h"
#include "fairlead/base/rng.h"
#include "fairlead/model/jobs.h"
#include "fairlead/model/work_history.h"

#include <algorithm>
#include <cmath>

namespace fairlead {
namespace {

constexpr std::uint64_t kErrorStream = 0x776f726b;  // separate from other draws of the run's seed

// Returns the work done, rounded down to milliseconds, so that done and left add up.
Duration whole(Work work) { return {static_cast<std::int64_t>(work.fixed / Rate::kOne)}; }

}  // namespace

KnownWork::KnownWork(const Jobs& jobs, const ExactWork* exact, WorkSource best,
                     const WorkOptions& options)
    : jobs_(jobs),
      exact_(std::min(options.source, best) == WorkSource::kExact ? exact : nullptr),
      keeps_rows_(best != WorkSource::kNone && exact_ == nullptr),
      options_(options),
      history_(std::make_unique<WorkHistory>()) {
  FL_CHECK(options_.error >= 0, "error {}", options_.error);
  options_.source = std::min(options_.source, best);
}

KnownWork::~KnownWork() = default;

WorkLeft KnownWork::left(JobId job) const {
  if (exact_ != nullptr) return {exact_->remaining(job), WorkSource::kExact, {}};
  const Row known = row(job);
  const Work done = work_done(known);
  const auto left_of = [&](Duration total) {
    return reference_duration(std::max(reference_work(total) - done, Work{}));
  };
  if (const Duration left = left_of(known.stated); left.ms > 0) {
    const bool reported = known.reported_at != Time::never();
    return {left, reported ? WorkSource::kReported : WorkSource::kDeclared,
            now_ - (reported ? known.reported_at : jobs_.arrival[job])};
  }
  if (options_.source >= WorkSource::kHistory) {
    const Duration left = left_of(history_->mean(jobs_.user[job], jobs_.model[job]));
    if (left.ms > 0) return {left, WorkSource::kHistory, {}};
  }
  return {std::max(whole(done), kGuessMin), WorkSource::kNone, {}};
}

Duration KnownWork::done(JobId job) const {
  if (exact_ == nullptr) return whole(work_done(row(job)));
  return totals_.has(job) ? totals_[job] - exact_->remaining(job) : Duration{};
}

Work KnownWork::work_done(const Row& row) const {
  if (now_ <= row.from) return row.done;
  return row.done + progress(row.rate, now_ - row.from);
}

void KnownWork::on_arrived(JobId job, Duration declared) {
  if (exact_ != nullptr) {
    totals_.grow_to(job) = exact_->remaining(job);
    return;
  }
  if (!keeps_rows_) return;
  rows_.grow_to(job) = {};
  const bool counts = options_.source >= WorkSource::kDeclared && declared.ms > 0;
  if (counts) rows_[job].stated = with_error(job, declared);
}

Duration KnownWork::with_error(JobId job, Duration declared) const {
  if (options_.error == 0) return declared;
  const double draw = Rng(options_.seed).split(kErrorStream).split(job.row()).normal();
  const double stated = static_cast<double>(declared.ms) * std::exp(options_.error * draw);
  return {std::llround(std::clamp(stated, 1.0, static_cast<double>(kMsMax)))};
}

void KnownWork::on_carried(JobId job, Duration done) {
  if (keeps_rows_) rows_.grow_to(job).done = reference_work(done);
}

void KnownWork::on_run_begin(JobId job, Rate rate, Duration overhead) {
  if (!keeps_rows_) return;
  Row& row = rows_.grow_to(job);
  const bool is_first = row.from == Time::never();
  if (is_first) row.rate = {};
  row.from = is_first ? now_ + overhead : std::max(row.from, now_ + overhead);
  row.rate.fixed += rate.fixed > 0 ? rate.fixed : Rate::kOne;
}

void KnownWork::on_rate(JobId job, Rate rate) {
  if (!keeps_rows_) return;
  Row& row = rows_.grow_to(job);
  row.done = work_done(row);
  row.from = std::max(row.from, now_);
  row.rate = rate;
}

void KnownWork::on_run_end(JobId job, Duration lost) {
  if (!keeps_rows_) return;
  Row& row = rows_.grow_to(job);
  row.done = std::max(work_done(row) - progress(row.rate, lost), Work{});
  row.from = Time::never();
}

void KnownWork::on_finished(JobId job) {
  if (!keeps_rows_ || options_.source < WorkSource::kHistory) return;
  const Duration total = done(job);
  if (total.ms > 0) history_->add(jobs_.user[job], jobs_.model[job], total);
}

void KnownWork::on_report(JobId job, Duration left) {
  FL_DCHECK(left >= Duration{}, "job {}: {} ms", job.row(), left.ms);
  if (!keeps_rows_ || options_.source < WorkSource::kReported) return;
  Row& row = rows_.grow_to(job);
  row.stated = whole(work_done(row)) + std::max(left, Duration{1});
  row.reported_at = now_;
}

}  // namespace fairlead
