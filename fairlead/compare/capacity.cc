#include "fairlead/compare/capacity.h"

#include "fairlead/base/nearest.h"
#include "fairlead/base/parallel.h"
#include "fairlead/base/parse.h"
#include "fairlead/base/time_text.h"
#include "fairlead/input/cluster_file.h"
#include "fairlead/metrics/job_table.h"
#include "fairlead/metrics/metrics.h"
#include "fairlead/metrics/quantile.h"
#include "fairlead/model/cluster_build.h"
#include "fairlead/model/speed.h"
#include "fairlead/run/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace fairlead {
namespace {

constexpr WaitFigure kFigures[] = {
    {"wait_mean", &WaitFigures::wait_mean_s}, {"wait_p50", &WaitFigures::wait_p50_s},
    {"wait_p90", &WaitFigures::wait_p90_s},   {"wait_p99", &WaitFigures::wait_p99_s},
    {"jct_mean", &WaitFigures::jct_mean_s},   {"jct_p90", &WaitFigures::jct_p90_s}};

// The changed cluster: numbers of nodes of each kind, and whether each part is removed.
struct Change {
  std::vector<std::int64_t> added;
  std::vector<bool> removed;
};

bool is_in_part(const NodeSpec& node, std::string_view key, std::string_view value) {
  if (key == "rack") return node.rack == value;
  if (key == "node") return node.name == value;
  return type_key(node.gpu_type) == type_key(value) ||
         type_key(product_of_type(node.gpu_type)) == type_key(value);
}

Status remove_part(ClusterSpec& spec, std::string_view part) {
  const std::size_t equals = std::min(part.find('='), part.size());
  const std::string_view key = part.substr(0, equals);
  const std::string_view value = part.substr(std::min(equals + 1, part.size()));
  if (key != "rack" && key != "node" && key != "type")
    return input_error("--remove takes rack=NAME, node=NAME or type=NAME: {}", part);
  const auto is_removed = [&](const NodeSpec& node) { return is_in_part(node, key, value); };
  if (std::ranges::none_of(spec.nodes, is_removed))
    return input_error("--remove: the cluster has no such {}: {}", key, value);
  if (std::ranges::all_of(spec.nodes, is_removed))
    return input_error("--remove: no node would be left: {}", part);
  std::erase_if(spec.nodes, is_removed);
  // A rack without nodes would count as a switch above racks.
  std::erase_if(spec.fabric.switches,
                [&](const SwitchSpec& one) { return key == "rack" && one.name == value; });
  return {};
}

void add_nodes(ClusterSpec& spec, const NodeOffer& kind, std::int64_t count) {
  // Beside the others where all are in one rack; otherwise in a rack of their own, at the top.
  const std::string& first = spec.nodes.front().rack;
  const bool is_one_rack =
      std::ranges::all_of(spec.nodes, [&](const NodeSpec& node) { return node.rack == first; });
  const auto alike = std::ranges::find_if(spec.nodes, [&](const NodeSpec& node) {
    return type_key(node.gpu_type) == type_key(kind.gpu_type) && node.gpus == kind.gpus;
  });
  const NodeSpec like{.gpu_type = kind.gpu_type,
                      .gpus = kind.gpus,
                      .rack = is_one_rack ? first : "added",
                      .has = alike == spec.nodes.end() ? CpuMemory() : alike->has};
  for (std::int64_t i = 0; i < count; ++i) {
    spec.nodes.push_back(like);
    spec.nodes.back().name = fmt::format("{}+{}", kind.text, i + 1);
  }
}

double mean_s(const std::vector<std::int64_t>& values_ms) {
  const double sum = std::accumulate(values_ms.begin(), values_ms.end(), 0.0);
  return sum / 1000 / static_cast<double>(values_ms.size());
}

WaitFigures waits_of(const JobTable& jobs) {
  std::vector<std::int64_t> waits_ms;
  std::vector<std::int64_t> jcts_ms;
  WaitFigures waits;
  for (const JobId job : ids<JobId>(jobs.size())) {
    if (jobs.status[job] != JobStatus::kFinished) {
      ++waits.unfinished;
      continue;
    }
    waits_ms.push_back(jobs.queued(job).ms);
    jcts_ms.push_back((jobs.finish[job] - jobs.submit[job]).ms);
  }
  waits.finished = std::ssize(waits_ms);
  if (waits_ms.empty()) return waits;
  waits.wait_mean_s = mean_s(waits_ms);
  waits.wait_p50_s = quantile_s(waits_ms, 50);
  waits.wait_p90_s = quantile_s(waits_ms, 90);
  waits.wait_p99_s = quantile_s(waits_ms, 99);
  waits.jct_mean_s = mean_s(jcts_ms);
  waits.jct_p90_s = quantile_s(jcts_ms, 90);
  return waits;
}

struct Outcome {
  CapacityRun run;
  std::string reference_type;
  std::vector<AssumedLine> assumed;
};

// Runs changes of the question's cluster. Each call makes runs of its own, so several threads may call.
class Runs {
 public:
  explicit Runs(const CapacityQuestion& question)
      : question_(question), spec_(spec_of(question.cluster)) {}

  // Fixes the GPU type of durations that name none, in clusters that have the type.
  void set_reference(std::string type) { reference_ = std::move(type); }

  Result<Outcome> run(const Change& change) const {
    FL_TRY_ASSIGN(cluster, cluster_after(change));
    SimulationInputs inputs{.cluster = std::move(cluster),
                            .trace = question_.trace,
                            .settings = question_.settings,
                            .seed = question_.seed,
                            .until = question_.until};
    std::string& reference = inputs.settings.reference_gpu;
    if (reference.empty() && !inputs.cluster.type_named(reference_).is_none())
      reference = reference_;
    FL_TRY(inputs.use_policy(question_.policy));
    Outcome outcome{
        .run = {.nodes = std::ssize(inputs.cluster.node_type), .gpus = inputs.cluster.gpus}};
    FL_TRY_ASSIGN(simulation, Simulation::make(std::move(inputs)));
    FL_TRY(simulation.run());
    outcome.run.waits = waits_of(simulation.metrics().jobs());
    const Summary summary = simulation.summary();
    outcome.reference_type = summary.assumed.reference_type;
    outcome.assumed = assumed_lines(summary);
    return outcome;
  }

 private:
  Result<Cluster> cluster_after(const Change& change) const {
    ClusterSpec spec = spec_;
    for (std::size_t i = 0; i < change.removed.size(); ++i)
      if (change.removed[i]) FL_TRY(remove_part(spec, question_.removed[i]));
    for (std::size_t i = 0; i < change.added.size(); ++i)
      add_nodes(spec, question_.added[i], change.added[i]);
    return build_cluster(spec.name, spec.links, spec.nodes, spec.fabric);
  }

  const CapacityQuestion& question_;
  ClusterSpec spec_;
  std::string reference_;
};

// Seeks numbers of added nodes that reach the target.
class Search {
 public:
  Search(const CapacityQuestion& question, const Runs& runs, std::int64_t finished)
      : question_(question), runs_(runs), finished_(finished) {}

  // Returns the plan with the least number of nodes of the kind, beside `others` of the other kinds; none if all that
  // are offered do not reach the target.
  Result<std::optional<CapacityPlan>> least(std::size_t kind,
                                            const std::vector<std::int64_t>& others) const {
    std::vector<std::int64_t> added = others;
    std::int64_t low = -1;  // does not reach it
    std::int64_t high = question_.added[kind].nodes;
    added[kind] = high;
    FL_TRY_ASSIGN(most, plan_of(added));
    if (!most) return std::optional<CapacityPlan>();
    std::optional<CapacityPlan> best = std::move(most);
    while (high - low > 1) {
      added[kind] = low + (high - low) / 2;
      FL_TRY_ASSIGN(plan, plan_of(added));
      (plan ? high : low) = added[kind];
      if (plan) best = std::move(plan);
    }
    return best;
  }

  // Returns a plan of several kinds; none if all that are offered do not reach the target.
  Result<std::optional<CapacityPlan>> mix() const {
    std::vector<std::int64_t> added;
    std::vector<std::size_t> kinds;
    for (std::size_t i = 0; i < question_.added.size(); ++i) {
      added.push_back(question_.added[i].nodes);
      kinds.push_back(i);
    }
    std::ranges::stable_sort(kinds, std::greater(),
                             [&](std::size_t kind) { return price_of(kind).value_or(0); });
    std::optional<CapacityPlan> best;
    for (const std::size_t kind : kinds) {
      FL_TRY_ASSIGN(plan, least(kind, added));
      if (!plan) return plan;
      added = plan->nodes;
      best = std::move(plan);
    }
    return best;
  }

 private:
  // None: the target is not reached with these nodes.
  Result<std::optional<CapacityPlan>> plan_of(const std::vector<std::int64_t>& added) const {
    FL_TRY_ASSIGN(outcome, runs_.run({added, std::vector<bool>(question_.removed.size(), true)}));
    const WaitFigures& waits = outcome.run.waits;
    // Jobs that can no longer run do not count as served.
    const bool reaches = waits.finished >= finished_ &&
                         waits.*(question_.target->figure) < question_.target->below_s;
    if (!reaches) return std::optional<CapacityPlan>();
    CapacityPlan plan{.nodes = added, .waits = waits, .price_per_hour = 0.0};
    for (std::size_t i = 0; i < added.size(); ++i) {
      if (added[i] == 0) continue;
      const auto price = price_of(i);
      if (!price) plan.price_per_hour.reset();
      if (plan.price_per_hour) *plan.price_per_hour += *price * static_cast<double>(added[i]);
    }
    return std::optional(std::move(plan));
  }

  // The price of a node for an hour.
  std::optional<double> price_of(std::size_t kind) const {
    for (const auto& [type, price] : question_.prices) {
      if (type_key(type) == type_key(question_.added[kind].gpu_type))
        return price * question_.added[kind].gpus;
    }
    return std::nullopt;
  }

  const CapacityQuestion& question_;
  const Runs& runs_;
  std::int64_t finished_;
};

Status check(const CapacityQuestion& question) {
  if (question.added.empty() && question.removed.empty())
    return input_error("name nodes by --add or --remove");
  if (question.target && question.added.empty())
    return input_error("--target is sought by adding nodes, so it needs --add: {}",
                       question.target->text);
  for (const auto& [type, price] : question.prices) {
    const std::string key = type_key(type);
    const bool is_added = std::ranges::any_of(
        question.added, [&](const NodeOffer& one) { return type_key(one.gpu_type) == key; });
    if (!is_added) return input_error("--price: no added node has this GPU type: {}", type);
  }
  return {};
}

// Returns each change alone, then all together if there are several.
std::vector<std::pair<std::string, Change>> changes_of(const CapacityQuestion& question) {
  const Change none{std::vector<std::int64_t>(question.added.size()),
                    std::vector<bool>(question.removed.size())};
  Change all = none;
  std::vector<std::pair<std::string, Change>> changes;
  for (std::size_t i = 0; i < question.added.size(); ++i) {
    Change one = none;
    all.added[i] = one.added[i] = question.added[i].nodes;
    changes.emplace_back("+ " + question.added[i].text, std::move(one));
  }
  for (std::size_t i = 0; i < question.removed.size(); ++i) {
    Change one = none;
    all.removed[i] = one.removed[i] = true;
    changes.emplace_back("- " + question.removed[i], std::move(one));
  }
  if (changes.size() > 1) changes.emplace_back("all of them", std::move(all));
  return changes;
}

// Fills in the plans, one of each kind or a mix.
Status seek(const CapacityQuestion& question, const Runs& runs, CapacityAnswer& answer) {
  const Search search(question, runs, answer.now.waits.finished);
  const std::size_t kinds = question.added.size();
  std::vector<Result<std::optional<CapacityPlan>>> found(kinds);
  in_parallel(kinds, [&](std::size_t kind) {
    found[kind] = search.least(kind, std::vector<std::int64_t>(kinds));
  });
  for (auto& plan : found) {
    if (!plan) return tl::unexpected(plan.error());
    if (*plan) answer.plans.push_back(std::move(**plan));
  }
  if (answer.plans.empty() && kinds > 1) {
    FL_TRY_ASSIGN(mix, search.mix());
    if (mix) answer.plans.push_back(std::move(*mix));
  }
  const auto price = [](const CapacityPlan& plan) { return plan.price_per_hour; };
  const bool are_priced = std::ranges::all_of(
      answer.plans, [](const CapacityPlan& plan) { return plan.price_per_hour.has_value(); });
  if (question.prices.empty() || !are_priced || answer.plans.empty()) return {};
  answer.cheapest = static_cast<std::size_t>(std::ranges::min_element(answer.plans, {}, price) -
                                             answer.plans.begin());
  return {};
}

}  // namespace

std::span<const WaitFigure> wait_figures() { return kFigures; }

Result<NodeOffer> parse_node_offer(std::string_view text) {
  FL_TRY_ASSIGN(cluster, parse_cluster_shorthand(text));
  if (text.find(',') != text.npos)
    return input_error("one kind of nodes, such as 4xH100:8, at a time: {}", text);
  return NodeOffer{.text = std::string(text),
                   .nodes = std::ssize(cluster.node_type),
                   .gpu_type = cluster.type_names[GpuTypeId(0)],
                   .gpus = cluster.node_gpus_max};
}

Result<WaitTarget> parse_wait_target(std::string_view text) {
  const std::size_t sign = text.find('<');
  const std::string_view name = trimmed(text.substr(0, sign));
  const auto* figure = std::ranges::find(kFigures, name, &WaitFigure::name);
  if (figure == std::end(kFigures) || sign == text.npos) {
    std::vector<std::string_view> names;
    for (const WaitFigure& one : kFigures) names.push_back(one.name);
    return input_error("a target is FIGURE < LENGTH, with a figure of {}: {}",
                       nearest_first(names, name), text);
  }
  FL_TRY_ASSIGN(below_s, parse_span_s(text.substr(sign + 1)));
  return WaitTarget{std::string(text), figure->seconds, below_s};
}

Status add_price(std::string_view text, GpuPrices& prices) {
  const std::size_t equals = std::min(text.find('='), text.size());
  std::string_view number = text.substr(std::min(equals + 1, text.size()));
  if (number.ends_with("/h")) number.remove_suffix(2);
  const auto price = parse_number(number);
  if (equals == 0 || !price || *price <= 0)
    return input_error("a price is TYPE=NUMBER/h for one GPU: {}", text);
  if (!prices.emplace(text.substr(0, equals), *price).second)
    return input_error("a GPU type has two prices: {}", text);
  return {};
}

Result<CapacityAnswer> capacity(const CapacityQuestion& question) {
  FL_TRY(check(question));
  Runs runs(question);
  FL_TRY_ASSIGN(now, runs.run({}));
  runs.set_reference(now.reference_type);
  CapacityAnswer answer{.now = now.run, .assumed = now.assumed};
  const auto changes = changes_of(question);
  std::vector<Result<Outcome>> outcomes(changes.size());
  in_parallel(changes.size(), [&](std::size_t i) { outcomes[i] = runs.run(changes[i].second); });
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (!outcomes[i]) return tl::unexpected(outcomes[i].error());
    answer.changes.push_back(outcomes[i]->run);
    answer.changes.back().change = changes[i].first;
    for (const AssumedLine& line : outcomes[i]->assumed) {
      if (std::ranges::find(answer.assumed, line) == answer.assumed.end())
        answer.assumed.push_back(line);
    }
  }
  if (question.target) FL_TRY(seek(question, runs, answer));
  return answer;
}

}  // namespace fairlead
