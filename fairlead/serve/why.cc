// Explains in plain words why a job does not run.

#include "fairlead/base/counted.h"
#include "fairlead/base/time_text.h"
#include "fairlead/live/entitled_gpus.h"
#include "fairlead/live/why_lines.h"
#include "fairlead/serve/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fairlead {
namespace {

class Why {
 public:
  Why(const Views& views, JobId job, Time now)
      : views_(views),
        tables_(views.tables),
        job_(job),
        now_(now),
        why_(views.tables, views.book.waits(), views.traits, now) {}

  std::vector<std::string> lines() {
    const Jobs& jobs = tables_.jobs;
    const JobState state = jobs.state[job_];
    if (!jobs.is_here(job_)) return {done_line()};
    lines_ = state_lines(why_, job_, [&](JobId other) {
      return fmt::format("job {} of {}", other.row(), tables_.users.names[jobs.user[other]]);
    });
    if (state == JobState::kHeld) held_line();
    if (state == JobState::kWaiting && !jobs.last[job_].empty())
      lines_.push_back("Its processes are frozen and keep their memory.");
    if (const Duration idle = views_.backend.idle(job_, now_); idle.ms > 0) {
      lines_.push_back(fmt::format("Its GPUs have been idle for {} min.", idle.ms / 60'000));
    }
    speed_line();
    limit_line();
    retries_line();
    foreign_lines();
    share_lines();
    restarts_line();
    note_lines();
    return std::move(lines_);
  }
  // Returns the name of the cause of its wait; null: it does not wait.
  nlohmann::json cause() {
    const JobState state = tables_.jobs.state[job_];
    if (state != JobState::kWaiting && state != JobState::kHeld) return nullptr;
    return why_cause_info(why_.cause(job_).cause).name;
  }

 private:
  std::string done_line() const {
    const nlohmann::json job = views_.job(job_, now_);
    const std::string& reason = views_.book.of(job_).reason;
    return fmt::format("It is done: {}{}{}.", job["state"].get<std::string>(),
                       reason.empty() ? "" : ", ", reason);
  }

  void held_line() {
    if (tables_.held_until.at(job_) == Time::never()) {
      lines_.push_back(fmt::format("`fairlead release {}` lets it go on.", job_.row()));
    } else {
      lines_.push_back(fmt::format("The start failed: {}.", views_.book.of(job_).reason));
    }
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

  void speed_line() {
    const Sensors* sensors = views_.backend.sensors(job_);
    const auto speed = sensors == nullptr ? std::nullopt : sensors->speed();
    if (!speed) return;
    const double per_s = speed->unit_per_s;
    lines_.push_back(
        fmt::format("speed: {} {}/s, measured from {}",
                    per_s < 100 ? fmt::format("{:.3g}", per_s) : fmt::format("{:.0f}", per_s),
                    speed->unit, sensor_text(speed->sensor)));
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
    lines_.push_back(served_sentence(tables_, job_, now_));
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
    const PresentWaits::Job* present = views_.book.waits().find(job_);
    if (present == nullptr) return;
    for (const auto& [kind, fields] : present->notes) {
      const NoteInfo& info = note_info(kind);
      lines_.push_back(fmt::format("{} notes: {} {} ({}).", views_.policy, info.name,
                                   static_cast<double>(fields.value) / info.scale, info.value));
    }
  }

  const Views& views_;
  const Tables& tables_;
  const JobId job_;
  const Time now_;
  WhyNow why_;
  std::vector<std::string> lines_;
};

}  // namespace

nlohmann::json Views::why(JobId job, Time now) const {
  Why why(*this, job, now);
  const nlohmann::json cause = why.cause();
  return {{"job", job.row()}, {"cause", cause}, {"lines", why.lines()}};
}

}  // namespace fairlead
