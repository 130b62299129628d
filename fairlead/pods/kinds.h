// A table of the kinds of objects that create gangs: the pods of each kind, and its field for
// suspension. Objects of other kinds make gangs too, by their pods (owner_of_pods in pods/owner.h).
#pragma once

#include "fairlead/kube/json.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// Keys from the outermost.
using KeyPath = std::vector<std::string_view>;
const Json& json_along(const Json& value, const KeyPath& path);

// The fields of an owner that describe its pods, in sets of equal pods.
struct PodSetsAt {
  KeyPath where;                // path of a set, or of a list or map of sets
  bool is_many = false;         // true for a list or map
  std::vector<KeyPath> counts;  // in a set: factors of its number of pods; a missing one is 1
  KeyPath limit;                // in a set: the largest number of pods; empty: no limit
  KeyPath shape;                // in a set: the pods' template
  KeyPath after{};              // in a set: a list of the sets that it waits for
};

// The field of a joined owner with the object below it.
constexpr std::string_view kBelow = "below";

struct OwnerKind {
  std::string_view api_version;  // "batch/v1"
  std::string_view kind;         // "Job"
  std::string_view plural;       // "jobs"
  KeyPath suspend;               // a boolean: true deletes its pods, without a failure
  // A kind of Kueue. Kueue starts the pods of a Workload as soon as its boolean, which means the opposite, is true.
  bool is_of_kueue = false;
  std::vector<PodSetsAt> sets;
  KeyPath outcome{};  // a text, at the end "Complete" or "Failed"; empty: its conditions show that
  KeyPath completions{};  // the number of pods that must succeed; status.succeeded counts them
  KeyPath order{};        // a text: "InOrder" if its sets wait for each other
  KeyPath priority{};  // the PriorityClass of its pods, beside the ones that their templates name
  bool is_joined = false;  // an object below it has its sets (pods/joined_owners.h)
  // For a PodGroup: the mark by which pods name it (Pod::group), and the number of its pods.
  std::string_view mark{};
  KeyPath members{};

  std::string group_path() const;  // "/apis/batch/v1"
  std::string list_path() const;   // "/apis/batch/v1/jobs"
  std::string path_of(std::string_view name_space, std::string_view name) const;
};

// Returns true if the object is suspended.
bool is_suspended(const OwnerKind& kind, const Json& object);

std::span<const OwnerKind> owner_kinds();
// Returns the kinds of the PodGroups of other schedulers, which state the size of a gang of pods. They have no sets.
std::span<const OwnerKind> pod_group_kinds();
// Returns the kinds of priority classes. They have no sets.
constexpr std::string_view kPriorityClass = "PriorityClass";
std::span<const OwnerKind> priority_kinds();
// Returns the kinds of dynamic resource allocation (pods/devices.h). They have no sets.
constexpr std::string_view kDeviceClass = "DeviceClass";
constexpr std::string_view kResourceSlice = "ResourceSlice";
constexpr std::string_view kResourceClaim = "ResourceClaim";
constexpr std::string_view kClaimTemplate = "ResourceClaimTemplate";
std::span<const OwnerKind> device_kinds();
// Returns a kind by its name and group, because an owner reference may name another version. Null: not in
// the table.
const OwnerKind* find_owner_kind(std::string_view api_version, std::string_view kind);

// Returns true if a controller of that kind is known to create an evicted pod again: the kinds of the table, and the
// controllers of Kubernetes itself.
bool creates_again(std::string_view api_version, std::string_view kind);

struct PodSet {
  const Json* shape = nullptr;  // points into `object`
  std::int64_t pods = 0;
  bool waits = false;  // for pods of other sets
};
std::vector<PodSet> pod_sets(const OwnerKind& kind, const Json& object);
// Returns true if the owner creates some pods only after others have started or ended.
bool is_staged(const OwnerKind& kind, const Json& object);

// Returns the reference to the owner that controls an object; null: none does.
const Json& controller_of(const Json& object);

}  // namespace fairlead
