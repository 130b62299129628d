// What the scheduler, the agents of nodes (agent/agent.h) and pods tell each other where several gangs
// are resident on the same GPUs and take turns in place.
//
// A node of such a pool offers slots, as many for each GPU as gangs may be resident there. A pod that
// asks for N slots has N GPUs, which the scheduler chooses, as kubelets hand out slots without devices.
//
//   pod   fairlead.dev/gpus: "0,1"          its GPUs on its node; written with the binding
//   pod   fairlead.dev/run:  "false 4711"   whether it is to run; the scheduler's wish
//   pod   fairlead.dev/runs: "false 4711"   the agent's word that it is so, by the same text
//   node  fairlead.dev/slots-per-gpu: "3"   written by the agent, with the node's slots
//
// The number in a wish is the version of the pod that it was written on, so no two wishes for a pod are
// the same, and a report never answers an older wish than it names.
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

// "0,1" of the bits 0 and 1.
std::string gpus_text(std::uint64_t gpus);
// 0 where it is no such list.
std::uint64_t parse_gpus(std::string_view text);

std::string wish_text(bool runs, std::string_view version);
inline bool wishes_run(std::string_view wish) { return wish.starts_with("true"); }
inline bool wishes_rest(std::string_view wish) { return wish.starts_with("false"); }
// When it was written, comparable with those of other pods; 0: it is no wish.
std::uint64_t wish_version(std::string_view wish);

// The lowest of the `gpus`, as many as `count`, or all.
std::uint64_t lowest_gpus(std::uint64_t gpus, std::uint32_t count);

}  // namespace fairlead
