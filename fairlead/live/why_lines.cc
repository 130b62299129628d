#include "fairlead/live/why_lines.h"

#include "fairlead/base/counted.h"
#include "fairlead/base/time_text.h"
#include "fairlead/live/entitled_gpus.h"
#include "fairlead/model/step.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace fairlead {
namespace {

std::string list_text(std::vector<std::string> items, std::size_t most) {
  const std::size_t more = items.size() - std::min(items.size(), most);
  items.resize(items.size() - more);
  return fmt::format("{}{}", fmt::join(items, ", "),
                     more == 0 ? std::string() : fmt::format(" and {} more", more));
}

bool can_use(const Tables& tables, JobId job, NodeId node) {
  return (tables.jobs.types[job] & type_bit(tables.cluster.node_type[node])) != 0;
}

std::string running_line(const Tables& tables, JobId job, std::int64_t ms) {
  constexpr std::size_t kNodes = 8;
  if (!tables.needs_gpus(job)) {
    return fmt::format("It {} without GPUs, for {}.",
                       tables.jobs.is_starting(job) ? "starts" : "runs", span_text(ms));
  }
  std::vector<std::string> on;
  for (Slice slice : tables.jobs.last_gang(job))
    on.push_back(
        fmt::format("{} of {}", counted(slice.gpus, "GPU"), tables.cluster.node_names[slice.node]));
  return fmt::format("It {} on {}, for {}.", tables.jobs.is_starting(job) ? "starts" : "runs",
                     list_text(std::move(on), kNodes), span_text(ms));
}

// Reports the idle GPUs that it can run on.
std::string idle_line(const Tables& tables, JobId job) {
  std::uint32_t idle = 0;
  std::uint32_t most = 0;
  for (NodeId node : ids<NodeId>(tables.cluster.nodes())) {
    if (!can_use(tables, job, node)) continue;
    const Tables::NodeState& state = tables.nodes[node];
    const auto here = static_cast<std::uint32_t>(std::popcount(state.free & state.usable()));
    idle += here;
    most = std::max(most, here);
  }
  return fmt::format(
      "{} that it can run on {} idle now{}.", idle == 0 ? "No GPU" : counted(idle, "GPU"),
      idle <= 1 ? "is" : "are",
      idle > most ? fmt::format(", at most {} of them on one node", most) : std::string());
}

// Names the jobs that run on GPUs that it could use.
std::string rivals_line(const Tables& tables, JobId job, const BackendFacts& backend) {
  constexpr std::size_t kNames = 6;
  std::vector<JobId> rivals;
  for (JobId other : tables.running.members()) {
    const Gang gang = tables.jobs.last_gang(other);
    if (std::ranges::any_of(gang, [&](Slice slice) { return can_use(tables, job, slice.node); }))
      rivals.push_back(other);
  }
  if (rivals.empty()) return {};
  std::ranges::sort(rivals);
  std::vector<std::string> names;
  for (JobId other : rivals)
    names.push_back(fmt::format("{} ({})", backend.name_of(other),
                                counted(tables.jobs.allocated_gpus[other], "GPU")));
  return fmt::format("Instead of it: {}.", list_text(std::move(names), kNames));
}

// Names the one job that explains the cause.
std::string other_line(const Tables& tables, const WhyNow::Answer& answer,
                       const BackendFacts& backend) {
  if (answer.other.is_none()) return {};
  const std::string other = fmt::format("{} ({})", backend.name_of(answer.other),
                                        counted(tables.jobs.gpus[answer.other], "GPU"));
  return answer.cause == WhyCause::kKept ? fmt::format("They are kept for {}.", other)
                                         : fmt::format("It would fit, but {} went first.", other);
}

// Returns where the job runs and for how long; or the cause of its wait, the free GPUs, and the jobs that have the
// others. REQUIRES: the job is here.
std::vector<std::string> state_lines(WhyNow& why, JobId job, const BackendFacts& backend,
                                     const BackendFacts::JobFacts& facts) {
  const Tables& tables = why.moment().tables();
  const std::int64_t ms = std::max<std::int64_t>(0, (why.moment().now() - why.since(job)).ms);
  if (tables.jobs.state[job] == JobState::kRunning) return {running_line(tables, job, ms)};
  const bool needs_gpus = tables.needs_gpus(job);
  const WhyNow::Answer answer = why.cause(job);
  const std::string cause = facts.after.empty() ? std::string(why_cause_info(answer.cause).now)
                                                : "it starts " + facts.after;
  std::vector<std::string> lines = {fmt::format(
      "It waits{}, for {}: {}.",
      needs_gpus ? " for " + counted(tables.jobs.gpus[job], "GPU") : " to run without GPUs",
      span_text(ms), cause)};
  if (answer.cause == WhyCause::kRetry) {
    const Duration left = tables.held_until.at(job) - why.moment().now();
    lines.push_back(
        fmt::format("The next try is in {}.", span_text(std::max<std::int64_t>(0, left.ms))));
  }
  if (tables.jobs.state[job] == JobState::kHeld) return lines;
  const PresentWaits::Job* present = why.waits().find(job);
  // Older journals, and policies that give none, have no cause.
  const bool has_cause =
      present != nullptr && present->stop && *present->stop != StopCause::kPolicy;
  if (has_cause)
    lines.push_back(
        fmt::format("It was stopped because {}.", stop_cause_info(*present->stop).text));
  lines.push_back(idle_line(tables, job));
  for (std::string line : {other_line(tables, answer, backend), rivals_line(tables, job, backend)})
    if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

// Returns "The job has been served 1.25 GPU-hours so far."
std::string served_sentence(const Tables& tables, JobId job, Time now) {
  const Time until = std::max(now, tables.jobs.run_since[job]);
  return fmt::format("The job has been served {:.2f} GPU-hours so far.",
                     to_gpu_hours(tables.jobs.attained(job, until)));
}

class Why {
 public:
  Why(const Views& views, JobId job, Time now, bool is_verbose)
      : views_(views),
        tables_(views.tables),
        job_(job),
        now_(now),
        user_(tables_.jobs.user[job]),
        is_verbose_(is_verbose),
        facts_(views.backend.of(job, now)),
        why_(why_now(views, now)) {}

  std::vector<std::string> lines() {
    if (!tables_.jobs.is_here(job_)) return {done_line()};
    lines_ = state_lines(why_, job_, views_.backend, facts_);
    if (tables_.jobs.state[job_] == JobState::kHeld) held_line();
    process_lines();
    foreign_lines();
    if (tables_.needs_gpus(job_)) {
      reservation_lines();
      share_lines();
    }
    restart_lines();
    if (is_verbose_) note_lines();
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
    const std::string& reason = views_.book.of(job_).reason;
    return fmt::format("It is done: {}{}{}{}.", state_name(tables_.jobs.state[job_]),
                       reason.empty() ? "" : ", ", reason,
                       views_.backend.is_ending(job_) ? "; its processes are still ending" : "");
  }

  void held_line() {
    if (tables_.held_until.at(job_) != Time::never()) {
      lines_.push_back(fmt::format("The start failed: {}.", views_.book.of(job_).reason));
    } else if (std::string hint = views_.backend.release_hint(job_); !hint.empty()) {
      lines_.push_back(std::move(hint));
    }
  }

  void process_lines() {
    const Jobs& jobs = tables_.jobs;
    const bool is_suspended = jobs.state[job_] == JobState::kWaiting && !jobs.last[job_].empty();
    if (is_suspended && views_.backend.rests_in_place(job_))
      lines_.push_back("Its processes are frozen and keep their memory.");
    if (jobs.is_pinned(job_)) pinned_line();
    if (facts_.idle.ms > 0)
      lines_.push_back(fmt::format("Its GPUs have been idle for {} min.", facts_.idle.ms / 60'000));
    if (facts_.speed) {
      speed_line(*facts_.speed);
    } else if (facts_.load) {
      load_line(*facts_.load);
    }
    if (facts_.gpu_memory_mb > 0)
      lines_.push_back(fmt::format("It needs {:g} GB of the memory of each GPU.",
                                   facts_.gpu_memory_mb / 1000.0));
    if (facts_.memory_mb > 0)
      lines_.push_back(
          fmt::format("It may have {:g} GB of the machine's memory.", facts_.memory_mb / 1000.0));
    if (facts_.cpu_milli > 0)
      lines_.push_back(
          fmt::format("It may use {:g} of the machine's processors.", facts_.cpu_milli / 1000.0));
    if (facts_.priority != "normal")
      lines_.push_back(fmt::format("Its priority is {}.", facts_.priority));
    if (facts_.limit.ms > 0) {
      const std::uint32_t gpus = std::max(1U, jobs.gpus[job_]);
      const GpuTime left = occupancy(facts_.limit, gpus) - tables_.ran(job_, now_);
      const auto left_ms = static_cast<std::int64_t>(left.gpu_ms / gpus);
      lines_.push_back(fmt::format("Its time limit of {} leaves it {} more{}.",
                                   span_text(facts_.limit.ms), span_text(left_ms),
                                   tables_.needs_gpus(job_) ? " with GPUs" : ""));
    }
    if (retries_used() == 0) return;
    lines_.push_back(fmt::format(
        "It has ended badly {} time{}, and was started again; {} of {} retries are left.",
        retries_used(), plural(retries_used()), facts_.retries->most - retries_used(),
        facts_.retries->most));
  }

  void speed_line(const BackendFacts::JobFacts::Speed& speed) {
    const double per_s = speed.unit_per_s;
    lines_.push_back(
        fmt::format("speed: {} {}/s, measured from {}",
                    per_s < 100 ? fmt::format("{:.3g}", per_s) : fmt::format("{:.0f}", per_s),
                    speed.unit, speed.sensor_text));
  }

  void load_line(const BackendFacts::JobFacts::Load& load) {
    const std::string power =
        load.power_w ? fmt::format(" and draw {:.0f} W each", *load.power_w) : "";
    lines_.push_back(
        fmt::format("speed: not measured; a weak sign, which no policy uses: its GPUs compute "
                    "{:.0f} % of the time{}",
                    load.busy_percent, power));
  }

  void pinned_line() {
    const bool is_asked = tables_.jobs.extras_of(job_).pinned == kPinnedAlways;
    lines_.push_back(
        fmt::format("It stays on its GPUs, because a move would lose its work: {}.",
                    is_asked ? "it was submitted with --moves no"
                    : facts_.lost.empty()
                        ? "its processes have no handler for SIGTERM"
                        : fmt::format("after the last one its progress fell {}", facts_.lost)));
  }

  // Names the foreign processes on GPUs that it has or could have.
  void foreign_lines() {
    outage_lines();
    if (views_.backend.foreign().empty()) return;
    const FirstOnHost first = first_gpus_on_host(tables_.cluster);
    for (const GpuProcess& process : views_.backend.foreign()) {
      const auto after = std::upper_bound(first.begin(), first.end(), process.gpu);
      const NodeId node(static_cast<std::size_t>(after - first.begin() - 1));
      if (!can_use(tables_, job_, node)) continue;
      lines_.push_back(fmt::format("GPU {}: {} of {} (pid {}) {}.", process.gpu, process.name,
                                   process.user, process.pid,
                                   foreign_remark(views_.backend, process, now_)));
    }
  }

  // Reports the GPUs of its types that are reserved, now or in the next day.
  void reservation_lines() {
    constexpr std::int64_t kDayMs = std::int64_t{24} * 60 * 60 * 1000;
    const std::int64_t unix_ms = views_.backend.unix_ms(now_);
    const auto& types = tables_.cluster.type_names;
    for (const BackendFacts::Reservation& one : views_.backend.reservations(now_)) {
      const auto type = std::find(types.begin(), types.end(), one.type) - types.begin();
      const bool is_its =
          (tables_.jobs.types[job_] & type_bit(GpuTypeId(static_cast<std::size_t>(type)))) != 0;
      if (!is_its || one.from_unix_ms > unix_ms + kDayMs) continue;
      lines_.push_back(fmt::format("{}.", reservation_text(one, unix_ms)));
    }
  }

  // Reports the GPUs that it has or could have, and that are out of service.
  void outage_lines() {
    const auto outages = views_.backend.outages(now_);
    if (outages.empty()) return;
    const FirstOnHost first = first_gpus_on_host(tables_.cluster);
    for (const BackendFacts::Outage& outage : outages) {
      const auto after = std::upper_bound(first.begin(), first.end(), outage.gpu);
      const NodeId node(static_cast<std::size_t>(after - first.begin() - 1));
      if (can_use(tables_, job_, node))
        lines_.push_back(fmt::format("GPU {} is {}: {}.", outage.gpu, outage.state, outage.reason));
    }
  }

  void share_lines() {
    lines_.push_back(entitlement_sentence(tables_, user_));
    due_line();
    std::size_t others = 0;
    for (const JobSet* jobs : {&tables_.running, &tables_.waiting}) {
      others += static_cast<std::size_t>(std::ranges::count_if(jobs->members(), [&](JobId other) {
        return other != job_ && tables_.jobs.user[other] == user_;
      }));
    }
    if (others > 0 && facts_.after.empty()) {
      lines_.push_back(fmt::format("{} has {} other job{} here, with which it takes turns.",
                                   tables_.users.names[user_], others, plural(others)));
      const std::optional<Duration> patience =
          views_.traits == nullptr ? std::nullopt : views_.traits->job_patience;
      if (patience && tables_.jobs.state[job_] == JobState::kWaiting)
        lines_.push_back(
            fmt::format("A started job of these, or a gang larger than all started ones, "
                        "comes first after {} without GPUs.",
                        span_text(patience->ms)));
    }
    lines_.push_back(served_sentence(tables_, job_, now_));
  }

  // Retries have their line beside the limits.
  void restart_lines() {
    const JobBook::Entry& entry = views_.book.of(job_);
    const std::size_t moves = entry.moves;
    if (moves > 0 && views_.backend.rests_in_place(job_))
      lines_.push_back(
          fmt::format("It was moved to other GPUs {} time{}: its processes were asked to write a "
                      "checkpoint and end, and its command was started again.",
                      moves, plural(moves)));
    if (!views_.backend.rests_in_place(job_) && entry.restarts() > 0)
      lines_.push_back(fmt::format("Its processes were ended and started again {} time{}.",
                                   entry.restarts(), plural(entry.restarts())));
    const auto lost = std::ranges::count_if(entry.lost, [&](RunId run) {
      return !facts_.retries ||
             std::ranges::find(facts_.retries->runs, run) == facts_.retries->runs.end();
    });
    if (lost > 0 && views_.backend.rests_in_place(job_))
      lines_.push_back(
          fmt::format("Its processes were lost {} time{}, with the machine or a GPU, "
                      "and its command was started again.",
                      lost, plural(static_cast<std::size_t>(lost))));
    if (entry.failed_starts > 0)
      lines_.push_back(fmt::format("Its start failed {} time{}.", entry.failed_starts,
                                   plural(entry.failed_starts)));
  }

  // Reports the policy's notes about its user.
  void due_line() {
    const auto due = views_.book.dues().of(user_, now_);
    if (!due) return;
    constexpr double kNothing = 0.05;  // GPU-hours
    const double behind = due->debt_gpu_s.value_or(due->behind_gpu_s) / 3600;
    if (due->debt_gpu_s) {
      lines_.push_back(
          fmt::format("{} is due {:.2f} of {} under {}, and is {:.1f} GPU-hours {} its share.",
                      tables_.users.names[user_], due->gpus, counted(tables_.cluster.gpus, "GPU"),
                      views_.policy, std::abs(behind), behind < 0 ? "ahead of" : "behind"));
      return;
    }
    const std::string had = std::abs(behind) < kNothing
                                ? "that"
                                : fmt::format("{:.1f} GPU-hours {} than that", std::abs(behind),
                                              behind > 0 ? "less" : "more");
    lines_.push_back(fmt::format(
        "{} is due {:.2f} of {} under {}, and has had {} since jobs began to wait here, {} ago.",
        tables_.users.names[user_], due->gpus, counted(tables_.cluster.gpus, "GPU"), views_.policy,
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

  std::size_t retries_used() const { return facts_.retries ? facts_.retries->used() : 0; }
  static std::string_view plural(std::size_t count) { return count == 1 ? "" : "s"; }

  const Views& views_;
  const Tables& tables_;
  const JobId job_;
  const Time now_;
  const UserId user_;
  const bool is_verbose_;
  const BackendFacts::JobFacts facts_;
  WhyNow why_;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> why_lines(const Views& views, JobId job, Time now, bool is_verbose) {
  return Why(views, job, now, is_verbose).lines();
}

nlohmann::json why_answer(const Views& views, JobId job, Time now, bool is_verbose) {
  Why why(views, job, now, is_verbose);
  const nlohmann::json cause = why.cause();
  return {{"job", job.row()}, {"cause", cause}, {"lines", why.lines()}};
}

WhyNow why_now(const Views& views, Time now) {
  return WhyNow(views.tables, views.book.waits(), views.traits, now);
}

}  // namespace fairlead
