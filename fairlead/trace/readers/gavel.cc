// Gavel's 10 columns contain training steps: duration = steps / the job type's steps per second on as many V100 GPUs,
// the reference type. Jobs are numbered from 0, as Gavel does. Shockwave's 12 columns contain the duration. If the
// speed of a gang size is unknown, it scales linearly from the next smaller one, and the row counts as repaired.
//
// A priority other than 1 is the job's weight: it belongs to a user like "priority-5" with as many
// tickets.

#include "fairlead/input/csv.h"
#include "fairlead/input/models_file.h"
#include "fairlead/trace/readers/readers.h"
#include "fairlead/trace/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace fairlead {

namespace {

constexpr std::string_view kMeasuredOn = "V100";

class GavelRows {
 public:
  GavelRows(CsvReader& csv, const StepsPerSecond& steps_per_second)
      : csv_(csv), steps_per_second_(steps_per_second) {}

  // REQUIRES: the row that it returned before is no longer used.
  JobRow row() {
    id_ = fmt::to_string(index_++);
    JobRow row;
    row.id = id_;
    row.model = csv_.text(csv_.find("job_type"));
    row.gpu_type = kMeasuredOn;
    row.gpus = csv_.integer(csv_.find("scale_factor"), 1, kJobGpusMax);
    row.submit = csv_.time(csv_.find("arrival_time"));
    const CsvReader::Column duration = csv_.find("duration");
    row.duration = duration == CsvReader::kMissing ? steps_duration(row) : csv_.duration(duration);
    row.columns.duration = csv_.column_number(duration);
    read_priority(row);
    return row;
  }

 private:
  void read_priority(JobRow& row) {
    const CsvReader::Column column = csv_.find("priority");
    const double priority = csv_.number(column);
    if (csv_.bad() || priority == 1) return;
    const bool is_whole =
        priority >= 1 && priority <= kTicketsMax && priority == std::floor(priority);
    if (!is_whole) return csv_.fault(column, "must be a whole number of at least 1");
    row.tickets = static_cast<std::int64_t>(priority);
    user_ = fmt::format("priority-{}", row.tickets);
    row.user = user_;
  }

  Duration steps_duration(JobRow& row) {
    const CsvReader::Column steps = csv_.find("total_steps");
    const auto count = static_cast<double>(csv_.integer(steps, 1, 1'000'000'000'000'000));
    if (csv_.bad()) return {};
    const double speed = throughput(row);
    // The factor 1 - 1e-12 prevents an additional millisecond from the rounding of the quotient.
    const double ms = std::ceil(count / speed * 1000 * (1 - 1e-12));
    if (!(speed > 0)) csv_.fault(csv_.find("job_type"), "has no known throughput");
    if (!(ms <= static_cast<double>(kMsMax))) csv_.fault(steps, "must take at most 100 years");
    return {csv_.bad() ? 0 : static_cast<std::int64_t>(ms)};
  }

  // Tables have powers of two: from the next smaller one that is known, throughput scales linearly.
  double throughput(JobRow& row) const {
    if (const double known = steps_per_second_(row.model, row.gpus); known > 0) return known;
    row.repaired = "throughput scaled from a smaller gang";
    auto smaller = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(row.gpus)));
    for (; smaller > 0; smaller /= 2) {
      const double known = steps_per_second_(row.model, smaller);
      if (known > 0) return known * static_cast<double>(row.gpus) / static_cast<double>(smaller);
    }
    return 0;
  }

  CsvReader& csv_;
  const StepsPerSecond& steps_per_second_;
  std::int64_t index_ = 0;
  std::string id_;
  std::string user_;
};

// Neither simulator writes a header; Shockwave's rows have two columns more than Gavel's.
std::vector<std::string> column_names(std::string_view head) {
  std::string_view line = head.substr(0, head.find('\n'));
  if (std::count(line.begin(), line.end(), '\t') == 11)
    return {"job_type",   "command",     "working_directory", "num_steps_arg",
            "needs_data", "total_steps", "scale_factor",      "mode",
            "priority",   "slo",         "duration",          "arrival_time"};
  return {"job_type",    "command",      "working_directory", "num_steps_arg", "needs_data",
          "total_steps", "scale_factor", "priority",          "slo",           "arrival_time"};
}

bool is_gavel(const TraceHead& head) {
  const std::size_t columns = head.fields('\t').size();
  return columns == 10 || columns == 12;
}

Status read_gavel(ByteSource& source, const ReadOptions& options, WorkloadBuilder& builder) {
  FL_TRY_ASSIGN(head, source.peek(1 << 14));
  CsvReader csv(source, {.separator = '\t', .quotes = false});
  csv.set_header(column_names(head));
  GavelRows rows(csv, options.steps_per_second);
  return add_rows(csv, builder, [&] { return rows.row(); });
}

// Returns the model's rates on the reference type; null if the table lacks them.
const TypeRates* measured(const SpeedTable& table, std::string_view job_type) {
  const ModelProfile* model = table.find(job_type);
  if (model == nullptr) return nullptr;
  const auto rates =
      std::ranges::find(model->rates, type_key(kMeasuredOn),
                        [](const TypeRates& some) { return type_key(some.gpu_type); });
  return rates == model->rates.end() ? nullptr : &*rates;
}

}  // namespace

// Returns the speed in the built-in table `published`; a gang size outside the table has no known throughput.
double published_steps_per_second(std::string_view job_type, std::int64_t gpus) {
  static const SpeedTable kPublished = load_models("published").value();
  const TypeRates* rates = measured(kPublished, job_type);
  if (rates == nullptr) return 0;
  for (const RateRow& row : rates->rows) {
    if (row.gpus == gpus) return row.consolidated * static_cast<double>(gpus);
  }
  return 0;
}

Result<StepsPerSecond> steps_per_second_of(const std::string& models) {
  if (models.empty()) return StepsPerSecond(published_steps_per_second);
  FL_TRY_ASSIGN(table, load_models(models));
  return StepsPerSecond([table = std::move(table)](std::string_view job_type, std::int64_t gpus) {
    const TypeRates* rates = measured(table, job_type);
    if (rates == nullptr) return published_steps_per_second(job_type, gpus);
    // As model/speed.h has it: of the next smaller size, or the first.
    const auto above = std::ranges::upper_bound(rates->rows, gpus, {}, &RateRow::gpus);
    const RateRow& row = above == rates->rows.begin() ? *above : *(above - 1);
    return row.consolidated * static_cast<double>(gpus);
  });
}

const TraceFormat kGavelFormat = {
    .name = "gavel",
    .file = "Gavel's TSV of 10 columns and Shockwave's of 12",
    .needs = "",
    .reading = Reading::kLenient,
    .rank = 1,
    .is = &is_gavel,
    .read = &read_gavel,
};

}  // namespace fairlead
