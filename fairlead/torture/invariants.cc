#include "fairlead/torture/invariants.h"

#include "fairlead/engine/engine.h"
#include "fairlead/engine/tables_difference.h"
#include "fairlead/journal/audit_problems.h"
#include "fairlead/journal/life_cycle_audit.h"
#include "fairlead/model/task_limits.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

namespace fairlead {
namespace {

constexpr const char* kJournal = "journal.flj";
// Steps after which a job has left its GPUs for one of a higher priority: the policy decides, the daemon sees that the
// job still waits, and the engine has the hold.
constexpr int kStepsToLeave = 3;

std::string text(TaskId id) {
  return fmt::format("the task of job {} run {}", id.job.row(), id.run);
}

// Returns whether the job has a time limit, and had GPUs for so much longer.
bool has_had_its_time(const Tables& tables, JobId job, const Submitted& asked, Duration longer) {
  const std::uint32_t gpus = std::max(1U, tables.jobs.gpus[job]);
  return asked.limit.ms > 0 && tables.ran(job, tables.now) >= occupancy(asked.limit + longer, gpus);
}

// The fold of a journal, and its audit.
struct Fold : RecordSink {
  explicit Fold(const Cluster& cluster) : tables(cluster) {}
  void on(const Record& record) override {
    audit.on(record);
    if (problems.count() == 0) tables.apply(record);
  }
  Tables tables;
  AuditProblems problems;
  LifeCycleAudit audit{problems};
};

}  // namespace

Invariants::Invariants(SimIo& io, const Promises& promises, const Cluster& cluster)
    : io_(io),
      disk_(io.disk()),
      promises_(promises),
      cluster_(cluster),
      runs_on_(cluster.gpus),
      seen_at_(cluster.gpus, 0),
      memory_mb_(cluster.gpus, 0) {}

std::string Invariants::after_step(const Tables& tables) {
  ++steps_;
  if (!promises_.problem.empty()) return promises_.problem;
  if (!io_.processes().problems().empty()) return io_.processes().problems().front();
  for (const auto& [id, task] : io_.processes().all()) {
    if (!task.is_alive()) continue;
    // A task without a job is killed, and takes time to end; no journal has its GPUs.
    if (!tables.jobs.has(id.job) && task.is_killed) continue;
    if (std::string what = check_task(tables, task); !what.empty()) return what;
    if (std::string what = check_gpus(task); !what.empty()) return what;
  }
  if (std::string what = check_memory(); !what.empty()) return what;
  if (const std::size_t count = tables.running_without_gpus.members().size(); count > kHostCpus)
    return fmt::format("{} jobs without GPUs run on {} processors", count, kHostCpus);
  if (std::string what = check_arrays(tables); !what.empty()) return what;
  if (std::string what = check_priorities(tables); !what.empty()) return what;
  return check_told(tables);
}

std::string Invariants::check_after(const Tables& tables, JobId job) const {
  const auto known = promises_.acknowledged.find(job);
  if (known == promises_.acknowledged.end()) return "";
  const Submitted& asked = promises_.submissions[known->second];
  for (JobId other : asked.after) {
    const JobState state = tables.jobs.state[other];
    const bool has_ended =
        !tables.jobs.is_here(other) && (!asked.needs_good_ends || state == JobState::kFinished);
    if (!has_ended)
      return fmt::format("job {} starts before the end of job {}", job.row(), other.row());
  }
  return "";
}

std::string Invariants::check_arrays(const Tables& tables) const {
  for (const TaskArray& array : promises_.arrays) {
    std::uint32_t released = 0;
    for (std::size_t row = array.first.row(); row <= array.last.row(); ++row) {
      const JobState state = tables.jobs.state[JobId(row)];
      released += state == JobState::kWaiting || state == JobState::kRunning ? 1 : 0;
    }
    if (released > array.at_once) {
      return fmt::format("{} tasks of jobs {} to {} are released, not {}", released,
                         array.first.row(), array.last.row(), array.at_once);
    }
  }
  return "";
}

bool Invariants::waits_before(const Tables& tables, JobId job, JobId lower) const {
  const auto priority = [&](JobId of) {
    const auto known = promises_.acknowledged.find(of);
    return known == promises_.acknowledged.end()
               ? std::nullopt
               : std::optional(promises_.submissions[known->second].priority);
  };
  const auto high = priority(job);
  const auto low = priority(lower);
  if (tables.jobs.user[job] != tables.jobs.user[lower] || !high || !low || *high <= *low)
    return false;
  const TaskLimits* const limits = tables.jobs.limits;  // the limits by reservations
  std::uint32_t gpus = 0;
  for (const NodeId node : ids<NodeId>(cluster_.nodes())) {
    if ((tables.jobs.types[job] & type_bit(cluster_.node_type[node])) == 0) continue;
    const auto here = static_cast<std::uint32_t>(std::popcount(tables.nodes[node].usable()));
    gpus += limits == nullptr ? here : std::min(here, limits->most_tasks(job, node));
  }
  return gpus >= tables.jobs.gpus[job];
}

std::string Invariants::check_priorities(const Tables& tables) {
  std::map<JobId, int> runs_first;
  for (const JobId lower : tables.running.members()) {
    for (const JobId job : tables.waiting.members()) {
      if (!waits_before(tables, job, lower)) continue;
      const auto before = runs_first_.find(lower);
      runs_first[lower] = before == runs_first_.end() ? 1 : before->second + 1;
      if (runs_first[lower] > kStepsToLeave)
        return fmt::format("job {} runs, but job {} waits and has a higher priority", lower.row(),
                           job.row());
      break;
    }
  }
  runs_first_ = std::move(runs_first);
  return "";
}

std::string Invariants::check_limits(const Tables& tables) const {
  std::map<std::string_view, std::uint32_t> gpus;
  for (const JobId job : tables.running.members()) {
    const std::string_view user = tables.users.names[tables.jobs.user[job]];
    gpus[user] += tables.jobs.allocated_gpus[job];
    if (user != "root") gpus[kGroup] += tables.jobs.allocated_gpus[job];
  }
  for (const auto& [user, most] : promises_.limits) {
    if (most > 0 && gpus[user] > most)
      return fmt::format("{} has {} GPUs, and may have {}", user, gpus[user], most);
  }
  return "";
}

std::string Invariants::check_task(const Tables& tables, const SimTask& task) const {
  const JobId job = task.id.job;
  if (!tables.jobs.has(job)) return text(task.id) + " is of a job that is not there";
  if (task.id.run > tables.jobs.run[job]) return text(task.id) + " is of a run to come";
  const JobState state = tables.jobs.state[job];
  if (task.is_interrupted || task.is_killed) return check_leaving(tables, task);
  if (!tables.jobs.is_here(job)) return text(task.id) + " lives, but its job is done";
  if (std::string what = check_after(tables, job); !what.empty()) return what;
  if (task.is_thawed()) {
    if (state != JobState::kRunning) return text(task.id) + " runs, but its job does not";
    const std::vector<std::uint32_t> gpus = gpus_of(tables, job);
    if (task.gpus == gpus) return check_work(tables, task);
    return fmt::format("{} runs on GPUs {}, but the tables give the job {}", text(task.id),
                       fmt::join(task.gpus, " "), fmt::join(gpus, " "));
  }
  const bool waits = state != JobState::kRunning || tables.jobs.is_starting(job);
  return waits ? "" : text(task.id) + " is frozen, but its job runs";
}

// One that was frozen leaves beside the task that has its GPUs now.
std::string Invariants::check_leaving(const Tables& tables, const SimTask& task) {
  const JobId job = task.id.job;
  const bool may_be_idle = !task.is_thawed() || task.left_frozen || task.is_killed;
  if (may_be_idle || !tables.jobs.is_here(job)) return "";
  const auto stopping = tables.stopping.lower_bound({job, 0});
  if (stopping != tables.stopping.end() && stopping->first.first == job) return "";
  return text(task.id) + " leaves its GPUs, and they are listed as idle";
}

std::string Invariants::check_work(const Tables& tables, const SimTask& task) const {
  const auto known = promises_.acknowledged.find(task.id.job);
  if (known == promises_.acknowledged.end()) return "";
  const Submitted& job = promises_.submissions[known->second];
  const std::size_t copies = job.gpus == 0 ? 1 : task.gpus.size() / job.gpus;
  const bool is_its = job.uid == task.uid && task.gpus.size() == copies * job.gpus && copies > 0 &&
                      (job.copies_max == 0 || copies <= job.copies_max) &&
                      job.work.command() == task.work.command();
  if (!is_its) return text(task.id) + " is not the submitted work";
  // The engine's clock may be ahead of the machine's by some milliseconds.
  const bool is_overlong = has_had_its_time(tables, task.id.job, job, seconds(1));
  return is_overlong ? text(task.id) + " runs beyond the time limit of its job" : "";
}

std::string Invariants::check_gpus(const SimTask& task) {
  if (!task.is_thawed() || task.left_frozen) return "";
  for (std::uint32_t gpu : task.gpus) {
    if (gpu >= runs_on_.size()) return fmt::format("{} has a GPU {}", text(task.id), gpu);
    if (std::exchange(seen_at_[gpu], steps_) == steps_) {
      return fmt::format("on GPU {} there are {} and {}", gpu, text(runs_on_[gpu]), text(task.id));
    }
    runs_on_[gpu] = task.id;
  }
  return "";
}

std::string Invariants::check_memory() {
  std::ranges::fill(memory_mb_, 0);
  std::uint64_t host_mb = 0;
  for (const auto& [id, task] : io_.processes().all()) {
    const auto known = promises_.acknowledged.find(id.job);
    if (!task.is_alive() || task.is_killed || known == promises_.acknowledged.end()) continue;
    const Submitted& submission = promises_.submissions[known->second];
    host_mb += submission.memory_mb;
    if (host_mb > kHostMemoryMb)
      return fmt::format("{} does not fit into the memory of the machine", text(id));
    for (const std::uint32_t gpu : task.gpus) {
      memory_mb_[gpu] += submission.gpu_memory_mb;
      if (memory_mb_[gpu] > kGpuMemoryMb)
        return fmt::format("{} does not fit into the memory of GPU {}", text(id), gpu);
    }
  }
  return "";
}

std::vector<std::uint32_t> Invariants::gpus_of(const Tables& tables, JobId job) const {
  std::vector<std::uint32_t> gpus;
  const std::span<const std::uint64_t> masks = tables.jobs.gangs.gpu_masks(tables.jobs.last[job]);
  std::size_t i = 0;
  for (Slice slice : tables.jobs.last_gang(job)) {
    std::uint32_t first = 0;
    for (NodeId node : ids<NodeId>(slice.node.row())) first += cluster_.node_gpus[node];
    for (std::uint64_t left = masks[i++]; left != 0; left &= left - 1) {
      gpus.push_back(first + static_cast<std::uint32_t>(std::countr_zero(left)));
    }
  }
  return gpus;
}

std::string Invariants::check_told(const Tables& tables) const {
  if (std::string what = check_limits(tables); !what.empty()) return what;
  for (const auto& [job, submission] : promises_.acknowledged) {
    if (std::string what = check_acknowledged(tables, job, submission); !what.empty()) return what;
  }
  for (const auto& [job, state] : promises_.ended) {
    const bool is_so = tables.jobs.has(job) && state_name(tables.jobs.state[job]) == state;
    if (!is_so) return fmt::format("job {} was {}, and is no longer", job.row(), state);
  }
  for (JobId job : promises_.cancelled) {
    if (!tables.jobs.has(job) || tables.jobs.is_here(job)) {
      return fmt::format("job {} was cancelled, and is here", job.row());
    }
  }
  for (JobId job : promises_.held) {
    const bool is_held = tables.jobs.has(job) &&
                         (tables.jobs.state[job] == JobState::kHeld || !tables.jobs.is_here(job));
    if (!is_held) return fmt::format("job {} was held, and is not", job.row());
  }
  for (const auto& [job, until] : tables.held_until) {
    if (until < tables.now) return fmt::format("job {} is not tried again in time", job.row());
  }
  for (UserId user : ids<UserId>(tables.users.size())) {
    const auto told = promises_.tickets.find(tables.users.names[user]);
    if (told == promises_.tickets.end() || told->second == tables.users.tickets[user]) continue;
    return fmt::format("{} has {} tickets, not {}", told->first, tables.users.tickets[user],
                       told->second);
  }
  return "";
}

std::string Invariants::check_acknowledged(const Tables& tables, JobId job,
                                           std::size_t submission) const {
  const Submitted& asked = promises_.submissions[submission];
  if (!tables.jobs.has(job) || tables.names[job] != asked.name) {
    return fmt::format("{} was acknowledged as job {}, and is not there", asked.name, job.row());
  }
  const JobState state = tables.jobs.state[job];
  if (can_have_ended(tables, job, asked)) return "";
  return fmt::format("job {} is reported as {}, which is impossible", job.row(), state_name(state));
}

bool Invariants::can_have_ended(const Tables& tables, JobId job, const Submitted& asked) const {
  const SimTasks& truth = io_.processes();
  switch (tables.jobs.state[job]) {
    case JobState::kFinished:
      return truth.is_done(job);
    case JobState::kFailed:
      return truth.has_failed(job) || truth.failed_starts(job) >= EngineOptions().starts_max ||
             has_had_its_time(tables, job, asked, {});
    case JobState::kCancelled:
      return promises_.cancels_asked.contains(job) ||
             (asked.needs_good_ends && !check_after(tables, job).empty());
    case JobState::kRejected:
      return false;
    default:
      return true;
  }
}

std::string Invariants::after_open(const Tables& tables) {
  runs_first_.clear();
  std::set<std::string_view> names;
  for (JobId job : ids<JobId>(tables.jobs.size())) {
    if (!tables.jobs.has(job)) continue;
    if (!names.insert(tables.names[job]).second) {
      return fmt::format("{} is there twice", tables.names[job]);
    }
  }
  if (std::string what = check_told(tables); !what.empty()) return what;
  const std::string* bytes = disk_.find(kJournal);
  if (bytes == nullptr) return "there is no journal";
  auto source = ByteSource::memory(*bytes, kJournal);
  if (!source) return source.error().message;
  auto blocks = BlockReader::read(*std::move(source));
  if (!blocks) return blocks.error().message;
  Fold fold(cluster_);
  const auto end = read_journal(*std::move(blocks), fold);
  if (!end) return end.error().message;
  if (end->state == JournalEnd::State::kDamaged) return end->problem;
  if (fold.problems.count() > 0)
    return fmt::format("the journal {}", fold.problems.texts().front());
  const std::string differs = difference(fold.tables, tables);
  return differs.empty() ? "" : "the tables are not the fold of the journal: " + differs;
}

std::string Invariants::at_end(const Tables& tables) {
  if (std::string what = after_open(tables); !what.empty()) return what;
  for (JobId job : ids<JobId>(tables.jobs.size())) {
    if (tables.jobs.is_here(job)) {
      return fmt::format("job {} has not ended", job.row());
    }
  }
  if (const auto left = disk_.list("jobs"); !left.empty()) {
    return fmt::format("the file of job {} is left at the end", left.front());
  }
  for (const auto& [id, task] : io_.processes().all()) {
    if (task.is_alive()) return text(id) + " lives at the end";
    return text(id) + " is not forgotten at the end";
  }
  return "";
}

}  // namespace fairlead
