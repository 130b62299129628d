#include "fairlead/forecast/kubernetes_now.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <set>
#include <utility>

namespace fairlead {
namespace {

using State = CensusGang::State;

// More lines of one kind add no information.
constexpr std::size_t kLinesMax = 5;

std::string_view state_name(State state) {
  switch (state) {
    case State::kRunning:
      return "running";
    case State::kFinished:
      return "finished";
    case State::kFailed:
      return "failed";
    case State::kHeld:
      return "held";
    case State::kWaiting:
      break;
  }
  return "waiting";
}

// Returns how long a gang has had its GPUs, as far as Kubernetes knows: since its last start.
std::int64_t served_ms(const CensusGang& gang, std::int64_t now) {
  if (gang.state == State::kWaiting || gang.state == State::kHeld) return 0;
  const std::int64_t end = gang.state == State::kRunning ? now : gang.ended_unix_ms;
  return std::max<std::int64_t>(end - gang.started_unix_ms, 0);
}

// Returns gangs as the jobs of a daemon, by the same numbers.
std::vector<JobAnswer> answers_of(const Census& census) {
  std::vector<JobAnswer> jobs;
  jobs.reserve(census.gangs.size());
  for (const CensusGang& gang : census.gangs) {
    JobAnswer& job = jobs.emplace_back();
    job.id = std::ssize(jobs);
    job.name = fmt::format("{}/{}", gang.name_space, gang.name);
    job.user = gang.name_space;
    job.model = gang.model;
    job.gpus = gang.gpus();
    job.state = state_name(gang.state);
    job.gpu_s = static_cast<double>(served_ms(gang, census.unix_ms)) / 1000 *
                static_cast<double>(gang.gpus());
    if (gang.declared.ms > 0) job.declared_s = static_cast<double>(gang.declared.ms) / 1000;
  }
  return jobs;
}

std::set<PodNeeds> needs_of(const Census& census) {
  std::set<PodNeeds> needs;
  for (const CensusGang& gang : census.gangs) needs.insert(gang.needs);
  return needs;
}

// Returns the CPU and memory in these amounts: thousandths of CPUs, and of bytes.
CpuMemory cpu_memory_of(const Resources& amounts) {
  constexpr std::int64_t kGb = std::int64_t{1} << 30;
  const auto amount = [&](std::string_view name) {
    const auto found = amounts.find(name);
    return found == amounts.end() ? 0 : found->second;
  };
  return {thousandths_of(amount("cpu")), thousandths_of(amount("memory") / kGb)};
}

// Rows of a trace, and the texts that they point to.
class Rows {
 public:
  Rows(const Census& census, Inventory& inventory) : census_(census), inventory_(inventory) {
    for (const NodeSpec& spec : inventory.specs()) {
      kinds_.insert(spec.gpu_type);
      kind_of_[spec.name] = spec.gpu_type;
    }
  }

  void add(const CensusGang& gang, Time submit, Duration duration) {
    const auto ran_on = kind_of_.find(gang.node);
    const auto tickets = census_.tickets.find(gang.name_space);
    rows_.push_back({.id = id_of(gang),
                     .user = gang.name_space,
                     .model = gang.model,
                     .gpus = gang.gpus(),
                     .task_gpus = gang.task_gpus,
                     .asks = cpu_memory_of(gang.needs.requests).times(gang.tasks),
                     .submit = submit,
                     .duration = {std::clamp<std::int64_t>(duration.ms, 1, kMsMax)},
                     .gpu_type = ran_on == kind_of_.end() ? std::string_view() : ran_on->second,
                     .runs_on = runs_on(gang),
                     .tickets = tickets == census_.tickets.end() ? 0 : tickets->second});
  }
  Result<Trace> trace(const std::string& name) const { return Trace::of(name, rows_); }

 private:
  // A later gang of the same name is another one.
  std::string_view id_of(const CensusGang& gang) {
    std::string id = fmt::format("{}/{}", gang.name_space, gang.name);
    const int before = named_[id]++;
    if (before > 0) id += fmt::format("#{}", before + 1);
    return texts_.emplace_back(std::move(id));
  }
  std::string_view runs_on(const CensusGang& gang) {
    const std::set<std::string>& open = inventory_.kinds_for(gang.needs);
    if (open.size() == kinds_.size()) return {};
    std::string text;
    for (const std::string& kind : open) text += (text.empty() ? "" : "+") + kind;
    return texts_.emplace_back(text.empty() ? "none" : std::move(text));
  }

  const Census& census_;
  Inventory& inventory_;
  std::set<std::string> kinds_;
  std::map<std::string, std::string> kind_of_;  // kind of each node, by name
  std::map<std::string, int> named_;
  std::vector<JobRow> rows_;
  std::deque<std::string> texts_;
};

// Returns the nodes with the GPUs that gangs may get.
std::vector<NodeSpec> usable(const Census& census, const Inventory& inventory) {
  std::vector<NodeSpec> nodes;
  for (NodeSpec spec : inventory.specs()) {
    const Node& node = census.nodes.at(spec.name);
    const auto others = census.others.find(spec.name);
    const std::uint32_t taken = others == census.others.end() ? 0 : others->second;
    spec.gpus = std::min(spec.gpus, node.gpus - std::min(taken, node.gpus));
    spec.has = cpu_memory_of(node.allocatable);
    if (node.is_ready && !node.is_cordoned && spec.gpus > 0) nodes.push_back(std::move(spec));
  }
  return nodes;
}

std::vector<std::string> said_of(const Census& census, const std::vector<NodeSpec>& nodes) {
  std::vector<std::string> said;
  const auto with_gpus = std::ranges::count_if(
      census.nodes, [](const auto& entry) { return entry.second.gpus_all > 0; });
  if (const auto away = with_gpus - std::ssize(nodes); away > 0) {
    said.push_back(
        fmt::format("{} of {} nodes are left out: not ready, cordoned, or full of pods of others",
                    away, with_gpus));
  }
  std::int64_t others = 0;
  for (const auto& [node, gpus] : census.others) others += gpus;
  if (others > 0) {
    said.push_back(fmt::format("{} GPUs stay with pods outside these gangs", others));
  }
  const auto held = std::ranges::count(census.gangs, State::kHeld, &CensusGang::state);
  if (held > 0) said.push_back(fmt::format("{} Jobs that their users suspended stay so", held));
  for (std::size_t i = 0; i < std::min(census.left_out.size(), kLinesMax); ++i) {
    said.push_back(fmt::format("left out is {}", census.left_out[i]));
  }
  if (census.left_out.size() > kLinesMax) {
    said.push_back(fmt::format("left out are {} more", census.left_out.size() - kLinesMax));
  }
  said.emplace_back("a Job has run since it was last started or resumed");
  said.emplace_back("nodes have all of their CPU and memory for these gangs");
  return said;
}

Duration duration_of(const CensusGang& gang, double left_s, std::int64_t now) {
  return {served_ms(gang, now) + static_cast<std::int64_t>(std::ceil(left_s * 1000))};
}

}  // namespace

Result<ClusterNow> kubernetes_now(const Census& census) {
  Inventory inventory(census.nodes, needs_of(census), NodeLevels());
  std::vector<NodeSpec> nodes = usable(census, inventory);
  if (nodes.empty()) return run_error("no node has a GPU that could be used");
  FL_TRY_ASSIGN(cluster, build_cluster("now", {}, nodes));
  const std::vector<JobAnswer> jobs = answers_of(census);
  Rows queue_rows(census, inventory);
  Rows all_rows(census, inventory);
  std::vector<JobAnswer> queue;
  std::vector<TimeLeft> left;
  // Running gangs come first.
  for (const State state : {State::kRunning, State::kWaiting}) {
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (census.gangs[i].state != state) continue;
      queue.push_back(jobs[i]);
      left.push_back(time_left(jobs[i], jobs));
      queue_rows.add(census.gangs[i], {}, duration_of({}, left.back().s, 0));
    }
  }
  const std::int64_t first =
      census.gangs.empty() ? census.unix_ms : census.gangs.front().created_unix_ms;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const CensusGang& gang = census.gangs[i];
    if (gang.state == State::kHeld) continue;
    const auto guess = std::ranges::find(left, jobs[i].id, &TimeLeft::job);
    all_rows.add(gang, Time{gang.created_unix_ms - first},
                 duration_of(gang, guess == left.end() ? 0 : guess->s, census.unix_ms));
  }
  FL_TRY_ASSIGN(trace, queue_rows.trace("now"));
  FL_TRY_ASSIGN(all, all_rows.trace("kubernetes"));
  std::vector<std::string> said = said_of(census, nodes);
  return ClusterNow{.queue = {.cluster = std::move(cluster),
                              .trace = std::move(trace),
                              .jobs = std::move(queue),
                              .left = std::move(left),
                              .policy{}},
                    .name = "kubernetes",
                    .nodes = std::move(nodes),
                    .trace = std::move(all),
                    .said = std::move(said)};
}

}  // namespace fairlead
