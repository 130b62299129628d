#include "fairlead/live/dues.h"

#include "fairlead/base/overloaded.h"

#include <algorithm>

namespace fairlead {

void Dues::on(const Record& record) {
  now_ = record.t;
  std::visit(Overloaded{
                 [&](const record::Arrived& what) {
                   ++settle(tables_.jobs.user[what.asked.job]).jobs;
                   change(what.asked.job, 0, true);
                 },
                 [&](const record::Charged& what) {
                   // Without waiting jobs, change() forgets it at the next wait.
                   settle(what.user).behind -=
                       1000 * static_cast<std::int64_t>(what.attained.gpu_ms);
                 },
                 [&](const record::Place& what) { change(what.job, gpus_of(what.gang), false); },
                 [&](const OneOf<record::Stop, record::Evicted, record::Released> auto& what) {
                   change(what.job, 0, true);
                 },
                 [&](const OneOf<record::Held, record::StartFailed> auto& what) {
                   change(what.job, 0, false);
                 },
                 [&](const OneOf<record::Finished, record::Failed, record::Cancelled> auto& what) {
                   end(what.job);
                 },
                 [&](const Note& what) {
                   const auto* due = std::get_if<note::Entitlement>(&what);
                   if (due != nullptr) settle(due->user).due[due->type] = due->gpus;
                   const auto* debt = std::get_if<note::Debt>(&what);
                   if (debt != nullptr) settle(debt->user).debt = debt->behind;
                 },
                 [](const auto&) {},
             },
             record.what);
}

std::optional<Dues::Due> Dues::of(UserId user, Time now) const {
  if (since_ == Time::never() || !users_.has(user) || users_[user].due.empty()) return std::nullopt;
  const User& of = users_[user];
  Due due{static_cast<double>(of.due_steps()) / 1000,
          static_cast<double>(of.behind_at(now)) / 1e6,
          since_,
          {}};
  if (of.debt) due.debt_gpu_s = static_cast<double>(of.debt->gpu_ms) / 1000;
  return due;
}

std::int64_t Dues::User::due_steps() const {
  std::int64_t steps = 0;
  for (const auto& [type, gpus] : due) steps += gpus.steps;
  return steps;
}

std::int64_t Dues::User::behind_at(Time now) const {
  return behind + (due_steps() - 1000 * allocated) * (now - settled).ms;
}

Dues::User& Dues::settle(UserId user) {
  User& of = users_.grow_to(user);
  if (since_ != Time::never()) of.behind = of.behind_at(now_);
  of.settled = now_;
  return of;
}

void Dues::change(JobId job, std::uint32_t allocated, bool waits) {
  Job& of = jobs_[job];
  User& user = settle(tables_.jobs.user[job]);
  user.allocated += std::int64_t{allocated} - of.allocated;
  waiting_ += (waits ? 1 : 0) - (of.waits ? 1 : 0);
  of = {allocated, waits};
  if (waiting_ == 0) {
    since_ = Time::never();
  } else if (since_ == Time::never()) {
    since_ = now_;
    for (User& other : users_) other.behind = 0, other.settled = now_;
  }
}

void Dues::end(JobId job) {
  change(job, 0, false);
  jobs_.erase(job);
  User& user = users_[tables_.jobs.user[job]];
  if (--user.jobs > 0) return;
  user.due.clear();  // no job of the user waits or runs
  user.behind = 0;
}

}  // namespace fairlead
