// SenseTime Helios's cluster_log.csv, and Acme's trace_seren.csv and trace_kalos.csv with the same names of columns.
// Times have no zone and are taken as UTC. If tasks are asked for, a job has one on each of the nodes it ran on
// (node_num), if that divides its GPUs. cpu_num is for the whole job.

#include "fairlead/input/csv.h"
#include "fairlead/trace/readers/readers.h"

namespace fairlead {
namespace {

struct Columns {
  CsvReader::Column job, user, gpus, cpus, nodes, submit, duration, state;
};

Result<Columns> find_columns(CsvReader& csv) {
  FL_TRY_ASSIGN(job, csv.require("job_id"));
  FL_TRY_ASSIGN(gpus, csv.require("gpu_num"));
  FL_TRY_ASSIGN(submit, csv.require("submit_time"));
  FL_TRY_ASSIGN(duration, csv.require("duration"));
  const auto user = csv.require({"user", "vc"});
  return Columns{job,
                 user.value_or(CsvReader::kMissing),
                 gpus,
                 csv.find("cpu_num"),
                 csv.find("node_num"),
                 submit,
                 duration,
                 csv.find("state")};
}

// Returns the GPUs of a task per node, if that divides the job's GPUs.
std::int64_t task_gpus(CsvReader& csv, CsvReader::Column nodes, std::int64_t gpus) {
  if (csv.text(nodes).empty()) return 1;
  const std::int64_t tasks = csv.integer(nodes, 0, kJobGpusMax);
  return tasks >= 1 && gpus % tasks == 0 ? gpus / tasks : 1;
}

JobRow row_of(CsvReader& csv, const Columns& at, bool with_tasks) {
  JobRow row;
  row.id = csv.text(at.job);
  row.user = csv.text(at.user);
  row.gpus = csv.integer(at.gpus, 0, kJobGpusMax);
  // The other fields of a CPU job do not matter.
  if (row.gpus == 0) return row;
  if (with_tasks) row.task_gpus = task_gpus(csv, at.nodes, row.gpus);
  row.asks.cpus = thousandths_of_whole(csv.optional_integer(at.cpus));
  row.submit = csv.utc_time(at.submit);
  row.duration = csv.duration(at.duration);
  row.state = csv.text(at.state);
  row.columns.id = csv.column_number(at.job);
  row.columns.duration = csv.column_number(at.duration);
  return row;
}

bool is_helios(const TraceHead& head) { return head.has(',', {"job_id", "vc", "gpu_num"}); }

bool is_acme(const TraceHead& head) { return head.has(',', {"job_id", "gpu_num", "submit_time"}); }

Status read_helios(ByteSource& source, const ReadOptions& /*options*/, WorkloadBuilder& builder) {
  CsvReader csv(source);
  FL_TRY(csv.read_header());
  FL_TRY_ASSIGN(columns, find_columns(csv));
  FL_TRY(add_rows(csv, builder, [&] { return row_of(csv, columns, builder.with_tasks()); }));
  builder.say_times("calendar times without a zone, taken as UTC");
  builder.start_at_zero();
  return {};
}

}  // namespace

const TraceFormat kHeliosFormat = {
    .name = "helios",
    .file = "SenseTime Helios, `cluster_log.csv`",
    .needs = "job_id,gpu_num,submit_time,duration",
    .reading = Reading::kLenient,
    .rank = 3,
    .is = &is_helios,
    .read = &read_helios,
};

const TraceFormat kAcmeFormat = {
    .name = "acme",
    .file = "Shanghai AI Laboratory Acme, `trace_seren.csv`, `trace_kalos.csv`",
    .needs = "job_id,gpu_num,submit_time,duration",
    .reading = Reading::kLenient,
    .rank = 3,
    .is = &is_acme,
    .read = &read_helios,
};

}  // namespace fairlead
