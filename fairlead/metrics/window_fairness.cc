#include "fairlead/metrics/window_fairness.h"

#include "fairlead/base/overloaded.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fairlead {

WindowFairness::WindowFairness(WindowFairnessOptions options)
    : options_(std::move(options)),
      received_(options_.received, std::exchange(options_.mix_speeds, {})) {
  const std::int64_t step_ms = options_.step.ms;
  FL_CHECK(step_ms >= 1 && options_.quantum.ms >= 0, "step {} ms", step_ms);
  for (Duration window : options_.windows) {
    FL_CHECK(window.ms > 0 && window.ms % step_ms == 0, "window {} ms, step {} ms", window.ms,
             step_ms);
    figures_.push_back({.window = window, .steady = {}, .all = {}, .shortfalls = {}});
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
          [&](const record::Run& run) { jobs_.reserve(run.jobs); },
          [&](const record::Group& group) { shares_.add_group(group.tickets, group.quota); },
          [&](const record::User& user) {
            shares_.add_user(user.tickets, user.group);
            received_.add_user();
            users_[users_.push_back({})].ring.resize(static_cast<std::size_t>(ring_steps_));
          },
          [&](const record::Tickets& what) { shares_.set_tickets(t, what.user, what.tickets); },
          [&](const record::Node& node) { on_gpus(t, node); },
          [&](const ChangesUsableGpus auto& change) { on_gpus(t, change); },
          [&](const record::Arrived& arrived) { on_arrived(t, arrived.asked); },
          [&](const OneOf<record::Finished, record::Failed, record::Cancelled> auto& done) {
            on_leave(t, done.job);
          },
          [&](const OneOf<record::Stop, record::Evicted> auto& stop) { end_run(t, stop.job); },
          [&](const OneOf<record::StartFailed, record::Held> auto& held) {
            end_run(t, held.job);
            ask_no_more(t, held.job);
          },
          [&](const record::Released& released) { ask(t, released.job); },
          [&](const record::Place& place) { on_place(t, place); },
          [&](const record::Started& started) { received_.start_work(t, started.job); },
          [&](const record::Speed& speed) { received_.change_rate(t, speed.job, speed.rate); },
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
  idle_.advance(t - now_, gpus_.total());
  now_ = t;
}

void WindowFairness::sample(Time t) {
  for (UserId id : ids<UserId>(users_.size())) {
    User& user = users_[id];
    const Sample now{received_.gpu_ms(id, t), shares_.entitled_gpu_ms(id, t)};
    sample_of(samples_, user) = now;
    for (WindowFigures& figures : figures_) {
      const std::int64_t begin = samples_ - figures.window.ms / options_.step.ms;
      if (begin >= 0) compare(figures, t, id, sample_of(begin, user), now);
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
  const double missing = entitled - (now.received_gpu_ms - before.received_gpu_ms);
  const auto count = [&](WindowErrors& errors, double beyond) {
    const double error = std::max(0.0, beyond - allowance) / entitled;
    ++errors.count;
    errors.mean += error;
    errors.quantiles.add(error);
    if (error <= errors.largest) return;
    errors.largest = error;
    errors.user = id;
    errors.window_end = t;
  };
  count(figures.all, std::abs(missing));
  const bool had_jobs = user.jobs > 0 && user.first_job <= begin;
  if (had_jobs && gpus_.total() > 0 && up_since_ <= begin) {
    count(figures.steady, std::abs(missing));
  }
  if (shares_.short_since(id) <= begin) count(figures.shortfalls, missing);
}

void WindowFairness::on_gpus(Time t, const auto& what) {
  if (gpus_.total() == 0) up_since_ = t;
  gpus_.on(what);
  shares_.set_gpus(t, gpus_.total());
}

void WindowFairness::on_arrived(Time t, const JobSpec& asked) {
  if (first_arrival_ == Time::never()) {
    first_arrival_ = t;
    const std::int64_t step_ms = options_.step.ms;
    next_sample_ = {(t.ms + step_ms - 1) / step_ms * step_ms};
  }
  jobs_.grow_to(asked.job) = {.user = asked.user, .gpus = asked.gpus};
  received_.add_job(asked.job, asked.user, asked.gpus);
  ask(t, asked.job);
}

void WindowFairness::ask(Time t, JobId id) {
  Job& job = jobs_[id];
  if (std::exchange(job.asks, true)) return;
  User& user = users_[job.user];
  // A job that comes at the moment the last one goes leaves no gap.
  if (user.jobs == 0 && user.last_job < t) user.first_job = t;
  ++user.jobs;
  ++gang_count(user, job.gpus).jobs;
  idle_.add_demand(job.gpus);
  shares_.add_demand(t, job.user, job.gpus);
}

void WindowFairness::on_leave(Time t, JobId id) {
  end_run(t, id);
  ask_no_more(t, id);
  last_leave_ = t;
}

void WindowFairness::ask_no_more(Time t, JobId id) {
  Job& job = jobs_[id];
  if (!std::exchange(job.asks, false)) return;
  User& user = users_[job.user];
  if (--user.jobs == 0) user.last_job = t;
  GangCount& gang = gang_count(user, job.gpus);
  if (--gang.jobs == 0) gang.gone = t;
  idle_.add_demand(-std::int64_t{job.gpus});
  shares_.add_demand(t, job.user, -std::int64_t{job.gpus});
}

void WindowFairness::on_place(Time t, const record::Place& place) {
  if (place.copy == 0 && place.kind == PlaceKind::kMigrate) ++migrations_;
  const std::int64_t gpus = gpus_of(place.gang);
  jobs_[place.job].allocated_gpus += gpus;
  idle_.add_allocated(gpus);
  received_.place(t, place);
}

void WindowFairness::end_run(Time t, JobId id) {
  idle_.add_allocated(-std::exchange(jobs_[id].allocated_gpus, 0));
  received_.end_run(t, id);
}

void WindowFairness::on_end(Time t, const JobCounts& counts) {
  const Time end = counts.pending > 0 ? t : last_leave_;
  if (end > now_) advance(end);
  if (first_arrival_ != Time::never()) length_ = end - first_arrival_;
  for (WindowFigures& figures : figures_) {
    for (WindowErrors* errors : {&figures.steady, &figures.all, &figures.shortfalls}) {
      if (errors->count > 0) errors->mean /= static_cast<double>(errors->count);
    }
  }
}

WindowFairness::GangCount& WindowFairness::gang_count(User& user, std::uint32_t gpus) {
  auto it = std::ranges::find_if(user.gangs, [&](const GangCount& g) { return g.gpus <= gpus; });
  if (it == user.gangs.end() || it->gpus != gpus) {
    it = user.gangs.insert(it, {.gpus = gpus, .jobs = 0, .gone = {}});
  }
  return *it;
}

// Returns the largest gang of the jobs that were unfinished at any time after `since`.
std::uint32_t WindowFairness::largest_gang(const User& user, Time since) {
  const auto it = std::ranges::find_if(
      user.gangs, [&](const GangCount& gang) { return gang.jobs > 0 || gang.gone > since; });
  return it == user.gangs.end() ? 0 : it->gpus;
}

WindowFairness::Sample& WindowFairness::sample_of(std::int64_t number, User& user) const {
  return user.ring[static_cast<std::size_t>(number % ring_steps_)];
}

namespace {

double per_hour(std::int64_t count, double hours) {
  return hours > 0 ? static_cast<double>(count) / hours : 0;
}

}  // namespace

double WindowFairness::migrations_per_hour() const {
  return per_hour(migrations_, to_seconds(length_) / 3600);
}

double WindowFairness::migrations_per_gpu_hour() const {
  return per_hour(migrations_, to_gpu_hours(idle_.used()));
}

}  // namespace fairlead
