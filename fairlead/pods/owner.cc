#include "fairlead/pods/owner.h"

#include "fairlead/base/parse.h"
#include "fairlead/pods/gang_tasks.h"
#include "fairlead/pods/lineage.h"
#include "fairlead/pods/pod_model.h"
#include "fairlead/pods/slots.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace fairlead {
namespace {

constexpr std::array<std::string_view, 4> kFinishedBy = {"Complete", "Completed", "Succeeded",
                                                         "SuccessCriteriaMet"};
constexpr std::array<std::string_view, 2> kFailedBy = {"Failed", "FailureTarget"};

bool is_of(const PodSet& set, std::string_view scheduler) {
  return text_at(*set.shape, {"spec", "schedulerName"}) == scheduler;
}

bool is_ours(const PodSet& set) { return is_of(set, kSchedulerName); }

const std::string& annotation(const Json& object, std::string_view name) {
  return text_at(object, {"metadata", "annotations", name});
}

void set_state(const OwnerKind& kind, const Json& object, Owner& owner) {
  const auto end = [&](std::string_view how, const std::string& reason) {
    if (std::ranges::count(kFinishedBy, how) > 0) owner.state = Owner::State::kFinished;
    if (std::ranges::count(kFailedBy, how) == 0) return;
    owner.state = Owner::State::kFailed;
    owner.reason = reason;
  };
  if (!kind.outcome.empty()) {
    const Json& outcome = json_along(object, kind.outcome);
    return end(outcome.is_string() ? outcome.get<std::string>() : "",
               text_at(object, {"status", "message"}));
  }
  for (const Json& condition : json_at(object, {"status", "conditions"})) {
    if (text_at(condition, {"status"}) != "True") continue;
    end(text_at(condition, {"type"}), text_at(condition, {"reason"}));
  }
}

// Pods with slots, which are a part of a GPU, must be alike, because their GPUs are chosen for whole tasks. `first`: the
// GPUs of the gang's first pod; 0: this is the first.
Status check_slots(std::uint32_t gpus, std::uint32_t slots, std::uint32_t first, Owner& owner) {
  const bool is_mixed = first != 0 && owner.has_slots != (slots > 0);
  if (is_mixed || (slots != 0 && slots != gpus))
    return input_error("its pods ask for both {} and {}", kGpuResource, kSlotResource);
  if (slots > 0 && first != 0 && gpus != first) {
    return input_error("some of its pods ask for {} {}, others for {}: those must be alike", first,
                       kSlotResource, gpus);
  }
  owner.has_slots = slots > 0;
  return {};
}

void set_tasks(std::vector<AlikePods> pods, Owner& owner) {
  GangTasks found = tasks_of(std::move(pods));
  owner.tasks = found.tasks;
  owner.task_gpus = found.task_gpus;
  owner.needs = std::move(found.needs);
  owner.requests = std::move(found.requests);
}

// Counts the pods with GPUs.
Status set_pods(const std::vector<PodSet>& sets, std::string_view scheduler, Owner& owner) {
  std::vector<AlikePods> found;
  std::int64_t pods = 0;
  std::int64_t all_gpus = 0;
  for (const PodSet& set : sets) {
    const std::uint32_t gpus = gpus_of_spec(json_at(*set.shape, {"spec"}));
    if (!is_of(set, scheduler) || set.pods == 0 || gpus == 0) continue;
    const std::uint32_t slots = slots_of_spec(json_at(*set.shape, {"spec"}));
    FL_TRY(check_slots(gpus, slots, found.empty() ? 0 : found.front().gpus, owner));
    FL_TRY_ASSIGN(needs, parse_pod_needs(json_at(*set.shape, {"spec"})));
    std::ranges::move(parse_used_claims(json_at(*set.shape, {"spec"}), {}),
                      std::back_inserter(owner.claims));
    if (found.empty()) {
      owner.model = model_of_spec(json_at(*set.shape, {"spec"}));
      owner.required_level = annotation(*set.shape, kKueueRequired);
      owner.preferred_level = annotation(*set.shape, kKueuePreferred);
    }
    if (owner.priority_class.empty())
      owner.priority_class = text_at(*set.shape, {"spec", "priorityClassName"});
    owner.has_deadline |= json_at(*set.shape, {"spec", "activeDeadlineSeconds"}).is_number();
    pods += set.pods;
    all_gpus += set.pods * gpus;
    if (all_gpus > 100'000) return input_error("it asks for {} GPUs, more than 100,000", all_gpus);
    found.push_back({static_cast<std::uint32_t>(set.pods), gpus, std::move(needs)});
  }
  if (found.empty()) return input_error("its pods ask for no {}", kGpuResource);
  owner.pods = static_cast<std::uint32_t>(pods);
  set_tasks(std::move(found), owner);
  return {};
}

// Sets the counts of succeeded and spare pods. Succeeded pods are not created again, except in a Job
// with more completions than parallel pods.
void set_done(const OwnerKind& kind, const Json& object, Owner& owner) {
  if (kind.completions.empty()) return;
  const auto number = [](const Json& value) {
    return value.is_number_integer()
               ? std::clamp<std::int64_t>(value.get<std::int64_t>(), 0, 1 << 30)
               : 0;
  };
  const std::int64_t all = number(json_along(object, kind.completions));
  owner.spare = static_cast<std::uint32_t>(std::max<std::int64_t>(all - owner.pods, 0));
  owner.succeeded = static_cast<std::uint32_t>(number(json_at(object, {"status", "succeeded"})));
}

Status set_time(const std::string& text, Owner& owner) {
  if (text.empty()) return {};
  const auto ms = parse_seconds(text);
  if (!ms) return input_error("{}: {} is not a number of seconds", kTimeOf, text);
  owner.time = {*ms};
  return {};
}

}  // namespace

bool is_fairleads(const OwnerKind& kind, const Json& object) {
  if (!known_parent(object).empty()) return false;
  const std::vector<PodSet> sets = pod_sets(kind, object);
  return std::ranges::any_of(sets, is_ours) && std::ranges::none_of(sets, [](const PodSet& set) {
           return is_ours(set) && !group_of(*set.shape).empty();
         });
}

Result<Owner> parse_owner(const OwnerKind& kind, const Json& object, std::string_view scheduler) {
  Owner owner{.key = text_at(object, {"metadata", "uid"}),
              .uid = text_at(object, {"metadata", "uid"}),
              .name_space = text_at(object, {"metadata", "namespace"}),
              .name = text_at(object, {"metadata", "name"}),
              .about = {},
              .kind = &kind,
              .version = text_at(object, {"metadata", "resourceVersion"})};
  const std::vector<PodSet> sets = pod_sets(kind, object);
  if (std::ranges::all_of(sets, [](const PodSet& set) { return set.pods == 0; })) {
    return input_error("it has no pods");
  }
  owner.is_staged = is_staged(kind, object);
  owner.workload_class = text_at(object, {"metadata", "labels", kKueuePriority});
  if (const Json& name = json_along(object, kind.priority);
      !kind.priority.empty() && name.is_string()) {
    owner.priority_class = name.get<std::string>();
  }
  FL_TRY(set_pods(sets, scheduler, owner));
  if (const std::string& model = annotation(object, kModelOf); !model.empty()) owner.model = model;
  if (owner.model.empty()) owner.model = owner.name;
  if (const std::string& label = annotation(object, kRequiredLevel); !label.empty())
    owner.required_level = label;
  if (const std::string& label = annotation(object, kPreferredLevel); !label.empty())
    owner.preferred_level = label;
  FL_TRY(set_time(annotation(object, kTimeOf), owner));
  set_done(kind, object, owner);
  owner.is_suspended = is_suspended(kind, object);
  owner.is_ours = annotation(object, kSuspendedBy) == kSchedulerName;
  owner.is_held = annotation(object, kHold) == "true";
  const bool is_pinned = std::ranges::any_of(sets, [](const PodSet& set) {
    return is_ours(set) && annotation(*set.shape, kPreemptible) == "false";
  });
  owner.is_preemptible = annotation(object, kPreemptible) != "false" && !is_pinned;
  set_state(kind, object, owner);
  return owner;
}

namespace {

// Counts of a gang's pods.
struct Count {
  std::uint32_t all = 0;
  std::uint32_t with_gpus = 0;
  std::uint32_t succeeded = 0;
  bool has_gpus = false;  // a pod asks for GPUs, though it may have left
};

// Checks the pods with GPUs. Errors: those of owner_of_pods.
Status check_members(const std::vector<const Pod*>& pods, Owner& owner) {
  std::uint32_t first = 0;
  for (const Pod* pod : pods) {
    if (pod->gpus == 0) continue;
    if (!pod->unknown_need.empty()) return input_error("{}", pod->unknown_need);
    FL_TRY(check_slots(pod->gpus, pod->has_slots ? pod->gpus : 0, first, owner));
    if (first == 0) first = pod->gpus;
  }
  return {};
}

// Counts the pods, and sets the tasks of those with GPUs.
Count count(const std::vector<const Pod*>& pods, Owner& owner) {
  Count found;
  std::vector<AlikePods> present;
  std::vector<AlikePods> past;
  for (const Pod* pod : pods) {
    const bool has_left = pod->is_leaving || pod->state == Pod::State::kFailed;
    if (pod->gpus > 0) (has_left ? past : present).push_back({1, pod->gpus, pod->needs});
    if (has_left) continue;
    ++found.all;
    found.with_gpus += pod->gpus > 0 ? 1 : 0;
    found.succeeded += pod->state == Pod::State::kSucceeded ? 1 : 0;
  }
  found.has_gpus = !present.empty() || !past.empty();
  if (found.has_gpus) set_tasks(present.empty() ? std::move(past) : std::move(present), owner);
  return found;
}

void take_wishes(const std::vector<const Pod*>& pods, Owner& owner) {
  bool is_pinned = false;
  bool is_free = false;
  bool come_again = true;
  for (const Pod* pod : pods) {
    owner.is_bare |= pod->owner.empty();
    come_again = come_again && pod->comes_again;
    is_pinned |= pod->preemptible == Pod::Preemptible::kNo;
    is_free |= pod->preemptible == Pod::Preemptible::kYes;
    owner.is_held |= pod->is_held;
    if (owner.model.empty()) owner.model = pod->model;
    const bool is_lost = pod->state == Pod::State::kFailed && !pod->is_leaving;
    if (!pod->owner.empty() || !is_lost) continue;
    owner.state = Owner::State::kFailed;
    owner.reason = pod->reason.empty() ? fmt::format("pod {} failed", pod->name) : pod->reason;
  }
  owner.comes_again = come_again;
  owner.is_preemptible = !is_pinned && (is_free || come_again);
}

// Returns the number of pods that the pods of a gang state, or else their PodGroup. Error: it is not known, or the pods
// differ.
Result<std::uint32_t> stated_size(std::string_view gang, std::string_view group,
                                  const std::vector<const Pod*>& pods, std::uint32_t group_size) {
  std::vector<std::uint32_t> sizes;
  for (const Pod* pod : pods)
    sizes.push_back(pod->gang_size == 0 && !group.empty() ? group_size : pod->gang_size);
  const auto [least, most] = std::ranges::minmax(sizes);
  if (most == 0) {
    const bool has_group = std::ranges::any_of(
        pod_group_kinds(), [&](const OwnerKind& kind) { return group.starts_with(kind.mark); });
    return input_error("the number of pods of its gang {} is not known: it needs {}{}", gang,
                       has_group ? "its PodGroup, or " : "", size_mark_of(group));
  }
  if (least == most) return most;
  return input_error("its pods state different numbers of pods in the gang ({})",
                     size_mark_of(group));
}

}  // namespace

Result<Owner> owner_of_pods(const std::string& key, const std::vector<const Pod*>& pods,
                            std::uint32_t group_size) {
  const Pod& first = **std::ranges::min_element(pods, {}, [](const Pod* pod) { return pod->name; });
  Owner owner{
      .key = key,
      .uid = first.uid,
      .name_space = first.name_space,
      .name = first.group.empty() ? first.name : first.group.substr(first.group.find(':') + 1),
      .about = first.name,
      .version = {}};
  FL_TRY(check_members(pods, owner));
  const Count found = count(pods, owner);
  const bool is_alone = first.group.empty() && (first.owner.empty() || first.gang_size == 0);
  std::uint32_t size = 1;
  if (!is_alone) {
    FL_TRY_ASSIGN(stated, stated_size(owner.name, first.group, pods, group_size));
    size = stated;
  }
  owner.absent = size - std::min(size, found.all);
  if (!found.has_gpus && (owner.is_complete() || is_alone)) {
    return input_error("its pods ask for no {}", kGpuResource);
  }
  owner.pods = std::max(found.with_gpus, 1U);
  if (found.succeeded >= size) owner.state = Owner::State::kFinished;
  FL_TRY(set_time(first.time, owner));
  owner.priority_class = first.priority_class;
  owner.required_level = first.required_level;
  owner.preferred_level = first.preferred_level;
  if (const auto label = first.labels.find(std::string(kKueuePriority));
      label != first.labels.end())
    owner.workload_class = label->second;
  take_wishes(pods, owner);
  const auto named = std::ranges::find_if_not(pods, &std::string::empty, &Pod::command_model);
  if (owner.model.empty() && named != pods.end()) owner.model = (*named)->command_model;
  if (owner.model.empty()) owner.model = owner.name;
  return owner;
}

}  // namespace fairlead
