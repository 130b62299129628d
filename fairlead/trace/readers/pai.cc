// Alibaba PAI 2020's pai_task_table.csv, with or without header. Each task row is a gang of inst_num
// instances with plan_gpu percent of a GPU each, rounded up, plan_cpu percent of a CPU and plan_mem GB. Submission: start_time, the only time
// before the end that the table has. An instance is a task, if tasks are asked for.

#include "fairlead/base/parse.h"
#include "fairlead/input/csv.h"
#include "fairlead/trace/readers/readers.h"

#include <algorithm>
#include <cmath>

namespace fairlead {
namespace {

constexpr std::string_view kFirstColumn = "job_name";

struct Columns {
  CsvReader::Column job, task, instances, state, start, end, gpu, type, cpu, memory;
};

Result<Columns> find_columns(CsvReader& csv) {
  FL_TRY_ASSIGN(job, csv.require(kFirstColumn));
  FL_TRY_ASSIGN(task, csv.require("task_name"));
  FL_TRY_ASSIGN(instances, csv.require("inst_num"));
  FL_TRY_ASSIGN(start, csv.require("start_time"));
  FL_TRY_ASSIGN(end, csv.require("end_time"));
  FL_TRY_ASSIGN(gpu, csv.require("plan_gpu"));
  return Columns{job,
                 task,
                 instances,
                 csv.find("status"),
                 start,
                 end,
                 gpu,
                 csv.find("gpu_type"),
                 csv.find("plan_cpu"),
                 csv.find("plan_mem")};
}

class PaiRows {
 public:
  PaiRows(CsvReader& csv, const Columns& at, bool with_tasks)
      : csv_(csv), at_(at), with_tasks_(with_tasks) {}

  // REQUIRES: the row that it returned before is no longer used.
  JobRow row() {
    id_ = fmt::format("{}/{}", csv_.text(at_.job), csv_.text(at_.task));
    JobRow row;
    row.id = id_;
    if (csv_.text(at_.gpu).empty()) csv_.skip("no GPU");
    // Percent of one GPU.
    const double percent = csv_.number(at_.gpu);
    if (percent < 0 || percent > 1e8) csv_.fault(at_.gpu, "must be from 0 to 100000000");
    const double instance_gpus = std::ceil(percent / 100);
    if (percent > 0 && instance_gpus * 100 > percent) row.repaired = "fractional GPU rounded up";
    row.gpus = csv_.integer(at_.instances, 1, kJobGpusMax);
    const std::int64_t each = csv_.bad() ? 1 : static_cast<std::int64_t>(instance_gpus);
    const CpuMemory of_each{thousandths(csv_.text(at_.cpu), 10),
                            thousandths(csv_.text(at_.memory), 1000)};
    row.asks = of_each.times(row.gpus);
    row.gpus *= each;
    if (with_tasks_ && each > 0) row.task_gpus = each;
    // The tables call a mix of older types MISC.
    if (csv_.text(at_.type) != "MISC") row.gpu_type = csv_.text(at_.type);
    if (csv_.text(at_.end).empty()) csv_.skip("not ended");
    row.submit = csv_.time(at_.start);
    row.state = csv_.text(at_.state);
    row.duration = csv_.time(at_.end) - row.submit;
    row.columns.gpus = csv_.column_number(at_.instances);
    row.columns.duration = csv_.column_number(at_.end);
    return row;
  }

 private:
  // Returns thousandths of a number of units that are worth that many; 0 if there is no number.
  static Thousandths thousandths(std::string_view text, double unit) {
    const double amount = parse_number(text).value_or(0) * unit;
    const bool is_sound = amount >= 1 && amount <= static_cast<double>(kThousandthsMax);
    return {is_sound ? std::llround(amount) : 0};
  }

  CsvReader& csv_;
  const Columns at_;
  const bool with_tasks_;
  std::string id_;
};

// The fourth of its ten fields is a state, or a header names them.
bool is_pai(const TraceHead& head) {
  if (head.has(',', {kFirstColumn, "task_name", "inst_num", "plan_gpu"})) return true;
  constexpr std::string_view kStates[] = {"Terminated", "Failed", "Running", "Waiting"};
  const std::vector<std::string_view> fields = head.fields(',');
  return fields.size() == 10 && std::ranges::find(kStates, fields[3]) != std::end(kStates);
}

Status read_pai(ByteSource& source, const ReadOptions& /*options*/, WorkloadBuilder& builder) {
  FL_TRY_ASSIGN(bytes, source.peek(std::size_t{1} << 14));
  CsvReader csv(source);
  const bool has_header = TraceHead(bytes).fields(',').front() == kFirstColumn;
  if (has_header) FL_TRY(csv.read_header());
  if (!has_header)
    csv.set_header({"job_name", "task_name", "inst_num", "status", "start_time", "end_time",
                    "plan_cpu", "plan_mem", "plan_gpu", "gpu_type"});
  FL_TRY_ASSIGN(columns, find_columns(csv));
  PaiRows rows(csv, columns, builder.with_tasks());
  FL_TRY(add_rows(csv, builder, [&] { return rows.row(); }));
  builder.start_at_zero();
  return {};
}

}  // namespace

const TraceFormat kPaiFormat = {
    .name = "pai",
    .file = "Alibaba PAI 2020, `pai_task_table.csv`, with or without a header",
    .needs = "job_name,task_name,inst_num,status,start_time,end_time,plan_gpu",
    .reading = Reading::kLenient,
    .rank = 5,
    .is = &is_pai,
    .read = &read_pai,
};

}  // namespace fairlead
