#include "fairlead/local/start_conditions.h"

#include "fairlead/base/overloaded.h"
#include "fairlead/engine/idle_gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace fairlead {
namespace {

// `is_urgent`: the job `block.by` is.
std::string block_text(const StartBlock& block, std::string_view user, std::uint32_t gpus,
                       bool is_urgent) {
  const std::string whose = block.group.empty() ? std::string(user) : "the group " + block.group;
  switch (block.cause) {
    case StartBlock::Cause::kPriority:
      return fmt::format("after job {}, which {}", block.by.row(),
                         is_urgent ? "is urgent" : "has a higher priority");
    case StartBlock::Cause::kTooLarge:
      return fmt::format("when {} may have {} GPUs at once; the limit is {}", whose, gpus,
                         block.gpus_max);
    case StartBlock::Cause::kLimit:
      break;
  }
  return fmt::format("when other jobs of {} leave room in the limit of {} GPUs", whose,
                     block.gpus_max);
}

// `by`: the job that gets the room first; none: the job itself.
std::string machine_text(const Submission& what, StartConditions::Room where, JobId by) {
  const bool is_memory = where == StartConditions::Room::kHost;
  if (!by.is_none()) {
    return fmt::format("after job {}, which comes first and waits for {} of the machine", by.row(),
                       is_memory ? "memory" : "processors");
  }
  return is_memory ? fmt::format("when other jobs leave it {:g} GB of the machine's memory",
                                 what.memory_mb / 1000.0)
                   : fmt::format("when other jobs leave it {:g} of the machine's processors",
                                 what.cpu_milli / 1000.0);
}

}  // namespace

Status StartConditions::load() {
  FL_TRY(limits_.load());
  return group_limits_.load();
}

void StartConditions::add(JobId job, Submission& what) {
  const Jobs& jobs = tables_.jobs;
  add(job, entry_of(what, jobs.user[job], jobs.gpus[job], jobs.extras_of(job), jobs.types[job]));
  if (!is_held_open(tables_, job)) {
    if (what.is_held || !what.after.empty()) due_.insert(job);
    return;
  }
  due_.insert(job);
  if (what.is_current) return;
  what.is_held = what.is_held || what.after.empty();
  write(job, what);
}

void StartConditions::add_new(const JobSpec& asked, Submission& what) {
  add(asked.job, entry_of(what, asked.user, asked.gpus_max, asked.extras, asked.types));
  due_.insert(asked.job);
}

StartConditions::Entry StartConditions::entry_of(Submission& what, UserId user, std::uint32_t gpus,
                                                 const JobExtras& extras, TypeMask types) const {
  const std::uint32_t copies = extras.most_copies(tables_.cluster.nodes());
  return {.what = &what, .user = user, .gpus = gpus, .gpus_max = gpus * copies, .types = types};
}

void StartConditions::add(JobId job, const Entry& entry) {
  jobs_[job] = entry;
  User& user = users_[entry.user];
  const bool is_first = user.jobs.empty();
  if (is_first) user.name = io_.user_name(entry.what->uid);
  user.jobs.emplace(entry.what->priority, job);
  if (is_first) find_groups(user);
  if (has_order(user)) users_due_.insert(entry.user);
  groups_due_ = groups_due_ || !user.groups.empty();
  if (entry.what->priority == Priority::kUrgent && entry.gpus > 0) urgent_.insert(job);
  urgent_due_ = urgent_due_ || has_urgent();
  if (!entry.what->after.empty()) dependent_.insert(job);
}

void StartConditions::remove(JobId job) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  on_change(job);
  const auto user = users_.find(found->second.user);
  user->second.jobs.erase({found->second.what->priority, job});
  if (user->second.jobs.empty()) {
    users_due_.erase(user->first);
    users_.erase(user);
  }
  jobs_.erase(found);
  dependent_.erase(job);
  due_.erase(job);
  tried_now_.erase(job);
  group_blocked_.erase(job);
  urgent_.erase(job);
  for (const Room where : kRooms) without_room_.erase({job, where});
}

// Looks up the user's groups. REQUIRES: the user has a job.
void StartConditions::find_groups(User& user) const {
  user.groups.clear();
  std::vector<std::string> limited = group_limits_.names();
  if (limited.empty()) return;
  const Submission& what = *jobs_.at(user.jobs.begin()->second).what;
  const std::vector<std::string> groups = io_.group_names(what.uid, what.gid);
  for (std::string& group : limited) {
    if (std::ranges::find(groups, group) != groups.end()) user.groups.push_back(std::move(group));
  }
}

const StartBlock* StartConditions::block_of(JobId job, const User& user) const {
  if (const auto own = user.order.blocked().find(job); own != user.order.blocked().end())
    return &own->second;
  for (const auto* blocked : {&group_blocked_, &urgent_order_.blocked()}) {
    if (const auto found = blocked->find(job); found != blocked->end()) return &found->second;
  }
  return nullptr;
}

std::string StartConditions::text(JobId job) const {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return {};
  const Entry& entry = found->second;
  std::string after = dependencies_text(entry.what->after, tables_);
  if (!after.empty() || entry.what->is_held) return after;
  for (const Room where : {Room::kHost, Room::kProcessors}) {
    const auto lacking = without_room_.find({job, where});
    if (lacking != without_room_.end()) return machine_text(*entry.what, where, lacking->second);
  }
  if (lacks(job, Room::kGpus)) {
    return fmt::format("when {} has {:g} GB of memory free beside the jobs that stay there",
                       entry.gpus == 1 ? "a GPU" : fmt::format("each of {} GPUs", entry.gpus),
                       entry.what->gpu_memory_mb / 1000.0);
  }
  if (lacks(job, Room::kReserved)) return "when its GPUs are no longer reserved for another user";
  const User& user = users_.at(entry.user);
  const StartBlock* const block = block_of(job, user);
  if (block == nullptr) return {};
  return block_text(*block, user.name, entry.gpus_max, urgent_.contains(block->by));
}

Status StartConditions::set_held(JobId job, bool is_held) {
  Submission& what = *jobs_.at(job).what;
  due_.insert(job);
  on_change(job);
  if (is_held) {
    tried_now_.erase(job);
  } else {
    tried_now_.insert(job);
  }
  if (what.is_held == is_held) return {};
  what.is_held = is_held;
  Status status = io_.write(submission_file(job), submission_text(what));
  if (!status) what.is_held = !is_held;
  return status;
}

Status StartConditions::set_priority(JobId job, Priority priority) {
  const Entry& entry = jobs_.at(job);
  Submission& what = *entry.what;
  const Priority before = std::exchange(what.priority, priority);
  if (before == priority) return {};
  if (Status status = io_.write(submission_file(job), submission_text(what)); !status) {
    what.priority = before;
    return status;
  }
  User& user = users_.at(entry.user);
  user.jobs.erase({before, job});
  user.jobs.emplace(priority, job);
  urgent_.erase(job);
  if (priority == Priority::kUrgent && entry.gpus > 0) urgent_.insert(job);
  users_due_.insert(entry.user);
  urgent_due_ = true;
  return {};
}

void StartConditions::set_has_room(JobId job, Room where, bool has_room, JobId by) {
  if (!jobs_.contains(job)) return;
  const std::pair key(job, where);
  const bool is_change =
      has_room ? without_room_.erase(key) > 0 : without_room_.insert_or_assign(key, by).second;
  if (!is_change) return;
  due_.insert(job);
  on_change(job);
}

bool StartConditions::needs_only_the_machine(JobId job) const {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return false;
  const Entry& entry = found->second;
  return !entry.what->is_held && !has_unmet(job, *entry.what) && !lacks(job, Room::kGpus) &&
         !lacks(job, Room::kReserved) && block_of(job, users_.at(entry.user)) == nullptr;
}

Status StartConditions::set_gpus_max(std::string_view user, std::uint32_t gpus_max) {
  FL_TRY(limits_.set_gpus_max(user, gpus_max));
  for (const auto& [id, one] : users_) {
    if (one.name == user) users_due_.insert(id);
  }
  return {};
}

Status StartConditions::set_group_gpus_max(std::string_view group, std::uint32_t gpus_max) {
  FL_TRY(group_limits_.set_gpus_max(group, gpus_max));
  for (auto& [id, user] : users_) find_groups(user);
  groups_due_ = true;
  return {};
}

std::vector<StartConditions::Group> StartConditions::groups() const {
  std::vector<Group> groups;
  for (const std::string& name : group_limits_.names()) {
    Group& group = groups.emplace_back();
    group.limit = {.name = name, .gpus_max = group_limits_.gpus_max(name)};
    for (const auto& [id, user] : users_) {
      if (id.row() >= tables_.users.size()) continue;  // its first job is in the next batch
      if (std::ranges::find(user.groups, name) != user.groups.end()) group.users.push_back(id);
    }
  }
  return groups;
}

void StartConditions::on(const Record& record) {
  std::visit(
      Overloaded{
          [&](const OneOf<record::Finished, record::Failed, record::Cancelled, record::Held> auto&
                  what) {
            has_ends_ = true;
            on_change(what.job);
            on_gpus();
          },
          [&](const record::Rejected& what) {
            has_ends_ = true;
            on_change(what.asked.job);
          },
          [&](const record::Arrived& what) { on_change(what.asked.job); },
          [&](const OneOf<record::Released, record::Place, record::Stop> auto& what) {
            on_change(what.job);
          },
          [&](const OneOf<record::Evicted, record::StartFailed> auto& what) {
            on_change(what.job);
            on_gpus();
          },
          [&](const OneOf<record::Stopped, record::GpusDown, record::GpusUp, record::Cordoned,
                          record::Closed, record::Uncordoned> auto&) { on_gpus(); },
          [](const auto&) {},
      },
      record.what);
}

void StartConditions::on_change(JobId job) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  const User& user = users_.at(found->second.user);
  groups_due_ = groups_due_ || !user.groups.empty();
  urgent_due_ = urgent_due_ || has_urgent();
  if (has_order(user) || !user.order.blocked().empty()) users_due_.insert(found->second.user);
}

void StartConditions::on_gpus() {
  urgent_due_ = urgent_due_ || has_urgent();
  for (const auto& [id, user] : users_) {
    if (has_order(user)) users_due_.insert(id);
  }
}

Time StartConditions::deadline() const {
  if (is_due()) return Time{};
  Time next = urgent_order_.due();
  for (const auto& [id, user] : users_) {
    next = std::min(next, user.order.due());
  }
  return next;
}

bool StartConditions::has_order(const User& user) const {
  const bool has_priorities =
      !user.jobs.empty() && user.jobs.begin()->first != user.jobs.rbegin()->first;
  return has_priorities || limits_.gpus_max(user.name) > 0;
}

void StartConditions::update(Time now) {
  for (auto& [id, user] : users_) {
    if (user.order.due() <= now) users_due_.insert(id);
  }
  if (std::exchange(has_ends_, false)) {
    for (const JobId job : dependent_) {
      due_.insert(job);
      on_change(job);  // it takes part in its user's order once its conditions are met
    }
  }
  for (const UserId id : std::exchange(users_due_, {})) {
    User& user = users_.at(id);
    user.order.update(now, ordered_jobs(user), limits_.gpus_max(user.name), tables_);
    for (const auto& [priority, job] : user.jobs) due_.insert(job);
    groups_due_ = groups_due_ || !user.groups.empty();
    urgent_due_ = urgent_due_ || has_urgent();
  }
  if (std::exchange(groups_due_, false)) {
    update_groups();
    urgent_due_ = urgent_due_ || has_urgent();
  }
  urgent_due_ = urgent_due_ || urgent_order_.due() <= now;
  if (std::exchange(urgent_due_, false)) update_urgent(now);
  for (const JobId job : std::exchange(due_, {})) judge(job);
  tried_now_.clear();
}

// Returns the jobs that no other condition holds.
std::vector<OrderedJob> StartConditions::ordered_jobs(const User& user) const {
  std::vector<OrderedJob> ordered;
  for (const auto& [priority, job] : user.jobs) {
    const Entry& entry = jobs_.at(job);
    if (entry.gpus == 0 || (!is_new(job) && !tables_.jobs.is_here(job))) continue;
    if (entry.what->is_held || has_unmet(job, *entry.what) || lacks_memory(job)) continue;
    if (lacks(job, Room::kReserved)) continue;
    ordered.push_back({.job = job,
                       .priority = static_cast<std::int64_t>(priority),
                       .gpus = entry.gpus_max,
                       .state = state_in_order(tables_, job),
                       .can_run = can_run(job, entry)});
  }
  return ordered;
}

void StartConditions::update_groups() {
  for (const auto& [job, block] : group_blocked_) due_.insert(job);
  std::vector<JobLimit> limits;
  std::vector<GroupedUser> grouped;
  for (Group& group : groups()) limits.push_back(std::move(group.limit));
  for (const auto& entry : users_) {
    const User& user = entry.second;
    if (user.groups.empty()) continue;
    GroupedUser& one = grouped.emplace_back();
    one.jobs = ordered_jobs(user);
    std::erase_if(one.jobs,
                  [&](const OrderedJob& job) { return user.order.blocked().contains(job.job); });
    for (std::size_t i = 0; i < limits.size(); ++i) {
      if (std::ranges::find(user.groups, limits[i].name) != user.groups.end())
        one.groups.push_back(i);
    }
  }
  group_blocked_ = group_order(std::move(grouped), limits);
  for (const auto& [job, block] : group_blocked_) due_.insert(job);
}

// Orders the jobs that no other rule blocks.
void StartConditions::update_urgent(Time now) {
  const auto judge_blocked = [&] {
    for (const auto& [job, block] : urgent_order_.blocked()) {
      if (jobs_.contains(job)) due_.insert(job);
    }
  };
  judge_blocked();
  std::vector<OrderedJob> ordered;
  for (const auto& [id, user] : users_) {
    if (urgent_.empty()) break;
    for (OrderedJob& one : ordered_jobs(user)) {
      if (user.order.blocked().contains(one.job) || group_blocked_.contains(one.job)) continue;
      one.priority = urgent_.contains(one.job) ? 1 : 0;
      ordered.push_back(one);
    }
  }
  urgent_order_.update(now, std::move(ordered), 0, tables_);
  judge_blocked();
}

bool StartConditions::can_run(JobId job, const Entry& entry) const {
  return usable_gpus(tables_, job, entry.types) >= entry.gpus;
}

// The tables have none of the jobs of the same batch, which a new job may start after.
bool StartConditions::has_unmet(JobId job, const Submission& what) const {
  return !what.after.empty() && (is_new(job) || !are_met(what.after, tables_));
}

void StartConditions::judge(JobId job) {
  const Entry& entry = jobs_.at(job);
  Submission& what = *entry.what;
  if (!is_new(job)) {
    if (!tables_.jobs.is_here(job)) return;
    if (const JobId bad = broken_by(what.after, tables_); !bad.is_none()) {
      std::string reason = fmt::format("job {} had to end well first, but is {}", bad.row(),
                                       state_name(tables_.jobs.state[bad]));
      return inbox_.add(
          {.kind = EventKind::kCancelled, .job = job, .reason = inbox_.keep(std::move(reason))});
    }
  }
  const bool must_wait = what.is_held || has_unmet(job, what) || lacks_room(job) ||
                         block_of(job, users_.at(entry.user)) != nullptr;
  const bool waits = is_held_open(tables_, job);
  const bool is_tried_now = tried_now_.contains(job) && tables_.jobs.state[job] == JobState::kHeld;
  if (must_wait && !waits) {
    if (!what.is_current) write(job, what);
    inbox_.add({.kind = EventKind::kHeld, .job = job});
  } else if (!must_wait && (waits || is_tried_now)) {
    inbox_.add({.kind = EventKind::kReleased, .job = job});
  }
}

// Otherwise a later daemon takes a hold of this one for its user's.
void StartConditions::write(JobId job, Submission& what) {
  what.is_current = true;
  if (Status status = io_.write(submission_file(job), submission_text(what)); !status)
    disk_ = std::move(status);
}

}  // namespace fairlead
