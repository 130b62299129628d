#include "fairlead/pods/members.h"

#include "fairlead/base/parse.h"
#include "fairlead/pods/kinds.h"
#include "fairlead/pods/owner.h"
#include "fairlead/pods/pod_model.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace fairlead {
namespace {

std::uint32_t sum_of_spec(const Json& spec, std::string_view resource) {
  std::uint32_t sum = 0;
  for (const Json& container : json_at(spec, {"containers"})) {
    sum += count_at(container, {"resources", "limits", resource});
  }
  return sum;
}

Pod::State state_of(const Json& pod) {
  const std::string& phase = text_at(pod, {"status", "phase"});
  if (phase == "Running") return Pod::State::kRunning;
  if (phase == "Succeeded") return Pod::State::kSucceeded;
  return phase == "Failed" ? Pod::State::kFailed : Pod::State::kPending;
}

// Returns the annotation with that name, or else the label.
const std::string& said(const Json& metadata, std::string_view name) {
  const std::string& text = text_at(metadata, {"annotations", name});
  return text.empty() ? text_at(metadata, {"labels", name}) : text;
}

std::uint32_t size_of(const std::string& text) {
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(parse_integer(text).value_or(0), 0, 1'000'000));
}

// Returns the gang that the marks of another scheduler, or of a LeaderWorkerSet, name. An owner of a known kind has its
// own size, so such marks count only without one.
std::string foreign_group_of(const Json& metadata) {
  const std::string& set = text_at(metadata, {"labels", kLeaderWorkerSet});
  if (const std::string& index = text_at(metadata, {"labels", kLeaderWorkerGroup});
      !set.empty() && !index.empty()) {
    return fmt::format("{}:{}-{}", kLeaderWorkerSet, set, index);
  }
  for (const std::string_view mark : {kCoschedulingGroup, kVolcanoGroup, kKaiGroup}) {
    if (const std::string& name = said(metadata, mark); !name.empty())
      return fmt::format("{}:{}", mark, name);
  }
  return {};
}

void parse_gang(const Json& pod, Pod& parsed) {
  const Json& metadata = json_at(pod, {"metadata"});
  const Json& labels = json_at(metadata, {"labels"});
  if (labels.is_object()) {
    for (const auto& [name, value] : labels.items()) {
      if (value.is_string()) parsed.labels[name] = value.get<std::string>();
    }
  }
  parsed.group = group_of(pod);
  if (parsed.group.empty() && !parsed.is_of_known_kind) parsed.group = foreign_group_of(metadata);
  parsed.gang_size = size_of(said(metadata, size_mark_of(parsed.group)));
  if (parsed.is_ours && !parsed.has_known_owner()) {
    auto needs = needs_of_pod(json_at(pod, {"spec"}));
    if (needs) {
      parsed.needs = *std::move(needs);
    } else {
      parsed.unknown_need = needs.error().message;
    }
    parsed.command_model = model_of_spec(json_at(pod, {"spec"}));
  }
  parsed.model = said(metadata, kModelOf);
  parsed.time = said(metadata, kTimeOf);
  const auto first_said = [&](std::string_view name, std::string_view other) {
    const std::string& text = said(metadata, name);
    return text.empty() ? said(metadata, other) : text;
  };
  parsed.required_level = first_said(kRequiredLevel, kKueueRequired);
  parsed.preferred_level = first_said(kPreferredLevel, kKueuePreferred);
  parsed.priority_class = text_at(pod, {"spec", "priorityClassName"});
  const std::string& preemptible = said(metadata, kPreemptible);
  if (preemptible == "true") parsed.preemptible = Pod::Preemptible::kYes;
  if (preemptible == "false") parsed.preemptible = Pod::Preemptible::kNo;
  parsed.is_held = said(metadata, kHold) == "true";
}

}  // namespace

std::string group_of(const Json& shape) {
  const Json& metadata = json_at(shape, {"metadata"});
  const std::string& scheduling = text_at(shape, {"spec", kSchedulingGroup, "podGroupName"});
  if (!scheduling.empty()) return fmt::format("{}:{}", kSchedulingGroup, scheduling);
  const std::string& kueue = text_at(metadata, {"labels", kKueueGroup});
  if (!kueue.empty()) return fmt::format("{}:{}", kKueueGroup, kueue);
  const std::string& gang = said(metadata, kGangOf);
  return gang.empty() ? std::string() : fmt::format("{}:{}", kGangOf, gang);
}

std::string_view size_mark_of(std::string_view group) {
  if (group.starts_with(kKueueGroup)) return kKueueTotal;
  return group.starts_with(kLeaderWorkerSet) ? kLeaderWorkerSize : kGangSize;
}

std::uint32_t gpus_of_spec(const Json& spec) {
  return sum_of_spec(spec, kGpuResource) + slots_of_spec(spec);
}
std::uint32_t slots_of_spec(const Json& spec) { return sum_of_spec(spec, kSlotResource); }

Pod parse_pod(const Json& pod) {
  const Json& metadata = json_at(pod, {"metadata"});
  const Json& spec = json_at(pod, {"spec"});
  Pod parsed{.uid = text_at(metadata, {"uid"}),
             .name_space = text_at(metadata, {"namespace"}),
             .name = text_at(metadata, {"name"}),
             .version = text_at(metadata, {"resourceVersion"}),
             .node = text_at(spec, {"nodeName"}),
             .requests = pod_requests(spec),
             .claims = parse_used_claims(spec, text_at(metadata, {"name"})),
             .state = state_of(pod),
             .reason = text_at(pod, {"status", "reason"}),
             .is_ours = text_at(spec, {"schedulerName"}) == kSchedulerName,
             .is_gated = !json_at(spec, {"schedulingGates"}).empty(),
             .is_leaving = !text_at(metadata, {"deletionTimestamp"}).empty()};
  const Json& controller = controller_of(pod);
  parsed.owner = text_at(controller, {"uid"});
  const std::string& version = text_at(controller, {"apiVersion"});
  const std::string& kind = text_at(controller, {"kind"});
  parsed.is_of_known_kind = find_owner_kind(version, kind) != nullptr;
  parsed.comes_again = creates_again(version, kind);
  parsed.gpus = gpus_of_spec(spec);
  parsed.has_slots = slots_of_spec(spec) > 0;
  parsed.mask = parse_gpus(text_at(metadata, {"annotations", kGpusOf}));
  parsed.wish = text_at(metadata, {"annotations", kWish});
  parsed.report = text_at(metadata, {"annotations", kReport});
  parsed.progress = parse_pod_progress(text_at(metadata, {"annotations", kProgressOf}));
  const Json& target = item_at(pod, {"status", "conditions"}, "type", "DisruptionTarget");
  parsed.is_marked = text_at(target, {"status"}) == "True";
  parse_gang(pod, parsed);
  const std::string& index =
      text_at(metadata, {"annotations", "batch.kubernetes.io/job-completion-index"});
  parsed.index = parse_integer(index).value_or(-1);
  return parsed;
}

}  // namespace fairlead
