#include "fairlead/replay/recorded_world.h"

#include <map>

namespace fairlead {

void WorldRecorder::on(const Record& record) {
  switch (record.kind) {
    case RecordKind::kRun:
      world_.policy = record.names[0];
      if (!record.names[1].empty()) world_.policy += ":" + record.names[1];
      world_.seed = record.seed;
      world_.workload.name = record.names[3];
      cluster_name_ = record.names[2];
      types_.assign(record.names.begin() + 4, record.names.end());
      jobs_.resize(record.count);
      models_.resize(record.count);
      return;
    case RecordKind::kUser:
      world_.workload.users.names.push_back(std::string(record.name));
      world_.workload.users.tickets.push_back(record.tickets);
      return;
    case RecordKind::kNode:
      nodes_.push_back({.name = std::string(record.name),
                        .gpu_type = types_[record.type.row()],
                        .gpus = record.count,
                        .host = fmt::format("{}", record.host.row()),
                        .rack = fmt::format("{}", record.rack.row())});
      down_since_.push_back(Time::never());
      return;
    case RecordKind::kArrived:
    case RecordKind::kRejected:
    case RecordKind::kUnsubmitted:
      return on_job(record);
    case RecordKind::kNodeDown:
      down_since_[record.node] = record.t;
      return;
    case RecordKind::kNodeUp:
      world_.outages.push_back({record.node, down_since_[record.node], record.t});
      down_since_[record.node] = Time::never();
      return;
    case RecordKind::kEnd:
      if (record.counts.pending > 0) world_.until = record.t;
      return;
    default:
      return;
  }
}

void WorldRecorder::on_job(const Record& record) {
  jobs_[record.job] = {
      .name = std::string(record.name),
      .user = record.user,
      .model = {},
      .gpus = record.gpus,
      .gpus_min = record.gpus_min,
      .gpus_max = record.gpus_max,
      .arrival = record.kind == RecordKind::kUnsubmitted ? record.submit : record.t,
      .work = record.work};
  models_[record.job] = record.model_name;
}

Result<RecordedWorld> WorldRecorder::world() {
  FL_TRY_ASSIGN(cluster, Cluster::build(cluster_name_, {}, nodes_));
  world_.cluster = std::move(cluster);
  Workload& workload = world_.workload;
  std::map<std::string_view, ModelId> numbers;
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
    workload.jobs.arrival.push_back(job.arrival);
    workload.jobs.types.push_back(kAllTypes);
    workload.durations.push_back(job.work);
    workload.reference_types.push_back({});
  }
  for (NodeId node : ids<NodeId>(down_since_.size())) {
    if (down_since_[node] == Time::never()) continue;
    world_.outages.push_back({node, down_since_[node], Time::never()});
  }
  return std::move(world_);
}

}  // namespace fairlead
