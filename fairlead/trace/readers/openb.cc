// Alibaba openb 2023's pod lists: name, num_gpu, gpu_milli, cpu_milli, memory_mib, qos, creation_time, deletion_time,
// scheduled_time. Duration: deletion - scheduled_time, or - creation_time.
//
// Alibaba's disaggregated DLRM trace of 2025 has the same columns under other names: instance_sn, gpu_request, and
// app_name for the user. Instances that existed before the trace started, or at its end, lack a time (NaN) and are left
// out.

#include "fairlead/input/csv.h"
#include "fairlead/trace/readers/readers.h"

namespace fairlead {
namespace {

struct Columns {
  CsvReader::Column job, user, gpus, gpu_milli, cpu_milli, memory_mib, created, scheduled, deleted;
};

Result<Columns> find_columns(CsvReader& csv) {
  FL_TRY_ASSIGN(job, csv.require({"name", "instance_sn"}));
  FL_TRY_ASSIGN(gpus, csv.require({"num_gpu", "gpu_request"}));
  FL_TRY_ASSIGN(created, csv.require("creation_time"));
  FL_TRY_ASSIGN(deleted, csv.require("deletion_time"));
  const auto user = csv.require({"qos", "app_name"});
  return Columns{job,
                 user.value_or(CsvReader::kMissing),
                 gpus,
                 csv.find("gpu_milli"),
                 csv.find("cpu_milli"),
                 csv.find("memory_mib"),
                 created,
                 csv.find("scheduled_time"),
                 deleted};
}

JobRow row_of(CsvReader& csv, const Columns& at) {
  JobRow row;
  row.id = csv.text(at.job);
  row.user = csv.text(at.user);
  row.gpus = csv.integer(at.gpus, 0, kJobGpusMax);
  if (row.gpus == 0) return row;
  row.asks = {thousandths_of(csv.optional_integer(at.cpu_milli)),
              gb_of_mb(csv.optional_integer(at.memory_mib))};
  row.submit = csv.time(at.created);
  const bool scheduled = !csv.text(at.scheduled).empty();
  if (scheduled) row.logged.start = csv.time(at.scheduled);
  row.duration = csv.time(at.deleted) - (scheduled ? row.logged.start : row.submit);
  const std::int64_t milli = csv.integer(at.gpu_milli, 0, 1000);
  if (milli > 0 && milli < 1000) row.repaired = "fractional GPU rounded up";
  row.columns.id = csv.column_number(at.job);
  row.columns.duration = csv.column_number(at.deleted);
  return row;
}

bool is_openb(const TraceHead& head) { return head.has(',', {"name", "num_gpu", "creation_time"}); }

Status read_openb(ByteSource& source, const ReadOptions& /*options*/, WorkloadBuilder& builder) {
  CsvReader csv(source);
  FL_TRY(csv.read_header());
  FL_TRY_ASSIGN(columns, find_columns(csv));
  return add_rows(csv, builder, [&] { return row_of(csv, columns); });
}

bool is_unknown(std::string_view text) { return text.empty() || text == "NaN" || text == "nan"; }

JobRow instance_of(CsvReader& csv, const Columns& at) {
  if (csv.text(at.gpus) != "0") {
    if (is_unknown(csv.text(at.created))) csv.skip("created before the trace began");
    if (is_unknown(csv.text(at.deleted))) csv.skip("not ended");
  }
  return row_of(csv, at);
}

bool is_dlrm(const TraceHead& head) {
  return head.has(',', {"instance_sn", "gpu_request", "creation_time"});
}

Status read_dlrm(ByteSource& source, const ReadOptions& /*options*/, WorkloadBuilder& builder) {
  CsvReader csv(source);
  FL_TRY(csv.read_header());
  FL_TRY_ASSIGN(columns, find_columns(csv));
  return add_rows(csv, builder, [&] { return instance_of(csv, columns); });
}

}  // namespace

const TraceFormat kDlrmFormat = {
    .name = "dlrm",
    .file = "Alibaba's disaggregated DLRM trace of 2025, `disaggregated_DLRM_trace.csv`",
    .needs = "instance_sn,gpu_request,creation_time,deletion_time",
    .reading = Reading::kLenient,
    .rank = 4,
    .is = &is_dlrm,
    .read = &read_dlrm,
};

const TraceFormat kOpenbFormat = {
    .name = "openb",
    .file = "Alibaba openb 2023, pod lists",
    .needs = "name,num_gpu,creation_time,deletion_time",
    .reading = Reading::kLenient,
    .rank = 4,
    .is = &is_openb,
    .read = &read_openb,
};

}  // namespace fairlead
