// LWF-kappa: least workload first, the placement of arXiv 2002.10105, under shortest service first.
//
// Waiting jobs are in order of running time multiplied by GPUs. A job of at most kappa GPUs takes
// the GPUs with the least workload on any nodes. A larger one goes through the nodes by the mean
// workload of their GPUs and fills one after another, which keeps it on few nodes.
//
// DEVIATION: published, jobs share GPUs. Here a GPU has one job, so free GPUs all have no workload,
// and the first rule takes them in node order.
//
// Cost of a decision: O(news), and if a job starts O(running + nodes x log nodes); for each gang that starts, O(nodes that
// have less workload than its own + slices x log nodes). In addition: O(nodes) for a job that asks for a level.
#include "fairlead/model/known_work.h"
#include "fairlead/model/levels.h"
#include "fairlead/policy/kit/queue_policy.h"
#include "fairlead/policy/policies.h"

#include <algorithm>
#include <set>

namespace fairlead {
namespace {

// A node in the order of the mean workload of its GPUs.
struct LoadedNode {
  NodeId node;
  std::uint32_t gpus = 0;
  GpuTime workload;
  // Compares without rounding.
  friend bool operator<(const LoadedNode& a, const LoadedNode& b) {
    const Int128 of_a = a.workload.gpu_ms * b.gpus;
    const Int128 of_b = b.workload.gpu_ms * a.gpus;
    return of_a != of_b ? of_a < of_b : a.node < b.node;
  }
};

class Lwf : public QueuePolicy {
 public:
  Lwf(std::int64_t kappa, OnMisfit on_misfit, bool mixes)
      : QueuePolicy(on_misfit, Placement::kCount.mixing(mixes)), kappa_(kappa), mixes_(mixes) {}

  std::string_view name() const override { return kLwf.name; }
  Needs needs() const override { return {.work = kAnyWork}; }
  void decide(const View& view, Plan& plan) override {
    is_measured_ = false;
    QueuePolicy::decide(view, plan);
  }

 protected:
  OrderKey order(const View& view, JobId job) const override {
    const GpuTime service = occupancy(view.work.remaining(job), view.jobs.gpus[job]);
    return {.major = saturated_gpu_ms(service), .minor = view.jobs.arrival[job].ms, .job = job};
  }
  bool start(const View& view, Plan& plan, JobId job) override;

 private:
  bool take_close(const View& view, Plan& plan, JobId job, GangAsked gang, TypeMask types);
  static bool has_room(const View& view, const Plan& plan, JobId job, std::uint32_t gpus,
                       TypeMask types, NodeRange range);
  bool take_least_loaded(const View& view, Plan& plan, JobId job, GangAsked gang, TypeMask types,
                         NodeRange range);
  void measure(const View& view, const Plan& plan);
  void add_workload(const View& view, const Plan& plan, JobId job);

  const std::int64_t kappa_;
  const bool mixes_;  // GPU types in a gang

  // State of the present decision.
  bool is_measured_ = false;
  IdVector<NodeId, GpuTime> workload_;  // remaining time of the node's jobs on it
  std::set<LoadedNode> by_load_;        // all nodes
};

bool Lwf::start(const View& view, Plan& plan, JobId job) {
  const GangAsked gang = gang_asked(view.jobs, job);
  const TypeMask types = view.jobs.types[job];
  if (plan.free().room(types, gang.task_gpus) < gang.gpus) return false;
  if (!is_measured_) measure(view, plan);
  if (gang.gpus <= kappa_) {
    if (!QueuePolicy::start(view, plan, job)) return false;
  } else {
    if (!plan.examine(job)) return false;
    bool is_taken = false;
    for (GpuTypeId type : ids<GpuTypeId>(view.cluster.type_names.size())) {
      is_taken = is_taken || take_close(view, plan, job, gang, types & type_bit(type));
    }
    if (!is_taken && !(mixes_ && take_close(view, plan, job, gang, types))) return false;
    if (!plan.place(job)) return false;
  }
  add_workload(view, plan, job);
  return true;
}

// Takes nothing, and returns false, if there is less room on these types, as near each other as
// asked.
bool Lwf::take_close(const View& view, Plan& plan, JobId job, GangAsked gang, TypeMask types) {
  if (plan.free().room(types, gang.task_gpus) < gang.gpus) return false;
  return any_section(view.cluster, gang.closeness, [&](NodeRange section) {
    return take_least_loaded(view, plan, job, gang, types, section);
  });
}

// Returns whether the nodes of a section have room. True for the whole cluster, which has more nodes than a search visits.
bool Lwf::has_room(const View& view, const Plan& plan, JobId job, std::uint32_t gpus,
                   TypeMask types, NodeRange range) {
  if (range.end - range.begin == view.cluster.nodes()) return true;
  std::uint32_t room = 0;
  for (std::uint32_t row = range.begin; row < range.end && room < gpus; ++row) {
    if ((types & type_bit(view.cluster.node_type[NodeId(row)])) != 0)
      room += plan.usable(job, NodeId(row));
  }
  return room >= gpus;
}

bool Lwf::take_least_loaded(const View& view, Plan& plan, JobId job, GangAsked gang, TypeMask types,
                            NodeRange range) {
  if (!has_room(view, plan, job, gang.gpus, types, range)) return false;
  for (const LoadedNode& loaded : by_load_) {
    if (gang.gpus == 0) break;
    const NodeId node = loaded.node;
    const bool is_in_range = range.begin <= node.row() && node.row() < range.end;
    if (!is_in_range || (types & type_bit(view.cluster.node_type[node])) == 0) continue;
    const std::uint32_t taken = std::min(gang.gpus, plan.usable(job, node));
    if (taken > 0) plan.take(node, taken);
    gang.gpus -= taken;
  }
  if (gang.gpus > 0) plan.drop();
  return gang.gpus == 0;
}

void Lwf::measure(const View& view, const Plan& plan) {
  is_measured_ = true;
  workload_.resize(view.cluster.nodes());
  std::ranges::fill(workload_, GpuTime());
  by_load_.clear();
  for (JobId job : view.running) add_workload(view, plan, job);
  for (NodeId node : ids<NodeId>(workload_.size()))
    by_load_.insert({node, view.cluster.node_gpus[node], workload_[node]});
}

void Lwf::add_workload(const View& view, const Plan& plan, JobId job) {
  const Duration remaining = view.work.remaining(job);
  for (Slice slice : plan.gang(job)) {
    const NodeId node = slice.node;
    const std::uint32_t gpus = view.cluster.node_gpus[node];
    const bool is_ordered = by_load_.erase({node, gpus, workload_[node]}) > 0;
    workload_[node] += occupancy(remaining, slice.gpus);
    if (is_ordered) by_load_.insert({node, gpus, workload_[node]});
  }
}

constexpr OptionSpec kOptions[] = {
    integer_option("kappa", "1", "GPUs", 0, 1'000'000,
                   "Gangs of at most this size take any free GPUs in node order, larger ones the "
                   "least loaded nodes; published values are 1, 2, 4, 8 and 32."),
    flag_option(
        "skip", "false",
        "Try the jobs behind one that finds no room; the default is a strict order (ours)."),
    kMixedOption,
};

}  // namespace

const PolicyEntry kLwf = {
    .name = "lwf",
    .summary = "Least GPU time first, on the least loaded nodes, without preemption.",
    .paper = "Wang et al., Communication Contention Aware Scheduling, arXiv 2002.10105",
    .options = kOptions,
    .make = [](const PolicyOptions& options) -> Result<std::unique_ptr<Policy>> {
      return std::make_unique<Lwf>(options.integer("kappa"),
                                   options.flag("skip") ? OnMisfit::kSkip : OnMisfit::kStop,
                                   options.flag(kMixedOption.name));
    }};

}  // namespace fairlead
