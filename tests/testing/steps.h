// For tests of one policy: a few jobs on a small cluster, and everything that happened, as text.
#pragma once

#include "engine/audit.h"
#include "engine/engine.h"
#include "model/cluster_file.h"
#include "model/models_file.h"
#include "policy/registry.h"
#include "sim/sim_backend.h"

#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

struct TestJob {
  std::uint32_t gpus = 1;
  std::int64_t submit_s = 0;
  std::int64_t work_s = 1000;
  std::string user = "ann";
  std::string model{};
};

struct Happened {
  std::vector<std::string> steps;     // "5s j0 n0:2 n1:1" for a place, "9s j0 stop"
  std::vector<std::string> finishes;  // "20s j0"
  std::vector<std::string> problems;  // that the audit found
};

// Racks of nodes of `gpus` V100 each.
inline Cluster racks_of_nodes(std::uint32_t racks, std::uint32_t nodes, std::uint32_t gpus) {
  std::vector<NodeSpec> specs;
  for (std::uint32_t i = 0; i < racks * nodes; ++i) {
    specs.push_back({.name = "",
                     .gpu_type = "V100",
                     .gpus = gpus,
                     .host = "",
                     .rack = fmt::format("r{}", i / nodes)});
  }
  return Cluster::build("racks", {}, specs).value();
}

// What happens up to and with second `until_s`. Nothing costs anything. `models`: a models file.
// REQUIRES: all of it is valid.
inline Happened happens(Cluster cluster, const std::vector<TestJob>& jobs, std::string_view policy,
                        std::int64_t until_s = 1'000'000, std::string_view models = {}) {
  struct Sink : RecordSink {
    void on(const Record& record) override {
      const std::string who = fmt::format("{}s j{}", to_seconds(record.t), record.job.row());
      if (record.kind == RecordKind::kStop) happened.steps.push_back(who + " stop");
      if (record.kind == RecordKind::kFinished) happened.finishes.push_back(who);
      if (record.kind != RecordKind::kPlace) return;
      std::string gang;
      for (Slice slice : record.gang) gang += fmt::format(" n{}:{}", slice.node.row(), slice.gpus);
      happened.steps.push_back(who + gang);
    }
    Happened happened;
  };
  WorkloadBuilder builder("test", Reading::kStrict);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::string id = fmt::format("j{}", i);
    JobRow row;
    row.id = id;
    row.user = jobs[i].user;
    row.model = jobs[i].model;
    row.gpus = jobs[i].gpus;
    row.submit = {jobs[i].submit_s * 1000};
    row.duration = seconds(jobs[i].work_s);
    FL_CHECK(builder.add(row, "test:1:1").has_value());
  }
  Workload workload = builder.finish();
  const SpeedTable table =
      models.empty() ? builtin_models() : parse_models_yaml(models, "test").value();
  const Speed speed = Speed::make(cluster, table, workload, "").value();
  SimBackend backend(cluster, workload, speed, {.costs = Costs::none(), .faults = {}});
  const std::unique_ptr<Policy> made = std::move(*parse_policy(policy, 0)->make());
  Sink sink;
  Audit audit;
  Tee tee({&sink, &audit});
  Engine engine(cluster, workload, speed, *made, backend, tee, {until_s * 1000});
  engine.begin({});
  while (engine.step()) {
  }
  engine.end();
  sink.happened.problems = audit.problems();
  return std::move(sink.happened);
}

}  // namespace fairlead
