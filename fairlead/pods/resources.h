// Amounts of resources, as pods ask for them and nodes offer them.
#pragma once

#include "fairlead/kube/json.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace fairlead {

// GPUs, as pods ask for them and nodes offer them.
constexpr std::string_view kGpuResource = "nvidia.com/gpu";

// A whole number, as of devices, which may be a text; 0 where it is none.
std::uint32_t count_at(const Json& value, JsonPath path);

// In thousandths, rounded up: "500m" of cpu is 500, "1Ki" of memory 1,024,000. What is more than
// kAmountMax is kAmountMax.
using Amount = std::int64_t;
constexpr Amount kAmountMax = Amount{1} << 62;
// A quantity such as "500m", "1.5", "64Gi", "12e6"; nothing where it is none, or is negative.
std::optional<Amount> parse_quantity(std::string_view text);

// By name: "cpu", "memory", "nvidia.com/gpu".
using Resources = std::map<std::string, Amount, std::less<>>;
// The amounts of an object such as {"cpu": "500m", "nvidia.com/gpu": 8}. What cannot be read is 0.
Resources parse_resources(const Json& amounts);

void add(Resources& sum, const Resources& more);
// Each amount as large as that of `other`, at least.
void raise(Resources& amounts, const Resources& other);
Resources times(const Resources& amounts, std::int64_t count);

// What a pod takes of its node, as kubelets count it: its containers together, or the largest of its
// init containers where that is more, with its sidecars and overhead; 1 of "pods"; and 1 of each port
// of the host that it listens on ("hostPort 8080/TCP"), of which every node has one.
Resources pod_requests(const Json& pod_spec);

// The first resource of `wanted` of which `offered` has too little beside `used`; empty: it has
// enough of all.
std::string lacking(const Resources& offered, const Resources& used, const Resources& wanted);

}  // namespace fairlead
