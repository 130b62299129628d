#include "fairlead/policy/stride/stride_policy.h"

#include "fairlead/model/step.h"
#include "fairlead/policy/kit/effective_tickets.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace fairlead {

void StridePolicy::decide(const View& view, Plan& plan) {
  if (accounts_.size() < view.jobs.size()) accounts_.resize(view.jobs.size());
  charge_running(view, plan);
  apply_news(view);
  const bool is_round = rounds_.due(view.now, plan);
  if (view.waiting.empty()) return;
  if (is_round) {
    take_turns(view, plan);
  } else {
    sort_by_pass(queue_);
    offer_idle(view, plan);
  }
  const bool any_waits = std::ranges::any_of(
      queue_, [&](const StrideClient& each) { return !plan.has_gang(each.job); });
  if (any_waits && !plan.free().all_free()) rounds_.wake(view.now, plan);
}

std::uint32_t StridePolicy::pool(const Plan& plan) const {
  return options_.one_at_a_time ? 1 : plan.free().capacity();
}

void StridePolicy::charge_running(const View& view, const Plan& plan) {
  for (StrideClient& client : queue_) {
    const GpuTime attained = view.jobs.attained(client.job, view.now);
    GpuTime& charged = accounts_[client.job].charged;
    update(view, client, attained - charged);
    charged = attained;
  }
  if (options_.cap) cap_passes(queue_, pool(plan));
}

void StridePolicy::update(const View& view, StrideClient& client, GpuTime service) {
  const std::int64_t quantum_gpu_ms = options_.quantum.ms * view.jobs.gpus[client.job];
  charge(client, static_cast<double>(service.gpu_ms) / static_cast<double>(quantum_gpu_ms));
}

void StridePolicy::join(StrideClient& newcomer, const MeanPass& mean) {
  newcomer.pass = mean.value();
}

void StridePolicy::apply_news(const View& view) {
  const auto is_gone = [&](const StrideClient& client) {
    const JobState state = view.jobs.state[client.job];
    return state != JobState::kWaiting && state != JobState::kRunning;
  };
  bool has_changed = std::erase_if(queue_, is_gone) > 0;
  std::optional<MeanPass> mean;  // the mean pass of the queue, as far as needed
  for (const Event& event : view.news) {
    if (event.kind != EventKind::kArrived) continue;
    if (view.jobs.run[event.job] > 0) {  // its user held it: earlier charges no longer count
      if (std::erase_if(queue_, [&](const StrideClient& each) { return each.job == event.job; }) >
          0)
        mean.reset();
      const GpuTime charged = view.jobs.attained(event.job, view.now);
      accounts_[event.job] = {.charged = charged, .noted = charged};
    }
    StrideClient newcomer{.gpus = options_.one_at_a_time ? 1 : view.jobs.gpus[event.job],
                          .order = event.job.row(),
                          .job = event.job};
    if (!mean) {
      mean.emplace();
      for (const StrideClient& client : queue_) mean->add(client);
    }
    join(newcomer, *mean);
    mean->add(newcomer);
    queue_.push_back(newcomer);
    has_changed = true;
  }
  if (has_changed) divide_tickets(view);
  for (const Event& event : view.news) {
    if (event.kind == EventKind::kCharged) charge_user(view, event.user, event.attained);
  }
}

void StridePolicy::charge_user(const View& view, UserId user, GpuTime attained) {
  const auto is_its = [&](const StrideClient& client) {
    return view.jobs.user[client.job] == user;
  };
  double tickets = 0;
  for (const StrideClient& client : queue_) tickets += is_its(client) ? client.tickets : 0;
  const double quanta =
      static_cast<double>(attained.gpu_ms) / static_cast<double>(options_.quantum.ms);
  for (StrideClient& client : queue_) {
    if (is_its(client)) client.pass += quanta / tickets;
  }
}

void StridePolicy::divide_tickets(const View& view) {
  jobs_of_.resize(view.users.size());
  std::ranges::fill(jobs_of_, 0);
  for (const StrideClient& client : queue_) ++jobs_of_[view.jobs.user[client.job]];
  effective_tickets(view.users, jobs_of_, tickets_);
  for (StrideClient& client : queue_) {
    const UserId user = view.jobs.user[client.job];
    client.tickets = tickets_[user] / static_cast<double>(jobs_of_[user]);
  }
}

void StridePolicy::take_turns(const View& view, Plan& plan) {
  note_passes(plan);
  gang_stride(queue_, pool(plan), options_.skip);
  const Plan::Mark mark = plan.mark();
  if (!keep_and_place(view, plan) && !plan.is_cut()) {
    plan.rollback(mark);
    place_in_order(view, plan);
  }
  if (plan.is_cut()) {
    return_running(view, plan);
  } else {
    lift_those_who_cannot_run(plan);
  }
}

// Gives running jobs that were stopped their gangs again, if no job took them: the jobs for which they were stopped are
// examined by the next decision.
void StridePolicy::return_running(const View& view, Plan& plan) const {
  for (const StrideClient& client : queue_) {
    if (view.jobs.state[client.job] == JobState::kRunning && !plan.has_gang(client.job)) {
      place_back(view.jobs, plan, client.job);
    }
  }
}

bool StridePolicy::keep_and_place(const View& view, Plan& plan) const {
  for (const StrideClient& client : queue_) {
    if (!client.chosen && plan.has_gang(client.job)) plan.stop(client.job, StopCause::kTurn);
  }
  return std::ranges::all_of(queue_, [&](const StrideClient& client) {
    return !client.chosen || plan.has_gang(client.job) || give_place(view, plan, client);
  });
}

void StridePolicy::place_in_order(const View& view, Plan& plan) const {
  for (const StrideClient& client : queue_) {
    if (plan.has_gang(client.job))
      plan.stop(client.job, client.chosen ? StopCause::kMove : StopCause::kTurn);
  }
  offer_idle(view, plan);
}

// Walks the queue and places the jobs that fit beside the running ones.
void StridePolicy::offer_idle(const View& view, Plan& plan) const {
  std::uint32_t left = pool(plan);
  for (const StrideClient& client : queue_) {
    if (plan.has_gang(client.job)) left -= client.gpus;
  }
  for (const StrideClient& client : queue_) {
    if (left == 0) return;
    if (plan.has_gang(client.job)) continue;
    if (client.gpus <= left && give_place(view, plan, client)) {
      left -= client.gpus;
    } else if (!options_.skip && is_possible(view, client.job)) {
      return;
    }
  }
}

// Returns true if the idle cluster has a gang for it; a job without one blocks no other.
bool StridePolicy::is_possible(const View& view, JobId job) const {
  return has_types_for(options_.placement, view.cluster, gang_asked(view.jobs, job),
                       view.jobs.types[job]);
}

// Gives the job its present gang in the world if no job took it, else any that the placement finds.
bool StridePolicy::give_place(const View& view, Plan& plan, const StrideClient& client) const {
  const JobId job = client.job;
  if (view.jobs.state[job] == JobState::kRunning && place_back(view.jobs, plan, job)) return true;
  return place(options_.placement, view.cluster, plan, job, view.jobs.gpus[job],
               view.jobs.types[job]);
}

void StridePolicy::lift_those_who_cannot_run(const Plan& plan) {
  const auto first = std::ranges::find_if(
      queue_, [&](const StrideClient& client) { return plan.has_gang(client.job); });
  if (first == queue_.end()) return;
  for (auto client = queue_.begin(); client != first; ++client) client->pass = first->pass;
}

void StridePolicy::note_passes(Plan& plan) {
  for (const StrideClient& client : queue_) {
    Account& account = accounts_[client.job];
    if (account.noted == account.charged) continue;
    account.noted = account.charged;
    plan.note(note::Pass{client.job, note::Millionths::of(client.pass)});
  }
}

void StridePolicy::fields(Archive& archive) {
  archive(rounds_);
  archive.elements(queue_, [&](StrideClient& client) {
    archive(client);
    archive.expect(!client.job.is_none());
    if (archive.ok()) archive(accounts_.grow_to(client.job));
  });
}

}  // namespace fairlead
