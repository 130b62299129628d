#include "fairlead/model/workload.h"

#include "fairlead/base/check.h"
#include "fairlead/model/job_spec.h"
#include "fairlead/model/levels.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace fairlead {
namespace {

constexpr const char* kGpusRange = "gpus must be from 1 to 1000000";
constexpr const char* kSubmitRange = "submission must be from 0 to 100 years";
constexpr const char* kDurationRange = "duration must be from 1 ms to 100 years";

void count(std::map<std::string, std::int64_t, std::less<>>& counts, std::string_view what) {
  const auto found = counts.find(what);
  if (found != counts.end()) ++found->second;
  if (found == counts.end()) counts.emplace(what, 1);
}

bool has_start(const JobRow& row) { return row.logged.start != Time::never(); }

std::string_view user_name(const JobRow& row) { return row.user.empty() ? "default" : row.user; }

std::string known_levels(const Cluster& cluster) {
  std::string names = "host";
  for (const std::string& level : cluster.levels) names += ", " + level;
  return names;
}

}  // namespace

Status resolve_levels(const Cluster& cluster, Workload& workload) {
  for (const auto& [job, named] : workload.levels) {
    Closeness closeness;
    for (auto [name, level] :
         {std::pair(std::string_view(named.required), &closeness.required),
          std::pair(std::string_view(named.preferred), &closeness.preferred)}) {
      if (name.empty()) continue;
      const std::optional<Level> found = level_named(cluster, name);
      if (!found) {
        return input_error("job {}: the cluster has no level {} (it has {})", workload.names[job],
                           name, known_levels(cluster));
      }
      *level = *found;
    }
    if (closeness.required != kAnywhere && closeness.preferred >= closeness.required) {
      closeness.preferred = kAnywhere;
    }
    workload.jobs.closeness[job] = closeness;
  }
  return {};
}

JobRow row_of(const Workload& workload, JobId job) {
  const Jobs& jobs = workload.jobs;
  const Users& users = workload.users;
  const UserId user = jobs.user[job];
  const ModelId model = jobs.model[job];
  JobRow row = {.id = workload.names[job],
                .user = users.names[user],
                .gpus = jobs.gpus[job],
                .gpus_min = jobs.gpus_min[job],
                .gpus_max = jobs.gpus_max[job],
                .task_gpus = jobs.task_gpus[job],
                .asks = workload.asks_of(job),
                .extras = jobs.extras_of(job),
                .submit = jobs.arrival[job],
                .duration = workload.durations[job],
                .gpu_type = workload.reference_types[job],
                .tickets = users.tickets[user],
                .logged = jobs.logged_of(job),
                .partition = jobs.partition_name(job),
                .qos = workload.qos.name(job),
                .account = workload.accounts.name(job)};
  if (!model.is_none()) row.model = workload.models[model];
  if (const auto types = workload.runs_on.find(job); types != workload.runs_on.end())
    row.runs_on = types->second;
  if (const auto levels = workload.levels.find(job); levels != workload.levels.end()) {
    row.require_level = levels->second.required;
    row.prefer_level = levels->second.preferred;
  }
  if (const GroupId group = users.group_of(user); !group.is_none()) {
    row.group = users.groups.names[group];
    row.group_tickets = users.groups.tickets[group];
    row.group_quota = users.groups.quota[group];
  }
  if (workload.states.has(job) && workload.states[job] > 0)
    row.state = workload.state_words[workload.states[job] - std::size_t{1}];
  return row;
}

// The standard hash may keep its entropy in any bits; the product's upper half has all of it.
std::uint32_t hash_of(std::string_view name) {
  const std::uint64_t product = std::hash<std::string_view>()(name) * 0x9e3779b97f4a7c15;
  return static_cast<std::uint32_t>(product >> 32);
}

JobId JobNames::push_back(std::string_view name) {
  const JobId job(size());
  set(job, name);
  return job;
}

void JobNames::set(JobId job, std::string_view name) {
  Span& span = spans_.grow_to(job);
  FL_CHECK(span.length == 0, "job {} is named twice", job.row());
  span = {bytes_.size(), static_cast<std::uint32_t>(name.size())};
  bytes_ += name;
}

std::string_view JobNames::operator[](JobId job) const {
  const Span span = spans_[job];
  return std::string_view(bytes_).substr(span.begin, span.length);
}

std::int64_t RowCounts::rejected() const {
  return std::accumulate(rows_rejected.begin(), rows_rejected.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& entry) { return sum + entry.second; });
}

std::string Where::text() const {
  if (line == 0) return std::string(file);
  if (column == 0) return fmt::format("{}:{}", file, line);
  return fmt::format("{}:{}:{}", file, line, column);
}

void NameIndex::insert(std::uint32_t hash, std::uint32_t row) {
  if (2 * (used_ + 1) > slots_.size()) {
    const std::vector<Slot> old = std::exchange(slots_, {});
    slots_.resize(std::max<std::size_t>(16, 2 * old.size()));
    for (const Slot& slot : old) {
      if (slot.row != kNone) put(slot);
    }
  }
  FL_CHECK(row != kNone);
  put({hash, row});
  ++used_;
  FL_DCHECK(2 * used_ <= slots_.size(), "{} of {} slots", used_, slots_.size());
}

void NameIndex::put(Slot slot) {
  std::size_t at = slot.hash & (slots_.size() - 1);
  while (slots_[at].row != kNone) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = slot;
}

WorkloadBuilder::WorkloadBuilder(std::string name, Reading reading, Tasks tasks)
    : reading_(reading), tasks_(tasks) {
  workload_.name = std::move(name);
}

Status WorkloadBuilder::add(const JobRow& row, Where where) {
  const Fault fault = fault_of(row);
  if (!fault.reason.empty()) {
    if (fault.column != 0) where.column = fault.column;
    return reject(fault.reason, where, fault.value);
  }
  if (!has_id(row.id)) {
    append(row, row.id);
    return {};
  }
  if (reading_ == Reading::kStrict) {
    if (row.columns.id != 0) where.column = row.columns.id;
    return input_error("{}: this job id occurred before: {}", where.text(), row.id);
  }
  count(workload_.rows.rows_repaired, "duplicate id renamed");
  append(row, unused_id(row.id));
  return {};
}

WorkloadBuilder::Fault WorkloadBuilder::fault_of(const JobRow& row) const {
  const JobRow::Columns& at = row.columns;
  if (row.id.empty()) return {"job id must not be empty", at.id};
  if (row.gpus < 1 || row.gpus > kJobGpusMax)
    return {kGpusRange, at.gpus, fmt::to_string(row.gpus)};
  if (row.gpus_min < 0 || row.gpus_min > row.gpus)
    return {"gpus_min must be from 1 to gpus", at.gpus_min, fmt::to_string(row.gpus_min)};
  if (row.gpus_max != 0 && (row.gpus_max < row.gpus || row.gpus_max > kJobGpusMax))
    return {"gpus_max must be from gpus to 1000000", at.gpus_max, fmt::to_string(row.gpus_max)};
  const auto in_tasks = [&](std::int64_t gpus) { return gpus % row.task_gpus == 0; };
  if (row.task_gpus < 1 || !in_tasks(row.gpus) || !in_tasks(row.gpus_min) ||
      !in_tasks(row.gpus_max))
    return {"task_gpus must divide gpus, gpus_min and gpus_max", at.task_gpus,
            fmt::to_string(row.task_gpus)};
  if (row.submit.ms < 0 || row.submit.ms > kMsMax)
    return {kSubmitRange, at.submit, fmt::format("{} ms", row.submit.ms)};
  if (row.duration.ms < 1 || row.duration.ms > kMsMax)
    return {kDurationRange, at.duration, fmt::format("{} ms", row.duration.ms)};
  if (row.asks.cpus.value < 0 || row.asks.cpus.value > kThousandthsMax)
    return {"cpus must be from 0.001 to 1000000", at.cpus};
  if (row.asks.memory_gb.value < 0 || row.asks.memory_gb.value > kThousandthsMax)
    return {"memory_gb must be from 0.001 to 1000000", at.memory_gb};
  if (Fault fault = logged_fault(row); !fault.reason.empty()) return fault;
  if (Fault fault = extras_fault(row); !fault.reason.empty()) return fault;
  if (row.tickets < 0 || row.tickets > kTicketsMax)
    return {"tickets must be from 1 to 1000000", at.tickets, fmt::to_string(row.tickets)};
  if (Fault fault = user_fault(row); !fault.reason.empty()) return fault;
  return group_fault(row);
}

WorkloadBuilder::Fault WorkloadBuilder::logged_fault(const JobRow& row) const {
  const JobRow::Columns& at = row.columns;
  const Logged& logged = row.logged;
  if (logged.time_limit.ms < 0 || logged.time_limit.ms > kMsMax)
    return {"time limit must be from 1 ms to 100 years", at.time_limit,
            fmt::format("{} ms", logged.time_limit.ms)};
  if (logged.priority < -kPriorityMax || logged.priority > kPriorityMax)
    return {"priority must be from -2^40 to 2^40", at.priority, fmt::to_string(logged.priority)};
  const bool is_early = logged.start < row.submit;
  if (reading_ == Reading::kStrict && (is_early || (logged.start.ms > kMsMax && has_start(row))))
    return {"start must be from the submission to 100 years", at.start,
            fmt::format("{} ms", logged.start.ms)};
  return {};
}

// Readers check the range of each column; this checks rows that a program makes.
WorkloadBuilder::Fault WorkloadBuilder::extras_fault(const JobRow& row) {
  Fault fault;
  JobExtras::each(row.extras, [&](const char* name, auto value, const auto& range) {
    if (value == 0 || range.has(value) || !fault.reason.empty()) return;
    fault = {fmt::format("{} must be from {} to {}", name, range.min, range.max), 0,
             fmt::to_string(value)};
  });
  return fault;
}

namespace {

bool differ(std::int64_t now, std::int64_t before) {
  return now != 0 && before != 0 && now != before;
}

}  // namespace

WorkloadBuilder::Fault WorkloadBuilder::user_fault(const JobRow& row) const {
  const UserId user = find(users_, workload_.users.names, user_name(row));
  if (user.is_none()) return {};
  const std::int64_t before = tickets_[user];
  if (differ(row.tickets, before))
    return {"tickets must be the same in all rows of a user", row.columns.tickets,
            fmt::format("{} after {}", row.tickets, before)};
  const GroupId group = workload_.users.group[user];
  if (row.group.empty() || group.is_none()) return {};
  const std::string_view group_before = workload_.users.groups.names[group];
  if (row.group != group_before)
    return {"a user is in one group", row.columns.group,
            fmt::format("{} after {}", row.group, group_before)};
  return {};
}

WorkloadBuilder::Fault WorkloadBuilder::group_fault(const JobRow& row) const {
  const JobRow::Columns& at = row.columns;
  if (row.group.empty()) {
    if (row.group_tickets == 0 && row.group_quota == 0) return {};
    return {"group_tickets and group_quota need a group", at.group};
  }
  if (row.group_tickets < 0 || row.group_tickets > kTicketsMax)
    return {"group_tickets must be from 1 to 1000000", at.group_tickets,
            fmt::to_string(row.group_tickets)};
  if (row.group_quota < 0 || row.group_quota > kJobGpusMax)
    return {"group_quota must be from 1 to 1000000", at.group_quota,
            fmt::to_string(row.group_quota)};
  const Groups& groups = workload_.users.groups;
  const GroupId group = find(groups_, groups.names, row.group);
  if (group.is_none()) return {};
  if (differ(row.group_tickets, groups.tickets[group]))
    return {"group_tickets must be the same in all rows of a group", at.group_tickets,
            fmt::format("{} after {}", row.group_tickets, groups.tickets[group])};
  if (differ(row.group_quota, groups.quota[group]))
    return {"group_quota must be the same in all rows of a group", at.group_quota,
            fmt::format("{} after {}", row.group_quota, groups.quota[group])};
  return {};
}

bool WorkloadBuilder::has_id(std::string_view id) const {
  const auto equals = [&](std::uint32_t row) { return workload_.names[JobId(row)] == id; };
  return ids_.find(hash_of(id), equals) != NameIndex::kNone;
}

// `id` with the first suffix #2, #3, ... that no job has.
std::string WorkloadBuilder::unused_id(std::string_view id) {
  const auto times = repeats_.try_emplace(std::string(id), 1).first;
  std::string renamed;
  do {
    renamed = fmt::format("{}#{}", id, ++times->second);
  } while (has_id(renamed));
  return renamed;
}

void WorkloadBuilder::append(const JobRow& row, std::string_view id) {
  FL_CHECK(workload_.jobs.size() < NameIndex::kNone, "more jobs than ids");
  ++workload_.rows.rows_read;
  if (!row.repaired.empty()) count(workload_.rows.rows_repaired, row.repaired);
  const auto gpus = static_cast<std::uint32_t>(row.gpus);
  const JobId job = workload_.names.push_back(id);
  ids_.insert(hash_of(id), job.row());
  const ModelId model =
      row.model.empty() ? ModelId::none() : find_or_add(models_, workload_.models, row.model);
  workload_.jobs.set_asked(
      {.job = job,
       .user = user_of(row),
       .gpus = gpus,
       .gpus_min = row.gpus_min == 0 ? gpus : static_cast<std::uint32_t>(row.gpus_min),
       .gpus_max = row.gpus_max == 0 ? gpus : static_cast<std::uint32_t>(row.gpus_max),
       .task_gpus = static_cast<std::uint32_t>(row.task_gpus),
       .extras = row.extras,
       .submit = row.submit,
       .logged = logged_of(row)},
      {.model = model, .partition = partition_of(row)});
  workload_.durations.push_back(row.duration);
  workload_.reference_types.push_back(std::string(row.gpu_type));
  if (!row.state.empty()) append_state(job, row.state);
  if (!row.runs_on.empty()) workload_.runs_on.emplace(job, row.runs_on);
  if (!row.qos.empty())
    workload_.qos.of_job.grow_to(job) = find_or_add(qos_, workload_.qos.names, row.qos);
  if (!row.account.empty())
    workload_.accounts.of_job.grow_to(job) =
        find_or_add(accounts_, workload_.accounts.names, row.account);
  if (row.asks.is_stated()) workload_.asks.grow_to(job) = row.asks;
  if (!row.require_level.empty() || !row.prefer_level.empty()) {
    workload_.levels.emplace(
        job, LevelNames{std::string(row.require_level), std::string(row.prefer_level)});
  }
}

// Clocks differ, and some logs have the last submission of a job that was requeued.
Logged WorkloadBuilder::logged_of(const JobRow& row) {
  Logged logged = row.logged;
  if (has_start(row) && (logged.start < row.submit || logged.start.ms > kMsMax)) {
    logged.start = Time::never();
    count(workload_.rows.rows_repaired, "start before the submission left out");
  }
  return logged;
}

PartitionId WorkloadBuilder::partition_of(const JobRow& row) {
  auto& names = workload_.jobs.partitions;
  if (row.partition.empty()) return {};
  return names.size() < kPartitionsMax ? find_or_add(partitions_, names, row.partition)
                                       : find(partitions_, names, row.partition);
}

// Limits the states: a crafted trace with another column as its state must not fill the memory.
void WorkloadBuilder::append_state(JobId job, std::string_view state) {
  constexpr std::size_t kStatesMax = 32;
  std::vector<std::string>& words = workload_.state_words;
  auto found = std::ranges::find(words, state);
  if (found == words.end() && words.size() >= kStatesMax) state = "other";
  if (found == words.end()) found = std::ranges::find(words, state);
  if (found == words.end()) found = words.emplace(words.end(), state);
  count(workload_.reading.states, state);
  workload_.states.grow_to(job) = static_cast<std::uint8_t>(found - words.begin() + 1);
}

UserId WorkloadBuilder::user_of(const JobRow& row) {
  const UserId user = find_or_add(users_, workload_.users.names, user_name(row));
  if (!tickets_.has(user)) {
    tickets_.push_back(0);
    workload_.users.group.push_back({});
  }
  if (row.tickets != 0) tickets_[user] = row.tickets;
  if (!row.group.empty()) workload_.users.group[user] = group_of(row);
  return user;
}

GroupId WorkloadBuilder::group_of(const JobRow& row) {
  Groups& groups = workload_.users.groups;
  const GroupId group = find_or_add(groups_, groups.names, row.group);
  groups.tickets.grow_to(group);
  groups.quota.grow_to(group);
  if (row.group_tickets != 0) groups.tickets[group] = row.group_tickets;
  if (row.group_quota != 0) groups.quota[group] = row.group_quota;
  return group;
}

Status WorkloadBuilder::reject(std::string_view reason, Where where, std::string_view value) {
  FL_CHECK(!reason.empty(), "{}", where.text());
  if (reading_ == Reading::kStrict && value.empty())
    return input_error("{}: {}", where.text(), reason);
  if (reading_ == Reading::kStrict) return input_error("{}: {}: {}", where.text(), reason, value);
  std::string& first = workload_.rows.first_unusable;
  if (first.empty()) {
    first = fmt::format("{}: {}{}{}", where.text(), reason, value.empty() ? "" : ": ", value);
  }
  leave_out(reason);
  return {};
}

void WorkloadBuilder::skip(std::string_view reason) {
  ++workload_.rows.rows_skipped;
  leave_out(reason);
}

void WorkloadBuilder::leave_out(std::string_view reason) {
  ++workload_.rows.rows_read;
  count(workload_.rows.rows_rejected, reason);
}

Time WorkloadBuilder::first_arrival() const {
  const IdVector<JobId, Time>& arrivals = workload_.jobs.arrival;
  return arrivals.empty() ? Time::never() : *std::min_element(arrivals.begin(), arrivals.end());
}

void WorkloadBuilder::start_at_zero() {
  IdVector<JobId, Time>& arrivals = workload_.jobs.arrival;
  if (arrivals.empty()) return;
  const Duration first = first_arrival() - Time{0};
  workload_.reading.starts_at_ms += first.ms;
  for (Time& arrival : arrivals) arrival = arrival - first;
  for (Logged& logged : workload_.jobs.logged) {
    if (logged.start != Time::never()) logged.start = logged.start - first;
  }
}

Workload WorkloadBuilder::finish() {
  Users& users = workload_.users;
  const auto jobs = static_cast<std::int64_t>(workload_.jobs.size());
  FL_CHECK(users.tickets.empty() && tickets_.size() == users.size(), "finished twice");
  const Jobs& asked = workload_.jobs;
  for (std::size_t rows :
       {asked.model.size(), asked.gpus.size(), asked.gpus_min.size(), asked.gpus_max.size(),
        asked.task_gpus.size(), asked.closeness.size(), asked.arrival.size(), asked.types.size(),
        workload_.names.size(), workload_.durations.size()}) {
    FL_CHECK(rows == asked.size(), "a column of {} rows for {} jobs", rows, asked.size());
  }
  if (!workload_.states.empty()) workload_.states.resize(asked.size());
  FL_CHECK(workload_.rows.rows_read == jobs + workload_.rows.rejected(),
           "{} rows were read, {} are jobs, {} rejected", workload_.rows.rows_read, jobs,
           workload_.rows.rejected());
  for (const std::int64_t tickets : tickets_) {
    users.tickets.push_back(std::max<std::int64_t>(tickets, 1));
  }
  for (const GroupId group : ids<GroupId>(users.groups.size())) {
    users.groups.tickets[group] = std::max<std::int64_t>(users.groups.tickets[group], 1);
  }
  return std::move(workload_);
}

}  // namespace fairlead
