#include "fairlead/journal/life_cycle_audit.h"

#include "fairlead/base/overloaded.h"

#include <algorithm>
#include <bit>

namespace fairlead {

void LifeCycleAudit::on(const Record& record) {
  if (record.t < now_) problem("the next record is earlier, at {} ms", record.t.ms);
  now_ = record.t;
  if (!begun_ && !std::holds_alternative<record::Run>(record.what)) {
    problem("the first record does not begin a run");
  }
  if (ended_) problem("a record follows the end record");
  begun_ = true;
  std::visit(
      Overloaded{
          [&](const record::Run& run) { on_run(run); },
          [&](const record::Node& node) { on_node(node); },
          [&](const record::Arrived& arrived) { on_known(arrived.asked, State::kWaiting); },
          [&](const record::Rejected& rejected) { on_known(rejected.asked, State::kRejected); },
          [&](const record::Unsubmitted& unsubmitted) {
            on_known(unsubmitted.asked, State::kUnsubmitted);
            if (unsubmitted.submit >= now_) return;
            problem("job {} was submitted before the end", unsubmitted.asked.job.row());
          },
          [&](const record::Finished& finished) { on_done(finished.job, true); },
          [&](const OneOf<record::Failed, record::Cancelled> auto& failed) {
            on_done(failed.job, false);
          },
          [&](const record::Evicted& evicted) {
            on_job_run_end(evicted.job, State::kWaiting);
            forget_gang(evicted.job);
          },
          [&](const record::StartFailed& failed) {
            on_job_run_end(failed.job, State::kHeld);
            forget_gang(failed.job);
          },
          [&](const record::Pinned& pinned) { on_pinned(pinned); },
          [&](const record::Stop& stop) { on_stop(stop); },
          [&](const record::Place& place) { on_place(place); },
          [&](const record::Started& started) { on_started(started.job); },
          [&](const record::Stopped& stopped) { on_stopped(stopped.job, stopped.run, true); },
          [&](const record::StopFailed& failed) { on_stopped(failed.job, failed.run, false); },
          [&](const record::Held& held) { on_held(held.job); },
          [&](const record::Released& released) { on_released(released.job); },
          [&](const record::GpusDown& down) { on_gpus_down(down); },
          [&](const record::GpusUp& up) { on_gpus_up(up); },
          [&](const record::Cordoned& cordoned) { on_cordon(cordoned.node, true); },
          [&](const record::Closed& closed) { on_closed(closed); },
          [&](const record::Uncordoned& uncordoned) { on_cordon(uncordoned.node, false); },
          [&](const record::Speed& speed) { running(speed.job); },
          [&](const OneOf<record::Reported, record::Profiled> auto& what) {
            if (!jobs_.has(what.job)) problem("job {} reports before it came", what.job.row());
          },
          [&](const record::Carried& carried) { on_carried(carried); },
          [&](const record::End& end) { on_end(end.counts); },
          [](const auto&) {},
      },
      record.what);
}

LifeCycleAudit::AuditedJob* LifeCycleAudit::running(JobId job) {
  if (!jobs_.has(job) || jobs_[job].state != State::kRunning) {
    problem("job {} loses a gang that it does not have", job.row());
    return nullptr;
  }
  return &jobs_[job];
}

void LifeCycleAudit::on_run(const record::Run& run) {
  if (run.jobs > kAuditedJobsMax) return problem("{} jobs are too many to audit", run.jobs);
  jobs_.resize(run.jobs);
}

void LifeCycleAudit::on_node(const record::Node& node) {
  if (node.node.row() != nodes_.size()) problem("node {} is out of order", node.node.row());
  if (node.gpus == 0 || node.gpus > kNodeGpusMax) {
    return problem("node {} has {} GPUs", node.node.row(), node.gpus);
  }
  nodes_.push_back({.gpus = ~std::uint64_t{0} >> (kNodeGpusMax - node.gpus),
                    .host = node.host,
                    .rack = node.rack});
}

void LifeCycleAudit::on_known(const JobSpec& asked, State state) {
  // A live run learns of jobs as it goes.
  if (asked.job.is_none() || asked.job.row() >= kAuditedJobsMax) {
    return problem("job {} is out of order", asked.job.row());
  }
  AuditedJob& job = jobs_.grow_to(asked.job);
  if (job.state != State::kUnseen) problem("job {} is submitted twice", asked.job.row());
  job.state = state;
  job.gpus_min = asked.gpus_min;
  job.gpus_max = asked.gpus_max;
  job.task_gpus = asked.task_gpus;
  job.extras = asked.extras;
  job.is_pinned = asked.extras.pinned != kMayMove;
  job.required = asked.closeness.required;
  counts_.rejected += state == State::kRejected;
}

void LifeCycleAudit::on_job_run_end(JobId id, State next) {
  AuditedJob* const job = running(id);
  if (job == nullptr) return;
  release(*job);
  job->state = next;
  job->is_starting = false;
}

void LifeCycleAudit::forget_gang(JobId job) {
  if (jobs_.has(job)) jobs_[job].last.clear();
}

void LifeCycleAudit::on_stop(const record::Stop& stop) {
  if (stop.is_reported && jobs_.has(stop.job)) {
    stopping_.insert({stop.job, jobs_[stop.job].run});
  }
  on_job_run_end(stop.job, State::kWaiting);
}

void LifeCycleAudit::on_stopped(JobId job, RunId run, bool is_over) {
  if (!stopping_.contains({job, run})) {
    return problem("job {}: run {} is not being stopped", job.row(), run);
  }
  if (is_over) stopping_.erase({job, run});
}

void LifeCycleAudit::on_done(JobId id, bool finished) {
  if (!jobs_.has(id)) return problem("job {} is out of order", id.row());
  AuditedJob& job = jobs_[id];
  const bool is_idle = job.state == State::kWaiting || job.state == State::kHeld;
  if (is_idle && finished && job.run == 0) {
    problem("job {} finishes without ever having run", id.row());
  }
  if (!is_idle) on_job_run_end(id, State::kDone);
  if (!is_idle && job.state != State::kDone) return;
  job.state = State::kDone;
  ++(finished ? counts_.finished : counts_.failed);
}

void LifeCycleAudit::on_place(const record::Place& place) {
  if (!jobs_.has(place.job)) return problem("job {} is out of order", place.job.row());
  AuditedJob& job = jobs_[place.job];
  if (place.copy == 0 && job.state != State::kWaiting) {
    return problem("job {} is placed, but does not wait", place.job.row());
  }
  if (place.copy > 0 &&
      (job.state != State::kRunning || job.placed_at != now_ || job.copies != place.copy)) {
    return problem("job {}: copy {} is not placed together with those before it", place.job.row(),
                   place.copy);
  }
  if (place.copy == 0) {
    job.placed_at = now_;
    job.is_starting = place.is_reported;
    ++job.run;
  }
  job.copies = place.copy + 1;
  const std::uint32_t most = job.extras.most_copies(nodes_.size());
  if (job.copies > most)
    problem("job {} has {} copies, where {} are allowed", place.job.row(), job.copies, most);
  grant(job, place);
  if (job.is_pinned && !job.last.empty() && job.grants != job.last) {
    problem("job {} is pinned, and gets other GPUs than in its last run", place.job.row());
  }
  const std::uint32_t gpus = gpus_of(place.gang);
  if (gpus < job.gpus_min || gpus > job.gpus_max) {
    problem("job {} gets {} GPUs and asks for {} to {}: its gang is split", place.job.row(), gpus,
            job.gpus_min, job.gpus_max);
  }
  for (Slice slice : place.gang) {
    if (slice.gpus % job.task_gpus == 0) continue;
    problem("job {} gets {} GPUs of node {}, which splits a task of {}", place.job.row(),
            slice.gpus, slice.node.row(), job.task_gpus);
  }
  check_level(job, place);
  job.state = State::kRunning;
}

// Hosts and racks are in the journal; the switches above them are not.
void LifeCycleAudit::check_level(const AuditedJob& job, const record::Place& place) {
  if (job.required != kHostLevel && job.required != kRackLevel) return;
  const bool is_host = job.required == kHostLevel;
  const Slice* first = nullptr;  // first slice of its copy
  for (const Slice& slice : place.gang) {
    if (!nodes_.has(slice.node)) return;  // a problem of its own
    if (first == nullptr || first->copy != slice.copy) first = &slice;
    const AuditedNode& a = nodes_[first->node];
    const AuditedNode& b = nodes_[slice.node];
    if (is_host ? a.host == b.host : a.rack == b.rack) continue;
    problem("job {} gets nodes {} and {}, which share no {}", place.job.row(), first->node.row(),
            slice.node.row(), is_host ? "host" : "rack");
  }
}

void LifeCycleAudit::on_started(JobId id) {
  AuditedJob* const job = running(id);
  if (job == nullptr) return;
  if (!job->is_starting) problem("job {} starts twice", id.row());
  job->is_starting = false;
}

void LifeCycleAudit::on_carried(const record::Carried& carried) {
  if (!jobs_.has(carried.job) || jobs_[carried.job].state != State::kWaiting) {
    return problem("job {} has had something before, but does not wait", carried.job.row());
  }
  jobs_[carried.job].run = carried.run;
}

void LifeCycleAudit::on_pinned(const record::Pinned& pinned) {
  const State state = jobs_.has(pinned.job) ? jobs_[pinned.job].state : State::kUnseen;
  if (state != State::kWaiting && state != State::kRunning && state != State::kHeld) {
    return problem("job {} is pinned or may move, but is not here", pinned.job.row());
  }
  jobs_[pinned.job].is_pinned = pinned.is_pinned;
}

void LifeCycleAudit::on_held(JobId id) {
  if (!jobs_.has(id) || (jobs_[id].state != State::kWaiting && jobs_[id].state != State::kHeld)) {
    return problem("job {} is held, but does not wait", id.row());
  }
  jobs_[id].state = State::kHeld;
}

void LifeCycleAudit::on_released(JobId id) {
  if (!jobs_.has(id) || jobs_[id].state != State::kHeld) {
    return problem("job {} is released, but is not held", id.row());
  }
  jobs_[id].state = State::kWaiting;
}

void LifeCycleAudit::grant(AuditedJob& job, const record::Place& place) {
  for (std::size_t i = 0; i < place.gang.size(); ++i) {
    const Slice slice = place.gang[i];
    const std::uint64_t gpus = place.gpu_masks[i];
    if (!nodes_.has(slice.node)) {
      problem("job {} is placed on node {}, which does not exist", place.job.row(),
              slice.node.row());
      continue;
    }
    AuditedNode& node = nodes_[slice.node];
    if (i > 0 && place.gang[i - 1].node >= slice.node) {
      problem("job {}: the slices of its gang are not sorted", place.job.row());
    }
    if (gpus == 0 || (gpus & ~node.gpus) != 0 || std::popcount(gpus) != slice.gpus) {
      problem("job {} is granted GPUs {:#x} of node {}, which has {:#x}", place.job.row(), gpus,
              slice.node.row(), node.gpus);
    }
    if ((gpus & node.busy) != 0) {
      problem("job {} is granted GPUs {:#x} of node {}, which are allocated already",
              place.job.row(), gpus & node.busy, slice.node.row());
    }
    if ((gpus & node.down) != 0) {
      problem("job {} is placed on node {}, which is down", place.job.row(), slice.node.row());
    }
    if ((gpus & node.closed) != 0) {
      problem("job {} is placed on node {}, which is cordoned", place.job.row(), slice.node.row());
    }
    if (std::ranges::find(job.grants, slice.node, &Grant::node) != job.grants.end()) {
      problem("job {} is placed on node {} twice", place.job.row(), slice.node.row());
    }
    job.grants.push_back({slice.node, gpus & ~node.busy});
    node.busy |= gpus;
  }
}

void LifeCycleAudit::release(AuditedJob& job) {
  for (const Grant& grant : job.grants) nodes_[grant.node].busy &= ~grant.gpus;
  job.last = std::exchange(job.grants, {});
}

void LifeCycleAudit::on_gpus_down(const record::GpusDown& down) {
  if (!nodes_.has(down.node)) return problem("node {} does not exist", down.node.row());
  AuditedNode& node = nodes_[down.node];
  const std::uint64_t gpus = down.gpus == kAllGpus ? node.gpus : down.gpus;
  if (gpus == 0 || (gpus & node.down) != 0 || (gpus & ~node.gpus) != 0) {
    problem("GPUs {:#x} of node {} go down; it has {:#x}, and {:#x} are down already", gpus,
            down.node.row(), node.gpus, node.down);
  }
  if ((node.busy & gpus) != 0) {
    problem("node {} goes down while its GPUs {:#x} are allocated", down.node.row(),
            node.busy & gpus);
  }
  node.down |= gpus;
}

void LifeCycleAudit::on_gpus_up(const record::GpusUp& up) {
  if (!nodes_.has(up.node)) return problem("node {} does not exist", up.node.row());
  AuditedNode& node = nodes_[up.node];
  const std::uint64_t gpus = up.gpus == kAllGpus ? node.gpus : up.gpus;
  if (gpus == 0 || (gpus & ~node.down) != 0) {
    problem("GPUs {:#x} of node {} come up; {:#x} are down", gpus, up.node.row(), node.down);
  }
  node.down &= ~gpus;
}

void LifeCycleAudit::on_cordon(NodeId id, bool is_cordoned) {
  if (!nodes_.has(id)) return problem("node {} does not exist", id.row());
  if (nodes_[id].is_cordoned == is_cordoned) {
    problem("node {} changes to the state it is in", id.row());
  }
  nodes_[id].is_cordoned = is_cordoned;
  nodes_[id].closed = 0;
}

void LifeCycleAudit::on_closed(const record::Closed& closed) {
  if (!nodes_.has(closed.node)) return problem("node {} does not exist", closed.node.row());
  AuditedNode& node = nodes_[closed.node];
  if (!node.is_cordoned)
    problem("GPUs of node {} close, but it is not cordoned", closed.node.row());
  if ((closed.gpus & ~node.gpus) != 0) {
    problem("GPUs {:#x} of node {} close; it has {:#x}", closed.gpus, closed.node.row(), node.gpus);
  }
  if ((closed.gpus & node.busy) != 0) {
    problem("GPUs {:#x} of node {} close while they are allocated", closed.gpus & node.busy,
            closed.node.row());
  }
  node.closed |= closed.gpus;
}

void LifeCycleAudit::on_end(const JobCounts& counts) {
  ended_ = true;
  for (JobId id : ids<JobId>(jobs_.size())) {
    const State state = jobs_[id].state;
    if (state == State::kUnseen) problem("no record accounts for job {}", id.row());
    counts_.pending += state == State::kUnsubmitted || state == State::kWaiting ||
                       state == State::kRunning || state == State::kHeld;
    counts_.unsubmitted += state == State::kUnsubmitted;
  }
  if (counts_ == counts) return;
  problem(
      "the end record counts {} finished, {} failed, {} rejected, {} pending ({} unsubmitted) "
      "jobs; the records before it {}, {}, {}, {} ({})",
      counts.finished, counts.failed, counts.rejected, counts.pending, counts.unsubmitted,
      counts_.finished, counts_.failed, counts_.rejected, counts_.pending, counts_.unsubmitted);
}

}  // namespace fairlead
