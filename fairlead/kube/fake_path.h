// Paths of the API, places of objects, and selections of lists and watches.
#pragma once

#include "fairlead/kube/json.h"

#include <compare>
#include <string>
#include <string_view>

namespace fairlead {

constexpr std::string_view kNodes = "/api/v1/nodes";
constexpr std::string_view kPods = "/api/v1/pods";
constexpr std::string_view kJobs = "/apis/batch/v1/jobs";
constexpr std::string_view kBudgets = "/apis/policy/v1/poddisruptionbudgets";
constexpr std::string_view kQuotas = "/api/v1/resourcequotas";
constexpr std::string_view kClaims = "/api/v1/persistentvolumeclaims";
constexpr std::string_view kVolumes = "/api/v1/persistentvolumes";
constexpr std::string_view kClasses = "/apis/storage.k8s.io/v1/storageclasses";
constexpr std::string_view kDrivers = "/apis/storage.k8s.io/v1/csidrivers";
constexpr std::string_view kCapacities = "/apis/storage.k8s.io/v1/csistoragecapacities";

// A path of the API: "/apis/batch/v1/namespaces/lab/jobs/train/status?limit=500".
struct FakePath {
  std::string resource;  // "/apis/batch/v1/jobs"; "/apis/batch/v1": the list of its resources
  std::string name_space;
  std::string name;
  std::string sub;    // "status", "binding"
  std::string query;  // "limit=500"
  static FakePath parse(std::string_view path);
};

// An object's place.
struct FakeKey {
  std::string resource;
  std::string name_space;
  std::string name;
  friend auto operator<=>(const FakeKey&, const FakeKey&) = default;
};

// The objects of a resource that a list or a watch selects.
struct FakeSelection {
  std::string resource;
  std::string name_space;  // empty: all
  std::string fields;      // fieldSelector: "spec.schedulerName=fairlead,status.phase!=Failed"
  std::string labels;      // labelSelector: "a=b,c!=d,e,!f"
  static FakeSelection of(const FakePath& path);
  bool has(const FakeKey& key) const;
  bool has(const Json& object) const;
};

}  // namespace fairlead
