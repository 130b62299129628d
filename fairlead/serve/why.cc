// Explains in plain words why a job does not run.

#include "fairlead/base/counted.h"
#include "fairlead/base/time_text.h"
#include "fairlead/live/entitled_gpus.h"
#include "fairlead/serve/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fairlead {
namespace {

std::string list_of(const std::vector<std::string>& items, std::size_t most) {
  const std::size_t shown = std::min(items.size(), most);
  std::string text = fmt::format(
      "{}", fmt::join(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (items.size() > shown) text += fmt::format(" and {} more", items.size() - shown);
  return text;
}

class Why {
 public:
  Why(const Views& views, JobId job, Time now)
      : views_(views), tables_(views.tables), job_(job), now_(now) {}

  std::vector<std::string> lines() {
    const Jobs& jobs = tables_.jobs;
    const JobState state = jobs.state[job_];
    if (!jobs.is_here(job_)) return {done_line()};
    lines_.push_back(state_line(state));
    if (const Duration idle = views_.backend.idle(job_, now_); idle.ms > 0) {
      lines_.push_back(fmt::format("Its GPUs have been idle for {} min.", idle.ms / 60'000));
    }
    if (state == JobState::kWaiting) {
      capacity_lines();
      rivals_line();
    }
    limit_line();
    retries_line();
    foreign_lines();
    share_lines();
    restarts_line();
    note_lines();
    return std::move(lines_);
  }

 private:
  std::string done_line() const {
    const nlohmann::json job = views_.job(job_, now_);
    const std::string& reason = views_.book.of(job_).reason;
    return fmt::format("It is done: {}{}{}.", job["state"].get<std::string>(),
                       reason.empty() ? "" : ", ", reason);
  }

  std::string state_line(JobState state) const {
    const Jobs& jobs = tables_.jobs;
    const std::int64_t since_s = (now_ - views_.book.of(job_).since).ms / 1000;
    if (state == JobState::kHeld) {
      const Time until = tables_.held_until.at(job_);
      if (until == Time::never())
        return fmt::format("It has been held for {} s; `fairlead release {}` lets it run.", since_s,
                           job_.row());
      return fmt::format("Its last start failed ({}); it is tried again in {} s.",
                         views_.book.of(job_).reason, (until - now_).ms / 1000);
    }
    if (state == JobState::kRunning) {
      std::vector<std::string> on;
      for (Slice slice : jobs.last_gang(job_)) {
        on.push_back(fmt::format("{} of {}", counted(slice.gpus, "GPU"),
                                 tables_.cluster.node_names[slice.node]));
      }
      return fmt::format("It has been {} on {} for {} s.",
                         jobs.is_starting(job_) ? "starting" : "running", list_of(on, 8), since_s);
    }
    const bool ran = !jobs.last[job_].empty();
    const std::string gpus = counted(jobs.gpus[job_], "GPU");
    if (!ran) return fmt::format("It has waited {} s for {}.", since_s, gpus);
    return fmt::format(
        "It has been suspended for {} s, and waits for {}; its processes are frozen "
        "and keep their memory.",
        since_s, gpus);
  }

  void capacity_lines() {
    std::uint32_t idle = 0;
    std::uint32_t most = 0;
    for (NodeId node : ids<NodeId>(tables_.cluster.nodes())) {
      if ((tables_.jobs.types[job_] & type_bit(tables_.cluster.node_type[node])) == 0) continue;
      const auto& state = tables_.nodes[node];
      const auto here = static_cast<std::uint32_t>(std::popcount(state.free & state.usable()));
      idle += here;
      most = std::max(most, here);
    }
    lines_.push_back(
        fmt::format("{} that it can run on {} idle now{}.",
                    idle == 0 ? "No GPU" : counted(idle, "GPU"), idle <= 1 ? "is" : "are",
                    idle > most ? fmt::format(", at most {} of them on one node", most) : ""));
  }

  // Names the foreign processes on GPUs that it has or could have.
  void foreign_lines() {
    for (const ForeignProcess& process : views_.backend.foreign()) {
      const auto& first = views_.backend.first_gpus();
      const auto after = std::upper_bound(first.begin(), first.end(), process.gpu);
      const NodeId node(static_cast<std::size_t>(after - first.begin() - 1));
      if ((tables_.jobs.types[job_] & type_bit(tables_.cluster.node_type[node])) == 0) continue;
      lines_.push_back(fmt::format("GPU {}: {} of {} (pid {}) is not a Fairlead job.", process.gpu,
                                   process.name, process.user, process.pid));
    }
  }

  void rivals_line() {
    std::vector<JobId> running(tables_.running.members().begin(), tables_.running.members().end());
    std::ranges::sort(running);
    std::vector<std::string> names;
    names.reserve(running.size());
    for (JobId other : running) {
      names.push_back(fmt::format("job {} ({}, {})", other.row(),
                                  tables_.users.names[tables_.jobs.user[other]],
                                  counted(tables_.jobs.held_gpus[other], "GPU")));
    }
    if (!names.empty()) lines_.push_back(fmt::format("Instead of it: {}.", list_of(names, 6)));
  }

  void limit_line() {
    const Submission* what = views_.backend.submission(job_);
    if (what == nullptr || what->limit.ms == 0) return;
    const GpuTime left =
        occupancy(what->limit, tables_.jobs.gpus[job_]) - tables_.jobs.attained(job_, now_);
    const auto left_ms = static_cast<std::int64_t>(left.gpu_ms / tables_.jobs.gpus[job_]);
    lines_.push_back(fmt::format("Its time limit of {} leaves it {} more with GPUs.",
                                 span_text(what->limit.ms), span_text(left_ms)));
  }

  void retries_line() {
    const Submission* what = views_.backend.submission(job_);
    if (what == nullptr || what->failed.empty()) return;
    lines_.push_back(fmt::format(
        "It has ended badly {} time{}, and was started again; {} of {} retries are left.",
        what->failed.size(), what->failed.size() == 1 ? "" : "s", what->retries_left(),
        what->retries));
  }

  void share_lines() {
    const UserId user = tables_.jobs.user[job_];
    const auto list = views_.users(now_)["users"];
    const auto& mine = list[user.row()];
    lines_.push_back(entitlement_sentence(tables_, user));
    due_line(user);
    const int others = mine["jobs_waiting"].get<int>() + mine["jobs_running"].get<int>() - 1;
    if (others > 0) {
      lines_.push_back(fmt::format("{} has {} other job{} here, with which it takes turns.",
                                   tables_.users.names[user], others, others == 1 ? "" : "s"));
    }
    lines_.push_back(fmt::format("The job has been served {:.2f} GPU-hours so far.",
                                 hours(tables_.jobs.attained(job_, now_))));
  }

  void restarts_line() {
    const Submission* what = views_.backend.submission(job_);
    const std::size_t retries = what == nullptr ? 0 : what->failed.size();
    const std::size_t starts = views_.book.of(job_).restarts();
    if (starts <= retries) return;
    const std::size_t restarts = starts - retries;
    lines_.push_back(
        fmt::format("It was moved to other GPUs {} time{}: its processes were asked to write a "
                    "checkpoint and end, "
                    "and its command was started again.",
                    restarts, restarts == 1 ? "" : "s"));
  }

  // Reports the policy's notes about its user.
  void due_line(UserId user) {
    const auto due = views_.book.dues().of(user, now_);
    if (!due) return;
    constexpr double kNothing = 0.05;  // GPU-hours
    const double behind = due->debt_gpu_s.value_or(due->behind_gpu_s) / 3600;
    if (due->debt_gpu_s) {
      lines_.push_back(
          fmt::format("{} is due {:.2f} of {} under {}, and is {:.1f} GPU-hours {} its share.",
                      tables_.users.names[user], due->gpus, counted(tables_.cluster.gpus, "GPU"),
                      views_.policy, std::abs(behind), behind < 0 ? "ahead of" : "behind"));
      return;
    }
    const std::string had = std::abs(behind) < kNothing
                                ? "that"
                                : fmt::format("{:.1f} GPU-hours {} than that", std::abs(behind),
                                              behind > 0 ? "less" : "more");
    lines_.push_back(fmt::format(
        "{} is due {:.2f} of {} under {}, and has had {} since jobs began to wait here, {} ago.",
        tables_.users.names[user], due->gpus, counted(tables_.cluster.gpus, "GPU"), views_.policy,
        had, span_text((now_ - due->since).ms)));
  }

  // Reports the policy's notes about the job.
  void note_lines() {
    for (const auto& [kind, fields] : views_.book.notes(job_)) {
      const NoteInfo& info = note_info(kind);
      lines_.push_back(fmt::format("{} notes: {} {} ({}).", views_.policy, info.name,
                                   static_cast<double>(fields.value) / info.scale, info.value));
    }
  }

  const Views& views_;
  const Tables& tables_;
  const JobId job_;
  const Time now_;
  std::vector<std::string> lines_;
};

}  // namespace

nlohmann::json Views::why(JobId job, Time now) const {
  return {{"job", job.row()}, {"lines", Why(*this, job, now).lines()}};
}

}  // namespace fairlead
