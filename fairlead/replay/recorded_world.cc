#include "fairlead/replay/recorded_world.h"

#include "fairlead/base/overloaded.h"

#include <algorithm>

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
          [&](const OneOf<record::Held, record::Released> auto&) {
            not_exact(t, "users or limits hold jobs");
          },
          [&](const OneOf<record::Cancelled, record::Cordoned, record::Closed, record::Uncordoned,
                          record::Tickets, record::Forgotten, record::Charged> auto&) {
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

// Called when a user or node comes: an exact world has all of them from the start.
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
  JobSpec& job = jobs_[asked.job] = asked;
  job.submit = arrival;
  job.keep_texts([&](std::string_view text) -> std::string_view {
    return text.empty() ? text : texts_.emplace_back(text);
  });
}

Result<RecordedWorld> WorldRecorder::world() {
  if (!not_exact_.empty()) {
    return input_error("only a run in an exact world can be replayed, and this one's was not: {}",
                       not_exact_);
  }
  FL_TRY_ASSIGN(cluster, build_cluster(cluster_name_, {}, nodes_));
  world_.cluster = std::move(cluster);
  Workload& workload = world_.workload;
  NameIndex models;
  NameIndex partitions;
  for (JobId id : ids<JobId>(jobs_.size())) {
    JobSpec& job = jobs_[id];
    if (job.gpus_min < 1 || job.gpus_min > job.gpus || job.gpus > job.gpus_max ||
        job.gpus_max > kJobGpusMax || job.work.ms < 1 || job.work.ms > kMsMax) {
      return input_error("job {} asks for {} to {} GPUs and {} ms", id.row(), job.gpus_min,
                         job.gpus_max, job.work.ms);
    }
    job.types = kAllTypes;  // the types that the run found out from the model are found out again
    Jobs::Named named;
    if (!job.model.empty()) named.model = find_or_add(models, workload.models, job.model);
    if (!job.partition.empty())
      named.partition = find_or_add(partitions, workload.jobs.partitions, job.partition);
    workload.jobs.set_asked(job, named);
    workload.names.push_back(job.name);
    workload.durations.push_back(job.work);
    workload.reference_types.push_back({});
  }
  for (const auto& open : down_) {
    world_.outages.insert(world_.outages.end(), open.begin(), open.end());
  }
  return std::move(world_);
}

}  // namespace fairlead
