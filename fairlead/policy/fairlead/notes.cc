#include "fairlead/policy/fairlead/notes.h"

#include <cmath>

namespace fairlead {

void FairleadNotes::note_users(const View& view, const Debts& debts, Plan& plan) {
  due_.resize(view.users.size());
  behind_min_.resize(view.users.size());
  for (UserId user : ids<UserId>(view.users.size())) {
    note_due(view, user, debts.due(user), plan);
    const std::int64_t behind_min = std::llround(debts.behind_s(user) / 60);
    if (behind_min == behind_min_[user]) continue;
    behind_min_[user] = behind_min;
    plan.note(note::Debt{user, {Int128{std::llround(1000 * debts.behind_s(user))}}});
  }
}

// It is due the same part of every type.
void FairleadNotes::note_due(const View& view, UserId user, double due, Plan& plan) {
  const std::int64_t noted = note::Thousandths::of(due).steps;
  if (noted == due_[user]) return;
  due_[user] = noted;
  double gpus = 0;
  const auto types = ids<GpuTypeId>(view.cluster.type_names.size());
  for (GpuTypeId type : types) gpus += plan.free().capacity(type);
  for (GpuTypeId type : types) {
    const double part = gpus > 0 ? plan.free().capacity(type) / gpus : 0;
    plan.note(note::Entitlement{user, type, note::Thousandths::of(due * part)});
  }
}

void FairleadNotes::note_jobs(std::span<const Ranked> ranked, Plan& plan) {
  next_tenths_.clear();
  for (const Ranked& of : ranked) {
    const std::int64_t tenths = std::llround(10 * of.rank);
    next_tenths_.emplace(of.job, tenths);
    const auto noted = tenths_.find(of.job);
    if (noted != tenths_.end() && noted->second == tenths) continue;
    plan.note(note::Rank{of.job, note::Millionths::of(of.rank)});
  }
  std::swap(tenths_, next_tenths_);
}

void FairleadNotes::save(Writer& writer) const {
  writer.u64(due_.size());
  for (UserId user : ids<UserId>(due_.size())) {
    writer.i64(due_[user]);
    writer.i64(behind_min_[user]);
  }
  writer.u64(tenths_.size());
  for (const auto& [job, tenths] : tenths_) {
    writer.id(job);
    writer.i64(tenths);
  }
}

void FairleadNotes::load(Reader& reader) {
  due_.clear();
  behind_min_.clear();
  for (std::uint64_t left = reader.u64(); left > 0 && reader.ok(); --left) {
    due_.push_back(reader.i64());
    behind_min_.push_back(reader.i64());
  }
  tenths_.clear();
  for (std::uint64_t left = reader.u64(); left > 0 && reader.ok(); --left) {
    const auto job = reader.id<JobId>();
    tenths_[job] = reader.i64();
  }
}

}  // namespace fairlead
