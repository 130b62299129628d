// Devices: GPUs that pods claim (dynamic resource allocation, resource.k8s.io/v1) in place of the extended resource.
//
// A claim for whole GPUs counts as so many `nvidia.com/gpu`: with_gpus() writes them into pods and into the templates of
// owners, and a node has the GPUs of its ResourceSlices. So gangs, types, quotas and room know one resource alone. Before
// a pod is bound, each of its claims gets devices of the node, as kube-scheduler's plugin DynamicResources writes it: a
// finalizer, and then the allocation with the pod in `reservedFor`. The server's controller takes both back once the pod
// has ended.
//
// A device is a GPU if its driver's name begins with "gpu." and a DeviceClass selects it. A class may select by driver
// and by attributes that are texts: `device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type ==
// 'gpu'`. Claims with anything else (selectors, constraints, alternatives, all devices) are not read: with_gpus() leaves
// their pods as they are.
#pragma once

#include "fairlead/kube/reflector.h"

#include <nlohmann/json.hpp>

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

struct Pod;  // pods/members.h

struct DeviceId {
  std::string driver;
  std::string pool;
  std::string name;
  friend auto operator<=>(const DeviceId&, const DeviceId&) = default;
};

// A write to a claim.
struct DeviceRequest {
  enum class Kind : std::uint8_t {
    kProtect,   // adds the finalizer
    kAllocate,  // gives it devices, for the pod
    kRelease,   // takes them back: they are on a node that the pod is not to have
  } kind = Kind::kProtect;
  KubeName claim;
  std::string version;
  std::vector<std::string> finalizers{};  // for kProtect: all of them
  std::string node{};                     // for kAllocate, as all below
  std::string pod{}, pod_uid{};
  struct Result {
    std::string request;  // its name in the claim
    DeviceId device;
  };
  std::vector<Result> results{};
};

class Devices {
 public:
  // Each is called with a change of an object, and returns true if pods may now ask for other numbers of GPUs, or nodes
  // may have others.
  bool on_class(const ReflectedChange& change);
  bool on_slice(const ReflectedChange& change);
  bool on_claim(const ReflectedChange& change);
  bool on_template(const ReflectedChange& change);

  // Returns the object, a pod or an owner, with the GPUs of all claims in it as limits and requests, and without the
  // claims. A part with other claims, or with claims that are not known, stays as it is. O(size of the object).
  std::shared_ptr<const Json> with_gpus(std::shared_ptr<const Json> object) const;
  // Returns whether some pods of the object, a pod or an owner, have claims.
  static bool has_claims(const Json& object);
  // Returns the claims of the pod; one that is not made yet has no name.
  static std::vector<std::string> claims_of(const Json& pod);
  // Returns the GPUs of the node's slices, and the product that they name; O(devices of the node).
  std::uint32_t gpus_of(const std::string& node) const;
  std::string product_of(const std::string& node) const;

  // Returns the writes to make before the pod may be bound to the node; none: it may be. Nothing: it cannot be there now.
  // Adds the devices that it would get to `taken`. O(all claims + claims of the pod x devices of the node).
  std::optional<std::vector<DeviceRequest>> needs(const Pod& pod, const std::string& node,
                                                  std::set<DeviceId>& taken) const;
  // Called after a request was sent: its devices are taken until the claim's next state is known.
  void assume(const DeviceRequest& request);
  // Called with the answer: the claim's new state; null: the server refused.
  void take_answer(const DeviceRequest& request, std::shared_ptr<const Json> object);

 private:
  // The devices that a class selects.
  struct Class {
    std::string driver;
    std::map<std::string, std::string> attributes;  // by name
  };
  struct Device {
    DeviceId id;
    std::map<std::string, std::string> attributes;  // those that are texts
  };
  struct Slice {
    std::string node;
    std::int64_t generation = 0;  // the pool's generation; older slices do not count
    std::vector<Device> devices;
  };
  struct Ask {
    std::string request, device_class;
    std::uint32_t count = 1;
    friend bool operator==(const Ask&, const Ask&) = default;
  };
  // The asks of a claim; nothing: they are not for whole devices of classes.
  using Asks = std::optional<std::vector<Ask>>;
  struct Claim {
    std::string version;
    std::vector<std::string> finalizers;
    Asks asks;
    std::vector<DeviceRequest::Result> results;
    std::set<std::string> reserved_for;  // uids of pods
    bool is_leaving = false;
  };

  // Adds an expression of a class. Returns false if it has anything but equalities of texts, joined by &&.
  static bool read_expression(std::string_view expression, Class& found);
  static Asks parse_asks(const Json& claim_spec);
  static bool selects(const Class& selecting, const Device& device);
  bool is_gpu(const Device& device) const;
  // Returns the GPUs that the asks are for; nothing: they are for something else.
  std::optional<std::uint32_t> gpus_of(const Asks& asks) const;
  std::optional<std::uint32_t> gpus_of_spec(const Json& pod_spec, const std::string& name_space,
                                            const Json& statuses) const;
  void write_gpus(Json& at, const std::string& name_space, const Json& statuses) const;
  // Returns the devices of the node that are of the newest generation of their pool.
  std::vector<const Device*> devices_of(const std::string& node) const;
  std::set<DeviceId> allocated() const;
  std::optional<std::vector<DeviceRequest::Result>> choose(const Claim& claim,
                                                           const std::string& node,
                                                           std::set<DeviceId>& taken) const;

  std::map<std::string, Class> classes_;                    // classes of GPUs, by name
  std::map<std::string, Slice> slices_;                     // by name
  std::map<std::string, std::set<std::string>> slices_of_;  // names, by node
  std::map<KubeName, Claim> claims_;
  std::map<KubeName, Asks> templates_;
  std::map<KubeName, std::vector<DeviceRequest::Result>> assumed_;  // by claim
};

}  // namespace fairlead
