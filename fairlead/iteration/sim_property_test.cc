// Properties of the iteration simulator on random worlds, and a plain version of it that looks at every job at every
// event.

#include "fairlead/input/cluster_file.h"
#include "fairlead/iteration/sim.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace fairlead {
namespace {

constexpr std::int64_t kMemory = 10;
constexpr TransferCost kCost = {.alone_ns = 3, .penalty_ns = 1};
constexpr std::int64_t kParts = 3 * 7;  // parts of a kB

struct World {
  std::string cluster;
  std::vector<IterationJob> jobs;
  IterationPolicy policy;
};

struct Logged {
  IterationOutcome outcome;
  std::vector<IterationRecord> log;
};

Logged run(const World& world) {
  Logged result;
  const Cluster cluster = *load_cluster(world.cluster);
  auto outcome =
      simulate_iterations({cluster, kMemory, kCost}, world.jobs, world.policy, 1, &result.log);
  RC_ASSERT(outcome.has_value());
  result.outcome = std::move(*outcome);
  return result;
}

// Small numbers, so that much happens at the same time.
World any_world() {
  World world;
  world.cluster = *rc::gen::element<std::string>("1xV100:2", "2xV100:1", "2xV100:2", "3xV100:2",
                                                 "4xV100:1,1xV100:3");
  const auto gpus = load_cluster(world.cluster)->gpus;
  const auto count = *rc::gen::inRange(1, 9);
  for (int i = 0; i < count; ++i) {
    const IterationModel model = {.name = "m",
                                  .size_kb = *rc::gen::inRange(1, 12),
                                  .forward_ns = *rc::gen::inRange(1, 6),
                                  .backward_ns = *rc::gen::inRange(1, 6),
                                  .memory_mb = *rc::gen::inRange(1, 8)};
    world.jobs.push_back({.model = model,
                          .gpus = *rc::gen::inRange<std::size_t>(1, gpus + 1),
                          .iterations = *rc::gen::inRange(1, 6),
                          .submit_ns = *rc::gen::inRange(0, 40)});
  }
  world.policy.transfers =
      *rc::gen::element(TransferRule::kSrsf1, TransferRule::kSrsf2, TransferRule::kAdaSrsf,
                        TransferRule::kAdaSrsfReleased);
  world.policy.gpus = *parse_gpu_rule(
      *rc::gen::element<std::string>("random", "first-fit", "least-loaded", "lwf-1", "lwf-2"));
  return world;
}

// The code below is as plain as it can be: every step looks at every job.

struct PlainJob {
  bool placed = false;
  std::int64_t iterations = 0;
  std::vector<Phase> phases;          // by GPU of the job
  std::vector<std::int64_t> ends_ns;  // ends of the phase that is computed; 0: none
  bool transfers = false;
  std::int64_t parts = 0;  // parts left of its all-reduce
  std::int64_t speed = 0;
};

class PlainSim {
 public:
  explicit PlainSim(const World& world)
      : world_(world), cluster_(*load_cluster(world.cluster)), jobs_(world.jobs.size()) {
    for (NodeId node : ids<NodeId>(cluster_.nodes())) {
      for (int i = 0; i < cluster_.node_gpus[node]; ++i) node_of_.push_back(node);
    }
    outcome.gpus.resize(jobs_.size());
    outcome.finish_ns.resize(jobs_.size());
    for (JobId job : ids<JobId>(jobs_.size())) jobs_[job].iterations = given(job).iterations;
  }

  void run() {
    while (std::ranges::any_of(jobs_, [](const PlainJob& job) { return job.iterations > 0; })) {
      advance();
      for (JobId job : ids<JobId>(jobs_.size())) end_things(job);
      for (JobId job : order()) place(job);
      for (JobId job : order()) start_transfer(job);
      for (JobId job : order()) start_phases(job);
      set_speeds();
    }
  }

  IterationOutcome outcome;

 private:
  const IterationJob& given(JobId job) const { return world_.jobs[job.row()]; }

  std::int64_t service(JobId job) const {
    const IterationModel& model = given(job).model;
    const std::int64_t once = model.forward_ns + model.backward_ns;
    if (!jobs_[job].placed) {
      return given(job).iterations * once * static_cast<std::int64_t>(given(job).gpus);
    }
    std::int64_t left = 0;
    for (Phase phase : jobs_[job].phases) left += left_ns(job, phase);
    return left;
  }
  std::int64_t left_ns(JobId job, Phase phase) const {
    const IterationModel& model = given(job).model;
    std::int64_t left = jobs_[job].iterations * (model.forward_ns + model.backward_ns);
    if (phase != Phase::kForward) left -= model.forward_ns;
    if (phase == Phase::kDone) left -= model.backward_ns;
    return left;
  }
  std::vector<JobId> order() const {
    std::vector<JobId> all;
    for (JobId job : ids<JobId>(jobs_.size())) all.push_back(job);
    std::ranges::stable_sort(all, {}, [this](JobId job) { return service(job); });
    return all;
  }
  std::vector<NodeId> nodes(JobId job) const {
    std::vector<NodeId> all;
    for (GpuId gpu : outcome.gpus[job]) all.push_back(node_of_[gpu]);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }
  std::vector<JobId> transfers_on(NodeId node) const {
    std::vector<JobId> all;
    for (JobId job : ids<JobId>(jobs_.size())) {
      if (jobs_[job].transfers && std::ranges::count(nodes(job), node) > 0) all.push_back(job);
    }
    return all;
  }

  void advance() {
    std::int64_t next = Transfers::kNever;
    for (JobId job : ids<JobId>(jobs_.size())) {
      const PlainJob& one = jobs_[job];
      if (given(job).submit_ns > now_) next = std::min(next, given(job).submit_ns);
      for (std::int64_t end : one.ends_ns) {
        if (end > 0) next = std::min(next, end);
      }
      if (one.transfers) next = std::min(next, now_ + (one.parts + one.speed - 1) / one.speed);
    }
    RC_ASSERT(next != Transfers::kNever);
    for (PlainJob& one : jobs_) {
      if (one.transfers) one.parts -= one.speed * (next - now_);
    }
    now_ = next;
  }

  void end_things(JobId job) {
    PlainJob& one = jobs_[job];
    for (std::size_t i = 0; i < one.phases.size(); ++i) {
      if (one.ends_ns[i] != now_) continue;
      one.ends_ns[i] = 0;
      one.phases[i] = one.phases[i] == Phase::kForward ? Phase::kBackward : Phase::kDone;
    }
    const bool done = std::ranges::all_of(one.phases, [](Phase p) { return p == Phase::kDone; });
    const bool alone = one.placed && one.iterations > 0 && nodes(job).size() == 1;
    if ((done && alone) || (one.transfers && one.parts <= 0)) {
      one.transfers = false;
      std::ranges::fill(one.phases, Phase::kForward);
      if (--one.iterations == 0) outcome.finish_ns[job] = now_;
    }
  }

  IdVector<GpuId, GpuLoad> loads() const {
    IdVector<GpuId, GpuLoad> all;
    for (NodeId node : node_of_) all.push_back({node, kMemory, 0});
    for (JobId job : ids<JobId>(jobs_.size())) {
      const PlainJob& one = jobs_[job];
      if (one.iterations == 0) continue;
      for (std::size_t i = 0; i < one.phases.size(); ++i) {
        GpuLoad& load = all[outcome.gpus[job][i]];
        load.memory_mb -= given(job).model.memory_mb;
        load.workload_ns += left_ns(job, one.phases[i]);
        if (nodes(job).size() > 1) {
          load.workload_ns += one.iterations * (given(job).model.size_kb * 15'625 / 2);
        }
      }
    }
    return all;
  }

  void place(JobId job) {
    PlainJob& one = jobs_[job];
    if (one.placed || given(job).submit_ns > now_) return;
    auto gpus =
        choose_gpus(world_.policy.gpus, loads(), given(job).gpus, given(job).model.memory_mb, rng_);
    if (gpus.empty()) return;
    std::ranges::sort(gpus);
    outcome.gpus[job] = gpus;
    one.placed = true;
    one.phases.assign(gpus.size(), Phase::kForward);
    one.ends_ns.assign(gpus.size(), 0);
  }

  bool may_start(JobId job, NodeId node) const {
    const auto others = transfers_on(node);
    if (others.empty()) return true;
    if (world_.policy.transfers == TransferRule::kSrsf1 || others.size() > 1) return false;
    if (world_.policy.transfers == TransferRule::kSrsf2) return true;
    const std::int64_t own = given(job).model.size_kb * kParts;
    // r / m >= 2 (b + eta) / b
    return jobs_[others[0]].parts * kCost.alone_ns >= own * 2 * (kCost.alone_ns + kCost.penalty_ns);
  }

  bool is_ready(JobId job) const {
    const PlainJob& one = jobs_[job];
    const bool done = std::ranges::all_of(one.phases, [](Phase p) { return p == Phase::kDone; });
    return one.placed && one.iterations > 0 && done && !one.transfers;
  }

  // The nodes that are asked whether the job's all-reduce may start.
  std::vector<NodeId> asked(JobId job) const {
    std::vector<NodeId> all = nodes(job);
    if (world_.policy.transfers != TransferRule::kAdaSrsfReleased) return all;
    return {*std::ranges::max_element(all, {},
                                      [this](NodeId node) { return transfers_on(node).size(); })};
  }

  void start_transfer(JobId job) {
    PlainJob& one = jobs_[job];
    if (!is_ready(job)) return;
    for (NodeId node : asked(job)) {
      if (!may_start(job, node)) return;
    }
    one.transfers = true;
    one.parts = given(job).model.size_kb * kParts;
  }

  void start_phases(JobId job) {
    PlainJob& one = jobs_[job];
    if (one.iterations == 0) return;
    for (std::size_t i = 0; i < one.phases.size(); ++i) {
      if (one.phases[i] == Phase::kDone || is_busy(outcome.gpus[job][i])) continue;
      const IterationModel& model = given(job).model;
      one.ends_ns[i] =
          now_ + (one.phases[i] == Phase::kForward ? model.forward_ns : model.backward_ns);
    }
  }
  bool is_busy(GpuId gpu) const {
    for (JobId job : ids<JobId>(jobs_.size())) {
      for (std::size_t i = 0; i < jobs_[job].phases.size(); ++i) {
        if (outcome.gpus[job][i] == gpu && jobs_[job].ends_ns[i] > 0) return true;
      }
    }
    return false;
  }

  void set_speeds() {
    for (JobId job : ids<JobId>(jobs_.size())) {
      bool shares = false;
      for (NodeId node : nodes(job)) shares = shares || transfers_on(node).size() == 2;
      jobs_[job].speed = kParts / (shares ? kCost.shared_ns() : kCost.alone_ns);
      if (world_.policy.transfers != TransferRule::kAdaSrsfReleased || !jobs_[job].transfers)
        continue;
      std::int64_t asking = 0;
      for (JobId other : ids<JobId>(jobs_.size())) {
        asking += is_ready(other) && transfers_on(asked(other)[0]) == std::vector{job};
      }
      jobs_[job].speed *= 1 + asking;
    }
  }

  const World& world_;
  const Cluster cluster_;
  Rng rng_ = Rng(1).split(1);
  std::int64_t now_ = -1;
  IdVector<JobId, PlainJob> jobs_;
  IdVector<GpuId, NodeId> node_of_;
};

RC_GTEST_PROP(IterationSim, EqualsItsPlainVersion, ()) {
  const World world = any_world();
  const Logged fast = run(world);
  PlainSim plain(world);
  plain.run();
  RC_ASSERT(fast.outcome.gpus == plain.outcome.gpus);
  RC_ASSERT(fast.outcome.finish_ns == plain.outcome.finish_ns);
}

// By GPU, by begin.
std::map<GpuId, std::vector<IterationRecord>> phases_by_gpu(const Logged& run) {
  std::map<GpuId, std::vector<IterationRecord>> all;
  for (const IterationRecord& one : run.log) {
    if (!one.gpu.is_none()) all[one.gpu].push_back(one);
  }
  return all;
}

RC_GTEST_PROP(IterationSim, NoGpuComputesTwoPhasesAtATime, ()) {
  const Logged one = run(any_world());
  for (const auto& [gpu, phases] : phases_by_gpu(one)) {
    for (std::size_t i = 1; i < phases.size(); ++i) {
      RC_ASSERT(phases[i - 1].end_ns <= phases[i].begin_ns);
    }
  }
}

RC_GTEST_PROP(IterationSim, EveryJobComputesAllAndHasRoomAllTheTime, ()) {
  const World world = any_world();
  const Logged one = run(world);
  IdVector<JobId, std::int64_t> computed(world.jobs.size());
  for (const IterationRecord& record : one.log) {
    if (!record.gpu.is_none()) computed[record.job] += record.end_ns - record.begin_ns;
  }
  for (JobId job : ids<JobId>(world.jobs.size())) {
    const IterationJob& given = world.jobs[job.row()];
    const auto gpus = static_cast<std::int64_t>(given.gpus);
    RC_ASSERT(computed[job] ==
              given.iterations * gpus * (given.model.forward_ns + given.model.backward_ns));
    RC_ASSERT(one.outcome.placed_ns[job] >= given.submit_ns);
    // Memory is taken at placements only, so these are the moments that matter.
    std::map<GpuId, std::int64_t> taken;
    const std::int64_t now = one.outcome.placed_ns[job];
    for (JobId other : ids<JobId>(world.jobs.size())) {
      if (one.outcome.placed_ns[other] > now || one.outcome.finish_ns[other] <= now) continue;
      for (GpuId gpu : one.outcome.gpus[other]) {
        taken[gpu] += world.jobs[other.row()].model.memory_mb;
      }
    }
    for (const auto& [gpu, memory] : taken) RC_ASSERT(memory <= kMemory);
  }
}

// A phase that begins later than it could have had to wait for others on its GPU all that time.
RC_GTEST_PROP(IterationSim, NoGpuIdlesWhileAPhaseIsReady, ()) {
  const Logged one = run(any_world());
  const auto by_gpu = phases_by_gpu(one);
  std::map<JobId, std::int64_t> iteration_ns;  // when the job's iteration began
  std::map<std::pair<JobId, GpuId>, std::int64_t> forward_ns;
  std::map<JobId, std::size_t> done;
  for (const IterationRecord& record : one.log) {
    const JobId job = record.job;
    if (record.gpu.is_none()) {
      iteration_ns[job] = record.end_ns;
      continue;
    }
    std::int64_t ready_ns =
        iteration_ns.contains(job) ? iteration_ns[job] : one.outcome.placed_ns[job];
    if (record.phase == Phase::kBackward) ready_ns = forward_ns[{job, record.gpu}];
    forward_ns[{job, record.gpu}] = record.end_ns;
    std::int64_t busy_ns = 0;
    for (const IterationRecord& other : by_gpu.at(record.gpu)) {
      busy_ns += std::max<std::int64_t>(
          0, std::min(other.end_ns, record.begin_ns) - std::max(other.begin_ns, ready_ns));
    }
    RC_ASSERT(ready_ns <= record.begin_ns);
    RC_ASSERT(busy_ns == record.begin_ns - ready_ns);
    if (record.phase != Phase::kBackward) continue;
    if (++done[job] % one.outcome.gpus[job].size() == 0) iteration_ns[job] = record.end_ns;
  }
}

}  // namespace
}  // namespace fairlead
