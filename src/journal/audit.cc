#include "fairlead/journal/audit.h"

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
  if (!begun_ && record.kind != RecordKind::kRun) problem("the first record does not begin a run");
  if (ended_) problem("a record follows the end record");
  begun_ = true;
  switch (record.kind) {
    case RecordKind::kRun:
      return on_run(record);
    case RecordKind::kNode:
      return on_node(record);
    case RecordKind::kArrived:
    case RecordKind::kRejected:
    case RecordKind::kUnsubmitted:
      return on_arrived(record);
    case RecordKind::kFinished:
    case RecordKind::kFailed:
    case RecordKind::kCancelled:
      return on_done(record);
    case RecordKind::kEvicted:
    case RecordKind::kStop:
      if (AuditedJob* job = running(record)) {
        const Work lost = rates_.done_in_last(
            record.job, record.lost, {.from = job->progress_from, .to = now_, .rate = job->rate});
        settle(*job, now_);
        job->left += lost;
        if (job->rate.fixed > 0 && job->left.fixed <= 0) {
          problem("job {} is stopped, but its work is done", record.job.row());
        }
        release(*job);
        rates_.clear(record.job);
        job->state = State::kWaiting;
      }
      return;
    case RecordKind::kPlace:
      return on_place(record);
    case RecordKind::kNodeDown:
    case RecordKind::kNodeUp:
      return on_node_change(record);
    case RecordKind::kSpeed:
      return on_speed(record);
    case RecordKind::kEnd:
      return on_end(record);
    case RecordKind::kUser:
    case RecordKind::kNote:
      return;
  }
}

Audit::AuditedJob* Audit::running(const Record& record) {
  if (!jobs_.has(record.job) || jobs_[record.job].state != State::kRunning) {
    problem("job {} loses a gang that it does not hold", record.job.row());
    return nullptr;
  }
  return &jobs_[record.job];
}

void Audit::on_run(const Record& record) {
  if (record.count > kJobsMax) return problem("{} jobs are too many to audit", record.count);
  jobs_.resize(record.count);
}

void Audit::on_node(const Record& record) {
  if (record.node.row() != nodes_.size()) problem("node {} is out of order", record.node.row());
  if (record.count == 0 || record.count > kNodeGpusMax) {
    return problem("node {} has {} GPUs", record.node.row(), record.count);
  }
  nodes_.push_back({.gpus = ~std::uint64_t{0} >> (kNodeGpusMax - record.count)});
}

void Audit::on_arrived(const Record& record) {
  if (record.job.is_none() || record.job.row() > jobs_.size()) {
    return problem("job {} is out of order", record.job.row());
  }
  if (record.job.row() == jobs_.size())
    jobs_.push_back({});  // a live run learns of jobs as it goes
  AuditedJob& job = jobs_[record.job];
  if (job.state != State::kUnseen) problem("job {} is submitted twice", record.job.row());
  job.gpus_min = record.gpus_min;
  job.gpus_max = record.gpus_max;
  job.left = reference_work(record.work);
  if (record.kind == RecordKind::kUnsubmitted) {
    job.state = State::kUnsubmitted;
    if (record.submit < now_) problem("job {} was submitted before the end", record.job.row());
    return;
  }
  job.state = record.kind == RecordKind::kArrived ? State::kWaiting : State::kRejected;
  if (record.kind == RecordKind::kRejected) ++counts_.rejected;
}

void Audit::on_done(const Record& record) {
  const bool was_waiting = jobs_.has(record.job) && jobs_[record.job].state == State::kWaiting;
  if (record.kind == RecordKind::kFinished || !was_waiting) {
    AuditedJob* job = running(record);
    if (job == nullptr) return;
    settle(*job, now_);
    if (record.kind == RecordKind::kFinished && job->rate.fixed > 0 &&
        (job->left.fixed > 0 || job->left.fixed <= -Int128{job->rate.fixed})) {
      // Less than one millisecond of work may be done too much: time is whole milliseconds.
      problem("job {} finishes with {} ms of work left", record.job.row(),
              static_cast<std::int64_t>(job->left.fixed / Rate::kOne));
    }
    release(*job);
    rates_.clear(record.job);
  }
  jobs_[record.job].state = State::kDone;
  ++(record.kind == RecordKind::kFinished ? counts_.finished : counts_.failed);
}

void Audit::on_place(const Record& record) {
  if (!jobs_.has(record.job)) return problem("job {} is out of order", record.job.row());
  AuditedJob& job = jobs_[record.job];
  if (record.copy == 0 && job.state != State::kWaiting) {
    return problem("job {} is placed, but does not wait", record.job.row());
  }
  if (record.copy > 0 &&
      (job.state != State::kRunning || job.placed_at != now_ || job.copies != record.copy)) {
    return problem("job {}: copy {} is not placed together with those before it", record.job.row(),
                   record.copy);
  }
  if (record.copy == 0) {
    job.rate = {};
    job.progress_from = job.placed_at = now_;
  }
  job.copies = record.copy + 1;
  grant(job, record);
  const std::uint32_t gpus = gpus_of(record.gang);
  if (gpus < job.gpus_min || gpus > job.gpus_max) {
    problem("job {} gets {} GPUs and asks for {} to {}: its gang is split", record.job.row(), gpus,
            job.gpus_min, job.gpus_max);
  }
  job.state = State::kRunning;
  job.rate.fixed += record.rate.fixed;
  job.progress_from = std::max(job.progress_from, now_ + record.overhead);
}

void Audit::grant(AuditedJob& job, const Record& record) {
  for (std::size_t i = 0; i < record.gang.size(); ++i) {
    const Slice slice = record.gang[i];
    const std::uint64_t gpus = record.gpu_masks[i];
    if (!nodes_.has(slice.node)) {
      problem("job {} is placed on node {}, which does not exist", record.job.row(),
              slice.node.row());
      continue;
    }
    AuditedNode& node = nodes_[slice.node];
    if (i > 0 && record.gang[i - 1].node >= slice.node) {
      problem("job {}: the slices of its gang are not sorted", record.job.row());
    }
    if (gpus == 0 || (gpus & ~node.gpus) != 0 || std::popcount(gpus) != slice.gpus) {
      problem("job {} is granted GPUs {:#x} of node {}, which has {:#x}", record.job.row(), gpus,
              slice.node.row(), node.gpus);
    }
    if ((gpus & node.busy) != 0) {
      problem("job {} is granted GPUs {:#x} of node {}, which are held already", record.job.row(),
              gpus & node.busy, slice.node.row());
    }
    if (node.down) {
      problem("job {} is placed on node {}, which is down", record.job.row(), slice.node.row());
    }
    if (std::ranges::find(job.grants, slice.node, &Grant::node) != job.grants.end()) {
      problem("job {} is placed on node {} twice", record.job.row(), slice.node.row());
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

void Audit::on_node_change(const Record& record) {
  if (!nodes_.has(record.node)) return problem("node {} does not exist", record.node.row());
  AuditedNode& node = nodes_[record.node];
  const bool down = record.kind == RecordKind::kNodeDown;
  if (node.down == down) problem("node {} changes to the state it is in", record.node.row());
  if (down && node.busy != 0) {
    problem("node {} goes down while its GPUs {:#x} are held", record.node.row(), node.busy);
  }
  node.down = down;
}

void Audit::on_speed(const Record& record) {
  AuditedJob* job = running(record);
  if (job == nullptr) return;
  if (now_ > job->progress_from) {
    rates_.add(record.job, {.from = job->progress_from, .to = now_, .rate = job->rate});
  }
  settle(*job, now_);
  job->rate = record.rate;
}

void Audit::on_end(const Record& record) {
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
  if (counts_ == record.counts) return;
  problem(
      "the end record counts {} finished, {} failed, {} rejected, {} pending ({} unsubmitted) "
      "jobs; "
      "the records before it {}, {}, {}, {} ({})",
      record.counts.finished, record.counts.failed, record.counts.rejected, record.counts.pending,
      record.counts.unsubmitted, counts_.finished, counts_.failed, counts_.rejected,
      counts_.pending, counts_.unsubmitted);
}

}  // namespace fairlead
