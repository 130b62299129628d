// Output of Slurm's sacct with at least JobID, Submit, ElapsedRaw or Elapsed, and AllocTRES or ReqTRES. It may be
// written with --parsable, --parsable2 or --delimiter, or in columns of fixed width under dashes, where a truncated
// list makes a bad row. slurm_json.cc reads --json. Steps (ids with a dot) are not jobs; jobs that still wait or run
// are left out. Times have no zone and are taken as UTC, or are Unix times (SLURM_TIME_FORMAT=%s). A job counts with
// its running time, however it ended. State, if present, is the end; without it, jobs that still run count as well
// (leave them out by sacct --state). Elapsed 0: never started. Start, TimelimitRaw or Timelimit, Priority and Partition
// are kept for policies that stand for Slurm.

#include "fairlead/base/parse.h"
#include "fairlead/input/civil_time.h"
#include "fairlead/input/csv.h"
#include "fairlead/trace/readers/readers.h"
#include "fairlead/trace/readers/slurm.h"
#include "fairlead/trace/states.h"

#include <algorithm>
#include <optional>

namespace fairlead {
namespace {

constexpr std::string_view kNeeds = "JobID,User,Submit,ElapsedRaw,AllocTRES,State";

struct Columns {
  CsvReader::Column job, user, submit, elapsed_raw, elapsed, allocated, requested, state, start,
      limit_raw, limit, priority, partition;
};

Result<Columns> find_columns(CsvReader& csv) {
  FL_TRY_ASSIGN(job, csv.require("JobID"));
  FL_TRY_ASSIGN(submit, csv.require("Submit"));
  FL_TRY(csv.require({"ElapsedRaw", "Elapsed"}));
  FL_TRY(csv.require({"AllocTRES", "ReqTRES"}));
  const auto user = csv.require({"User", "Account"});
  return Columns{job,
                 user.value_or(CsvReader::kMissing),
                 submit,
                 csv.find("ElapsedRaw"),
                 csv.find("Elapsed"),
                 csv.find("AllocTRES"),
                 csv.find("ReqTRES"),
                 csv.find("State"),
                 csv.find("Start"),
                 csv.find("TimelimitRaw"),
                 csv.find("Timelimit"),
                 csv.find("Priority"),
                 csv.find("Partition")};
}

class SacctRows {
 public:
  SacctRows(CsvReader& csv, const Columns& at) : csv_(csv), at_(at) {}

  JobRow row() {
    JobRow row;
    row.id = csv_.text(at_.job);
    if (row.id.find('.') != row.id.npos) csv_.skip("job step");
    row.state = state_word(csv_.text(at_.state));
    if (is_unfinished(row.state)) csv_.skip("not ended");
    const bool allocated = !csv_.text(at_.allocated).empty();
    const CsvReader::Column resources = allocated ? at_.allocated : at_.requested;
    const SlurmGpus gpus = slurm_gpus(csv_.text(resources));
    if (gpus.cut) csv_.fault(resources, "was cut off: sacct --parsable2 writes all of it");
    if (gpus.bad) csv_.fault(resources, "must name whole GPUs");
    row.gpus = gpus.count();
    if (row.gpus == 0) return row;
    row.gpu_type = gpus.type;
    row.user = csv_.text(at_.user);
    row.submit = submitted();
    const CsvReader::Column elapsed =
        at_.elapsed_raw == CsvReader::kMissing ? at_.elapsed : at_.elapsed_raw;
    row.duration = at_.elapsed_raw == CsvReader::kMissing ? clock_length() : csv_.duration(elapsed);
    if (row.duration.ms == 0) csv_.skip("never started");
    take_logged(row);
    row.columns.id = csv_.column_number(at_.job);
    row.columns.duration = csv_.column_number(elapsed);
    return row;
  }

  bool has_unix_times() const { return has_unix_times_; }

 private:
  Time submitted() {
    const std::optional<Time> unix_time = as_unix_time(csv_.text(at_.submit));
    has_unix_times_ = has_unix_times_ || unix_time;
    return unix_time ? *unix_time : csv_.utc_time(at_.submit);
  }

  static std::optional<Time> as_unix_time(std::string_view text) {
    constexpr Time kYear2000 = {946'684'800'000};
    const Parsed<std::int64_t> ms = parse_seconds(text);
    return ms && Time{*ms} >= kYear2000 ? std::optional(Time{*ms}) : std::nullopt;
  }

  // Reads optional fields; a field that is not understood is ignored ("Partition_Limit", "Unknown").
  void take_logged(JobRow& row) {
    row.logged.time_limit = limit();
    const Parsed<std::int64_t> priority = parse_integer(csv_.text(at_.priority));
    if (priority && *priority >= 0 && *priority <= kPriorityMax) row.logged.priority = *priority;
    row.partition = csv_.text(at_.partition);
    const std::string_view start = csv_.text(at_.start);
    if (const auto unix_time = as_unix_time(start)) {
      row.logged.start = *unix_time;
    } else if (const auto civil = parse_civil_time(start, DayOrder::kUnknown)) {
      row.logged.start = civil->time;
    }
  }

  Duration limit() const {
    const Parsed<std::int64_t> minutes = parse_integer(csv_.text(at_.limit_raw));
    if (minutes && *minutes > 0 && *minutes <= kMsMax / 60'000) return seconds(*minutes * 60);
    const Parsed<std::int64_t> ms = parse_clock_length(csv_.text(at_.limit), true);
    return {ms && *ms > 0 && *ms <= kMsMax ? *ms : 0};
  }

  // Parses "[days-]hours:minutes:seconds", the format of Elapsed.
  Duration clock_length() {
    if (csv_.bad()) return {};
    const Parsed<std::int64_t> ms = parse_clock_length(csv_.text(at_.elapsed), true);
    if (!ms) csv_.fault(at_.elapsed, ms.error());
    return {ms.value_or(0)};
  }

  CsvReader& csv_;
  Columns at_;
  bool has_unix_times_ = false;
};

bool is_sacct(const TraceHead& head) {
  if (head.first_byte() == '{') return head.mentions("\"jobs\"");
  if (head.is_ruled()) return head.has(' ', {"JobID"});
  const char separator = head.separator();
  if (!head.has(separator, {"JobID"})) return false;
  constexpr std::string_view kOwn[] = {"ElapsedRaw", "AllocTRES", "ReqTRES", "AllocCPUS"};
  return std::ranges::any_of(kOwn,
                             [&](std::string_view name) { return head.has(separator, {name}); });
}

Status read_sacct(ByteSource& source, const ReadOptions& /*options*/, WorkloadBuilder& builder) {
  constexpr std::size_t kHeadBytes = 1 << 14;
  FL_TRY_ASSIGN(bytes, source.peek(kHeadBytes));
  const TraceHead head(bytes);
  if (head.first_byte() == '{') return read_slurm_json(source, builder);
  const bool ruled = head.is_ruled();
  // sacct does not quote; only spreadsheets and similar programs do.
  const char separator = ruled ? '|' : head.separator();
  CsvReader csv(source, {.separator = separator, .quotes = separator != '|', .ruled = ruled});
  FL_TRY(csv.read_header());
  auto columns = find_columns(csv);
  if (!columns) {
    return input_error("{}; ask sacct for -o {}", columns.error().message, kNeeds);
  }
  SacctRows rows(csv, *columns);
  FL_TRY(add_rows(csv, builder, [&] { return rows.row(); }));
  builder.say_times(rows.has_unix_times() ? "Unix times"
                                          : "calendar times without a zone, taken as UTC");
  builder.start_at_zero();
  return {};
}

}  // namespace

const TraceFormat kSacctFormat = {
    .name = "sacct",
    .file =
        "Slurm: `sacct --allusers --allocations --parsable2 --starttime 2026-01-01 --state "
        "CD,F,CA,TO,NF,OOM,PR -o "
        "JobID,User,Submit,Start,ElapsedRaw,TimelimitRaw,Partition,AllocTRES,State`; needed are "
        "JobID, "
        "Submit, ElapsedRaw or Elapsed, and AllocTRES or ReqTRES; also `--parsable`, another "
        "`--delimiter`, `--json`, and columns of fixed width; a job counts with the time that it "
        "ran, however it ended",
    .needs = kNeeds,
    .reading = Reading::kLenient,
    .rank = 1,
    .is = &is_sacct,
    .read = &read_sacct,
};

}  // namespace fairlead
