#include "fairlead/forecast/slurm_now.h"

#include "fairlead/base/file.h"
#include "fairlead/base/parse.h"
#include "fairlead/model/workload.h"
#include "fairlead/slurm/limits.h"
#include "fairlead/slurm/nodes.h"
#include "fairlead/slurm/queue.h"
#include "fairlead/trace/load.h"
#include "fairlead/trace/states.h"
#include "fairlead/trace/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <deque>
#include <map>
#include <set>
#include <sys/wait.h>
#include <utility>
#include <vector>

namespace fairlead {
namespace {

// A user's last finished jobs are the basis of the guess for the next ones.
constexpr std::size_t kRemembered = 200;

struct Pipe {
  explicit Pipe(const std::string& command) : stream(::popen(command.c_str(), "re")) {}
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() { close(); }
  int close() { return stream == nullptr ? -1 : ::pclose(std::exchange(stream, nullptr)); }

  std::FILE* stream;
};

// Writes the output of the command to the file. `flag`: the option that reads this output from a file.
Status keep_output(const std::string& command, const std::filesystem::path& path,
                   std::string_view flag) {
  FL_TRY_ASSIGN(file, OutputFile::create(path));
  Pipe pipe(command);
  std::array<char, 1 << 16> bytes{};
  while (pipe.stream != nullptr) {
    const std::size_t count = std::fread(bytes.data(), 1, bytes.size(), pipe.stream);
    if (count == 0) break;
    file.write({bytes.data(), count});
  }
  const int status = pipe.close();
  if (status == -1 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return run_error("`{}` failed; run it on a host with Slurm, and pass its output by {} FILE",
                     command, flag);
  }
  return file.commit();
}

bool has_finished(const Workload& log, JobId job) {
  const std::size_t state = job.row() < log.states.size() ? log.states[job] : 0;
  if (state == 0) return true;
  return log.state_words[state - 1] == "COMPLETED";
}

// Returns the finished jobs of the log that are remembered, in the form of a daemon's answer.
std::vector<JobAnswer> finished_jobs(const Workload& log) {
  std::vector<JobAnswer> jobs;
  std::map<UserId, std::size_t> remembered;
  for (std::size_t row = log.jobs.size(); row-- > 0;) {
    const JobId job(row);
    if (!has_finished(log, job) || remembered[log.jobs.user[job]]++ >= kRemembered) continue;
    JobAnswer& answer = jobs.emplace_back();
    answer.user = log.users.names[log.jobs.user[job]];
    answer.gpus = log.jobs.gpus[job];
    answer.state = "finished";
    answer.gpu_s =
        static_cast<double>(log.durations[job].ms) / 1000 * static_cast<double>(answer.gpus);
  }
  return jobs;
}

JobAnswer answer_of(const SlurmQueuedJob& job, std::int64_t number) {
  JobAnswer answer;
  answer.id = number;
  answer.name = job.id;
  answer.user = job.user;
  answer.gpus = job.gpus;
  answer.state = job.runs ? "running" : "waiting";
  answer.gpu_s = static_cast<double>(job.ran.ms) / 1000 * static_cast<double>(job.gpus);
  if (job.limit) answer.limit_s = static_cast<double>(job.limit->ms) / 1000;
  return answer;
}

// The GPU types of the jobs of the log and of the queue.
class Places {
 public:
  // Notes a request, before settle(). Returns a key for it.
  std::string note(const SlurmAsked& asked) {
    const auto [found, is_new] = keys_.try_emplace(asked, std::to_string(keys_.size()));
    if (is_new) asked_.push_back(asked);
    return found->second;
  }
  void settle(std::vector<SlurmNode> nodes) {
    places_.emplace(std::move(nodes), std::set<SlurmAsked>(asked_.begin(), asked_.end()));
  }
  const SlurmPlaces& nodes() const { return *places_; }
  // Returns the answer for a key; empty for an empty one. Counts it for add_notes().
  SlurmPlaces::Answer answer(std::string_view key) {
    if (key.empty()) return {};
    const auto row = static_cast<std::size_t>(parse_integer(key).value());
    SlurmPlaces::Answer answer = places_->runs_on(asked_[row]);
    if (!answer.ignored.empty()) ++ignored_[answer.ignored];
    return answer;
  }
  void add_notes(std::vector<std::string>& said) const {
    for (const auto& [what, jobs] : ignored_)
      said.push_back(fmt::format("no node has the {} of {} job{}, which may run without it", what,
                                 jobs, jobs == 1 ? "" : "s"));
    if (!places_->dropped().empty())
      said.push_back(fmt::format("{} of nodes do not count: there are more than {} kinds of nodes",
                                 places_->dropped(), kGpuTypesMax));
  }

 private:
  std::map<SlurmAsked, std::string> keys_;
  std::vector<SlurmAsked> asked_;
  std::optional<SlurmPlaces> places_;
  std::map<std::string, std::int64_t> ignored_;
};

SlurmAsked asked_of(const SlurmQueuedJob& job) {
  // A running job may have asked for any type.
  return {job.runs ? "" : job.gpu_type, job.partitions, job.features};
}

JobRow row_of(const SlurmQueuedJob& job, double left_s) {
  const auto ms = static_cast<std::int64_t>(std::ceil(left_s * 1000));
  const bool is_even = job.nodes > 0 && job.gpus % job.nodes == 0;
  return {.id = job.id,
          .user = job.user,
          .gpus = job.gpus,
          .task_gpus = is_even ? job.gpus / job.nodes : 1,
          .asks = job.asks,
          .duration = {std::clamp<std::int64_t>(ms, 1, kMsMax)},
          .qos = job.qos,
          .account = job.account};
}

// A job for which no node is left waits for the type that it asked for.
std::string runs_on_of(const SlurmQueuedJob& job, Places& places) {
  const SlurmPlaces::Answer answer = places.answer(places.note(asked_of(job)));
  return answer.nowhere ? job.gpu_type : answer.types;
}

// Returns the log with the types that its jobs may run on, in place of keys. Leaves out jobs for which no node is left.
Result<Workload> placed(const Workload& read, Places& places,
                        std::map<std::string, std::int64_t>& gone) {
  WorkloadBuilder builder(read.name, Reading::kStrict, Tasks::kAsInTrace);
  for (JobId job : ids<JobId>(read.jobs.size())) {
    JobRow row = row_of(read, job);
    const SlurmPlaces::Answer answer = places.answer(row.runs_on);
    const std::string type = places.nodes().type_of(row.gpu_type, answer.types);
    if (answer.nowhere) {
      ++gone[std::string(row.gpu_type)];
      continue;
    }
    row.runs_on = answer.types;
    if (!type.empty()) row.gpu_type = type;
    FL_TRY(builder.add(row, Where(read.name, job.row() + 1)));
  }
  Workload workload = builder.finish();
  workload.reading = read.reading;
  workload.rows = read.rows;
  const auto left_out = static_cast<std::int64_t>(read.names.size() - workload.names.size());
  if (left_out > 0) workload.rows.rows_rejected["no node has its GPUs now"] = left_out;
  workload.rows.rows_skipped += left_out;
  return workload;
}

// "56 a100_1g.5gb, 8 a100_3g.20gb": GPUs whose type is a MIG profile; empty: there are none.
std::string mig_instances(const Cluster& cluster) {
  std::string text;
  for (const GpuTypeId type : ids<GpuTypeId>(cluster.type_names.size())) {
    const std::string_view product = product_of_type(cluster.type_names[type]);
    const std::size_t slices = product.rfind("g.");
    if (slices == product.npos || slices == 0 || !product.ends_with("gb")) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", cluster.type_gpus[type], product);
  }
  return text;
}

void add_log_notes(const Workload& log, const Cluster& cluster, std::vector<std::string>& said) {
  const UnplacedJobs unplaced = unplaced_jobs(log, cluster);
  if (unplaced.jobs > 0) {
    said.push_back(
        fmt::format("nothing states where {} job{} of the log may run, {:.0f} % of its GPU time: "
                    "ask sacct for ReqTRES and Partition",
                    unplaced.jobs, unplaced.jobs == 1 ? "" : "s", 100 * unplaced.gpu_time));
  }
  if (const std::string load = overload_text(log, cluster); !load.empty()) said.push_back(load);
  said.emplace_back("jobs of the log have as many nodes as they had");
}

std::vector<std::string> said_of(const SlurmNodes& nodes, const SlurmQueue& queue,
                                 const std::optional<Trace>& log, const Cluster& cluster,
                                 const Places& places,
                                 const std::map<std::string, std::int64_t>& gone) {
  std::vector<std::string> said;
  for (const auto& [state, count] : nodes.left_out)
    said.push_back(fmt::format("left out: {} node{} ({})", count, count == 1 ? "" : "s", state));
  for (const auto& [reason, count] : queue.left_out)
    said.push_back(
        fmt::format("left out: {} job{} of the queue ({})", count, count == 1 ? "" : "s", reason));
  if (const RowCounts* rows = log ? &log->workload().rows : nullptr;
      rows != nullptr && rows->unusable() > 0) {
    said.push_back(fmt::format("left out: {} of {} rows of the log; the first is {}",
                               rows->unusable(), rows->meant(), rows->first_unusable));
  }
  for (const auto& [type, jobs] : gone)
    said.push_back(fmt::format("left out: {} job{} of the log, of GPUs that no node has now{}{}",
                               jobs, jobs == 1 ? "" : "s", type.empty() ? "" : ": ", type));
  places.add_notes(said);
  if (log) add_log_notes(log->workload(), cluster, said);
  if (const std::string mig = mig_instances(cluster); !mig.empty()) {
    said.push_back(fmt::format(
        "MIG instances are of types of their own, and each counts as a GPU in totals: {}", mig));
  }
  said.emplace_back("jobs that run may be put on other GPUs");
  said.emplace_back("all nodes are near each other");
  said.emplace_back("priorities, limits of partitions and reservations of Slurm are not known");
  return said;
}

}  // namespace

Result<SlurmFiles> ask_slurm(const std::filesystem::path& folder, const std::string& since) {
  if (since.find_first_not_of("0123456789-:T") != since.npos)
    return input_error("--since takes a day or a time, as 2026-01-01 or 2026-01-01T08:00:00: {}",
                       since);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return run_error("{}: cannot create the folder: {}", folder.string(), error.message());
  SlurmFiles files{.nodes = folder / "scontrol.txt",
                   .queue = folder / "squeue.txt",
                   .ended = folder / "sacct.txt"};
  FL_TRY(keep_output("scontrol show node", files.nodes, "--scontrol-nodes"));
  FL_TRY(keep_output(std::string(kSqueue), files.queue, "--squeue"));
  const std::string sacct =
      fmt::format("{} {} {}", kSacct, since.empty() ? "now-30days" : since, kSacctFields);
  FL_TRY(keep_output(sacct, files.ended, "--sacct"));
  const std::string qos = folder / "sacctmgr-qos.txt";
  const std::string associations = folder / "sacctmgr-assoc.txt";
  if (keep_output(std::string(kSacctmgrQos), qos, "")) files.qos = qos;
  if (keep_output(std::string(kSacctmgrAssociations), associations, ""))
    files.associations = associations;
  return files;
}

namespace {

// Returns none if neither output is given.
Result<std::optional<SlurmLimits>> limits_of(const SlurmFiles& files) {
  std::optional<ByteSource> qos;
  std::optional<ByteSource> associations;
  if (!files.qos.empty()) {
    FL_TRY_ASSIGN(source, ByteSource::open(files.qos));
    qos.emplace(std::move(source));
  }
  if (!files.associations.empty()) {
    FL_TRY_ASSIGN(source, ByteSource::open(files.associations));
    associations.emplace(std::move(source));
  }
  if (!qos && !associations) return std::optional<SlurmLimits>();
  FL_TRY_ASSIGN(limits,
                read_slurm_limits(qos ? &*qos : nullptr, associations ? &*associations : nullptr));
  return std::optional(std::move(limits));
}

void add_limit_notes(const std::optional<SlurmLimits>& limits, const SlurmFiles& files,
                     const SlurmQueue& queue, std::vector<std::string>& said) {
  const auto unknown =
      std::ranges::count_if(queue.jobs, [](const SlurmQueuedJob& job) { return job.qos.empty(); });
  if (limits) said.insert(said.end(), limits->said.begin(), limits->said.end());
  if (limits && unknown > 0)
    said.push_back(fmt::format("squeue has no QOS of {} job{}, so limits of QOS do not hold {}",
                               unknown, unknown == 1 ? "" : "s", unknown == 1 ? "it" : "them"));
  if (files.qos.empty())
    said.push_back(fmt::format("limits of QOS are not known (`{}`)", kSacctmgrQos));
  if (files.associations.empty())
    said.emplace_back(
        "limits of accounts and of users in them are not known (`sacctmgr show assoc -P`)");
}

}  // namespace

Result<ClusterNow> slurm_now(const SlurmFiles& files) {
  if (files.nodes.empty())
    return input_error("--scontrol-nodes is missing: output of `scontrol show node`");
  FL_TRY_ASSIGN(node_source, ByteSource::open(files.nodes));
  FL_TRY_ASSIGN(nodes, read_slurm_nodes(node_source));
  if (nodes.nodes.empty()) return run_error("{}: no node has a GPU that can be used", files.nodes);
  SlurmQueue queue;
  if (!files.queue.empty()) {
    FL_TRY_ASSIGN(source, ByteSource::open(files.queue));
    FL_TRY_ASSIGN(read, read_slurm_queue(source));
    queue = std::move(read);
  }
  Places places;
  for (const SlurmQueuedJob& job : queue.jobs) places.note(asked_of(job));
  std::optional<Workload> read_log;
  if (!files.ended.empty()) {
    ReadOptions options{.format = find_format("sacct"), .tasks = Tasks::kAsInTrace};
    options.utc_offsets = files.utc_offsets;
    options.slurm_runs_on = [&](const SlurmAsked& asked) { return places.note(asked); };
    FL_TRY_ASSIGN(read, read_trace(files.ended, options));
    read_log.emplace(std::move(read));
  }
  places.settle(nodes.nodes);
  std::vector<NodeSpec> specs = places.nodes().specs();
  FL_TRY_ASSIGN(cluster, build_cluster("now", {}, specs));
  std::optional<Trace> log;
  std::map<std::string, std::int64_t> gone;
  if (read_log) {
    FL_TRY_ASSIGN(read, placed(*read_log, places, gone));
    log.emplace(std::move(read));
  }
  std::stable_partition(queue.jobs.begin(), queue.jobs.end(),
                        [](const SlurmQueuedJob& job) { return job.runs; });

  const std::vector<JobAnswer> known =
      log ? finished_jobs(log->workload()) : std::vector<JobAnswer>();
  std::vector<JobAnswer> jobs;
  std::vector<TimeLeft> left;
  std::vector<JobRow> rows;
  std::deque<std::string> texts;  // texts of the rows
  for (const SlurmQueuedJob& job : queue.jobs) {
    jobs.push_back(answer_of(job, std::ssize(jobs) + 1));
    left.push_back(time_left(jobs.back(), known));
    rows.push_back(row_of(job, left.back().s));
    const std::string& runs_on = texts.emplace_back(runs_on_of(job, places));
    rows.back().runs_on = runs_on;
    rows.back().gpu_type = texts.emplace_back(places.nodes().type_of(job.gpu_type, runs_on));
  }
  FL_TRY_ASSIGN(trace, Trace::of("now", rows));
  FL_TRY_ASSIGN(limits, limits_of(files));
  std::vector<std::string> said = said_of(nodes, queue, log, cluster, places, gone);
  add_limit_notes(limits, files, queue, said);
  return ClusterNow{.queue = {.cluster = std::move(cluster),
                              .trace = std::move(trace),
                              .jobs = std::move(jobs),
                              .left = std::move(left),
                              .policy{},
                              .limits = limits ? std::optional(limits->rules) : std::nullopt},
                    .name = "slurm",
                    .nodes = std::move(specs),
                    .trace = std::move(log),
                    .said = std::move(said)};
}

}  // namespace fairlead
