// kube-scheduler: takes pods in order of their priority, then of their time in the queue. Each pod
// goes to the node with the best score among the nodes with room; pods that find none back off.
//
// A job is a set of pods, its tasks. As a gang all of them are bound at once or none is (the
// coscheduling plugin). One by one, each pod that finds a node is bound and occupies its GPUs, and
// the job runs when the last one is bound. Jobs that occupy parts of each other's GPUs then wait
// for ever, like in a cluster. GPUs so bound count as idle here.
//
// Sources: https://kubernetes.io/docs/concepts/scheduling-eviction/ (kube-scheduler, "Resource Bin
// Packing", "Pod Priority and Preemption"); the reference of KubeSchedulerConfiguration, from which
// the options have their names; pkg/scheduler/backend/queue for the back-off.
//
// DEVIATION: GPUs are the only resource; of equal scores the lowest node wins, not a random one;
// all nodes are scored. Pods with a higher priority evict no others; the pods of a job back off
// together. Pods that found no room are tried again when GPUs become free, but not every five
// minutes.
//
// A decision costs O(nodes + waiting), and for each pod O(types x GPUs of a node), or O(nodes) if the nodes of a type differ
// in GPUs or tasks need other resources.
#include "fairlead/model/levels.h"
#include "fairlead/policy/kit/class_queue.h"
#include "fairlead/policy/policies.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace fairlead {
namespace {

enum class Strategy : std::uint8_t { kLeastAllocated, kMostAllocated, kRequestedToCapacityRatio };

struct KubeOptions {
  bool gang;
  Strategy strategy;
  std::vector<std::pair<std::int64_t, std::int64_t>>
      shape;  // utilization in %, score; by the first
  Duration initial_backoff;
  Duration max_backoff;
};

class Kube : public Policy {
 public:
  explicit Kube(KubeOptions options) : options_(std::move(options)) {}

  std::string_view name() const override { return kKube.name; }
  void decide(const View& view, Plan& plan) override;
  void fields(Archive& archive) override;

 private:
  enum class Where : std::uint8_t { kNowhere, kActive, kBackoff, kUnschedulable };
  struct Entry {  // a waiting job in the scheduling queue
    Where where = Where::kNowhere;
    std::int64_t turn = 0;   // the order in which jobs of one priority entered the queue
    std::int64_t tries = 0;  // that failed
    Time backs_off_until;
    std::vector<Slice> bound{};  // slices of its bound pods
    void fields(Archive& archive);
  };

  void apply_news(const View& view);
  void wake_backed_off(const View& view, Plan& plan);
  void move_all(const View& view);
  void take_bound(const View& view);
  bool schedule_pinned(const View& view, Plan& plan, JobId job);
  bool schedule(const View& view, Plan& plan, JobId job);
  bool bind_within(const View& view, JobId job, NodeRange range);
  struct Best {
    NodeId node;
    std::int64_t score = -1;
  };
  NodeId best_node(const View& view, JobId job, NodeRange range) const;
  void consider(const View& view, NodeId node, std::uint32_t pod, Best& best) const;
  std::int64_t score(std::int64_t requested, std::int64_t capacity) const;
  Duration backoff(std::int64_t tries) const;
  void forget(JobId job);

  const KubeOptions options_;
  IdVector<JobId, Entry> queue_;
  std::int64_t next_turn_ = 0;

  // State of the present decision.
  std::optional<FreeIndex> free_;  // GPUs that no job has and no pod is bound to
  TaskRoom room_;                  // other resources, of the same
  bool has_equal_nodes_ = false;   // nodes of a type have the same number of GPUs
  std::vector<JobId> active_;
  std::vector<Slice> bound_now_;
  std::vector<std::pair<GangAsked, TypeMask>> full_;  // gangs that found no room
};

void Kube::decide(const View& view, Plan& plan) {
  queue_.resize(std::max(queue_.size(), view.jobs.size()));
  apply_news(view);
  if (view.waiting.empty()) return;
  free_ = plan.free();
  room_ = plan.room();
  has_equal_nodes_ = true;
  for (NodeId node : ids<NodeId>(view.cluster.nodes())) {
    const std::uint32_t largest = view.cluster.type_node_gpus_max[view.cluster.node_type[node]];
    if (view.cluster.node_gpus[node] != largest) has_equal_nodes_ = false;
  }
  take_bound(view);
  active_.clear();
  for (JobId job : view.waiting) {
    Entry& entry = queue_[job];
    if (entry.where == Where::kBackoff && entry.backs_off_until <= view.now)
      entry.where = Where::kActive;
    if (entry.where == Where::kActive) active_.push_back(job);
  }
  std::ranges::sort(active_, {}, [&](JobId job) {
    return std::pair(-view.jobs.logged_of(job).priority, queue_[job].turn);
  });
  full_.clear();
  for (JobId job : active_) {
    if (!plan.examine(job)) continue;
    Entry& entry = queue_[job];
    if (schedule(view, plan, job)) {
      forget(job);
      continue;
    }
    entry.where = Where::kUnschedulable;
    entry.turn = next_turn_++;
    entry.backs_off_until = view.now + backoff(++entry.tries);
  }
  wake_backed_off(view, plan);
}

void Kube::apply_news(const View& view) {
  bool has_more_room = false;
  for (const Event& event : view.news) {
    has_more_room |= frees_gpus(event.kind);
    if (ends_job(event.kind)) {
      has_more_room |= !queue_[event.job].bound.empty();
      forget(event.job);
    }
    if (begins_to_wait(event.kind)) {
      forget(event.job);
      queue_[event.job].where = Where::kActive;
      queue_[event.job].turn = next_turn_++;
    }
  }
  if (has_more_room) move_all(view);
}

void Kube::forget(JobId job) { queue_[job] = {}; }

// Room has become free: unschedulable jobs are tried again, or back off first.
void Kube::move_all(const View& view) {
  for (JobId job : view.waiting) {
    Entry& entry = queue_[job];
    if (entry.where != Where::kUnschedulable) continue;
    entry.where = entry.backs_off_until <= view.now ? Where::kActive : Where::kBackoff;
  }
}

// Pods are lost with their GPUs, and created again.
void Kube::take_bound(const View& view) {
  for (JobId job : view.waiting) {
    Entry& entry = queue_[job];
    const auto lost = std::erase_if(entry.bound, [&](Slice slice) {
      if (free_->on(slice.node) < slice.gpus) return true;
      free_->take(slice.node, slice.gpus);
      room_.take(job, slice.node, slice.gpus / view.jobs.task_gpus[job]);
      return false;
    });
    if (lost > 0) entry.where = Where::kActive;
  }
}

void Kube::wake_backed_off(const View& view, Plan& plan) {
  for (JobId job : view.waiting) {
    if (queue_[job].where == Where::kBackoff) plan.wake_at(queue_[job].backs_off_until);
  }
}

// Returns podInitialBackoffSeconds, doubled for each try up to podMaxBackoffSeconds.
Duration Kube::backoff(std::int64_t tries) const {
  Duration length = options_.initial_backoff;
  for (std::int64_t i = 1; i < tries && length < options_.max_backoff; ++i) length.ms *= 2;
  return std::min(length, options_.max_backoff);
}

// Returns true if all of its pods are bound; then it runs.
bool Kube::schedule(const View& view, Plan& plan, JobId job) {
  if (plan.is_pinned(job)) return schedule_pinned(view, plan, job);
  const std::pair kind(gang_asked(view.jobs, job), view.jobs.types[job]);
  if (std::ranges::count(full_, kind) > 0 && queue_[job].bound.empty()) return false;
  bound_now_ = queue_[job].bound;
  const Closeness closeness = kind.first.closeness;
  // If pods are bound already, the others go anywhere: a job with required closeness is a gang.
  const bool is_placed = closeness == Closeness()
                             ? bind_within(view, job, free_->everywhere())
                             : any_section(view.cluster, closeness, [&](NodeRange section) {
                                 return bind_within(view, job, section);
                               });
  if (is_placed) {
    for (Slice slice : bound_now_) plan.take(slice.node, slice.gpus);
    plan.place(job);
  } else {
    full_.push_back(kind);
  }
  return is_placed;
}

bool Kube::schedule_pinned(const View& view, Plan& plan, JobId job) {
  const auto is_free = [&](Slice slice) { return free_->on(slice.node) >= slice.gpus; };
  const bool has_room = std::ranges::all_of(view.jobs.last_gang(job), is_free);
  if (!has_room || !plan.place_pinned(job)) return false;
  for (Slice slice : plan.gang(job)) {
    free_->take(slice.node, slice.gpus);
    room_.take(job, slice.node, slice.gpus / view.jobs.task_gpus[job]);
  }
  return true;
}

// Binds its pods one after another; returns false if not all find a node.
bool Kube::bind_within(const View& view, JobId job, NodeRange range) {
  const Jobs& jobs = view.jobs;
  const std::uint32_t pod = jobs.task_gpus[job];
  const std::size_t before = bound_now_.size();
  for (std::uint32_t gpus = gpus_of(bound_now_); gpus < jobs.gpus[job]; gpus += pod) {
    const NodeId node = best_node(view, job, range);
    if (node.is_none()) break;
    free_->take(node, pod);
    room_.take(job, node, 1);
    bound_now_.push_back({.node = node, .gpus = static_cast<std::uint16_t>(pod)});
  }
  if (gpus_of(bound_now_) == jobs.gpus[job]) return true;
  if (!options_.gang && jobs.closeness[job] == Closeness()) {
    queue_[job].bound = bound_now_;
    return false;
  }
  for (; bound_now_.size() > before; bound_now_.pop_back()) {
    free_->give(bound_now_.back().node, bound_now_.back().gpus);
    room_.give(job, bound_now_.back().node, 1);
  }
  return false;
}

// NodeResourcesFit, with a score by GPUs alone: returns the first of the nodes with the best score that have room for a pod.
// Nodes of one size have the same score if they have the same number of free GPUs.
NodeId Kube::best_node(const View& view, JobId job, NodeRange range) const {
  const std::uint32_t pod = view.jobs.task_gpus[job];
  const TypeMask types = view.jobs.types[job];
  Best best;
  if (!has_equal_nodes_ || room_.limits(job)) {
    for (std::uint32_t row = range.begin; row < range.end; ++row) {
      const NodeId node(row);
      const bool is_allowed = (types & type_bit(view.cluster.node_type[node])) != 0;
      if (!is_allowed || free_->on(node) < pod || room_.tasks(job, node) == 0) continue;
      consider(view, node, pod, best);
    }
    return best.node;
  }
  for (GpuTypeId type : ids<GpuTypeId>(view.cluster.type_names.size())) {
    if ((types & type_bit(type)) == 0) continue;
    for (std::uint32_t free = pod;;) {
      const NodeId node = free_->tightest(type, free, range);
      if (node.is_none()) break;
      consider(view, node, pod, best);
      free = free_->on(node) + 1;
    }
  }
  return best.node;
}

void Kube::consider(const View& view, NodeId node, std::uint32_t pod, Best& best) const {
  const std::int64_t capacity = view.cluster.node_gpus[node];
  const std::int64_t of_node = score(capacity - free_->on(node) + pod, capacity);
  const bool is_better = of_node > best.score || (of_node == best.score && node < best.node);
  if (is_better) best = {node, of_node};
}

// Returns 0 to 100, in whole numbers as kube-scheduler does.
std::int64_t Kube::score(std::int64_t requested, std::int64_t capacity) const {
  constexpr std::int64_t kMost = 100;
  constexpr std::int64_t kShapeScoreMost = 10;
  if (options_.strategy == Strategy::kLeastAllocated)
    return (capacity - requested) * kMost / capacity;
  if (options_.strategy == Strategy::kMostAllocated) return requested * kMost / capacity;
  const std::int64_t utilization = requested * kMost / capacity;
  const auto& shape = options_.shape;
  const auto after =
      std::ranges::find_if(shape, [&](const auto& point) { return point.first >= utilization; });
  if (after == shape.begin()) return after->second * kMost / kShapeScoreMost;
  const auto before = after - 1;
  if (after == shape.end()) return before->second * kMost / kShapeScoreMost;
  const std::int64_t rise = (after->second - before->second) * kMost / kShapeScoreMost;
  return before->second * kMost / kShapeScoreMost +
         rise * (utilization - before->first) / (after->first - before->first);
}

void Kube::Entry::fields(Archive& archive) {
  archive.enumerator(where, Where::kUnschedulable);
  if (where != Where::kNowhere) archive(turn, tries, backs_off_until, bound);
}

void Kube::fields(Archive& archive) { archive(next_turn_, queue_); }

constexpr OptionSpec kOptions[] = {
    flag_option(
        "gang", "true",
        "Bind all pods of a job at once or none (the coscheduling plugin); false: one by one, "
        "as kube-scheduler does by itself."),
    choice_option("scoring_strategy", "LeastAllocated",
                  "LeastAllocated/MostAllocated/RequestedToCapacityRatio",
                  "The scoringStrategy of NodeResourcesFit; the default is Kubernetes's."),
    list_option(
        "shape", "0/0/100/10", "", 0, 100,
        "The shape of RequestedToCapacityRatio: utilization in % and its score from 0 to 10, in "
        "whole numbers, pair by pair; scores differ; the default packs nodes, as in the example of "
        "the documentation."),
    integer_option("initial_backoff_s", "1", "seconds", 1, 3'600,
                   "podInitialBackoffSeconds; the default is Kubernetes's."),
    integer_option("max_backoff_s", "10", "seconds", 1, 36'000,
                   "podMaxBackoffSeconds; the default is Kubernetes's."),
};

// Checks that the points, pairs of numbers, distinguish full nodes from empty ones.
bool is_shape(const std::vector<double>& numbers,
              const std::vector<std::pair<std::int64_t, std::int64_t>>& points) {
  const auto rises = [](const auto& a, const auto& b) { return a.first >= b.first; };
  const auto differ = [](const auto& a, const auto& b) { return a.second != b.second; };
  return numbers.size() % 2 == 0 &&
         std::ranges::all_of(numbers, [](double one) { return one == std::floor(one); }) &&
         std::ranges::adjacent_find(points, rises) == points.end() &&
         std::ranges::adjacent_find(points, differ) != points.end() &&
         std::ranges::all_of(points, [](const auto& point) { return point.second <= 10; });
}

Result<std::unique_ptr<Policy>> make_kube(const PolicyOptions& options) {
  constexpr Strategy kStrategies[] = {Strategy::kLeastAllocated, Strategy::kMostAllocated,
                                      Strategy::kRequestedToCapacityRatio};
  KubeOptions kube{.gang = options.flag("gang"),
                   .strategy = options.choice("scoring_strategy", kStrategies),
                   .shape = {},
                   .initial_backoff = options.duration("initial_backoff_s"),
                   .max_backoff = options.duration("max_backoff_s")};
  const std::vector<double> shape = options.list("shape");
  for (std::size_t i = 0; i + 1 < shape.size(); i += 2) {
    kube.shape.emplace_back(static_cast<std::int64_t>(shape[i]),
                            static_cast<std::int64_t>(shape[i + 1]));
  }
  if (!is_shape(shape, kube.shape))
    return input_error(
        "policy kube: shape must be utilizations that rise, each with a score from 0 to 10, all "
        "whole numbers and scores that differ: {}",
        options.text("shape"));
  return std::make_unique<Kube>(std::move(kube));
}

}  // namespace

const PolicyEntry kKube = {
    .name = "kube",
    .summary = "kube-scheduler: pods by priority and time in the queue, nodes by score, back-off.",
    .paper = "kubernetes.io, \"Scheduling, Preemption and Eviction\"",
    .options = kOptions,
    .make = make_kube};

}  // namespace fairlead
