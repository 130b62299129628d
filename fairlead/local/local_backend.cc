#include "fairlead/local/local_backend.h"

#include "fairlead/base/overloaded.h"
#include "fairlead/local/python_path.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <utility>

namespace fairlead {
namespace {

// A killed task that still exists, for example because it waits for a disk, is killed again.
constexpr Duration kKillAgain = seconds(10);

// Returns the value of the variable `name`, which ends with "="; empty if there is none.
std::string_view value_of(std::span<const std::string> environment, std::string_view name) {
  const auto found = std::ranges::find_if(
      environment, [&](const std::string& variable) { return variable.starts_with(name); });
  return found == environment.end() ? std::string_view()
                                    : std::string_view(*found).substr(name.size());
}

// Returns a JSON list with an object for each copy of the job.
std::string copies_text(const Tables& tables, const Machine& machine, const FirstGpus& first_gpus,
                        JobId id) {
  nlohmann::json copies = nlohmann::json::array();
  Gang left = tables.jobs.last_gang(id);
  auto masks = tables.jobs.gangs.gpu_masks(tables.jobs.last[id]);
  while (!left.empty()) {
    const Gang copy = first_copy(left);
    const GpuTypeId type = tables.cluster.node_type[copy.front().node];
    std::vector<std::string> gpus;
    for (std::uint32_t gpu : machine_gpus(first_gpus, copy, masks.first(copy.size())))
      gpus.push_back(machine.gpu_names[gpu]);
    copies.push_back({{"gpus", gpus},
                      {"gpu_type", tables.cluster.type_names[type]},
                      {"speed", machine.speed[type]}});
    left = left.subspan(copy.size());
    masks = masks.subspan(copy.size());
  }
  return copies.dump();
}

}  // namespace

LocalBackend::LocalBackend(Io& io, const Tables& tables, const Machine& machine, Duration grace,
                           Inbox& inbox, StartConditions& conditions, std::string hook)
    : io_(io),
      tables_(tables),
      machine_(machine),
      grace_(grace),
      inbox_(inbox),
      conditions_(conditions),
      hook_(std::move(hook)),
      references_(io),
      first_gpus_(fairlead::first_gpus(machine.cluster)),
      gpus_(io, tables, machine, inbox,
            [this](TaskId id, std::uint32_t gpu) {
              const auto job = jobs_.find(id.job);
              if (job == jobs_.end() || !job->second.task || job->second.task->id != id)
                return true;
              const std::vector<std::uint32_t>& gpus = job->second.task->gpus;
              return gpus.empty() || std::ranges::find(gpus, gpu) != gpus.end();
            }),
      works_on_(machine.cluster.gpus),
      room_(tables),
      host_room_(machine.host.memory_mb) {}

void LocalBackend::add(JobId job, Submission submission, std::uint32_t starts) {
  Job& made = jobs_[job] = {.what = std::move(submission), .starts = starts};
  room_.add(job, {tables_.jobs.gpus[job], tables_.jobs.types[job], made.what.gpu_memory_mb});
  host_room_.add(job, made.what.memory_mb);
  if (!tables_.jobs.is_here(job)) return;
  conditions_.add(job, made.what);
}

void LocalBackend::add_new(const JobSpec& asked, Submission submission, ConnectionId client) {
  const bool needs_client = submission.has_terminal || submission.has_input;
  const ConnectionId terminal = needs_client ? client : 0;
  Job& made = jobs_[asked.job] = {.what = std::move(submission), .terminal = terminal};
  room_.add(asked.job, {asked.gpus, asked.types, made.what.gpu_memory_mb});
  host_room_.add(asked.job, made.what.memory_mb);
  conditions_.add_new(asked, made.what);
}

const Submission* LocalBackend::submission(JobId job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? nullptr : &found->second.what;
}

void LocalBackend::on(const Record& record) {
  conditions_.on(record);
  std::visit(Overloaded{
                 [&](const OneOf<record::Finished, record::Failed, record::Cancelled> auto& what) {
                   done_.push_back(what.job);
                 },
                 [&](const record::Rejected& rejected) { done_.push_back(rejected.asked.job); },
                 [](const auto&) {},
             },
             record.what);
}

void LocalBackend::carry_out(Time now, std::span<const Step> steps) {
  const auto is_placed = [&](JobId job) {
    return std::ranges::any_of(steps, [&](const Step& step) {
      return step.kind == Step::Kind::kPlace && step.job == job;
    });
  };
  for (const Step& step : steps) {
    if (step.kind == Step::Kind::kStop) stop(now, step.job, step.run, is_placed(step.job));
  }
  for (const Step& step : steps) {
    if (step.kind != Step::Kind::kPlace) continue;
    Job& job = jobs_[step.job];
    if (step.copy > 0) {  // one task has all copies
      if (!job.start || job.start->run != step.run) continue;
      const auto gpus = machine_gpus(first_gpus_, step.gang, step.gpu_masks);
      job.start->gpus.insert(job.start->gpus.end(), gpus.begin(), gpus.end());
      continue;
    }
    if (step.run <= job.run) continue;  // a repeated step
    job.run = step.run;
    job.has_ended = false;
    job.start = {step.run, machine_gpus(first_gpus_, step.gang, step.gpu_masks), now};
    due_.push_back(step.job);
  }
  start_all_due(now);
}

void LocalBackend::stop(Time now, JobId id, RunId run, bool moves) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return say_stopped(id, run);
  Job& job = found->second;
  if (run <= std::exchange(job.stopped, std::max(job.stopped, run))) return;  // a repeated step
  if (job.start && job.start->run == run) {  // its start was still pending
    job.start.reset();
    std::erase(due_, id);
    return say_stopped(id, run);
  }
  if (!job.task || job.task->state != State::kRunning) return say_stopped(id, run);
  if (moves || !tables_.jobs.is_here(id)) return leave(now, *job.task, run);
  freeze(now, job, run);
}

void LocalBackend::freeze(Time now, Job& job, RunId run) {
  Task& task = *job.task;
  // Its processes can install no handler while they are frozen.
  if (tables_.jobs.keeps_no_work(task.id.job)) look_at(now, task.id.job, job);
  if (!io_.freeze(task.id)) return leave(now, task, run);
  task.state = State::kFrozen;
  set_works(now, task.id.job, task, false);
  if (run != 0) say_stopped(task.id.job, run);
}

void LocalBackend::leave(Time now, Task& task, RunId stopped_run) {
  task.state = State::kLeaving;
  task.deadline = now + grace_;
  task.stopped_run = stopped_run;
  leaving_.push_back(task.id.job);
  io_.interrupt(task.id);
}

void LocalBackend::say_stopped(JobId job, RunId run) {
  inbox_.add({.kind = EventKind::kStopped, .job = job, .run = run});
}

// A task that begins after a bad end would hide it from the next daemon, if that end cannot be kept.
void LocalBackend::start_all_due(Time now) {
  if (!disk_) return;
  std::erase_if(due_, [&](JobId id) { return start_due(now, id, jobs_[id]); });
}

bool LocalBackend::start_due(Time now, JobId id, Job& job) {
  const Start& start = *job.start;
  if (job.has_ended) return false;
  if (job.task && job.task->state != State::kFrozen) return false;
  if (job.task && job.task->gpus != start.gpus) {
    leave(now, *job.task, 0);
    return false;
  }
  if (!are_free(start.gpus, id)) return false;
  if (start.is_refused) return false;
  if (!gpus_.are_usable(start.gpus)) {  // the engine takes the start back
    job.start->is_refused = true;
    gpus_.refuse(start.gpus);
    return false;
  }
  if (!job.task && !make_room(now, id, job)) return !job.start;
  const Status status = job.task ? io_.thaw(job.task->id) : begin_task(id, job);
  if (status) {
    job.task->state = State::kRunning;
    set_works(now, id, *job.task, true);
    inbox_.add(
        {.kind = EventKind::kStarted, .job = id, .run = start.run, .overhead = now - start.since});
  } else {
    fail_start(id, job, status.error());
  }
  job.start.reset();
  return true;
}

// Returns whether the job fits into the machine, and on the GPUs of its start. If not, jobs that can save their work are
// leaving the GPUs, or the start is given back, because a job that stays is in the way.
bool LocalBackend::make_room(Time now, JobId id, Job& job) {
  const auto give_back = [&] {
    job.has_ended = true;
    inbox_.add({.kind = EventKind::kEvicted, .job = id, .run = job.start->run});
    job.start.reset();
    return false;
  };
  if (!host_room_.fits(id)) return give_back();  // another job has started since it was released
  const std::vector<std::uint32_t>& gpus = job.start->gpus;
  if (room_.fits(id, gpus)) return true;
  if (!gpus_.has_looked_at(now)) {  // jobs may have ended since the last report
    gpus_.look(now);
    room_.set_report(gpus_.memory());
    if (room_.fits(id, gpus)) return true;
  }
  const auto leavers = room_.leavers(now, id, gpus, [&](JobId other) {
    const auto found = jobs_.find(other);
    return found != jobs_.end() && found->second.task &&
           (found->second.task->state == State::kLeaving || !tables_.jobs.keeps_no_work(other));
  });
  for (const JobId other : leavers) {
    Task& task = *jobs_.at(other).task;
    if (task.state == State::kFrozen) leave(now, task, 0);
  }
  return leavers.empty() ? give_back() : false;
}

// A command that cannot run has ended badly. The machine's troubles may pass, so the engine tries again later, except
// at a terminal: there the user decides.
void LocalBackend::fail_start(JobId id, Job& job, const Error& error) {
  const RunId run = job.start->run;
  EventKind kind = EventKind::kStartFailed;
  if (!job.task && error.kind == Error::Kind::kInput) {
    kind = retry({id, run}, job.what) ? EventKind::kEvicted : EventKind::kFailed;
  } else if (!job.task && job.what.has_terminal) {
    kind = EventKind::kFailed;
  }
  job.has_ended = kind != EventKind::kStartFailed;
  inbox_.add({.kind = kind, .job = id, .run = run, .reason = inbox_.keep(error.message)});
}

Status LocalBackend::begin_task(JobId id, Job& job) {
  const TaskId task{id, job.start->run};
  if (job.what.has_terminal && job.terminal == 0)
    return run_error("its terminal is gone: the daemon restarted after the job was submitted");
  const bool has_input = job.what.has_input && job.starts == 0;
  if (has_input && job.terminal == 0)
    return input_error(
        "exit code 126: its standard input is gone: the daemon restarted before the job started");
  TaskSpec spec{.id = task,
                .uid = job.what.uid,
                .gid = job.what.gid,
                .command = job.what.command,
                .environment = environment(id, job),
                .folder = job.what.folder,
                .umask = job.what.umask,
                .gpus = job.start->gpus,
                .processes = job.what.processes,
                .terminal = job.what.has_terminal ? job.terminal : 0,
                .input = has_input ? job.terminal : 0,
                .limits = job.what.limits,
                .memory_mb = job.what.memory_mb,
                .cpu_milli = job.what.cpu_milli};
  for (std::uint32_t gpu = 0; gpu < machine_.gpu_names.size(); ++gpu) {
    if (std::ranges::find(spec.gpus, gpu) == spec.gpus.end())
      spec.other_gpus.push_back(machine_.gpu_names[gpu]);
  }
  FL_TRY(io_.start(spec));
  ++job.starts;
  job.task = {.id = task, .gpus = job.start->gpus, .began = io_.now(), .works = false};
  room_.come(id, job.task->gpus);
  host_room_.come(id);
  return {};
}

std::vector<std::string> LocalBackend::environment(JobId id, const Job& job) const {
  const std::vector<std::uint32_t>& gpus = job.start->gpus;
  const GpuTypeId type = tables_.cluster.node_type[tables_.jobs.last_gang(id).front().node];
  std::vector<std::string_view> names;
  names.reserve(gpus.size());
  for (std::uint32_t gpu : gpus) names.push_back(machine_.gpu_names[gpu]);
  std::vector<std::string> all = {
      fmt::format("CUDA_VISIBLE_DEVICES={}", fmt::join(names, ",")),
      fmt::format("FAIRLEAD_JOB_ID={}", id.row()),
      fmt::format("FAIRLEAD_GPUS={}", gpus.size()),
      fmt::format("FAIRLEAD_GPU_TYPE={}", tables_.cluster.type_names[type]),
      fmt::format("FAIRLEAD_SPEED={}", machine_.speed[type]),
      fmt::format("FAIRLEAD_RESTART_COUNT={}", job.starts),
      fmt::format("FAIRLEAD_PROGRESS={}", io_.progress_path({id, job.start->run})),
      "MASTER_ADDR=127.0.0.1",
      fmt::format("MASTER_PORT={}", io_.free_port()),
  };
  all.push_back("FAIRLEAD_COPIES=" + copies_text(tables_, machine_, first_gpus_, id));
  if (!hook_.empty()) {
    const std::string_view own = value_of(job.what.environment, "PYTHONPATH=");
    const std::string path = python_path(own, hook_, job.what.has_hook);
    if (!path.empty() || !own.empty()) all.push_back("PYTHONPATH=" + path);
  }
  const std::size_t ours = all.size();
  for (const std::string& variable : job.what.environment) {
    const std::string_view name = std::string_view(variable).substr(0, variable.find('=') + 1);
    const bool is_ours =
        std::any_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(ours),
                    [&](const std::string& text) { return text.starts_with(name); });
    if (!is_ours) all.push_back(variable);
  }
  return all;
}

bool LocalBackend::are_free(std::span<const std::uint32_t> gpus, JobId for_job) const {
  return std::ranges::all_of(gpus, [&](std::uint32_t gpu) {
    return std::ranges::all_of(works_on_[gpu], [&](JobId job) { return job == for_job; });
  });
}

void LocalBackend::set_works(Time now, JobId id, Task& task, bool works) {
  task.works = works;
  if (works) {
    task.sensors.run(now);
  } else {
    task.sensors.pause(now);
    task.idle_since = Time::never();
  }
  for (std::uint32_t gpu : task.gpus) {
    std::erase(works_on_[gpu], id);
    if (works) works_on_[gpu].push_back(id);
  }
}

Status LocalBackend::retire(Time now,
                            const std::function<Status(JobId, const Submission&)>& on_end) {
  for (TaskId id : std::exchange(ended_, {})) io_.forget(id);
  for (JobId id : std::exchange(done_, {})) {
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) continue;
    Job& job = found->second;
    FL_TRY(on_end(id, job.what));
    if (job.start) {
      job.start.reset();
      std::erase(due_, id);
    }
    if (!job.task) {
      remove(id);
    } else if (job.task->state != State::kLeaving) {
      leave(now, *job.task, 0);
    }
  }
  return {};
}

void LocalBackend::remove(JobId id) {
  host_room_.remove(id);
  conditions_.remove(id);
  room_.remove(id);
  jobs_.erase(id);
  io_.remove(submission_file(id));
}

Time LocalBackend::deadline() const {
  const std::span<const JobId> running = tables_.running.members();
  Time next = std::min({gpus_.deadline(), conditions_.deadline(), room_.deadline()});
  if (!running.empty()) next = std::min(next, next_look_);
  for (JobId id : running) next = std::min(next, limit_at(id));
  for (JobId id : leaving_) next = std::min(next, jobs_.at(id).task->deadline);
  return next;
}

void LocalBackend::on_time(Time now, Time instant) {
  end_overlong(instant);
  room_.set_report(gpus_.memory());
  const auto is_bound = [&](JobId id) { return jobs_.at(id).task || jobs_.at(id).start; };
  room_.update(now, is_bound, conditions_);
  host_room_.update(is_bound, conditions_);
  conditions_.update(now);
  if (!conditions_.disk()) disk_ = conditions_.disk();
  gpus_.on_time(now);
  if (gpus_.has_looked_at(now)) note_load(now);
  if (now >= next_look_) look(now);
  for (JobId id : leaving_) {
    Task& task = *jobs_.at(id).task;
    if (task.deadline > now) continue;
    io_.kill(task.id);
    task.deadline = now + kKillAgain;
  }
}

}  // namespace fairlead
