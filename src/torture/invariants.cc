#include "fairlead/torture/invariants.h"

#include "fairlead/engine/engine.h"
#include "fairlead/engine/tables_difference.h"
#include "fairlead/journal/audit_problems.h"
#include "fairlead/journal/life_cycle_audit.h"

#include <fmt/ranges.h>

#include <bit>
#include <set>
#include <utility>

namespace fairlead {
namespace {

constexpr const char* kJournal = "journal.flj";

std::string text(TaskId id) {
  return fmt::format("the task of job {} hold {}", id.job.row(), id.hold);
}

bool is_done(JobState state) {
  return state != JobState::kWaiting && state != JobState::kRunning && state != JobState::kHeld;
}

std::string_view state_name(JobState state) {
  switch (state) {
    case JobState::kFinished:
      return "finished";
    case JobState::kFailed:
      return "failed";
    case JobState::kCancelled:
      return "cancelled";
    case JobState::kRejected:
      return "rejected";
    default:
      return "not done";
  }
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

Invariants::Invariants(const SimIo& io, const Ledger& ledger, const Cluster& cluster)
    : io_(io),
      ledger_(ledger),
      cluster_(cluster),
      runs_on_(cluster.gpus),
      seen_at_(cluster.gpus, 0) {}

std::string Invariants::after_step(const Tables& tables) {
  ++steps_;
  if (!ledger_.problem.empty()) return ledger_.problem;
  if (!io_.processes().problems().empty()) return io_.processes().problems().front();
  for (const auto& [id, task] : io_.processes().all()) {
    if (!task.is_alive()) continue;
    if (std::string what = check_task(tables, task); !what.empty()) return what;
    if (std::string what = check_gpus(task); !what.empty()) return what;
  }
  return check_told(tables);
}

std::string Invariants::check_task(const Tables& tables, const SimTask& task) const {
  const JobId job = task.id.job;
  if (!tables.jobs.has(job)) return text(task.id) + " is of a job that is not there";
  if (task.id.hold > tables.jobs.hold[job]) return text(task.id) + " is of a hold to come";
  const JobState state = tables.jobs.state[job];
  if (task.is_interrupted || task.is_killed) return "";
  if (is_done(state)) return text(task.id) + " lives, but its job is done";
  if (task.is_thawed()) {
    if (state != JobState::kRunning) return text(task.id) + " runs, but its job does not";
    const std::vector<std::uint32_t> gpus = gpus_of(tables, job);
    if (task.gpus == gpus) return check_work(task);
    return fmt::format("{} runs on GPUs {}, but the job is to have {}", text(task.id),
                       fmt::join(task.gpus, " "), fmt::join(gpus, " "));
  }
  const bool waits = state != JobState::kRunning || tables.jobs.is_starting(job);
  return waits ? "" : text(task.id) + " is frozen, but its job runs";
}

std::string Invariants::check_work(const SimTask& task) const {
  const auto known = ledger_.acknowledged.find(task.id.job);
  if (known == ledger_.acknowledged.end()) return "";
  const Submitted& job = ledger_.submissions[known->second];
  const bool is_its = job.uid == task.uid && job.gpus == task.gpus.size() &&
                      job.work.command() == task.work.command();
  return is_its ? "" : text(task.id) + " is not what was submitted";
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
  for (const auto& [job, submission] : ledger_.acknowledged) {
    if (std::string what = check_acknowledged(tables, job, submission); !what.empty()) return what;
  }
  for (const auto& [job, state] : ledger_.ended) {
    const bool is_so = tables.jobs.has(job) && state_name(tables.jobs.state[job]) == state;
    if (!is_so) return fmt::format("job {} was {}, and is no longer", job.row(), state);
  }
  for (JobId job : ledger_.cancelled) {
    if (!tables.jobs.has(job) || !is_done(tables.jobs.state[job])) {
      return fmt::format("job {} was cancelled, and is here", job.row());
    }
  }
  for (JobId job : ledger_.held) {
    const bool is_held = tables.jobs.has(job) && (tables.jobs.state[job] == JobState::kHeld ||
                                                  is_done(tables.jobs.state[job]));
    if (!is_held) return fmt::format("job {} was held, and is not", job.row());
  }
  for (UserId user : ids<UserId>(tables.users.size())) {
    const auto told = ledger_.tickets.find(tables.users.names[user]);
    if (told == ledger_.tickets.end() || told->second == tables.users.tickets[user]) continue;
    return fmt::format("{} has {} tickets, not {}", told->first, tables.users.tickets[user],
                       told->second);
  }
  return "";
}

std::string Invariants::check_acknowledged(const Tables& tables, JobId job,
                                           std::size_t submission) const {
  const Submitted& asked = ledger_.submissions[submission];
  if (!tables.jobs.has(job) || tables.names[job] != asked.name) {
    return fmt::format("{} was acknowledged as job {}, and is not there", asked.name, job.row());
  }
  const JobState state = tables.jobs.state[job];
  if (can_have_ended(job, asked, state)) return "";
  return fmt::format("job {} is said to be {}, and cannot be", job.row(), state_name(state));
}

bool Invariants::can_have_ended(JobId job, const Submitted& asked, JobState state) const {
  const SimTasks& truth = io_.processes();
  switch (state) {
    case JobState::kFinished:
      return truth.is_done(job) && asked.work.code == 0;
    case JobState::kFailed:
      return truth.has_failed(job) || truth.failed_starts(job) >= EngineOptions().starts_max;
    case JobState::kCancelled:
      return ledger_.cancels_asked.contains(job);
    case JobState::kRejected:
      return false;
    default:
      return true;
  }
}

std::string Invariants::after_open(const Tables& tables) const {
  std::set<std::string_view> names;
  for (JobId job : ids<JobId>(tables.jobs.size())) {
    if (!tables.jobs.has(job)) continue;
    if (!names.insert(tables.names[job]).second) {
      return fmt::format("{} is there twice", tables.names[job]);
    }
  }
  if (std::string what = check_told(tables); !what.empty()) return what;
  const std::string* bytes = io_.disk().find(kJournal);
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

std::string Invariants::at_end(const Tables& tables) const {
  if (std::string what = after_open(tables); !what.empty()) return what;
  for (JobId job : ids<JobId>(tables.jobs.size())) {
    if (tables.jobs.has(job) && !is_done(tables.jobs.state[job])) {
      return fmt::format("job {} has not ended", job.row());
    }
  }
  for (const auto& [id, task] : io_.processes().all()) {
    if (task.is_alive()) return text(id) + " lives at the end";
    return text(id) + " is not forgotten at the end";
  }
  return "";
}

}  // namespace fairlead
