// Alibaba's jobs on spot GPUs of 2026, job_info_df.csv: job_name, organization, gpu_model, gpu_request of
// each of worker_num workers, submit_time and duration in seconds. The user is the organization. The
// duration is that on the model asked for. A worker is a task, if tasks are asked for.

#include "fairlead/input/csv.h"
#include "fairlead/trace/readers/readers.h"

#include <cmath>

namespace fairlead {
namespace {

struct Columns {
  CsvReader::Column job, user, type, gpus, workers, submit, duration;
};

Result<Columns> find_columns(CsvReader& csv) {
  FL_TRY_ASSIGN(job, csv.require("job_name"));
  FL_TRY_ASSIGN(gpus, csv.require("gpu_request"));
  FL_TRY_ASSIGN(workers, csv.require("worker_num"));
  FL_TRY_ASSIGN(submit, csv.require("submit_time"));
  FL_TRY_ASSIGN(duration, csv.require("duration"));
  return Columns{job,     csv.find("organization"), csv.find("gpu_model"), gpus, workers, submit,
                 duration};
}

JobRow row_of(CsvReader& csv, const Columns& at, bool with_tasks) {
  JobRow row;
  row.id = csv.text(at.job);
  const double each = csv.number(at.gpus);
  if (each < 0 || each > static_cast<double>(kJobGpusMax))
    csv.fault(at.gpus, "must be a number of GPUs");
  const std::int64_t whole = csv.bad() ? 0 : std::llround(std::ceil(each));
  if (static_cast<double>(whole) > each) row.repaired = "fractional GPU rounded up";
  row.gpus = whole == 0 ? 0 : whole * csv.integer(at.workers, 1, kJobGpusMax);
  if (row.gpus == 0) return row;
  if (with_tasks) row.task_gpus = whole;
  row.user = csv.text(at.user);
  row.gpu_type = csv.text(at.type);
  row.submit = csv.time(at.submit);
  row.duration = csv.duration(at.duration);
  row.columns.id = csv.column_number(at.job);
  row.columns.gpus = csv.column_number(at.workers);
  row.columns.duration = csv.column_number(at.duration);
  return row;
}

bool is_spot(const TraceHead& head) {
  return head.has(',', {"job_name", "organization", "gpu_request", "worker_num"});
}

Status read_spot(ByteSource& source, const ReadOptions& /*options*/, WorkloadBuilder& builder) {
  CsvReader csv(source);
  FL_TRY(csv.read_header());
  FL_TRY_ASSIGN(columns, find_columns(csv));
  return add_rows(csv, builder, [&] { return row_of(csv, columns, builder.with_tasks()); });
}

}  // namespace

const TraceFormat kSpotFormat = {
    .name = "spot",
    .file = "Alibaba's jobs on spot GPUs of 2026, `job_info_df.csv`",
    .needs = "job_name,organization,gpu_request,worker_num,submit_time,duration",
    .reading = Reading::kLenient,
    .rank = 3,
    .is = &is_spot,
    .read = &read_spot,
};

}  // namespace fairlead
