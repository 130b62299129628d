#include "fairlead/journal/audit.h"

#include "fairlead/base/overloaded.h"

#include <algorithm>
#include <bit>

namespace fairlead {

template <class... Args>
void Audit::problem(fmt::format_string<Args...> format, Args&&... args) {
  ++problem_count_;
  if (problems_.size() >= kProblemsMax) return;
  problems_.push_back(fmt::format("at {} ms: ", now_.ms) +
                      fmt::format(format, std::forward<Args>(args)...));
}

void Audit::on(const Record& record) {
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
          [&](const record::Evicted& evicted) { on_stop(evicted.job, evicted.lost); },
          [&](const record::Stop& stop) { on_stop(stop.job, {}); },
          [&](const record::Place& place) { on_place(place); },
          [&](const record::NodeDown& down) { on_node_change(down.node, true); },
          [&](const record::NodeUp& up) { on_node_change(up.node, false); },
          [&](const record::Speed& speed) { on_speed(speed); },
          [&](const record::End& end) { on_end(end.counts); },
          [](const OneOf<record::User, Note> auto&) {},
      },
      record.what);
}

Audit::AuditedJob* Audit::running(JobId job) {
  if (!jobs_.has(job) || jobs_[job].state != State::kRunning) {
    problem("job {} loses a gang that it does not hold", job.row());
    return nullptr;
  }
  return &jobs_[job];
}

void Audit::on_run(const record::Run& run) {
  if (run.jobs > kJobsMax) return problem("{} jobs are too many to audit", run.jobs);
  jobs_.resize(run.jobs);
}

void Audit::on_node(const record::Node& node) {
  if (node.node.row() != nodes_.size()) problem("node {} is out of order", node.node.row());
  if (node.gpus == 0 || node.gpus > kNodeGpusMax) {
    return problem("node {} has {} GPUs", node.node.row(), node.gpus);
  }
  nodes_.push_back({.gpus = ~std::uint64_t{0} >> (kNodeGpusMax - node.gpus)});
}

void Audit::on_known(const record::Asked& asked, State state) {
  if (asked.job.is_none() || asked.job.row() > jobs_.size()) {
    return problem("job {} is out of order", asked.job.row());
  }
  if (asked.job.row() == jobs_.size()) jobs_.push_back({});  // a live run learns of jobs as it goes
  AuditedJob& job = jobs_[asked.job];
  if (job.state != State::kUnseen) problem("job {} is submitted twice", asked.job.row());
  job.state = state;
  job.gpus_min = asked.gpus_min;
  job.gpus_max = asked.gpus_max;
  job.left = reference_work(asked.work);
  counts_.rejected += state == State::kRejected;
}

void Audit::on_stop(JobId id, Duration lost) {
  AuditedJob* job = running(id);
  if (job == nullptr) return;
  const Work undone =
      rates_.done_in_last(id, lost, {.from = job->progress_from, .to = now_, .rate = job->rate});
  settle(*job, now_);
  job->left += undone;
  if (job->rate.fixed > 0 && job->left.fixed <= 0) {
    problem("job {} is stopped, but its work is done", id.row());
  }
  release(*job);
  rates_.clear(id);
  job->state = State::kWaiting;
}

void Audit::on_done(JobId id, bool finished) {
  const bool was_waiting = jobs_.has(id) && jobs_[id].state == State::kWaiting;
  if (finished || !was_waiting) {
    AuditedJob* job = running(id);
    if (job == nullptr) return;
    settle(*job, now_);
    if (finished && job->rate.fixed > 0 &&
        (job->left.fixed > 0 || job->left.fixed <= -Int128{job->rate.fixed})) {
      // Less than one millisecond of work may be done too much: time is whole milliseconds.
      problem("job {} finishes with {} ms of work left", id.row(),
              static_cast<std::int64_t>(job->left.fixed / Rate::kOne));
    }
    release(*job);
    rates_.clear(id);
  }
  jobs_[id].state = State::kDone;
  ++(finished ? counts_.finished : counts_.failed);
}

void Audit::on_place(const record::Place& place) {
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
    job.rate = {};
    job.progress_from = job.placed_at = now_;
  }
  job.copies = place.copy + 1;
  grant(job, place);
  const std::uint32_t gpus = gpus_of(place.gang);
  if (gpus < job.gpus_min || gpus > job.gpus_max) {
    problem("job {} gets {} GPUs and asks for {} to {}: its gang is split", place.job.row(), gpus,
            job.gpus_min, job.gpus_max);
  }
  job.state = State::kRunning;
  job.rate.fixed += place.rate.fixed;
  job.progress_from = std::max(job.progress_from, now_ + place.overhead);
}

void Audit::grant(AuditedJob& job, const record::Place& place) {
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
      problem("job {} is granted GPUs {:#x} of node {}, which are held already", place.job.row(),
              gpus & node.busy, slice.node.row());
    }
    if (node.down) {
      problem("job {} is placed on node {}, which is down", place.job.row(), slice.node.row());
    }
    if (std::ranges::find(job.grants, slice.node, &Grant::node) != job.grants.end()) {
      problem("job {} is placed on node {} twice", place.job.row(), slice.node.row());
    }
    job.grants.push_back({slice.node, gpus & ~node.busy});
    node.busy |= gpus;
  }
}

void Audit::release(AuditedJob& job) {
  for (const Grant& grant : job.grants) nodes_[grant.node].busy &= ~grant.gpus;
  job.grants.clear();
}

void Audit::settle(AuditedJob& job, Time now) {
  if (now <= job.progress_from) return;
  job.left = job.left - progress(job.rate, now - job.progress_from);
  job.progress_from = now;
}

void Audit::on_node_change(NodeId id, bool down) {
  if (!nodes_.has(id)) return problem("node {} does not exist", id.row());
  AuditedNode& node = nodes_[id];
  if (node.down == down) problem("node {} changes to the state it is in", id.row());
  if (down && node.busy != 0) {
    problem("node {} goes down while its GPUs {:#x} are held", id.row(), node.busy);
  }
  node.down = down;
}

void Audit::on_speed(const record::Speed& speed) {
  AuditedJob* job = running(speed.job);
  if (job == nullptr) return;
  if (now_ > job->progress_from) {
    rates_.add(speed.job, {.from = job->progress_from, .to = now_, .rate = job->rate});
  }
  settle(*job, now_);
  job->rate = speed.rate;
}

void Audit::on_end(const JobCounts& counts) {
  ended_ = true;
  for (JobId id : ids<JobId>(jobs_.size())) {
    AuditedJob& job = jobs_[id];
    if (job.state == State::kRunning) settle(job, now_);
    if (job.state == State::kRunning && job.rate.fixed > 0 && job.left.fixed <= 0) {
      problem("job {} is lost: its work is done, but it did not finish", id.row());
    }
    if (job.state == State::kUnseen) problem("no record accounts for job {}", id.row());
    const bool pending = job.state == State::kUnsubmitted || job.state == State::kWaiting ||
                         job.state == State::kRunning;
    counts_.pending += pending;
    counts_.unsubmitted += job.state == State::kUnsubmitted;
  }
  if (counts_ == counts) return;
  problem(
      "the end record counts {} finished, {} failed, {} rejected, {} pending ({} unsubmitted) "
      "jobs; "
      "the records before it {}, {}, {}, {} ({})",
      counts.finished, counts.failed, counts.rejected, counts.pending, counts.unsubmitted,
      counts_.finished, counts_.failed, counts_.rejected, counts_.pending, counts_.unsubmitted);
}

}  // namespace fairlead
