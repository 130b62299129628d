#include "fairlead/policy/fairlead/notes.h"

#include <cmath>
#include <utility>

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

// The user is due the same part of every type.
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
  ++round_;
  for (const Ranked& of : ranked) {
    const Rank next{.tenths = std::llround(10 * of.rank), .round = round_};
    const Rank noted = std::exchange(ranks_.grow_to(of.job), next);
    if (noted.round + 1 == round_ && noted.tenths == next.tenths) continue;
    plan.note(note::Rank{of.job, note::Millionths::of(of.rank)});
  }
}

void FairleadNotes::fields(Archive& archive) {
  archive.rows(due_, behind_min_);
  archive(round_, ranks_);
}

}  // namespace fairlead
