#include "fairlead/slurm/queue.h"

#include "fairlead/base/parse.h"
#include "fairlead/input/civil_time.h"
#include "fairlead/input/csv.h"
#include "fairlead/model/workload.h"
#include "fairlead/slurm/resources.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairlead {
namespace {

using Column = CsvReader::Column;

struct Columns {
  Column job, user, state, ran, limit, nodes, all, per_node, reason, partitions, features, qos,
      account;
};

Result<Columns> find_columns(CsvReader& csv, const std::string& file) {
  const auto job = csv.require("JOBID");
  const auto state = csv.require({"STATE", "ST"});
  const auto ran = csv.require("TIME");
  const auto gpus = csv.require({"TRES_ALLOC", "TRES_PER_NODE"});
  for (const auto* column : {&job, &state, &ran, &gpus}) {
    if (!*column) return input_error("{}; ask for it so: {}", column->error().message, kSqueue);
  }
  Columns at{.job = *job, .state = *state, .ran = *ran};
  at.user = csv.find("USER");
  at.limit = csv.find("TIME_LIMIT");
  at.nodes = csv.find("NODES");
  at.all = csv.find("TRES_ALLOC");
  at.per_node = csv.find("TRES_PER_NODE");
  at.reason = csv.find("REASON");
  at.partitions = csv.find("PARTITION");
  at.features = csv.find("FEATURES");
  at.qos = csv.find("QOS");
  at.account = csv.find("ACCOUNT");
  if (at.all == CsvReader::kMissing && at.nodes == CsvReader::kMissing)
    return input_error("{}: TRES_PER_NODE needs the column NODES; ask for both with: {}", file,
                       kSqueue);
  return at;
}

bool is_any_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

class QueueRows {
 public:
  QueueRows(CsvReader& csv, const Columns& at) : csv_(csv), at_(at) {}

  // Reads the job of the row; sets `left_out` to the reason if it is left out.
  SlurmQueuedJob job(std::string& left_out) {
    SlurmQueuedJob job{.id = std::string(csv_.text(at_.job)),
                       .user = std::string(csv_.text(at_.user))};
    if (job.id.empty()) csv_.fault(at_.job, "must not be empty");
    if (job.id.find('[') != job.id.npos)
      csv_.fault(at_.job, "is a whole array; squeue --array has a line for each job of it");
    left_out = reason(job);
    if (at_.nodes != CsvReader::kMissing) job.nodes = csv_.integer(at_.nodes, 0, kJobGpusMax);
    take_gpus(job);
    job.partitions = csv_.text(at_.partitions);
    job.qos = csv_.text(at_.qos);
    job.account = csv_.text(at_.account);
    const std::string_view features = csv_.text(at_.features);
    if (!is_any_of(features, {"(null)", "N/A"})) job.features = features;
    if (left_out.empty() && job.gpus == 0) left_out = "no GPU";
    if (!left_out.empty()) return job;
    job.ran = length(at_.ran).value_or(Duration{});
    if (at_.limit != CsvReader::kMissing) job.limit = length(at_.limit);
    return job;
  }

 private:
  // Also sets whether the job runs.
  std::string reason(SlurmQueuedJob& job) const {
    const std::string_view state = csv_.text(at_.state);
    const std::string_view why = csv_.text(at_.reason);
    job.runs = is_any_of(state, {"RUNNING", "R", "CONFIGURING", "CF"});
    if (job.runs || is_any_of(state, {"SUSPENDED", "S"})) return {};
    if (!is_any_of(state, {"PENDING", "PD"})) return fmt::format("state {}", state);
    if (why.starts_with("JobHeld")) return "held";
    if (why.starts_with("Dependency")) return "waits for another job";
    if (why == "BeginTime") return "waits for its begin time";
    return {};
  }

  void take_gpus(SlurmQueuedJob& job) {
    const bool has_all = at_.all != CsvReader::kMissing;
    const Column column = has_all ? at_.all : at_.per_node;
    const std::string_view text = csv_.text(column);
    const SlurmGpus gpus = has_all ? slurm_gpus(text) : slurm_gres(text);
    if (gpus.cut) csv_.fault(column, "was cut off: ask for more than its width");
    if (gpus.bad) csv_.fault(column, "must name whole GPUs");
    job.gpus = gpus.count() * (has_all ? 1 : std::max<std::int64_t>(job.nodes, 1));
    job.gpu_type = gpus.type;
    job.asks = gpus.other;
  }

  // Returns nothing if there is no length, or if it is unlimited.
  std::optional<Duration> length(Column column) {
    const std::string_view text = csv_.text(column);
    if (text.empty() ||
        is_any_of(text, {"UNLIMITED", "NOT_SET", "Partition_Limit", "N/A", "INVALID"}))
      return std::nullopt;
    const Parsed<std::int64_t> ms = parse_clock_length(text, true);
    if (!ms) csv_.fault(column, ms.error());
    return Duration{ms.value_or(0)};
  }

  CsvReader& csv_;
  Columns at_;
};

}  // namespace

Result<SlurmQueue> read_slurm_queue(ByteSource& source) {
  CsvReader csv(source, {.separator = '|', .quotes = false});
  FL_TRY(csv.read_header());
  FL_TRY_ASSIGN(columns, find_columns(csv, source.name()));
  QueueRows rows(csv, columns);
  SlurmQueue queue;
  for (;;) {
    FL_TRY_ASSIGN(more, csv.next());
    if (!more) return queue;
    std::string left_out;
    SlurmQueuedJob job = rows.job(left_out);
    if (csv.bad()) {
      WorkloadBuilder strict("", Reading::kStrict);
      return tl::unexpected(csv.reject(strict).error());
    }
    if (left_out.empty()) {
      queue.jobs.push_back(std::move(job));
    } else {
      ++queue.left_out[left_out];
    }
  }
}

}  // namespace fairlead
