// The protocol between the scheduler, the agents of nodes (agent/agent.h) and pods for several gangs that
// are resident on the same GPUs and take turns in place.
//
// A node of such a pool offers slots, for each GPU as many as gangs may be resident there. A pod that
// asks for N slots has N GPUs. The scheduler chooses them, because kubelets hand out slots without
// devices.
//
//   pod   fairlead.dev/gpus: "0,1"          its GPUs on its node; written with the binding
//   pod   fairlead.dev/run:  "false 4711"   the scheduler's order: to run (true) or to rest
//   pod   fairlead.dev/runs: "false 4711"   the agent's report that it is met, with its text
//   node  fairlead.dev/slots-per-gpu: "3"   written by the agent, with the node's slots
//
// The number in an order is the pod's version when it was written. So no two orders for a pod are equal,
// and a report names exactly the order that it answers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fairlead {

constexpr std::string_view kSlotResource = "fairlead.dev/gpu-slot";
constexpr std::string_view kSlotsPerGpu = "fairlead.dev/slots-per-gpu";
constexpr std::string_view kGpusOf = "fairlead.dev/gpus";
constexpr std::string_view kWish = "fairlead.dev/run";
constexpr std::string_view kReport = "fairlead.dev/runs";

// Returns "0,1" for the bits 0 and 1.
std::string gpus_text(std::uint64_t gpus);
// Returns 0 if the text is not such a list.
std::uint64_t parse_gpus(std::string_view text);

std::string wish_text(bool runs, std::string_view version);
inline bool wishes_run(std::string_view wish) { return wish.starts_with("true"); }
inline bool wishes_rest(std::string_view wish) { return wish.starts_with("false"); }
// Returns the version at which an order was written, comparable between pods; 0: the text is not an
// order.
std::uint64_t wish_version(std::string_view wish);

// Returns the lowest `count` of `gpus`, or all if there are fewer.
std::uint64_t lowest_gpus(std::uint64_t gpus, std::uint32_t count);

}  // namespace fairlead
