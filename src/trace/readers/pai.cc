// Alibaba PAI 2020's pai_task_table.csv, without header. Each task row is a gang of inst_num
// instances with plan_gpu percent of a GPU each, rounded up. Submission: start_time, the only time
// before the end that the table has. An instance is a task, if tasks are asked for.

#include "fairlead/input/csv.h"
#include "fairlead/trace/readers/readers.h"

#include <algorithm>
#include <cmath>

namespace fairlead {
namespace {

// The columns of pai_task_table.csv, which has no header.
enum : CsvReader::Column {
  kJob,
  kTask,
  kInstances,
  kState,
  kStart,
  kEnd,
  kCpu,
  kMemory,
  kGpu,
  kType
};

class PaiRows {
 public:
  PaiRows(CsvReader& csv, bool with_tasks) : csv_(csv), with_tasks_(with_tasks) {}

  // REQUIRES: the row that it returned before is no longer used.
  JobRow row() {
    id_ = fmt::format("{}/{}", csv_.text(kJob), csv_.text(kTask));
    JobRow row;
    row.id = id_;
    if (csv_.text(kGpu).empty()) csv_.skip("no GPU");
    // Percent of one GPU.
    const double percent = csv_.number(kGpu);
    if (percent < 0 || percent > 1e8) csv_.fault(kGpu, "must be from 0 to 100000000");
    const double instance_gpus = std::ceil(percent / 100);
    if (percent > 0 && instance_gpus * 100 > percent) row.repaired = "fractional GPU rounded up";
    row.gpus = csv_.integer(kInstances, 1, kJobGpusMax);
    const std::int64_t each = csv_.bad() ? 1 : static_cast<std::int64_t>(instance_gpus);
    row.gpus *= each;
    if (with_tasks_ && each > 0) row.task_gpus = each;
    // The tables call a mix of older types MISC.
    if (csv_.text(kType) != "MISC") row.gpu_type = csv_.text(kType);
    if (csv_.text(kEnd).empty()) csv_.skip("not ended");
    row.submit = csv_.time(kStart);
    row.state = csv_.text(kState);
    row.duration = csv_.time(kEnd) - row.submit;
    row.columns.gpus = csv_.column_number(kInstances);
    row.columns.duration = csv_.column_number(kEnd);
    return row;
  }

 private:
  CsvReader& csv_;
  const bool with_tasks_;
  std::string id_;
};

// The fourth of its ten fields is a state.
bool is_pai(const TraceHead& head) {
  constexpr std::string_view kStates[] = {"Terminated", "Failed", "Running", "Waiting"};
  const std::vector<std::string_view> fields = head.fields(',');
  return fields.size() == 10 && std::ranges::find(kStates, fields[kState]) != std::end(kStates);
}

Status read_pai(ByteSource& source, const StepsPerSecond& /*of_gavel*/, WorkloadBuilder& builder) {
  CsvReader csv(source);
  csv.set_header({"job_name", "task_name", "inst_num", "status", "start_time", "end_time",
                  "plan_cpu", "plan_mem", "plan_gpu", "gpu_type"});
  PaiRows rows(csv, builder.with_tasks());
  FL_TRY(add_rows(csv, builder, [&] { return rows.row(); }));
  builder.start_at_zero();
  return {};
}

}  // namespace

const TraceFormat kPaiFormat = {
    .name = "pai",
    .file = "Alibaba PAI 2020, `pai_task_table.csv`",
    .reading = Reading::kLenient,
    .rank = 5,
    .is = &is_pai,
    .read = &read_pai,
};

}  // namespace fairlead
