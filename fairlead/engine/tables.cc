#include "fairlead/engine/tables.h"

#include <algorithm>
#include <utility>

namespace fairlead {

void JobSet::insert(JobId job) {
  slots_.grow_to(job) = static_cast<std::uint32_t>(members_.size());
  members_.push_back(job);
}

void JobSet::erase(JobId job) {
  const std::uint32_t slot = slots_[job];
  FL_CHECK(slot < members_.size() && members_[slot] == job);
  members_[slot] = members_.back();
  slots_[members_[slot]] = slot;
  members_.pop_back();
}

void JobSet::reserve(std::size_t jobs) { slots_.reserve(jobs); }

ModelId Tables::model_named(std::string_view name) const { return find(model_rows_, models, name); }

ModelId Tables::add_model(std::string_view name) { return find_or_add(model_rows_, models, name); }

namespace {

std::uint64_t mask_of(std::uint32_t gpus) { return ~std::uint64_t{0} >> (kNodeGpusMax - gpus); }

}  // namespace

Tables::Tables(Cluster of_cluster) : cluster(std::move(of_cluster)) {
  for (std::uint16_t gpus : cluster.node_gpus) {
    const std::uint64_t all = mask_of(gpus);
    nodes.push_back({.has = all, .up = all, .free = all});
  }
}

void Tables::reserve(std::size_t count) {
  jobs.reserve(count);
  names.reserve(count);
  waiting.reserve(count);
  running.reserve(count);
}

void Tables::on(const record::Run& run) {
  if (cluster.type_names.empty()) {
    for (const std::string& type : run.gpu_types) cluster.add_type(type);
  }
}

void Tables::on(const record::Group& group) {
  Groups& groups = users.groups;
  FL_CHECK(group.group.row() == groups.size(), "group {} of {}", group.group.row(), groups.size());
  groups.names.push_back(std::string(group.name));
  groups.tickets.push_back(group.tickets);
  groups.quota.push_back(group.quota);
}

void Tables::on(const record::User& user) {
  FL_CHECK(user.user.row() == users.size(), "user {} of {}", user.user.row(), users.size());
  users.names.push_back(std::string(user.name));
  users.tickets.push_back(user.tickets);
  users.group.push_back(user.group);
}

void Tables::on(const record::Node& node) {
  if (cluster.node_type.has(node.node)) return;  // it was there from the beginning
  FL_CHECK(node.node.row() == cluster.nodes(), "node {} of {}", node.node.row(), cluster.nodes());
  cluster.add({.name = node.name,
               .type = node.type,
               .host = node.host,
               .rack = node.rack,
               .gpus = node.gpus});
  const std::uint64_t all = mask_of(node.gpus);
  nodes.push_back({.has = all, .up = all, .free = all});
}

void Tables::add_job(const JobSpec& asked) {
  JobSpec job = asked;
  job.submit = now;
  Jobs::Named named;
  if (!job.model.empty()) named.model = add_model(job.model);
  if (!job.partition.empty())
    named.partition = find_or_add(partition_rows_, jobs.partitions, job.partition);
  jobs.add(job, named);
  names.set(job.job, job.name);
}

void Tables::on(const record::Arrived& arrived) {
  add_job(arrived.asked);
  jobs.state[arrived.asked.job] = JobState::kWaiting;
  waiting_with(arrived.asked.job).insert(arrived.asked.job);
}

void Tables::on(const record::Rejected& rejected) {
  add_job(rejected.asked);
  jobs.state[rejected.asked.job] = JobState::kRejected;
  ++counts.rejected;
}

void Tables::on(const record::Finished& finished) {
  leave(finished.job, JobState::kFinished);
  ++counts.finished;
}

void Tables::on(const record::Failed& failed) {
  leave(failed.job, JobState::kFailed);
  ++counts.failed;
}

void Tables::on(const record::Cancelled& cancelled) {
  leave(cancelled.job, JobState::kCancelled);
  ++counts.failed;
}

void Tables::on(const record::Evicted& evicted) {
  end_run(evicted.job);
  forget_gang(evicted.job);
}

void Tables::on(const record::GpusDown& down) {
  NodeState& node = nodes[down.node];
  FL_CHECK((node.up & down.gpus & ~node.free) == 0,
           "GPUs of node {} go down while they are allocated", down.node.row());
  node.up &= ~down.gpus;
  node.free &= ~down.gpus;
}

void Tables::on(const record::GpusUp& up) {
  NodeState& node = nodes[up.node];
  const std::uint64_t back = up.gpus & node.has & ~node.up;
  node.up |= back;
  node.free |= back;
}

void Tables::on(const record::Cordoned& what) { cordoned.insert(what.node); }

void Tables::on(const record::Closed& closed) { nodes[closed.node].closed |= closed.gpus; }

void Tables::on(const record::Uncordoned& uncordoned) {
  nodes[uncordoned.node].closed = 0;
  cordoned.erase(uncordoned.node);
  failed_on.erase(uncordoned.node);
}

void Tables::on(const record::Stop& stop) {
  if (stop.is_reported) {
    Stopping& busy = stopping[{stop.job, jobs.run[stop.job]}];
    const auto masks = std::as_const(jobs.gangs).gpu_masks(jobs.last[stop.job]);
    std::size_t i = 0;
    for (Slice slice : jobs.last_gang(stop.job)) busy.gpus.emplace_back(slice.node, masks[i++]);
  }
  end_run(stop.job);
}

void Tables::on(const record::Stopped& stopped) { stopping.erase({stopped.job, stopped.run}); }

void Tables::on(const record::StopFailed& failed) {
  stopping.at({failed.job, failed.run}).has_failed = true;
}

void Tables::on(const record::Started& started) {
  jobs.works_from[started.job] = now;
  if (!failed_starts.empty()) failed_starts.erase(started.job);
  if (failed_on.empty()) return;
  for (Slice slice : jobs.last_gang(started.job)) failed_on.erase(slice.node);
}

void Tables::on(const record::StartFailed& failed) {
  for (Slice slice : jobs.last_gang(failed.job)) failed_on[slice.node].insert(failed.job);
  ++failed_starts[failed.job];
  end_run(failed.job);
  forget_gang(failed.job);
  waiting_with(failed.job).erase(failed.job);
  jobs.state[failed.job] = JobState::kHeld;
  held_until[failed.job] = failed.retry;
}

void Tables::on(const record::Held& held) {
  if (jobs.state[held.job] == JobState::kWaiting) waiting_with(held.job).erase(held.job);
  jobs.state[held.job] = JobState::kHeld;
  held_until[held.job] = Time::never();
}

void Tables::on(const record::Released& released) {
  held_until.erase(released.job);
  jobs.state[released.job] = JobState::kWaiting;
  waiting_with(released.job).insert(released.job);
}

void Tables::on(const record::Tickets& tickets) { users.tickets[tickets.user] = tickets.tickets; }

void Tables::on(const record::Carried& carried) {
  FL_CHECK(jobs.is_here(carried.job), "job {} is not here", carried.job.row());
  jobs.attained_settled[carried.job] = carried.attained;
  jobs.run[carried.job] = carried.run;
}

void Tables::on(const record::Pinned& pinned) {
  FL_CHECK(jobs.is_here(pinned.job), "job {} is not here", pinned.job.row());
  jobs.cannot_move.grow_to(pinned.job) = pinned.is_pinned ? 1 : 0;
}

void Tables::on(const record::Place& place) {
  const JobId job = place.job;
  const std::uint32_t gpus = gpus_of(place.gang);
  if (place.copy == 0) {
    jobs.gangs.release(jobs.last[job]);
    jobs.last[job] = place.gang.empty() ? GangRef() : jobs.gangs.add(place.gang);
    std::ranges::copy(place.gpu_masks, jobs.gangs.gpu_masks(jobs.last[job]).begin());
    jobs.state[job] = JobState::kRunning;
    jobs.run_since[job] = now;
    jobs.allocated_gpus[job] = gpus;
    jobs.works_from[job] = place.is_reported ? Time::never() : now + place.overhead;
    ++jobs.run[job];
    waiting_with(job).erase(job);
    running_with(job).insert(job);
  } else {
    jobs.last[job] = jobs.gangs.append(jobs.last[job], place.gang, place.gpu_masks, place.copy);
    jobs.allocated_gpus[job] += gpus;
    if (!place.is_reported) {
      jobs.works_from[job] = std::max(jobs.works_from[job], now + place.overhead);
    }
  }
  std::size_t i = 0;
  for (Slice slice : place.gang) {
    std::uint64_t& free = nodes[slice.node].free;
    FL_DCHECK((free & place.gpu_masks[i]) == place.gpu_masks[i],
              "GPUs of node {} are allocated twice", slice.node.row());
    free &= ~place.gpu_masks[i++];
  }
}

void Tables::end_run(JobId job) {
  FL_CHECK(jobs.state[job] == JobState::kRunning, "job {} does not run", job.row());
  const GangRef ref = jobs.last[job];
  const auto masks = std::as_const(jobs.gangs).gpu_masks(ref);
  std::size_t i = 0;
  for (Slice slice : jobs.gangs.gang(ref)) {
    NodeState& node = nodes[slice.node];
    FL_CHECK((node.free & masks[i]) == 0);
    node.free |= masks[i++] & node.up;
  }
  jobs.attained_settled[job] = ran(job, now);
  jobs.allocated_gpus[job] = 0;
  jobs.state[job] = JobState::kWaiting;
  running_with(job).erase(job);
  waiting_with(job).insert(job);
}

void Tables::forget_gang(JobId job) {
  jobs.gangs.release(jobs.last[job]);
  jobs.last[job] = {};
}

void Tables::leave(JobId job, JobState state) {
  if (jobs.state[job] == JobState::kRunning) end_run(job);
  if (jobs.state[job] == JobState::kHeld) {
    held_until.erase(job);
  } else {
    FL_CHECK(jobs.state[job] == JobState::kWaiting, "job {} is not here", job.row());
    waiting_with(job).erase(job);
  }
  forget_gang(job);
  jobs.state[job] = state;
  if (!failed_starts.empty()) failed_starts.erase(job);
}

}  // namespace fairlead
