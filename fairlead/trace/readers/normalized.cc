// Columns job_id, user or tenant or qos_class, submit_s, num_gpus or num_gpu, duration_s. With gpu_milli, a fraction of
// a GPU becomes a whole one, and the row counts as repaired. cpu_milli and memory_mib are for the whole job. status is only counted; scheduled_time is the start of the
// job under the scheduler that ran it.

#include "fairlead/base/parse.h"
#include "fairlead/input/csv.h"
#include "fairlead/trace/readers/readers.h"

namespace fairlead {
namespace {

struct Columns {
  CsvReader::Column job, user, submit, gpus, duration, gpu_milli, cpu_milli, memory_mib, status,
      scheduled;
};

Result<Columns> find_columns(CsvReader& csv) {
  FL_TRY_ASSIGN(job, csv.require("job_id"));
  FL_TRY_ASSIGN(submit, csv.require("submit_s"));
  FL_TRY_ASSIGN(gpus, csv.require({"num_gpus", "num_gpu"}));
  FL_TRY_ASSIGN(duration, csv.require("duration_s"));
  const auto user = csv.require({"user", "tenant", "qos_class"});
  return Columns{job,
                 user.value_or(CsvReader::kMissing),
                 submit,
                 gpus,
                 duration,
                 csv.find("gpu_milli"),
                 csv.find("cpu_milli"),
                 csv.find("memory_mib"),
                 csv.find("status"),
                 csv.find("scheduled_time")};
}

JobRow row_of(CsvReader& csv, const Columns& at) {
  JobRow row;
  row.id = csv.text(at.job);
  row.user = csv.text(at.user);
  row.gpus = csv.integer(at.gpus, 0, kJobGpusMax);
  row.asks = {thousandths_of(csv.optional_integer(at.cpu_milli)),
              gb_of_mb(csv.optional_integer(at.memory_mib))};
  row.submit = csv.time(at.submit);
  row.duration = csv.duration(at.duration);
  row.state = csv.text(at.status);
  const Parsed<std::int64_t> start = parse_seconds(csv.text(at.scheduled));
  if (start) row.logged.start = {*start};
  if (at.gpu_milli != CsvReader::kMissing) {
    const std::int64_t milli = csv.integer(at.gpu_milli, 0, 1000);
    if (milli > 0 && milli < 1000) row.repaired = "fractional GPU rounded up";
  }
  row.columns.id = csv.column_number(at.job);
  row.columns.duration = csv.column_number(at.duration);
  return row;
}

bool is_normalized(const TraceHead& head) { return head.has(',', {"job_id", "submit_s"}); }

Status read_normalized(ByteSource& source, const ReadOptions& /*options*/,
                       WorkloadBuilder& builder) {
  CsvReader csv(source);
  FL_TRY(csv.read_header());
  FL_TRY_ASSIGN(columns, find_columns(csv));
  return add_rows(csv, builder, [&] { return row_of(csv, columns); });
}

}  // namespace

const TraceFormat kNormalizedFormat = {
    .name = "normalized",
    .file =
        "`job_id`, `user` or `tenant` or `qos_class`, `submit_s`, `num_gpus` or `num_gpu`, "
        "`duration_s`",
    .needs = "job_id,submit_s,num_gpus,duration_s",
    .reading = Reading::kLenient,
    .rank = 2,
    .is = &is_normalized,
    .read = &read_normalized,
};

}  // namespace fairlead
