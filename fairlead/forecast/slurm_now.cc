#include "fairlead/forecast/slurm_now.h"

#include "fairlead/base/file.h"
#include "fairlead/input/slurm_nodes.h"
#include "fairlead/model/workload.h"
#include "fairlead/trace/slurm_queue.h"
#include "fairlead/trace/states.h"
#include "fairlead/trace/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
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

JobRow row_of(const SlurmQueuedJob& job, double left_s) {
  const auto ms = static_cast<std::int64_t>(std::ceil(left_s * 1000));
  const bool is_even = job.nodes > 0 && job.gpus % job.nodes == 0;
  return {.id = job.id,
          .user = job.user,
          .gpus = job.gpus,
          .task_gpus = is_even ? job.gpus / job.nodes : 1,
          .duration = {std::clamp<std::int64_t>(ms, 1, kMsMax)},
          .gpu_type = job.gpu_type,
          // A running job may have asked for any type.
          .runs_on = job.runs ? std::string_view() : job.gpu_type};
}

// GPU types that jobs of the log ran on, and no node has.
std::string gone_types(const Workload& log, const Cluster& cluster) {
  std::map<std::string, std::int64_t> gone;
  for (const std::string& type : log.reference_types) {
    if (!type.empty() && cluster.type_named(type).is_none()) ++gone[type];
  }
  std::string text;
  for (const auto& [type, jobs] : gone)
    text +=
        fmt::format("{}{} ({} job{})", text.empty() ? "" : ", ", type, jobs, jobs == 1 ? "" : "s");
  return text;
}

std::vector<std::string> said_of(const SlurmNodes& nodes, const SlurmQueue& queue,
                                 const std::optional<Trace>& log, const Cluster& cluster) {
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
  if (const std::string gone = log ? gone_types(log->workload(), cluster) : ""; !gone.empty())
    said.push_back(fmt::format("GPU types that jobs of the log ran on and no node has: {}", gone));
  said.emplace_back("jobs that run may be put on other GPUs");
  said.emplace_back("all nodes are near each other, and have CPUs and memory for whatever comes");
  said.emplace_back("partitions, priorities, limits and reservations of Slurm are not known");
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
  const std::string sacct = fmt::format(
      "sacct --allusers --allocations --parsable2 --starttime {} --state CD,F,CA,TO,NF,OOM,PR -o "
      "JobID,User,Submit,ElapsedRaw,AllocTRES,State",
      since.empty() ? "now-30days" : since);
  FL_TRY(keep_output(sacct, files.ended, "--sacct"));
  return files;
}

Result<ClusterNow> slurm_now(const SlurmFiles& files) {
  if (files.nodes.empty())
    return input_error("--scontrol-nodes is missing: output of `scontrol show node`");
  FL_TRY_ASSIGN(node_source, ByteSource::open(files.nodes));
  FL_TRY_ASSIGN(nodes, read_slurm_nodes(node_source));
  if (nodes.nodes.empty()) return run_error("{}: no node has a GPU that can be used", files.nodes);
  FL_TRY_ASSIGN(cluster, build_cluster("now", {}, nodes.nodes));
  SlurmQueue queue;
  if (!files.queue.empty()) {
    FL_TRY_ASSIGN(source, ByteSource::open(files.queue));
    FL_TRY_ASSIGN(read, read_slurm_queue(source));
    queue = std::move(read);
  }
  std::optional<Trace> log;
  if (!files.ended.empty()) {
    FL_TRY_ASSIGN(read, Trace::read(files.ended, ReadOptions{.format = find_format("sacct")}));
    log.emplace(std::move(read));
  }
  std::stable_partition(queue.jobs.begin(), queue.jobs.end(),
                        [](const SlurmQueuedJob& job) { return job.runs; });

  const std::vector<JobAnswer> known =
      log ? finished_jobs(log->workload()) : std::vector<JobAnswer>();
  std::vector<JobAnswer> jobs;
  std::vector<TimeLeft> left;
  std::vector<JobRow> rows;
  for (const SlurmQueuedJob& job : queue.jobs) {
    jobs.push_back(answer_of(job, std::ssize(jobs) + 1));
    left.push_back(time_left(jobs.back(), known));
    rows.push_back(row_of(job, left.back().s));
  }
  FL_TRY_ASSIGN(trace, Trace::of("now", rows));
  std::vector<std::string> said = said_of(nodes, queue, log, cluster);
  return ClusterNow{.queue = {.cluster = std::move(cluster),
                              .trace = std::move(trace),
                              .jobs = std::move(jobs),
                              .left = std::move(left),
                              .policy{}},
                    .name = "slurm",
                    .nodes = std::move(nodes.nodes),
                    .trace = std::move(log),
                    .said = std::move(said)};
}

}  // namespace fairlead
