// Fairlead's own format: job,user,model,gpus,submit_s,duration_s and optional gpus_min, gpus_max,
// task_gpus, copies_max, tickets, group, group_tickets, group_quota, gpu_type, runs_on, require_level, prefer_level, state,
// time_limit_s, priority, partition, start_s;
// iterations is accepted and ignored. job, gpus, submit_s and duration_s are required. In strict reading an unknown column is an error.

#include "fairlead/input/csv.h"
#include "fairlead/trace/readers/readers.h"

#include <algorithm>
#include <array>

namespace fairlead {
namespace {

struct Columns {
  CsvReader::Column job, user, model, gpus, gpus_min, gpus_max, task_gpus, copies_max, submit,
      duration, gpu_type, runs_on, require_level, prefer_level, tickets, group, group_tickets,
      group_quota, state, time_limit, priority, partition, start;
};

constexpr std::array<std::string_view, 24> kKnown = {
    "job",        "user",         "model",         "gpus",        "submit_s",      "duration_s",
    "gpus_min",   "gpus_max",     "task_gpus",     "tickets",     "gpu_type",      "runs_on",
    "iterations", "group",        "group_tickets", "group_quota", "require_level", "prefer_level",
    "state",      "time_limit_s", "priority",      "partition",   "start_s",       "copies_max"};

Status check_names(const CsvReader& csv) {
  const auto& names = csv.header();
  for (CsvReader::Column column = 0; column < names.size(); ++column) {
    if (std::find(kKnown.begin(), kKnown.end(), names[column]) == kKnown.end())
      return input_error("{}: unknown column: {}", csv.where(column).text(), names[column]);
  }
  return {};
}

Result<Columns> find_columns(CsvReader& csv) {
  FL_TRY_ASSIGN(job, csv.require("job"));
  FL_TRY_ASSIGN(gpus, csv.require("gpus"));
  FL_TRY_ASSIGN(submit, csv.require("submit_s"));
  FL_TRY_ASSIGN(duration, csv.require("duration_s"));
  return Columns{job,
                 csv.find("user"),
                 csv.find("model"),
                 gpus,
                 csv.find("gpus_min"),
                 csv.find("gpus_max"),
                 csv.find("task_gpus"),
                 csv.find("copies_max"),
                 submit,
                 duration,
                 csv.find("gpu_type"),
                 csv.find("runs_on"),
                 csv.find("require_level"),
                 csv.find("prefer_level"),
                 csv.find("tickets"),
                 csv.find("group"),
                 csv.find("group_tickets"),
                 csv.find("group_quota"),
                 csv.find("state"),
                 csv.find("time_limit_s"),
                 csv.find("priority"),
                 csv.find("partition"),
                 csv.find("start_s")};
}

// An empty field of an optional column stands for its default.
std::int64_t optional_count(CsvReader& csv, CsvReader::Column column, std::int64_t max) {
  return csv.text(column).empty() ? 0 : csv.integer(column, 1, max);
}

JobRow row_of(CsvReader& csv, const Columns& at) {
  JobRow row;
  row.id = csv.text(at.job);
  row.user = csv.text(at.user);
  row.model = csv.text(at.model);
  row.gpus = csv.integer(at.gpus, 1, kJobGpusMax);
  row.gpus_min = optional_count(csv, at.gpus_min, kJobGpusMax);
  row.gpus_max = optional_count(csv, at.gpus_max, kJobGpusMax);
  row.task_gpus = std::max<std::int64_t>(1, optional_count(csv, at.task_gpus, kJobGpusMax));
  row.copies_max = optional_count(csv, at.copies_max, kCopiesMax);
  row.submit = csv.time(at.submit);
  row.duration = csv.duration(at.duration);
  row.gpu_type = csv.text(at.gpu_type);
  row.runs_on = csv.text(at.runs_on);
  row.require_level = csv.text(at.require_level);
  row.prefer_level = csv.text(at.prefer_level);
  row.tickets = optional_count(csv, at.tickets, kTicketsMax);
  row.group = csv.text(at.group);
  row.group_tickets = optional_count(csv, at.group_tickets, kTicketsMax);
  row.group_quota = optional_count(csv, at.group_quota, kJobGpusMax);
  row.state = csv.text(at.state);
  if (!csv.text(at.time_limit).empty()) row.time_limit = csv.duration(at.time_limit);
  if (!csv.text(at.priority).empty())
    row.priority = csv.integer(at.priority, -kPriorityMax, kPriorityMax);
  row.partition = csv.text(at.partition);
  if (!csv.text(at.start).empty()) row.start = csv.time(at.start);
  row.columns = {.id = csv.column_number(at.job),
                 .gpus = csv.column_number(at.gpus),
                 .gpus_min = csv.column_number(at.gpus_min),
                 .gpus_max = csv.column_number(at.gpus_max),
                 .task_gpus = csv.column_number(at.task_gpus),
                 .copies_max = csv.column_number(at.copies_max),
                 .submit = csv.column_number(at.submit),
                 .duration = csv.column_number(at.duration),
                 .tickets = csv.column_number(at.tickets),
                 .group = csv.column_number(at.group),
                 .group_tickets = csv.column_number(at.group_tickets),
                 .group_quota = csv.column_number(at.group_quota),
                 .time_limit = csv.column_number(at.time_limit),
                 .priority = csv.column_number(at.priority),
                 .start = csv.column_number(at.start)};
  return row;
}

bool is_native(const TraceHead& head) { return head.has(',', {"job", "submit_s"}); }

Status read_native(ByteSource& source, const ReadOptions& /*options*/, WorkloadBuilder& builder) {
  CsvReader csv(source);
  FL_TRY(csv.read_header());
  if (builder.reading() == Reading::kStrict) FL_TRY(check_names(csv));
  FL_TRY_ASSIGN(columns, find_columns(csv));
  return add_rows(csv, builder, [&] { return row_of(csv, columns); });
}

}  // namespace

const TraceFormat kNativeFormat = {
    .name = "native",
    .file = "Fairlead's own CSV, described above",
    .needs = "job,gpus,submit_s,duration_s",
    .reading = Reading::kStrict,
    .rank = 2,
    .is = &is_native,
    .read = &read_native,
};

}  // namespace fairlead
