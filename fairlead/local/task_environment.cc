#include "fairlead/local/task_environment.h"

#include "fairlead/local/python_path.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace fairlead {
namespace {

// Returns the value of the variable `name`, which ends with "="; empty if there is none.
std::string_view value_of(std::span<const std::string> environment, std::string_view name) {
  const auto found = std::ranges::find_if(
      environment, [&](const std::string& variable) { return variable.starts_with(name); });
  return found == environment.end() ? std::string_view()
                                    : std::string_view(*found).substr(name.size());
}

// Returns a JSON list with an object for each copy of the job.
std::string copies_text(const Tables& tables, const Machine& machine, JobId id) {
  const FirstGpus first = first_gpus(machine.cluster);
  nlohmann::json copies = nlohmann::json::array();
  Gang left = tables.jobs.last_gang(id);
  auto masks = tables.jobs.gangs.gpu_masks(tables.jobs.last[id]);
  while (!left.empty()) {
    const Gang copy = first_copy(left);
    const GpuTypeId type = tables.cluster.node_type[copy.front().node];
    std::vector<std::string> gpus;
    for (std::uint32_t gpu : machine_gpus(first, copy, masks.first(copy.size())))
      gpus.push_back(machine.gpu_names[gpu]);
    copies.push_back({{"gpus", gpus},
                      {"visible_devices", machine.visible_devices},
                      {"gpu_type", tables.cluster.type_names[type]},
                      {"speed", machine.speed[type]}});
    left = left.subspan(copy.size());
    masks = masks.subspan(copy.size());
  }
  return copies.dump();
}

// Returns whether the variable selects GPUs, "HIP_VISIBLE_DEVICES=3": the daemon has selected them.
bool selects_gpus(std::string_view variable) {
  constexpr std::array<std::string_view, 4> kNames = {
      "CUDA_VISIBLE_DEVICES=", "ROCR_VISIBLE_DEVICES=", "HIP_VISIBLE_DEVICES=",
      "GPU_DEVICE_ORDINAL="};
  return std::ranges::any_of(kNames,
                             [&](std::string_view name) { return variable.starts_with(name); });
}

}  // namespace

std::vector<std::string> task_environment(Io& io, const Tables& tables, const Machine& machine,
                                          std::string_view hook, JobId id, const LocalJob& job) {
  const std::vector<std::uint32_t>& gpus = job.start->gpus;
  const Gang gang = tables.jobs.last_gang(id);
  const GpuTypeId type = gang.empty() ? GpuTypeId() : tables.cluster.node_type[gang.front().node];
  std::vector<std::string_view> names;
  names.reserve(gpus.size());
  for (std::uint32_t gpu : gpus) names.push_back(machine.gpu_names[gpu]);
  std::vector<std::string> all = {
      fmt::format("{}={}", machine.visible_devices, fmt::join(names, ",")),
      fmt::format("FAIRLEAD_JOB_ID={}", id.row()),
      fmt::format("FAIRLEAD_GPUS={}", gpus.size()),
      fmt::format("FAIRLEAD_GPU_TYPE={}",
                  type.is_none() ? std::string() : tables.cluster.type_names[type]),
      fmt::format("FAIRLEAD_SPEED={}", type.is_none() ? 1.0 : machine.speed[type]),
      fmt::format("FAIRLEAD_RESTART_COUNT={}", job.starts),
      fmt::format("FAIRLEAD_PROGRESS={}", io.progress_path({id, job.start->run})),
      "MASTER_ADDR=127.0.0.1",
      fmt::format("MASTER_PORT={}", io.free_port()),
  };
  all.push_back("FAIRLEAD_COPIES=" + copies_text(tables, machine, id));
  if (!hook.empty()) {
    const std::string_view own = value_of(job.what.environment, "PYTHONPATH=");
    const std::string path = python_path(own, hook, job.what.has_hook);
    if (!path.empty() || !own.empty()) all.push_back("PYTHONPATH=" + path);
  }
  const std::size_t ours = all.size();
  for (const std::string& variable : job.what.environment) {
    const std::string_view name = std::string_view(variable).substr(0, variable.find('=') + 1);
    const bool is_ours =
        std::any_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(ours),
                    [&](const std::string& text) { return text.starts_with(name); });
    if (!is_ours && !selects_gpus(variable)) all.push_back(variable);
  }
  return all;
}

}  // namespace fairlead
