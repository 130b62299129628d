#include "fairlead/trace/select.h"

#include "fairlead/base/hash.h"
#include "fairlead/base/nearest.h"
#include "fairlead/base/parse.h"
#include "fairlead/base/rng.h"
#include "fairlead/base/time_text.h"
#include "fairlead/input/civil_time.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fairlead {
namespace {

// From 0 to below 1, of user and id: the first draw of a stream that they seed.
double place_in_samples(std::string_view user, std::string_view id) {
  std::uint64_t hash = kHashStart;
  for (const std::string_view text : {user, id}) {
    hash = hash_bytes(hash ^ text.size(),
                      {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  }
  return Rng(hash).uniform();
}

Result<Time> on_the_traces_clock(const Workload& workload, const TraceTime& time,
                                 std::string_view flag) {
  if (!time.is_civil) return time.time;
  if (workload.reading.times.empty())
    return input_error(
        "{} is a calendar time, and the times of {} count from a start: give seconds", flag,
        workload.name);
  return time.time - Duration{workload.reading.starts_at_ms};
}

Status check_users(const Workload& workload, const std::vector<std::string>& users) {
  const auto& names = workload.users.names;
  for (const std::string& user : users) {
    if (std::find(names.begin(), names.end(), user) != names.end()) continue;
    const std::vector<std::string_view> known(names.begin(), names.end());
    return input_error("--users: no job of {} in {}{}", user, workload.name,
                       did_you_mean(known, user));
  }
  return {};
}

struct Window {
  Time from{std::numeric_limits<std::int64_t>::min()};
  Time to = Time::never();
};

// Returns the reason to leave the row out; empty: none.
std::string_view reason_against(const JobRow& row, const Window& window,
                                const Selection& selection) {
  if (row.submit < window.from) return "left out by --from";
  if (row.submit >= window.to) return "left out by --to";
  if (!selection.users.empty() &&
      std::ranges::find(selection.users, row.user) == selection.users.end())
    return "left out by --users";
  const bool sampled =
      selection.sample >= 1 || place_in_samples(row.user, row.id) < selection.sample;
  return sampled ? std::string_view() : "left out by --sample";
}

}  // namespace

Result<TraceTime> parse_trace_time(std::string_view text) {
  if (const auto ms = parse_seconds(text)) return TraceTime{{*ms}};
  if (const auto civil = parse_civil_time(text, DayOrder::kUnknown))
    return TraceTime{civil->time, true};
  if (const auto s = parse_span_s(text)) return TraceTime{{std::llround(*s * 1000)}};
  return input_error(
      "must be seconds, a length of time or a date, such as 3600, 2h or 2026-01-31: {}", text);
}

Result<Workload> select_jobs(Workload workload, const Selection& selection) {
  if (selection == Selection()) return workload;
  FL_TRY(check_users(workload, selection.users));
  Window window;
  if (selection.from) {
    FL_TRY_ASSIGN(from, on_the_traces_clock(workload, *selection.from, "--from"));
    window.from = from;
  }
  if (selection.to) {
    FL_TRY_ASSIGN(to, on_the_traces_clock(workload, *selection.to, "--to"));
    window.to = to;
  }
  WorkloadBuilder builder(workload.name, Reading::kStrict);
  RowCounts rows = std::move(workload.rows);
  for (const JobId job : ids<JobId>(workload.jobs.size())) {
    const JobRow row = row_of(workload, job);
    const std::string_view reason = reason_against(row, window, selection);
    if (reason.empty()) {
      FL_TRY(builder.add(row, Where(workload.name)));
    } else {
      ++rows.rows_rejected[std::string(reason)];
      ++rows.rows_skipped;
    }
  }
  Workload selected = builder.finish();
  selected.rows = std::move(rows);
  std::swap(workload.reading.states, selected.reading.states);
  selected.reading = std::move(workload.reading);
  return selected;
}

void anonymise(Workload& workload) {
  JobNames names;
  names.reserve(workload.jobs.size());
  for (const JobId job : ids<JobId>(workload.jobs.size()))
    names.push_back(fmt::format("j{}", job.row() + 1));
  workload.names = std::move(names);
  // Rows of users and groups are in the order in which they appeared.
  for (const UserId user : ids<UserId>(workload.users.size()))
    workload.users.names[user] = fmt::format("u{}", user.row() + 1);
  for (const GroupId group : ids<GroupId>(workload.users.groups.size()))
    workload.users.groups.names[group] = fmt::format("g{}", group.row() + 1);
  for (const PartitionId partition : ids<PartitionId>(workload.jobs.partitions.size()))
    workload.jobs.partitions[partition] = fmt::format("p{}", partition.row() + 1);
  for (const auto& [labels, letter] : {std::pair(&workload.qos, 'q'), {&workload.accounts, 'a'}}) {
    for (const LabelId label : ids<LabelId>(labels->names.size()))
      labels->names[label] = fmt::format("{}{}", letter, label.row() + 1);
  }
  workload.reading.times.clear();
  workload.reading.starts_at_ms = 0;
}

}  // namespace fairlead
