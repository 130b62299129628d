#include "fairlead/local/start_conditions.h"

#include "fairlead/base/overloaded.h"

#include <fmt/format.h>

#include <utility>

namespace fairlead {

void StartConditions::add(JobId job, Submission& what, bool is_new) {
  if (what.after.empty()) return;
  jobs_[job] = &what;
  if (is_new) inbox_.add({.kind = EventKind::kHeld, .job = job});
}

Status StartConditions::set_held(JobId job, bool is_held) {
  Submission& what = *jobs_.at(job);
  if (what.is_held == is_held) return {};
  what.is_held = is_held;
  Status status = io_.write(submission_file(job), submission_text(what));
  if (!status) what.is_held = !is_held;
  has_ends_ = true;
  return status;
}

void StartConditions::on(const Record& record) {
  std::visit(Overloaded{
                 [&](const OneOf<record::Finished, record::Failed, record::Cancelled,
                                 record::Rejected, record::Held> auto&) { has_ends_ = true; },
                 [&](const record::Released&) { has_releases_ = true; },
                 [](const auto&) {},
             },
             record.what);
}

void StartConditions::update() {
  if (!std::exchange(has_ends_, false)) return;
  for (const auto& [job, what] : jobs_) {
    if (tables_.jobs.is_here(job))
      judge(job, *what);  // others are in the next batch, or have ended
  }
}

void StartConditions::judge(JobId job, const Submission& what) {
  if (const JobId bad = broken_by(what.after, tables_); !bad.is_none()) {
    std::string reason = fmt::format("job {} had to end well first, but is {}", bad.row(),
                                     state_name(tables_.jobs.state[bad]));
    inbox_.add(
        {.kind = EventKind::kCancelled, .job = job, .reason = inbox_.keep(std::move(reason))});
  } else if (!what.is_held && are_met(what.after, tables_)) {
    inbox_.add({.kind = EventKind::kReleased, .job = job});
  }
}

Status StartConditions::forget_released() {
  if (!std::exchange(has_releases_, false)) return {};
  Status status;
  std::erase_if(jobs_, [&](const auto& entry) {
    const auto& [job, what] = entry;
    if (!tables_.jobs.is_here(job) || tables_.held_until.contains(job)) return false;
    what->after.clear();
    if (Status written = io_.write(submission_file(job), submission_text(*what)); !written)
      status = std::move(written);
    return true;
  });
  return status;
}

}  // namespace fairlead
