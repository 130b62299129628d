// Alibaba openb 2023's pod lists: name, num_gpu, gpu_milli, qos, creation_time, deletion_time,
// scheduled_time. Duration: deletion - scheduled_time, or - creation_time.

#include "fairlead/input/csv.h"
#include "fairlead/trace/readers/readers.h"

namespace fairlead {
namespace {

struct Columns {
  CsvReader::Column job, user, gpus, gpu_milli, created, scheduled, deleted;
};

Result<Columns> find_columns(CsvReader& csv) {
  FL_TRY_ASSIGN(job, csv.require("name"));
  FL_TRY_ASSIGN(gpus, csv.require("num_gpu"));
  FL_TRY_ASSIGN(created, csv.require("creation_time"));
  FL_TRY_ASSIGN(deleted, csv.require("deletion_time"));
  return Columns{
      job,    csv.find("qos"), gpus, csv.find("gpu_milli"), created, csv.find("scheduled_time"),
      deleted};
}

JobRow row_of(CsvReader& csv, const Columns& at) {
  JobRow row;
  row.id = csv.text(at.job);
  row.user = csv.text(at.user);
  row.gpus = csv.integer(at.gpus, 0, kJobGpusMax);
  if (row.gpus == 0) return row;
  row.submit = csv.time(at.created);
  const bool scheduled = !csv.text(at.scheduled).empty();
  row.duration = csv.time(at.deleted) - (scheduled ? csv.time(at.scheduled) : row.submit);
  const std::int64_t milli = csv.integer(at.gpu_milli, 0, 1000);
  if (milli > 0 && milli < 1000) row.repaired = "fractional GPU rounded up";
  row.columns.id = csv.column_number(at.job);
  row.columns.duration = csv.column_number(at.deleted);
  return row;
}

bool is_openb(const TraceHead& head) { return head.has(',', {"name", "num_gpu", "creation_time"}); }

Status read_openb(ByteSource& source, const StepsPerSecond& /*of_gavel*/,
                  WorkloadBuilder& builder) {
  CsvReader csv(source);
  FL_TRY(csv.read_header());
  FL_TRY_ASSIGN(columns, find_columns(csv));
  return add_rows(csv, builder, [&] { return row_of(csv, columns); });
}

}  // namespace

const TraceFormat kOpenbFormat = {
    .name = "openb",
    .file = "Alibaba openb 2023, pod lists",
    .reading = Reading::kLenient,
    .rank = 4,
    .is = &is_openb,
    .read = &read_openb,
};

}  // namespace fairlead
