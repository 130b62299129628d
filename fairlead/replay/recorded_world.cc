#include "fairlead/replay/recorded_world.h"

#include "fairlead/base/overloaded.h"

#include <algorithm>
#include <map>

namespace fairlead {

void WorldRecorder::on(const Record& record) {
  const Time t = record.t;
  std::visit(
      Overloaded{
          [&](const record::Run& run) {
            world_.policy = run.policy;
            if (!run.options.empty()) world_.policy += fmt::format(":{}", run.options);
            world_.seed = run.seed;
            world_.workload.name = run.trace;
            cluster_name_ = run.cluster;
            types_.assign(run.gpu_types.begin(), run.gpu_types.end());
            jobs_.resize(run.jobs);
            models_.resize(run.jobs);
          },
          [&](const record::Group& group) {
            on_late(t);
            Groups& groups = world_.workload.users.groups;
            groups.names.push_back(std::string(group.name));
            groups.tickets.push_back(group.tickets);
            groups.quota.push_back(group.quota);
          },
          [&](const record::User& user) {
            on_late(t);
            world_.workload.users.group.push_back(user.group);
            world_.workload.users.names.push_back(std::string(user.name));
            world_.workload.users.tickets.push_back(user.tickets);
          },
          [&](const record::Node& node) {
            on_late(t);
            nodes_.push_back({.name = std::string(node.name),
                              .gpu_type = types_[node.type.row()],
                              .gpus = node.gpus,
                              .host = fmt::format("{}", node.host.row()),
                              .rack = fmt::format("{}", node.rack.row())});
            down_.push_back({});
          },
          [&](const OneOf<record::Arrived, record::Rejected> auto& job) { on_job(job.asked, t); },
          [&](const record::Unsubmitted& job) { on_job(job.asked, job.submit); },
          [&](const record::GpusDown& down) {
            down_[down.node].push_back({down.node, t, Time::never(), down.gpus});
          },
          [&](const record::GpusUp& up) { on_gpus_up(up, t); },
          [&](const OneOf<record::Place, record::Stop> auto& step) {
            if (step.is_reported) not_exact(t, "it reports when jobs start and stop");
          },
          [&](const OneOf<record::Started, record::StartFailed, record::Stopped,
                          record::StopFailed> auto&) {
            not_exact(t, "it reports when jobs start and stop");
          },
          [&](const OneOf<record::Cancelled, record::Held, record::Released, record::Cordoned,
                          record::Closed, record::Uncordoned, record::Tickets> auto&) {
            not_exact(t, "users and operators take part");
          },
          [&](const record::Failed&) { not_exact(t, "a job fails"); },
          [&](const OneOf<record::Ignored, record::Skipped> auto&) {
            not_exact(t, "it is late, or repeats itself");
          },
          [&](const record::End& end) {
            if (end.counts.pending > 0) world_.until = t;
          },
          [](const auto&) {},
      },
      record.what);
}

void WorldRecorder::not_exact(Time t, std::string_view why) {
  if (not_exact_.empty()) not_exact_ = fmt::format("{}, first at {} s", why, to_seconds(t));
}

// Of users and nodes: those of an exact world are there from the beginning.
void WorldRecorder::on_late(Time t) {
  if (jobs_come_) not_exact(t, "users or nodes come later");
}

void WorldRecorder::on_gpus_up(const record::GpusUp& up, Time t) {
  for (NodeOutage& outage : down_[up.node]) {
    const std::uint64_t back = outage.gpus & up.gpus;
    if (back != 0) world_.outages.push_back({up.node, outage.down, t, back});
    outage.gpus &= ~up.gpus;
  }
  std::erase_if(down_[up.node], [](const NodeOutage& outage) { return outage.gpus == 0; });
}

void WorldRecorder::on_job(const JobSpec& asked, Time arrival) {
  jobs_come_ = true;
  if (!jobs_.has(asked.job)) return not_exact(arrival, "jobs come that its trace does not have");
  jobs_[asked.job] = {.name = std::string(asked.name),
                      .user = asked.user,
                      .model = {},
                      .gpus = asked.gpus,
                      .gpus_min = asked.gpus_min,
                      .gpus_max = asked.gpus_max,
                      .task_gpus = asked.task_gpus,
                      .closeness = asked.closeness,
                      .copies_max = asked.copies_max,
                      .arrival = arrival,
                      .work = asked.work,
                      .logged = {.time_limit = asked.time_limit,
                                 .priority = asked.priority,
                                 .start = asked.logged_start},
                      .partition = std::string(asked.partition)};
  models_[asked.job] = asked.model;
}

Result<RecordedWorld> WorldRecorder::world() {
  if (!not_exact_.empty()) {
    return input_error("only a run in an exact world can be replayed, and this one's was not: {}",
                       not_exact_);
  }
  FL_TRY_ASSIGN(cluster, build_cluster(cluster_name_, {}, nodes_));
  world_.cluster = std::move(cluster);
  Workload& workload = world_.workload;
  std::map<std::string_view, ModelId> numbers;
  NameIndex partitions;
  for (JobId id : ids<JobId>(jobs_.size())) {
    Job& job = jobs_[id];
    if (!models_[id].empty()) {
      const auto [number, is_new] =
          numbers.try_emplace(models_[id], ModelId(workload.models.size()));
      if (is_new) workload.models.push_back(models_[id]);
      job.model = number->second;
    }
    if (job.gpus_min < 1 || job.gpus_min > job.gpus || job.gpus > job.gpus_max ||
        job.gpus_max > kJobGpusMax || job.work.ms < 1 || job.work.ms > kMsMax) {
      return input_error("job {} asks for {} to {} GPUs and {} ms", id.row(), job.gpus_min,
                         job.gpus_max, job.work.ms);
    }
    workload.names.push_back(job.name);
    workload.jobs.user.push_back(job.user);
    workload.jobs.model.push_back(job.model);
    workload.jobs.gpus.push_back(job.gpus);
    workload.jobs.gpus_min.push_back(job.gpus_min);
    workload.jobs.gpus_max.push_back(job.gpus_max);
    workload.jobs.task_gpus.push_back(job.task_gpus);
    workload.jobs.closeness.push_back(job.closeness);
    if (job.copies_max != 0) workload.jobs.copies_max.grow_to(id) = job.copies_max;
    workload.jobs.arrival.push_back(job.arrival);
    workload.jobs.types.push_back(kAllTypes);
    if (!job.partition.empty())
      job.logged.partition = find_or_add(partitions, workload.jobs.partitions, job.partition);
    if (job.logged != Logged()) workload.jobs.logged.grow_to(id) = job.logged;
    workload.durations.push_back(job.work);
    workload.reference_types.push_back({});
  }
  for (const auto& open : down_) {
    world_.outages.insert(world_.outages.end(), open.begin(), open.end());
  }
  return std::move(world_);
}

}  // namespace fairlead
