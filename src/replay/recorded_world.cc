#include "fairlead/replay/recorded_world.h"

#include "fairlead/base/overloaded.h"

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
          [&](const record::User& user) {
            world_.workload.users.names.push_back(std::string(user.name));
            world_.workload.users.tickets.push_back(user.tickets);
          },
          [&](const record::Node& node) {
            nodes_.push_back({.name = std::string(node.name),
                              .gpu_type = types_[node.type.row()],
                              .gpus = node.gpus,
                              .host = fmt::format("{}", node.host.row()),
                              .rack = fmt::format("{}", node.rack.row())});
            down_since_.push_back(Time::never());
          },
          [&](const OneOf<record::Arrived, record::Rejected> auto& job) { on_job(job.asked, t); },
          [&](const record::Unsubmitted& job) { on_job(job.asked, job.submit); },
          [&](const record::GpusDown& down) { down_since_[down.node] = t; },
          [&](const record::GpusUp& up) {
            world_.outages.push_back({up.node, down_since_[up.node], t});
            down_since_[up.node] = Time::never();
          },
          [&](const record::End& end) {
            if (end.counts.pending > 0) world_.until = t;
          },
          [](const auto&) {},
      },
      record.what);
}

void WorldRecorder::on_job(const record::Asked& asked, Time arrival) {
  jobs_[asked.job] = {.name = std::string(asked.name),
                      .user = asked.user,
                      .model = {},
                      .gpus = asked.gpus,
                      .gpus_min = asked.gpus_min,
                      .gpus_max = asked.gpus_max,
                      .arrival = arrival,
                      .work = asked.work};
  models_[asked.job] = asked.model;
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
