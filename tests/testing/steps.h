// For tests of one policy: a few jobs on a small cluster, and everything that happened, as text.
#pragma once

#include "fairlead/base/rng.h"
#include "fairlead/engine/engine.h"
#include "fairlead/input/cluster_file.h"
#include "fairlead/input/models_file.h"
#include "fairlead/journal/audit.h"
#include "fairlead/policy/registry.h"
#include "fairlead/sim/sim_backend.h"

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

// The jobs j0, j1, ...; fill(row, one of `of`) says what each is. REQUIRES: all are valid.
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

// Runs the policy of that text to the end; with a seed, it is replaced by a copy of itself now and
// then. Gives the journal's hash. REQUIRES: there is such a policy.
inline std::string run_policy(const Cluster& cluster, Workload& workload, const Speed& speed,
                              SimBackend& backend, std::vector<RecordSink*> sinks,
                              std::string_view policy, Time until = Time::never(),
                              std::optional<std::uint64_t> reload_seed = {}) {
  const auto make = [&] { return std::move(*parse_policy(policy, 3)->make()); };
  std::vector<std::unique_ptr<Policy>> used;
  used.push_back(make());
  JournalFile journal;
  sinks.push_back(&journal);
  Tee tee(sinks);
  Engine engine(cluster, workload, speed, *used.back(), backend, tee, until);
  Rng rng(reload_seed.value_or(0));
  engine.begin({});
  while (engine.step()) {
    if (!reload_seed || rng.below(3) != 0) continue;
    Writer writer;
    used.back()->save(writer);
    used.push_back(make());
    Reader reader(writer.bytes());
    used.back()->load(reader);
    FL_CHECK(reader.ok() && reader.left() == 0);
    engine.replace_policy(*used.back());
  }
  engine.end();
  FL_CHECK(journal.close().has_value());
  return journal.hash();
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
  Workload workload = numbered_jobs(jobs, [](JobRow& row, const TestJob& job) {
    row.user = job.user;
    row.model = job.model;
    row.gpus = job.gpus;
    row.submit = {job.submit_s * 1000};
    row.duration = seconds(job.work_s);
  });
  const SpeedTable table =
      models.empty() ? builtin_models() : parse_models_yaml(models, "test").value();
  const Speed speed = Speed::make(cluster, table, workload, "").value();
  SimBackend backend(cluster, workload, speed, {.costs = Costs::none(), .faults = {}});
  Sink sink;
  Audit audit;
  run_policy(cluster, workload, speed, backend, {&sink, &audit}, policy, {until_s * 1000});
  sink.happened.problems = audit.problems();
  return std::move(sink.happened);
}

}  // namespace fairlead
