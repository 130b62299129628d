// The kinds of objects whose pods are a gang, as data: which pods each makes, and where it is
// suspended. One that is not in the table makes gangs all the same, by its pods
// (owner_of_pods in pods/owner.h).
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

// Where an owner says which pods it makes: sets of equal ones.
struct PodSetsAt {
  KeyPath where;                // a set, or a list or map of sets
  bool is_many = false;         // the latter
  std::vector<KeyPath> counts;  // within a set: numbers whose product is that of its pods; 1 each
  KeyPath limit;                // likewise: there are no more than that; empty: no limit
  KeyPath shape;                // likewise: the pods' template
};

struct OwnerKind {
  std::string_view api_version;  // "batch/v1"
  std::string_view kind;         // "Job"
  std::string_view plural;       // "jobs"
  KeyPath suspend;               // a boolean: true deletes its pods, and counts no failure
  std::vector<PodSetsAt> sets;
  KeyPath outcome{};  // a text, "Complete" or "Failed" at the end; empty: its conditions say that
  KeyPath completions{};  // a number of pods that are to succeed; status.succeeded did
  KeyPath order{};        // a text: "InOrder" if its sets wait for each other

  std::string group_path() const;  // "/apis/batch/v1"
  std::string list_path() const;   // "/apis/batch/v1/jobs"
  std::string path_of(std::string_view name_space, std::string_view name) const;
};

std::span<const OwnerKind> owner_kinds();
// By kind and group: an owner reference may name another version. Null: not in the table.
const OwnerKind* find_owner_kind(std::string_view api_version, std::string_view kind);

struct PodSet {
  const Json* shape = nullptr;  // of `object`
  std::int64_t pods = 0;
};
std::vector<PodSet> pod_sets(const OwnerKind& kind, const Json& object);

// The reference to the owner that controls an object; null: none does.
const Json& controller_of(const Json& object);

}  // namespace fairlead
