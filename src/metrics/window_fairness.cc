#include "fairlead/metrics/window_fairness.h"

#include "fairlead/base/overloaded.h"

#include <algorithm>
#include <cmath>

namespace fairlead {

WindowFairness::WindowFairness(WindowFairnessOptions options) : options_(std::move(options)) {
  const std::int64_t step_ms = options_.step.ms;
  FL_CHECK(step_ms >= 1 && options_.quantum.ms >= 0, "step {} ms", step_ms);
  for (Duration window : options_.windows) {
    FL_CHECK(window.ms > 0 && window.ms % step_ms == 0, "window {} ms, step {} ms", window.ms,
             step_ms);
    figures_.push_back({.window = window, .steady = {}, .all = {}});
    ring_steps_ = std::max(ring_steps_, window.ms / step_ms + 1);
  }
}

void WindowFairness::on(const Record& record) {
  const Time t = record.t;
  if (const auto* end = std::get_if<record::End>(&record.what)) return on_end(t, end->counts);
  if (std::holds_alternative<record::Unsubmitted>(record.what)) return;
  advance(t);
  std::visit(
      Overloaded{
          [&](const record::Run& run) { jobs_.resize(run.jobs); },
          [&](const record::User& user) {
            shares_.add_user(user.tickets);
            users_.push_back({});
          },
          [&](const record::Node& node) {
            node_gpus_.push_back(node.gpus);
            on_node(t, node.gpus);
          },
          [&](const record::GpusDown& down) {
            on_node(t, -std::int64_t{count_gpus(down.gpus, node_gpus_[down.node])});
          },
          [&](const record::GpusUp& up) { on_node(t, count_gpus(up.gpus, node_gpus_[up.node])); },
          [&](const record::Arrived& arrived) { on_arrived(t, arrived.asked); },
          [&](const OneOf<record::Finished, record::Failed, record::Cancelled> auto& done) {
            on_leave(t, done.job);
          },
          [&](const OneOf<record::Stop, record::Evicted, record::StartFailed> auto& stop) {
            hold(t, stop.job, 0);
          },
          [&](const record::Place& place) {
            const std::int64_t before = place.copy > 0 ? jobs_[place.job].held_gpus : 0;
            if (place.copy == 0 && place.kind == PlaceKind::kMigrate) ++migrations_;
            hold(t, place.job, before + gpus_of(place.gang));
          },
          [](const auto&) {},
      },
      record.what);
}

// Samples are taken before the first change at their time.
void WindowFairness::advance(Time t) {
  while (next_sample_ <= t) {
    sample(next_sample_);
    next_sample_ = next_sample_ + options_.step;
  }
  const Duration elapsed = t - now_;
  held_ += occupancy(elapsed, held_gpus_);
  if (gpus_up_ > 0 && demand_ >= gpus_up_) {
    wanted_ += occupancy(elapsed, gpus_up_);
    idle_ += occupancy(elapsed, gpus_up_) - occupancy(elapsed, held_gpus_);
  }
  now_ = t;
}

void WindowFairness::sample(Time t) {
  for (UserId id : ids<UserId>(users_.size())) {
    settle(users_[id], t);
    const Sample now{users_[id].held_gpu_ms, shares_.entitled_gpu_ms(id, t)};
    sample_of(samples_, id) = now;
    for (WindowFigures& figures : figures_) {
      const std::int64_t begin = samples_ - figures.window.ms / options_.step.ms;
      if (begin >= 0) compare(figures, t, id, sample_of(begin, id), now);
    }
  }
  ++samples_;
}

void WindowFairness::compare(WindowFigures& figures, Time t, UserId id, const Sample& before,
                             const Sample& now) {
  const double entitled = now.entitled_gpu_ms - before.entitled_gpu_ms;
  if (entitled <= 0) return;
  const User& user = users_[id];
  const Time begin = t - figures.window;
  const double allowance = static_cast<double>(options_.quantum.ms) * largest_gang(user, begin);
  const auto received = static_cast<double>(now.held_gpu_ms - before.held_gpu_ms);
  const double error = std::max(0.0, std::abs(received - entitled) - allowance) / entitled;
  const auto count = [&](WindowErrors& errors) {
    ++errors.count;
    errors.mean += error;
    if (error <= errors.largest) return;
    errors.largest = error;
    errors.user = id;
    errors.window_end = t;
  };
  count(figures.all);
  const bool had_jobs = user.jobs > 0 && user.first_job <= begin;
  if (had_jobs && gpus_up_ > 0 && up_since_ <= begin) count(figures.steady);
}

void WindowFairness::on_node(Time t, std::int64_t gpus) {
  if (gpus_up_ == 0) up_since_ = t;
  gpus_up_ += gpus;
  shares_.set_gpus(t, gpus_up_);
}

void WindowFairness::on_arrived(Time t, const record::Asked& asked) {
  if (first_arrival_ == Time::never()) {
    first_arrival_ = t;
    const std::int64_t step_ms = options_.step.ms;
    next_sample_ = {(t.ms + step_ms - 1) / step_ms * step_ms};
    ring_.resize(users_.size() * static_cast<std::size_t>(ring_steps_));
  }
  jobs_[asked.job] = {asked.user, asked.gpus, 0};
  User& user = users_[asked.user];
  // A job that comes at the moment the last one goes leaves no gap.
  if (user.jobs == 0 && user.last_job < t) user.first_job = t;
  ++user.jobs;
  ++gang_count(user, asked.gpus).jobs;
  demand_ += asked.gpus;
  shares_.add_demand(t, asked.user, asked.gpus);
}

void WindowFairness::on_leave(Time t, JobId id) {
  hold(t, id, 0);
  const Job& job = jobs_[id];
  User& user = users_[job.user];
  FL_CHECK(user.jobs > 0 && demand_ >= job.gpus, "job {} leaves, but is not here", id.row());
  if (--user.jobs == 0) user.last_job = t;
  GangCount& gang = gang_count(user, job.gpus);
  if (--gang.jobs == 0) gang.gone = t;
  demand_ -= job.gpus;
  shares_.add_demand(t, job.user, -std::int64_t{job.gpus});
  last_leave_ = t;
}

// From `t` on the job holds so many GPUs.
void WindowFairness::hold(Time t, JobId id, std::int64_t gpus) {
  Job& job = jobs_[id];
  User& user = users_[job.user];
  settle(user, t);
  FL_DCHECK(gpus >= 0 && user.held_gpus + gpus >= job.held_gpus, "job {}", id.row());
  user.held_gpus += gpus - job.held_gpus;
  held_gpus_ += gpus - job.held_gpus;
  job.held_gpus = gpus;
}

void WindowFairness::on_end(Time t, const JobCounts& counts) {
  const Time end = counts.pending > 0 ? t : last_leave_;
  if (end > now_) advance(end);
  if (first_arrival_ != Time::never()) length_ = end - first_arrival_;
  for (WindowFigures& figures : figures_) {
    for (WindowErrors* errors : {&figures.steady, &figures.all}) {
      if (errors->count > 0) errors->mean /= static_cast<double>(errors->count);
    }
  }
}

void WindowFairness::settle(User& user, Time t) {
  user.held_gpu_ms += (t - user.since).ms * user.held_gpus;
  user.since = t;
}

WindowFairness::GangCount& WindowFairness::gang_count(User& user, std::uint32_t gpus) {
  auto it = std::ranges::find_if(user.gangs, [&](const GangCount& g) { return g.gpus <= gpus; });
  if (it == user.gangs.end() || it->gpus != gpus) {
    it = user.gangs.insert(it, {.gpus = gpus, .jobs = 0, .gone = {}});
  }
  return *it;
}

// Of the jobs that were unfinished at any time after `since`.
std::uint32_t WindowFairness::largest_gang(const User& user, Time since) {
  const auto it = std::ranges::find_if(
      user.gangs, [&](const GangCount& gang) { return gang.jobs > 0 || gang.gone > since; });
  return it == user.gangs.end() ? 0 : it->gpus;
}

WindowFairness::Sample& WindowFairness::sample_of(std::int64_t number, UserId user) {
  const auto slot = static_cast<std::size_t>(number % ring_steps_);
  return ring_[slot * users_.size() + user.row()];
}

namespace {

double ratio(GpuTime part, GpuTime whole) {
  return whole.gpu_ms > 0 ? static_cast<double>(part.gpu_ms) / static_cast<double>(whole.gpu_ms)
                          : 0;
}

double per_hour(std::int64_t count, double hours) {
  return hours > 0 ? static_cast<double>(count) / hours : 0;
}

}  // namespace

double WindowFairness::idle_when_wanted() const { return ratio(idle_, wanted_); }

double WindowFairness::migrations_per_hour() const {
  return per_hour(migrations_, to_seconds(length_) / 3600);
}

double WindowFairness::migrations_per_gpu_hour() const {
  return per_hour(migrations_, to_gpu_hours(held_));
}

}  // namespace fairlead
