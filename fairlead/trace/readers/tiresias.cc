// The Tiresias simulator's CSV: job_id,num_gpu,submit_time,iterations,model_name,duration,interval.

#include "fairlead/input/csv.h"
#include "fairlead/trace/readers/readers.h"

namespace fairlead {
namespace {

struct Columns {
  CsvReader::Column job, model, gpus, submit, duration;
};

Result<Columns> find_columns(CsvReader& csv) {
  FL_TRY_ASSIGN(job, csv.require("job_id"));
  FL_TRY_ASSIGN(gpus, csv.require("num_gpu"));
  FL_TRY_ASSIGN(submit, csv.require("submit_time"));
  FL_TRY_ASSIGN(duration, csv.require("duration"));
  return Columns{job, csv.find("model_name"), gpus, submit, duration};
}

JobRow row_of(CsvReader& csv, const Columns& at) {
  JobRow row;
  row.id = csv.text(at.job);
  row.model = csv.text(at.model);
  row.gpus = csv.integer(at.gpus, 0, kJobGpusMax);
  row.submit = csv.time(at.submit);
  row.duration = csv.duration(at.duration);
  row.columns.id = csv.column_number(at.job);
  row.columns.duration = csv.column_number(at.duration);
  return row;
}

bool is_tiresias(const TraceHead& head) {
  return head.has(',', {"job_id", "num_gpu", "submit_time"});
}

Status read_tiresias(ByteSource& source, const ReadOptions& /*options*/, WorkloadBuilder& builder) {
  CsvReader csv(source);
  FL_TRY(csv.read_header());
  FL_TRY_ASSIGN(columns, find_columns(csv));
  return add_rows(csv, builder, [&] { return row_of(csv, columns); });
}

}  // namespace

const TraceFormat kTiresiasFormat = {
    .name = "tiresias",
    .file = "the Tiresias simulator's CSV",
    .needs = "job_id,num_gpu,submit_time,duration",
    .reading = Reading::kLenient,
    .rank = 4,
    .is = &is_tiresias,
    .read = &read_tiresias,
};

}  // namespace fairlead
