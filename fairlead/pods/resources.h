// Amounts of resources in pods' requests and nodes' allocatable resources.
#pragma once

#include "fairlead/kube/json.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace fairlead {

// The name of the GPU resource of pods and nodes.
constexpr std::string_view kGpuResource = "nvidia.com/gpu";

// Returns a whole number, for example of devices, which may be a text; 0 if there is none.
std::uint32_t count_at(const Json& value, JsonPath path);

// An amount in thousandths, rounded up: "500m" of cpu is 500, "1Ki" of memory 1,024,000. A larger amount
// than kAmountMax is kAmountMax.
using Amount = std::int64_t;
constexpr Amount kAmountMax = Amount{1} << 62;
// Parses a quantity such as "500m", "1.5", "64Gi", "12e6"; nothing if it is invalid or negative.
std::optional<Amount> parse_quantity(std::string_view text);

// Amounts by the resource's name: "cpu", "memory", "nvidia.com/gpu".
using Resources = std::map<std::string, Amount, std::less<>>;
// Parses the amounts of an object such as {"cpu": "500m", "nvidia.com/gpu": 8}. An invalid amount is 0.
Resources parse_resources(const Json& amounts);

void add(Resources& sum, const Resources& more);
// Raises each amount to at least the amount in `other`.
void raise(Resources& amounts, const Resources& other);
Resources times(const Resources& amounts, std::int64_t count);

// Returns a pod's use of its node's resources, by the rules of kubelets. It is the sum of its containers,
// or its largest init container if that is more, with sidecars and overhead. It includes 1 of "pods", and
// 1 of each host port that it listens on ("hostPort 8080/TCP"); every node has one of each.
Resources pod_requests(const Json& pod_spec);

// Returns the amount that a node with these allocatable amounts has: 1 of each port of the host.
Amount offered(const Resources& allocatable, const std::string& name);

// Returns the first resource of `wanted` that `allocatable` lacks beside `used`; empty: there is enough.
std::string lacking(const Resources& allocatable, const Resources& used, const Resources& wanted);

}  // namespace fairlead
