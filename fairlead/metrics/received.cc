#include "fairlead/metrics/received.h"

#include <algorithm>
#include <utility>

namespace fairlead {

ReceivedMeter::ReceivedMeter(Received received, IdVector<JobId, double> mix_speeds)
    : received_(received), mix_speeds_(std::move(mix_speeds)) {}

void ReceivedMeter::add_job(JobId job, UserId user, std::uint32_t gpus) {
  jobs_.grow_to(job) = {.user = user, .asked = gpus};
}

void ReceivedMeter::place(Time t, const record::Place& place) {
  end_overheads(t);
  Job& job = jobs_[place.job];
  const Time works_from = place.is_reported ? Time::never() : t + place.overhead;
  if (place.copy == 0) {
    job.allocated = 0;
    job.rate = {};
    job.works_from = works_from;
  }
  ++job.run;
  job.allocated += gpus_of(place.gang);
  job.rate.fixed += place.rate.fixed;
  job.works_from = std::max(job.works_from, works_from);
  if (received_ != Received::kAllocated && job.works_from > t && job.works_from != Time::never()) {
    overheads_.push({job.works_from, place.job, job.run});
  }
  receive(t, place.job);
}

void ReceivedMeter::start_work(Time t, JobId id) {
  end_overheads(t);
  jobs_[id].works_from = t;
  receive(t, id);
}

void ReceivedMeter::change_rate(Time t, JobId id, Rate rate) {
  end_overheads(t);
  jobs_[id].rate = rate;
  receive(t, id);
}

void ReceivedMeter::end_run(Time t, JobId id) {
  end_overheads(t);
  Job& job = jobs_[id];
  job.allocated = 0;
  ++job.run;
  receive(t, id);
}

double ReceivedMeter::gpu_ms(UserId id, Time t) {
  end_overheads(t);
  const User& user = users_[id];
  return user.gpu_ms + static_cast<double>((t - user.since).ms) * user.gpus;
}

// Ends the overheads that are over at or before `t`, of runs that continue.
void ReceivedMeter::end_overheads(Time t) {
  while (!overheads_.empty() && overheads_.top().t <= t) {
    const OverheadEnd end = overheads_.top();
    overheads_.pop();
    if (jobs_[end.job].run == end.run) receive(end.t, end.job);
  }
}

// From `t` on the user receives according to the job's state.
void ReceivedMeter::receive(Time t, JobId id) {
  Job& job = jobs_[id];
  double gpus = job.allocated;
  if (received_ != Received::kAllocated && job.works_from > t) gpus = 0;
  if (received_ == Received::kEffective && gpus > 0) {
    gpus = job.rate.value() * job.asked / (mix_speeds_.has(id) ? mix_speeds_[id] : 1);
  }
  User& user = users_[job.user];
  user.gpu_ms += static_cast<double>((t - user.since).ms) * user.gpus;
  user.since = t;
  user.gpus += gpus - std::exchange(job.gpus, gpus);
}

}  // namespace fairlead
