#include "fairlead/explain/verdict.h"

#include "fairlead/base/overloaded.h"

#include <algorithm>

namespace fairlead {

void UserNotes::add(const Note& note) {
  std::visit(Overloaded{
                 [&](const note::Debt& what) { debt = what.behind; },
                 [&](const note::Entitlement& what) { due[what.type] = what.gpus; },
                 [](const auto&) {},
             },
             note);
}

bool UserNotes::has_share(std::int64_t held) const {
  if (debt) return debt->gpu_ms < 0;
  std::int64_t all = 0;  // thousandths of GPUs
  for (const auto& [type, gpus] : due) all += gpus.steps;
  return all > 0 && held * 1000 >= all;
}

namespace {

WhyCause too_few(const Moment& moment, const UserNotes& notes, JobId job) {
  const TypeMask types = moment.tables().jobs.types[job];
  const std::int64_t gpus = moment.wanted(job).gpus;
  const std::int64_t free = moment.free().of(types);
  const UserId user = moment.tables().jobs.user[job];
  const std::int64_t of_others = moment.usable(types) - moment.held_by(user);
  if (of_others >= gpus && notes.has_share(moment.held_by(user))) return WhyCause::kShare;
  if (free + moment.allocated_later(job) >= gpus) return WhyCause::kPassed;
  return free + moment.down(types) >= gpus ? WhyCause::kDown : WhyCause::kFull;
}

bool is_over_quota(const Moment& moment, JobId job) {
  const Users& users = moment.tables().users;
  const UserId user = moment.tables().jobs.user[job];
  const std::int64_t quota = users.quota_of(user);
  if (quota == 0) return false;
  std::int64_t held = moment.wanted(job).gpus;
  for (UserId other : ids<UserId>(users.size()))
    if (users.group_of(other) == users.group_of(user)) held += moment.held_by(other);
  return held > quota;
}

// Returns whether the job must return to its former GPUs, and there is no room.
bool home_is_taken(const Moment& moment, JobId job) {
  return moment.traits().goes_home &&
         std::ranges::any_of(moment.tables().jobs.last_gang(job), [&](Slice slice) {
           return moment.free().on(slice.node) < slice.gpus;
         });
}

}  // namespace

std::optional<WhyCause> verdict(Moment& moment, const UserNotes& notes, const WaitingJob& waiting) {
  const JobId job = waiting.job;
  const Tables& tables = moment.tables();
  if (tables.jobs.state[job] == JobState::kHeld) {
    return tables.held_until.at(job) == Time::never() ? WhyCause::kHeld : WhyCause::kRetry;
  }
  const bool is_patient = waiting.timer > moment.now();
  switch (moment.fit(job, waiting.since)) {
    case Fit::kTooFew:
      return too_few(moment, notes, job);
    case Fit::kTooLittleCpu:
      return WhyCause::kCpu;
    case Fit::kTooLittleMemory:
      return WhyCause::kMemory;
    case Fit::kReserved:
      return WhyCause::kReserved;
    case Fit::kNever:
      return WhyCause::kNever;
    case Fit::kScattered:
      if (home_is_taken(moment, job)) return WhyCause::kHome;
      return is_patient || moment.is_patient(waiting.since) ? WhyCause::kTimer
                                                            : WhyCause::kScattered;
    case Fit::kFits:
      break;
  }
  if (is_patient) return WhyCause::kTimer;
  if (is_over_quota(moment, job)) return WhyCause::kQuota;
  if (home_is_taken(moment, job)) return WhyCause::kHome;
  if (moment.traits().one_at_a_time && !moment.free().all_free()) return WhyCause::kTurn;
  return std::nullopt;
}

}  // namespace fairlead
