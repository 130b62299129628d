// Output of Slurm's sacct with at least JobID, Submit, ElapsedRaw or Elapsed, and AllocTRES, ReqTRES, AllocGRES or
// ReqGRES. It may be written with --parsable, --parsable2 or --delimiter, or in columns of fixed width under dashes,
// where a truncated list makes a bad row. sacct_json.cc reads --json. Steps (ids with a dot) are not jobs; jobs that
// still wait or run are left out. Times have no zone and are taken as UTC if --utc-offset does not give it, or are Unix
// times (SLURM_TIME_FORMAT=%s). A job counts with its running time, however it ended. State, if present, is the end;
// without it, jobs that still run count as well (leave them out by sacct --state). Two rows of one id are two runs of a
// job that was requeued. Start, TimelimitRaw or Timelimit, Priority and Partition are kept for policies that stand for
// Slurm, QOS and Account for its limits; ReqTRES, else AllocTRES, ReqCPUS and ReqMem have its CPUs and memory; the type in ReqTRES, Partition and Constraints are where the job may run.

#include "fairlead/base/parse.h"
#include "fairlead/input/civil_time.h"
#include "fairlead/input/csv.h"
#include "fairlead/trace/readers/readers.h"
#include "fairlead/trace/readers/sacct_json.h"
#include "fairlead/trace/readers/sacct_runs.h"
#include "fairlead/trace/states.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace fairlead {
namespace {

constexpr std::string_view kNeeds = "JobID,User,Submit,ElapsedRaw,AllocTRES,State";

struct Columns {
  CsvReader::Column job, user, submit, elapsed_raw, elapsed, allocated, requested, allocated_gres,
      requested_gres, cpus, memory, nodes, state, start, end, limit_raw, limit, priority, partition,
      features, qos, account;
};

Result<Columns> find_columns(CsvReader& csv) {
  FL_TRY_ASSIGN(job, csv.require("JobID"));
  FL_TRY_ASSIGN(submit, csv.require("Submit"));
  FL_TRY(csv.require({"ElapsedRaw", "Elapsed"}));
  FL_TRY(csv.require({"AllocTRES", "ReqTRES", "AllocGRES", "ReqGRES"}));
  const auto user = csv.require({"User", "Account"});
  return Columns{job,
                 user.value_or(CsvReader::kMissing),
                 submit,
                 csv.find("ElapsedRaw"),
                 csv.find("Elapsed"),
                 csv.find("AllocTRES"),
                 csv.find("ReqTRES"),
                 csv.find("AllocGRES"),
                 csv.find("ReqGRES"),
                 csv.require({"ReqCPUS", "AllocCPUS", "NCPUS"}).value_or(CsvReader::kMissing),
                 csv.find("ReqMem"),
                 csv.find("NNodes"),
                 csv.find("State"),
                 csv.find("Start"),
                 csv.find("End"),
                 csv.find("TimelimitRaw"),
                 csv.find("Timelimit"),
                 csv.find("Priority"),
                 csv.find("Partition"),
                 csv.find("Constraints"),
                 csv.find("QOS"),
                 csv.find("Account")};
}

class SacctRows {
 public:
  SacctRows(CsvReader& csv, const Columns& at, const ReadOptions& options, bool with_tasks)
      : csv_(csv), at_(at), options_(options), with_tasks_(with_tasks) {}

  // REQUIRES: the row that it returned before is no longer used.
  JobRow row() {
    JobRow row;
    row.id = csv_.text(at_.job);
    if (row.id.find('.') != row.id.npos) csv_.skip("job step");
    const std::string_view state = csv_.text(at_.state);
    row.state = state_word(state);
    if (is_unfinished(state) && row.state != kSlurmRequeued) csv_.skip("not ended");
    const SlurmJobGpus gpus = gpus_of_job();
    const Duration ran = elapsed();
    const std::string_view no_job = slurm_no_job(state, gpus, csv_.bad() ? seconds(1) : ran);
    if (!no_job.empty() && !csv_.bad()) csv_.skip(no_job);
    row.gpus = gpus.either().count();
    if (row.gpus == 0 || csv_.bad()) return row;
    row.task_gpus = with_tasks_ ? gpus.task_gpus() : 1;
    row.asks = asks_of(gpus);
    row.gpu_type = gpus.either().type;
    row.user = csv_.text(at_.user);
    row.submit = submitted();
    row.duration = ran;
    if (!csv_.bad()) row.id = runs_.name(row.id, row.repaired);
    take_logged(row);
    runs_on_ = slurm_runs_on(options_, gpus, row.partition, csv_.text(at_.features));
    row.runs_on = runs_on_;
    row.columns.id = csv_.column_number(at_.job);
    row.columns.duration = csv_.column_number(elapsed_column());
    return row;
  }

  std::string times() const {
    if (has_unix_times_) return "Unix times";
    if (options_.utc_offsets.steps.empty()) return "calendar times without a zone, taken as UTC";
    return fmt::format("calendar times of {}", options_.utc_offsets.text());
  }
  // Error: the clock changed within the log, and the offsets from UTC are not known.
  Status verdict(std::string_view file) const {
    if (clock_changes_ == 0) return {};
    return input_error(
        "{}: the clock changed within this log, and its times have no zone: {} job{} ran an hour "
        "more or less than from start to end, such as {}; ask with SLURM_TIME_FORMAT=%s sacct "
        "..., or give the offsets from UTC: --utc-offset "
        "+02:00,2026-10-25T03:00:00=+01:00",
        file, clock_changes_, clock_changes_ == 1 ? "" : "s", changed_in_);
  }

 private:
  SlurmJobGpus gpus_of_job() {
    SlurmJobGpus gpus;
    gpus.requested = list(at_.requested, at_.requested_gres, gpus.has_requested);
    gpus.allocated = list(at_.allocated, at_.allocated_gres, gpus.has_allocated);
    const Parsed<std::int64_t> nodes = parse_integer(csv_.text(at_.nodes));
    if (nodes && *nodes > 0) gpus.allocated.nodes = *nodes;
    return gpus;
  }

  // Returns the amounts in the lists, else those in columns of their own. ReqMem may be for each node or CPU: "4Gn", "4Gc".
  CpuMemory asks_of(const SlurmJobGpus& gpus) const {
    CpuMemory asks = gpus.asks();
    const std::int64_t cpus = parse_integer(csv_.text(at_.cpus)).value_or(0);
    if (asks.cpus.value == 0) asks.cpus = thousandths_of_whole(cpus);
    if (asks.memory_gb.value > 0) return asks;
    std::string_view memory = csv_.text(at_.memory);
    const bool is_of_each = memory.ends_with('n') || memory.ends_with('c');
    const std::int64_t nodes =
        std::max<std::int64_t>({gpus.requested.nodes, gpus.allocated.nodes, 1});
    const std::int64_t times = memory.ends_with('n') ? nodes : cpus;
    if (is_of_each) memory.remove_suffix(1);
    const CpuMemory each{{}, slurm_memory(memory)};
    asks.memory_gb = is_of_each ? each.times(times).memory_gb : each.memory_gb;
    return asks;
  }

  // Reads the first column that has a list.
  SlurmGpus list(CsvReader::Column tres, CsvReader::Column gres, bool& is_given) {
    const CsvReader::Column column = csv_.text(tres).empty() ? gres : tres;
    const std::string_view text = csv_.text(column);
    is_given = !text.empty();
    const SlurmGpus gpus = column == tres ? slurm_gpus(text) : slurm_gres(text);
    if (gpus.cut) csv_.fault(column, "was cut off: sacct --parsable2 writes all of it");
    if (gpus.bad) csv_.fault(column, "must name whole GPUs");
    return gpus;
  }

  CsvReader::Column elapsed_column() const {
    return at_.elapsed_raw == CsvReader::kMissing ? at_.elapsed : at_.elapsed_raw;
  }
  Duration elapsed() {
    return at_.elapsed_raw == CsvReader::kMissing ? clock_length() : csv_.duration(at_.elapsed_raw);
  }

  Time submitted() {
    const std::string_view text = csv_.text(at_.submit);
    const std::optional<Time> unix_time = as_unix_time(text);
    has_unix_times_ = has_unix_times_ || unix_time;
    if (unix_time) return *unix_time;
    const Parsed<WallTime> wall = parse_wall_time(text);
    return wall ? options_.utc_offsets.utc(*wall) : csv_.utc_time(at_.submit);
  }

  static std::optional<Time> as_unix_time(std::string_view text) {
    const Parsed<std::int64_t> ms = parse_seconds(text);
    return ms && Time{*ms} >= kYear2000 ? std::optional(Time{*ms}) : std::nullopt;
  }

  // Returns the time in an optional column.
  std::optional<Time> time(CsvReader::Column column) const {
    const std::string_view text = csv_.text(column);
    if (const auto unix_time = as_unix_time(text)) return unix_time;
    const auto civil = parse_civil_time(text, DayOrder::kUnknown);
    if (!civil) return std::nullopt;
    return civil->has_zone ? civil->time : options_.utc_offsets.utc(WallTime{civil->time.ms});
  }

  // Returns the start, or the end less the running time if the clock changed in between: a start in the hour that
  // occurs twice is otherwise in doubt. Counts the job if the offsets from UTC are not known.
  Time start_of(const JobRow& row, Time start, std::optional<Time> end) {
    if (!end || has_unix_times_) return start;
    const Duration difference = *end - start - row.duration;
    if (difference != hours(1) && difference != hours(-1)) return start;
    if (!options_.utc_offsets.steps.empty()) return *end - row.duration;
    if (clock_changes_++ == 0) changed_in_ = row.id;
    return start;
  }

  // Reads optional fields; a field that is not understood is ignored ("Partition_Limit", "Unknown").
  void take_logged(JobRow& row) {
    row.logged.time_limit = limit();
    const Parsed<std::int64_t> priority = parse_integer(csv_.text(at_.priority));
    if (priority && *priority >= 0 && *priority <= kPriorityMax) row.logged.priority = *priority;
    row.partition = csv_.text(at_.partition);
    row.qos = csv_.text(at_.qos);
    row.account = csv_.text(at_.account);
    if (const std::optional<Time> start = time(at_.start))
      row.logged.start = start_of(row, *start, time(at_.end));
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
  const ReadOptions& options_;
  bool with_tasks_;
  bool has_unix_times_ = false;
  std::int64_t clock_changes_ = 0;
  std::string changed_in_;  // the first job of them
  std::string runs_on_;     // of the present row
  SlurmRuns runs_;
};

bool is_sacct(const TraceHead& head) {
  if (head.first_byte() == '{') return head.mentions("\"jobs\"");
  if (head.is_ruled()) return head.has(' ', {"JobID"});
  const char separator = head.separator();
  if (!head.has(separator, {"JobID"})) return false;
  constexpr std::string_view kOwn[] = {"ElapsedRaw", "AllocTRES", "ReqTRES", "AllocGRES",
                                       "AllocCPUS"};
  return std::ranges::any_of(kOwn,
                             [&](std::string_view name) { return head.has(separator, {name}); });
}

Status read_sacct(ByteSource& source, const ReadOptions& options, WorkloadBuilder& builder) {
  constexpr std::size_t kHeadBytes = 1 << 14;
  FL_TRY_ASSIGN(bytes, source.peek(kHeadBytes));
  const TraceHead head(bytes);
  if (head.first_byte() == '{') return read_slurm_json(source, options, builder);
  const bool ruled = head.is_ruled();
  // sacct does not quote; only spreadsheets and similar programs do.
  const char separator = ruled ? '|' : head.separator();
  CsvReader csv(source, {.separator = separator, .quotes = separator != '|', .ruled = ruled});
  FL_TRY(csv.read_header());
  auto columns = find_columns(csv);
  if (!columns) {
    return input_error("{}; ask sacct for -o {}", columns.error().message, kNeeds);
  }
  SacctRows rows(csv, *columns, options, builder.with_tasks());
  FL_TRY(add_rows(csv, builder, [&] { return rows.row(); }));
  FL_TRY(rows.verdict(source.name()));
  builder.say_times(rows.times());
  builder.start_at_zero();
  return {};
}

}  // namespace

const TraceFormat kSacctFormat = {
    .name = "sacct",
    .file =
        "Slurm: `SLURM_TIME_FORMAT=%s sacct --allusers --allocations --duplicates --parsable2 "
        "--starttime 2026-01-01 --state CD,F,CA,TO,NF,OOM,PR,RQ -o "
        "JobID,User,Account,QOS,Partition,Submit,Start,End,ElapsedRaw,TimelimitRaw,Priority,NNodes,"
        "Constraints,"
        "ReqTRES,AllocTRES,State`; needed are JobID, Submit, ElapsedRaw or Elapsed, and AllocTRES, "
        "ReqTRES, AllocGRES or ReqGRES; also `--parsable`, another "
        "`--delimiter`, `--json`, and columns of fixed width; a job counts with the time that it "
        "ran, however it ended",
    .needs = kNeeds,
    .reading = Reading::kLenient,
    .rank = 1,
    .is = &is_sacct,
    .read = &read_sacct,
};

}  // namespace fairlead
