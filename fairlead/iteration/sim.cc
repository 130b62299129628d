#include "fairlead/iteration/sim.h"

#include "fairlead/base/units.h"

#include <algorithm>
#include <array>
#include <utility>

namespace fairlead {
namespace {

// Communication in the workload of LWF-kappa: 7.8125 ms per MB, as in the authors' code, although
// an all-reduce takes a ninth of that.
std::int64_t workload_ns_of(std::int64_t kb) { return kb * 15'625 / 2; }

class IterationSim {
 public:
  IterationSim(const IterationWorld& world, std::span<const IterationJob> jobs,
               const IterationPolicy& policy, std::uint64_t seed,
               std::vector<IterationRecord>* log);

  IterationOutcome run();

 private:
  struct Member {  // a job on a GPU
    JobId job;
    Phase phase = Phase::kForward;  // that comes next or is computed
  };
  struct Gpu {
    NodeId node;
    std::int64_t memory_mb = 0;
    std::vector<Member> members;
    JobId computing;
  };
  struct Job {
    std::vector<NodeId> nodes;
    std::int64_t iterations = 0;         // remaining, this one included
    std::size_t computing = 0;           // GPUs that have not finished both phases of this one
    std::int64_t service_ns = 0;         // remaining computation over all GPUs
    std::int64_t transfer_begin_ns = 0;  // of its last all-reduce
  };
  struct Order {  // SRSF
    std::int64_t service_ns;
    JobId job;
    friend auto operator<=>(const Order&, const Order&) = default;
  };

  std::int64_t duration_ns(JobId job, Phase phase) const;
  Member& member(Gpu& gpu, JobId job);
  std::int64_t next_ns() const;
  void add_arrivals();
  void end_phase(GpuId gpu);
  void end_all_reduce(JobId job);
  void begin_iteration(JobId job);
  void end_iteration(JobId job);
  void finish(JobId job);
  std::int64_t workload_ns(const Member& member) const;
  void measure_loads();
  void place_jobs();
  void place(JobId job, std::vector<GpuId> gpus);
  void start_all_reduces();
  void start_phase(GpuId gpu);
  static void enqueue(std::vector<Order>& queue, Order order);

  const IterationPolicy policy_;
  const bool retries_;  // all-reduces that were refused, at every event
  const std::span<const IterationJob> jobs_;
  std::vector<IterationRecord>* const log_;
  Rng rng_;

  std::int64_t now_ns_ = 0;
  std::vector<JobId> arrivals_;                   // in reverse order
  std::vector<Order> queue_;                      // jobs that wait for GPUs
  std::vector<Order> ready_;                      // jobs with a waiting all-reduce
  std::vector<std::span<const NodeId>> waiting_;  // the nodes of the jobs in ready_
  bool has_room_ = false;                         // a job came or ended
  bool may_transfer_ = false;                     // an all-reduce got ready or ended
  std::size_t finished_ = 0;
  IdVector<JobId, Job> states_;
  IdVector<GpuId, Gpu> gpus_;
  IdVector<GpuId, GpuLoad> loads_;
  IndexedHeap<std::int64_t, GpuId> phase_ends_;
  std::vector<GpuId> idle_;  // GPUs that may have something to compute
  Transfers transfers_;
  IterationOutcome outcome_;
};

IterationSim::IterationSim(const IterationWorld& world, std::span<const IterationJob> jobs,
                           const IterationPolicy& policy, std::uint64_t seed,
                           std::vector<IterationRecord>* log)
    : policy_(policy),
      // The first of the busiest nodes may change after other all-reduces started.
      retries_(policy.transfers == TransferRule::kAdaSrsfReleased),
      jobs_(jobs),
      log_(log),
      rng_(Rng(seed).split(1)),  // apart from the draws of the jobs
      states_(jobs.size()),
      transfers_(policy.transfers, world.cost, world.cluster.nodes(), jobs.size()) {
  for (NodeId node : ids<NodeId>(world.cluster.nodes())) {
    for (int i = 0; i < world.cluster.node_gpus[node]; ++i) {
      gpus_.push_back({.node = node, .memory_mb = world.gpu_memory_mb, .members = {}});
    }
  }
  loads_.resize(gpus_.size());
  for (JobId job : ids<JobId>(jobs.size())) {
    const IterationJob& given = jobs[job.row()];
    const std::int64_t once_ns = given.model.forward_ns + given.model.backward_ns;
    states_[job].iterations = given.iterations;
    states_[job].service_ns = given.iterations * once_ns * static_cast<std::int64_t>(given.gpus);
    arrivals_.push_back(job);
  }
  std::ranges::sort(arrivals_, std::ranges::greater{},
                    [&](JobId job) { return std::pair(jobs_[job.row()].submit_ns, job); });
  outcome_.gpus.resize(jobs.size());
  outcome_.placed_ns.resize(jobs.size());
  outcome_.finish_ns.resize(jobs.size());
}

IterationOutcome IterationSim::run() {
  while (finished_ < jobs_.size()) {
    now_ns_ = next_ns();
    FL_CHECK(now_ns_ != Transfers::kNever, "{} jobs never end", jobs_.size() - finished_);
    while (!phase_ends_.empty() && phase_ends_.top().key == now_ns_) {
      end_phase(phase_ends_.pop().id);
    }
    while (transfers_.next_end_ns() == now_ns_) end_all_reduce(transfers_.end_next());
    add_arrivals();
    if (std::exchange(has_room_, false)) place_jobs();
    if (std::exchange(may_transfer_, retries_)) start_all_reduces();
    for (GpuId gpu : idle_) start_phase(gpu);
    idle_.clear();
  }
  outcome_.transfer_ns = transfers_.busy_ns();
  outcome_.shared_ns = transfers_.shared_ns();
  return std::move(outcome_);
}

std::int64_t IterationSim::next_ns() const {
  std::int64_t next = transfers_.next_end_ns();
  if (!phase_ends_.empty()) next = std::min(next, phase_ends_.top().key);
  if (!arrivals_.empty()) next = std::min(next, jobs_[arrivals_.back().row()].submit_ns);
  return next;
}

void IterationSim::enqueue(std::vector<Order>& queue, Order order) {
  queue.insert(std::ranges::lower_bound(queue, order), order);
}

void IterationSim::add_arrivals() {
  while (!arrivals_.empty() && jobs_[arrivals_.back().row()].submit_ns == now_ns_) {
    enqueue(queue_, {states_[arrivals_.back()].service_ns, arrivals_.back()});
    arrivals_.pop_back();
    has_room_ = true;
  }
}

std::int64_t IterationSim::duration_ns(JobId job, Phase phase) const {
  const IterationModel& model = jobs_[job.row()].model;
  return phase == Phase::kForward ? model.forward_ns : model.backward_ns;
}

IterationSim::Member& IterationSim::member(Gpu& gpu, JobId job) {
  const auto found = std::ranges::find(gpu.members, job, &Member::job);
  FL_CHECK(found != gpu.members.end(), "job {} is not on the GPU", job.row());
  return *found;
}

void IterationSim::end_phase(GpuId id) {
  Gpu& gpu = gpus_[id];
  const JobId job = std::exchange(gpu.computing, JobId::none());
  Member& one = member(gpu, job);
  const std::int64_t took_ns = duration_ns(job, one.phase);
  if (log_ != nullptr) log_->push_back({job, id, one.phase, now_ns_ - took_ns, now_ns_});
  outcome_.computing_ns += took_ns;
  idle_.push_back(id);
  Job& state = states_[job];
  state.service_ns -= took_ns;
  if (one.phase == Phase::kForward) {
    one.phase = Phase::kBackward;
    return;
  }
  one.phase = Phase::kDone;
  if (--state.computing > 0) return;
  if (state.nodes.size() == 1) {
    end_iteration(job);
  } else {
    enqueue(ready_, {state.service_ns, job});
    may_transfer_ = true;
  }
}

void IterationSim::end_all_reduce(JobId job) {
  may_transfer_ = true;
  if (log_ != nullptr) {
    log_->push_back({job, GpuId::none(), Phase::kDone, states_[job].transfer_begin_ns, now_ns_});
  }
  end_iteration(job);
}

void IterationSim::begin_iteration(JobId job) {
  states_[job].computing = outcome_.gpus[job].size();
  for (GpuId gpu : outcome_.gpus[job]) {
    member(gpus_[gpu], job).phase = Phase::kForward;
    idle_.push_back(gpu);
  }
}

void IterationSim::end_iteration(JobId job) {
  if (--states_[job].iterations > 0) {
    begin_iteration(job);
  } else {
    finish(job);
  }
}

void IterationSim::finish(JobId job) {
  for (GpuId id : outcome_.gpus[job]) {
    Gpu& gpu = gpus_[id];
    gpu.memory_mb += jobs_[job.row()].model.memory_mb;
    std::erase_if(gpu.members, [job](const Member& one) { return one.job == job; });
  }
  outcome_.finish_ns[job] = now_ns_;
  ++finished_;
  has_room_ = true;
}

// Returns the remaining workload of the job on one of its GPUs.
std::int64_t IterationSim::workload_ns(const Member& member) const {
  const Job& state = states_[member.job];
  const IterationModel& model = jobs_[member.job.row()].model;
  std::int64_t left_ns = state.iterations * (model.forward_ns + model.backward_ns);
  if (member.phase != Phase::kForward) left_ns -= model.forward_ns;
  if (member.phase == Phase::kDone) left_ns -= model.backward_ns;
  if (state.nodes.size() > 1) left_ns += state.iterations * workload_ns_of(model.size_kb);
  return left_ns;
}

void IterationSim::measure_loads() {
  for (GpuId id : ids<GpuId>(gpus_.size())) {
    const Gpu& gpu = gpus_[id];
    loads_[id] = {.node = gpu.node, .memory_mb = gpu.memory_mb};
    for (const Member& one : gpu.members) loads_[id].workload_ns += workload_ns(one);
  }
}

void IterationSim::place_jobs() {
  measure_loads();
  std::erase_if(queue_, [this](const Order& order) {
    const IterationJob& job = jobs_[order.job.row()];
    std::vector<GpuId> gpus =
        choose_gpus(policy_.gpus, loads_, job.gpus, job.model.memory_mb, rng_);
    if (gpus.empty()) return false;
    place(order.job, std::move(gpus));
    measure_loads();
    return true;
  });
}

void IterationSim::place(JobId job, std::vector<GpuId> gpus) {
  std::ranges::sort(gpus);
  std::vector<NodeId>& nodes = states_[job].nodes;
  for (GpuId id : gpus) {
    Gpu& gpu = gpus_[id];
    gpu.memory_mb -= jobs_[job.row()].model.memory_mb;
    gpu.members.push_back({.job = job});
    if (nodes.empty() || nodes.back() != gpu.node) nodes.push_back(gpu.node);
  }
  outcome_.gpus[job] = std::move(gpus);
  outcome_.placed_ns[job] = now_ns_;
  begin_iteration(job);
}

// A refused all-reduce stays refused until another one ends: until then nodes only fill up, and the remainders of the
// others only shrink. (Not so if retries_.)
void IterationSim::start_all_reduces() {
  std::erase_if(ready_, [this](const Order& order) {
    const std::int64_t kb = jobs_[order.job.row()].model.size_kb;
    const std::vector<NodeId>& nodes = states_[order.job].nodes;
    if (!transfers_.may_start(now_ns_, kb, nodes)) return false;
    transfers_.start(now_ns_, order.job, kb, nodes);
    states_[order.job].transfer_begin_ns = now_ns_;
    return true;
  });
  if (!retries_) return;
  waiting_.clear();
  for (const Order& order : ready_) waiting_.emplace_back(states_[order.job].nodes);
  transfers_.set_waiting(now_ns_, waiting_);
}

void IterationSim::start_phase(GpuId id) {
  Gpu& gpu = gpus_[id];
  if (!gpu.computing.is_none()) return;
  const Member* best = nullptr;
  Order best_order = {};
  for (const Member& one : gpu.members) {
    if (one.phase == Phase::kDone) continue;
    const Order order = {states_[one.job].service_ns, one.job};
    if (best != nullptr && best_order < order) continue;
    best = &one;
    best_order = order;
  }
  if (best == nullptr) return;
  gpu.computing = best->job;
  phase_ends_.set(id, now_ns_ + duration_ns(best->job, best->phase));
}

// So that no sum overflows: some GPU computes or some node transfers whenever a job is unfinished.
Status check_total(std::span<const IterationJob> jobs, const TransferCost& cost) {
  Int128 total_ns = 0;
  for (const IterationJob& job : jobs) {
    const IterationModel& model = job.model;
    const Int128 phases = Int128{model.forward_ns} + model.backward_ns;
    // LWF counts more for a kB than it takes, unless the network is slow.
    const Int128 per_kb = std::max<std::int64_t>(cost.shared_ns(), 8'000);
    const Int128 once_ns = phases * static_cast<std::int64_t>(job.gpus) + per_kb * model.size_kb;
    total_ns += job.submit_ns + once_ns * job.iterations;
  }
  if (total_ns > Int128{kMsMax} * kNsPerMs)
    return input_error("jobs have 100 years of work or more");
  return {};
}

Status check(const IterationWorld& world, std::span<const IterationJob> jobs) {
  // Parts of a kB then fit into 62 bits.
  constexpr std::int64_t kCostMax = 100'000;      // ns per kB
  constexpr std::int64_t kSizeMax = 100'000'000;  // kB
  const TransferCost& cost = world.cost;
  if (cost.alone_ns < 1 || cost.penalty_ns < 0 || cost.shared_ns() > kCostMax) {
    return input_error("an MB of two all-reduces takes more than 0 and at most 100 ms");
  }
  for (const IterationJob& job : jobs) {
    const IterationModel& model = job.model;
    if (model.forward_ns < 1 || model.backward_ns < 1 || job.iterations < 1 || job.submit_ns < 0 ||
        model.size_kb < 1 || model.size_kb > kSizeMax || model.memory_mb < 0) {
      return input_error("model {}: a time or size is out of range", model.name);
    }
    if (job.gpus < 1 || job.gpus > world.cluster.gpus || model.memory_mb > world.gpu_memory_mb) {
      return input_error("the cluster has no room for a job of {} GPUs of model {}", job.gpus,
                         model.name);
    }
  }
  return check_total(jobs, cost);
}

}  // namespace

Result<IterationPolicy> parse_iteration_policy(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, TransferRule>, 4> kRules = {{
      {"srsf-1", TransferRule::kSrsf1},
      {"srsf-2", TransferRule::kSrsf2},
      {"ada-srsf", TransferRule::kAdaSrsf},
      {"ada-srsf-released", TransferRule::kAdaSrsfReleased},
  }};
  constexpr std::string_view kOption = "placement=";
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  IterationPolicy policy;
  const auto* const rule = std::ranges::find(kRules, name, &decltype(kRules)::value_type::first);
  if (rule == kRules.end()) {
    return input_error(
        "no such policy of iterations (there are: srsf-1, srsf-2, ada-srsf, ada-srsf-released): {}",
        name);
  }
  policy.transfers = rule->second;
  if (colon == std::string_view::npos) return policy;
  const std::string_view option = text.substr(colon + 1);
  if (!option.starts_with(kOption)) {
    return input_error("policy {} has no such option (it has: placement): {}", name, option);
  }
  FL_TRY_ASSIGN(gpus, parse_gpu_rule(option.substr(kOption.size())));
  policy.gpus = gpus;
  return policy;
}

Result<IterationOutcome> simulate_iterations(const IterationWorld& world,
                                             std::span<const IterationJob> jobs,
                                             const IterationPolicy& policy, std::uint64_t seed,
                                             std::vector<IterationRecord>* log) {
  FL_TRY(check(world, jobs));
  return IterationSim(world, jobs, policy, seed, log).run();
}

}  // namespace fairlead
