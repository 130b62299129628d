#include "fairlead/policy/gandiva_fair/home_choice.h"

#include "fairlead/model/known_speed.h"
#include "fairlead/model/levels.h"
#include "fairlead/model/task_limits.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace fairlead {

namespace {

// Returns the largest gang of that type that the job could have, at most its own.
std::uint32_t largest_of(const View& view, JobId job, GpuTypeId type) {
  const std::uint32_t gpus = view.jobs.gpus[job];
  const std::uint32_t task = view.jobs.task_gpus[job];
  const Level required = view.jobs.closeness[job].required;
  if (required == kAnywhere) return std::min(gpus, view.cluster.room(type, task));
  return has_room_within(view.cluster, required, type_bit(type), gpus, task) ? gpus : 0;
}

// Returns the GPUs of the idle node that tasks of the job can use, of that many.
std::uint32_t usable_of(const View& view, JobId job, NodeId node, std::uint32_t gpus) {
  const std::uint32_t task = view.jobs.task_gpus[job];
  const std::uint32_t tasks = gpus / task;
  const TaskLimits* const limits = view.jobs.limits;
  return (limits == nullptr ? tasks : std::min(tasks, limits->most_tasks(job, node))) * task;
}

}  // namespace

bool fits_when_idle(const View& view, JobId job, NodeId node) {
  const std::uint32_t gpus = view.jobs.gpus[job];
  return view.jobs.limits == nullptr || usable_of(view, job, node, gpus) == gpus;
}

Home HomeChoice::find(const View& view, JobId job) {
  if (view.jobs.is_pinned(job)) return last_home(view, job);
  order_types(view, job);
  const std::uint32_t gpus = view.jobs.gpus[job];
  std::uint32_t largest = 0;
  for (GpuTypeId type : types_) {
    largest = std::max(largest, largest_of(view, job, type));
    const Home home = find_on(view, job, type);
    if (!home.is_none()) return home;
  }
  return gpus <= largest ? Home() : find_slices(view, job, view.jobs.types[job]);
}

Home HomeChoice::find_on(const View& view, JobId job, GpuTypeId type) {
  if (is_for_several(view, job, type)) return find_slices(view, job, type_bit(type));
  return {.node = find_node(view, job, type)};
}

// Returns true if the job is too large for each idle node of the type.
bool HomeChoice::is_for_several(const View& view, JobId job, GpuTypeId type) const {
  const std::uint32_t gpus = view.jobs.gpus[job];
  if (gpus > view.cluster.type_node_gpus_max[type]) return true;
  if (view.jobs.limits == nullptr || !view.jobs.limits->has(job)) return false;
  return std::ranges::none_of(homes_.nodes().of_type(type), [&](NodeId node) {
    return usable_of(view, job, node, view.cluster.node_gpus[node]) >= gpus;
  });
}

// Returns none while one of its nodes is down.
Home HomeChoice::last_home(const View& view, JobId job) {
  const Gang last = view.jobs.last_gang(job);
  const auto is_down = [&](Slice slice) { return homes_.nodes()[slice.node].is_down; };
  if (std::ranges::any_of(last, is_down)) return {};
  if (last.size() == 1) return {.node = last.front().node};
  slices_.assign(last.begin(), last.end());
  return {.slices = slices_};
}

bool HomeChoice::fits_when_empty(const View& view, JobId job) const {
  const std::uint32_t task = view.jobs.task_gpus[job];
  const Level required = view.jobs.closeness[job].required;
  if (required != kAnywhere) {
    const auto usable = [&](NodeId node) {
      const NodeBooks::Node& books = homes_.nodes()[node];
      return books.is_down ? 0 : usable_of(view, job, node, books.gpus);
    };
    return tightest_section(view.cluster, required, view.jobs.types[job], view.jobs.gpus[job],
                            usable)
        .has_value();
  }
  std::int64_t gpus = 0;
  for (GpuTypeId type : ids<GpuTypeId>(homes_.nodes().types())) {
    if ((view.jobs.types[job] & type_bit(type)) == 0) continue;
    if (task == 1 && view.jobs.limits == nullptr) {
      gpus += homes_.nodes().gpus_of_type(type);
      continue;
    }
    for (NodeId node : homes_.nodes().of_type(type)) {
      const NodeBooks::Node& books = homes_.nodes()[node];
      if (!books.is_down) gpus += usable_of(view, job, node, books.gpus);
    }
  }
  return gpus >= view.jobs.gpus[job];
}

// --- Which GPU type ---------------------------------------------------------------------------

double speed_on(const View& view, JobId job, GpuTypeId type) {
  const std::uint32_t gpus = view.jobs.gpus[job];
  const Tier tier = view.cluster.best_tier(gpus);
  if (const auto known = view.speed.rate(job, type, gpus, tier)) return known->value();
  double slowest = 0;
  for (GpuTypeId other : ids<GpuTypeId>(view.cluster.type_names.size())) {
    const auto known = view.speed.rate(job, other, gpus, tier);
    if (known && known->fixed > 0 && (slowest == 0 || known->value() < slowest)) {
      slowest = known->value();
    }
  }
  return slowest == 0 ? 1 : slowest;
}

// Fills types_ with the types on which the job can run, best first.
void HomeChoice::order_types(const View& view, JobId job) {
  const std::size_t types = homes_.nodes().types();
  types_.clear();
  scores_.assign(types, 0);
  for (GpuTypeId type : ids<GpuTypeId>(types)) {
    if ((view.jobs.types[job] & type_bit(type)) == 0) continue;
    types_.push_back(type);
    if (types > 1) scores_[type.row()] = score(view, job, type);
  }
  if (types_.size() < 2) return;
  std::ranges::stable_sort(types_, std::greater(),
                           [&](GpuTypeId type) { return scores_[type.row()]; });
}

// Returns the rank of a type. First the types where the user keeps less than its entitlement, the
// fastest first; then types with spare GPUs, the fastest first; then the type where the user keeps
// the least per entitlement.
double HomeChoice::score(const View& view, JobId job, GpuTypeId type) {
  constexpr double kFirst = 2e9;
  constexpr double kSecond = 1e9;
  const UserId user = view.jobs.user[job];
  const std::uint32_t gpus = view.jobs.gpus[job];
  const double due = accounts_.due().traded(user, type);
  const auto kept = static_cast<double>(accounts_.due().kept().gpus(user, type));
  if (due - kept >= gpus / 2.0) return kFirst + speed_on(view, job, type);
  if (!find_spare(view, job, type).is_none()) return kSecond + speed_on(view, job, type);
  return due / (kept + gpus);
}

// --- One node ---------------------------------------------------------------------------------

NodeId HomeChoice::find_node(const View& view, JobId job, GpuTypeId type) {
  const std::uint32_t gpus = view.jobs.gpus[job];
  const NodeId spare = homes_.nodes().spare(type, gpus);
  if (!spare.is_none() && usable_of(view, job, spare, gpus) == gpus) return spare;
  list_least_loaded(view, job, type);
  const UserId user = view.jobs.user[job];
  const std::int64_t alike = 1 + accounts_.due().kept().gpus(user, type) / gpus;
  const double due =
      std::min<double>(gpus, accounts_.due().traded(user, type) / static_cast<double>(alike));
  NodeId best;
  double least = std::numeric_limits<double>::infinity();
  for (const Ranked& candidate : candidates_) {
    Tiling tiling = homes_.tiling(candidate.node);
    const double worse = tiling.unserved_with({gpus, due / gpus}) - tiling.unserved();
    if (worse >= least) continue;
    least = worse;
    best = candidate.node;
  }
  return best;
}

// Fills candidates_ with the least loaded nodes that have room for the job.
void HomeChoice::list_least_loaded(const View& view, JobId job, GpuTypeId type) {
  constexpr std::size_t kLooks = 8;
  const std::uint32_t gpus = view.jobs.gpus[job];
  candidates_.clear();
  homes_.nodes().by_load(type).rising(ahead_, [&](const auto& entry) {
    const NodeId node = entry.id;
    const bool has_room =
        homes_.nodes().has_room(node, gpus) && usable_of(view, job, node, gpus) == gpus;
    if (has_room) candidates_.push_back({entry.key, node});
    return candidates_.size() < kLooks;
  });
}

Home HomeChoice::find_spare(const View& view, JobId job, GpuTypeId type) {
  if (is_for_several(view, job, type)) {
    if (!take_close(view, job, type_bit(type), true)) return {};
    return {.slices = slices_};
  }
  const NodeId node = homes_.nodes().spare(type, view.jobs.gpus[job]);
  if (node.is_none() || !fits_when_idle(view, job, node)) return {};
  return {.node = node};
}

// --- Several nodes ----------------------------------------------------------------------------

Home HomeChoice::find_slices(const View& view, JobId job, TypeMask types) {
  if (!take_close(view, job, types, false)) return {};
  if (const SpreadJob* alike = find_alike(view, job, types)) slices_ = alike->slices;
  return {.slices = slices_};
}

double HomeChoice::busy_time(NodeId node) const {
  return homes_.nodes()[node].load + homes_.spread_time(node);
}

// Takes GPUs as near each other as the job asks; false if there are not enough.
bool HomeChoice::take_close(const View& view, JobId job, TypeMask types, bool only_spare) {
  return any_section(view.cluster, view.jobs.closeness[job], [&](NodeRange section) {
    return take_least_busy(view, job, types, only_spare, section);
  });
}

// Fills slices_, if `only_spare` with GPUs that no kept job needs; false if there are not enough in the range.
bool HomeChoice::take_least_busy(const View& view, JobId job, TypeMask types, bool only_spare,
                                 NodeRange range) {
  candidates_.clear();
  for (std::uint32_t row = range.begin; row < range.end; ++row) {
    const NodeId node(row);
    if (homes_.nodes()[node].is_down) continue;
    if ((types & type_bit(view.cluster.node_type[node])) == 0) continue;
    candidates_.push_back({busy_time(node), node});
  }
  std::ranges::sort(candidates_, {}, [](const Ranked& c) { return std::pair(c.key, c.node); });
  slices_.clear();
  busiest_ = 0;
  std::uint32_t left = view.jobs.gpus[job];
  for (const Ranked& candidate : candidates_) {
    const NodeBooks::Node& books = homes_.nodes()[candidate.node];
    const std::uint32_t gpus = only_spare ? books.spare() : books.gpus;
    const std::uint32_t whole = usable_of(view, job, candidate.node, gpus);
    const std::uint32_t take = std::min(left, whole);
    if (take == 0 || !homes_.nodes().has_room(candidate.node, take)) continue;
    slices_.push_back({candidate.node, static_cast<std::uint16_t>(take)});
    busiest_ = std::max(busiest_, candidate.key);
    left -= take;
    if (left == 0) break;
  }
  return left == 0;
}

// Returns another job of its size on nodes that would do for it and have hardly more load than
// slices_.
const SpreadJob* HomeChoice::find_alike(const View& view, JobId job, TypeMask types) const {
  constexpr double kHardlyMore = 0.25;
  const std::uint32_t task = view.jobs.task_gpus[job];
  for (const SpreadJob& other : homes_.spreads()) {
    if (other.client.gpus != view.jobs.gpus[job] || other.client.job == job) continue;
    if (!within(view.cluster, view.jobs.closeness[job].required, other.slices)) continue;
    const bool is_good = std::ranges::all_of(other.slices, [&](Slice slice) {
      return (types & type_bit(view.cluster.node_type[slice.node])) != 0 &&
             slice.gpus % task == 0 && homes_.nodes().has_room(slice.node, slice.gpus) &&
             usable_of(view, job, slice.node, slice.gpus) == slice.gpus &&
             busy_time(slice.node) <= busiest_ + kHardlyMore;
    });
    if (is_good) return &other;
  }
  return nullptr;
}

}  // namespace fairlead
