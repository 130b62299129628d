// For tests of one policy: a few jobs on a small cluster, and all resulting steps, as text.
#pragma once

#include "fairlead/base/overloaded.h"
#include "fairlead/base/rng.h"
#include "fairlead/input/cluster_file.h"
#include "fairlead/input/models_file.h"
#include "fairlead/journal/audit.h"
#include "fairlead/model/cluster_build.h"
#include "fairlead/model/workload.h"
#include "fairlead/policy/registry.h"
#include "fairlead/run/simulation.h"

#include <memory>
#include <optional>
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
  std::uint32_t pinned = kMayMove;
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
  return build_cluster("racks", {}, specs).value();
}

// Returns the jobs j0, j1, ...; fill(row, one of `of`) fills in each. REQUIRES: all are valid.
template <class T, class Fill>
Workload numbered_jobs(const std::vector<T>& of, const Fill& fill) {
  WorkloadBuilder builder("test", Reading::kStrict);
  for (std::size_t i = 0; i < of.size(); ++i) {
    const std::string id = fmt::format("j{}", i);
    JobRow row;
    row.id = id;
    fill(row, of[i]);
    FL_CHECK(builder.add(row, "test:1:1").has_value());
  }
  return builder.finish();
}

// Runs to the end; with a seed, the policy is replaced by a copy of itself now and then. Returns
// the journal's hash. `inputs` needs no policy. REQUIRES: there is a policy of that text.
inline std::string run_policy(SimulationInputs inputs, std::string_view policy,
                              const std::vector<RecordSink*>& sinks,
                              std::optional<std::uint64_t> reload_seed = {}) {
  inputs.measured = false;
  FL_CHECK(inputs.use_policy(policy).has_value(), "{}", policy);
  const std::uint64_t seed = inputs.seed;
  Simulation simulation = Simulation::make(std::move(inputs)).value();
  JournalFile journal;
  for (RecordSink* sink : sinks) simulation.add_sink(*sink);
  simulation.add_sink(journal);
  Rng rng(reload_seed.value_or(0));
  while (simulation.step().value()) {
    if (!reload_seed || rng.below(3) != 0) continue;
    simulation.reload_policy(parse_policy(policy, seed)->make().value());
  }
  FL_CHECK(journal.close().has_value());
  return journal.hash();
}

// Collects it from records.
struct HappenedSink : RecordSink {
  void on(const Record& record) override {
    const auto who = [&](JobId job) {
      return fmt::format("{}s j{}", to_seconds(record.t), job.row());
    };
    std::visit(
        Overloaded{
            [&](const record::Stop& stop) { happened.steps.push_back(who(stop.job) + " stop"); },
            [&](const record::Finished& finished) {
              happened.finishes.push_back(who(finished.job));
            },
            [&](const record::Place& place) {
              std::string step = who(place.job);
              for (Slice slice : place.gang) {
                step += fmt::format(" n{}:{}", slice.node.row(), slice.gpus);
              }
              happened.steps.push_back(step);
            },
            [](const auto&) {},
        },
        record.what);
  }
  Happened happened;
};

// Returns the events up to and with second `until_s`. Everything is free of cost. `models`: a
// models file. REQUIRES: all of it is valid.
inline Happened happens(Cluster cluster, const std::vector<TestJob>& jobs, std::string_view policy,
                        std::int64_t until_s = 1'000'000, std::string_view models = {}) {
  SimulationInputs inputs{.cluster = std::move(cluster),
                          .trace = Trace(numbered_jobs(jobs,
                                                       [](JobRow& row, const TestJob& job) {
                                                         row.user = job.user;
                                                         row.model = job.model;
                                                         row.gpus = job.gpus;
                                                         row.extras.pinned = job.pinned;
                                                         row.submit = {job.submit_s * 1000};
                                                         row.duration = seconds(job.work_s);
                                                       })),
                          .settings = {.costs = Costs::none()},
                          .seed = 3,
                          .until = {until_s * 1000}};
  if (!models.empty()) inputs.models = parse_models_yaml(models, "test").value();
  HappenedSink sink;
  Audit audit;
  run_policy(std::move(inputs), policy, {&sink, &audit});
  sink.happened.problems = audit.problems();
  return std::move(sink.happened);
}

}  // namespace fairlead
