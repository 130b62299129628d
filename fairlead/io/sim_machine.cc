#include "fairlead/io/sim_machine.h"

#include <algorithm>
#include <utility>

namespace fairlead {

void SimMachine::add_foreign(std::uint32_t gpu, Time until, TaskId task, bool ignores_term,
                             std::string user) {
  foreign_.push_back(
      {{gpu, 40'000 + ++foreigners_, "python", std::move(user), task}, until, ignores_term});
}

void SimMachine::end_process(std::uint64_t pid, bool by_force) {
  ++end_requests_;
  std::erase_if(foreign_, [&](const Foreign& foreign) {
    return foreign.process.pid == pid && (by_force || !foreign.ignores_term);
  });
}

void SimMachine::settle(Time now) {
  std::erase_if(foreign_, [&](const Foreign& foreign) { return foreign.until <= now; });
}

GpuLook SimMachine::look() {
  GpuLook look = report_;
  for (Foreign& foreign : foreign_) {
    foreign.is_seen = true;
    look.processes.push_back(foreign.process);
  }
  std::ranges::stable_sort(look.processes, {}, &GpuProcess::gpu);
  return look;
}

std::optional<std::uint32_t> SimMachine::seen_foreign(std::span<const std::uint32_t> gpus,
                                                      Time now) const {
  const auto found = std::ranges::find_if(foreign_, [&](const Foreign& foreign) {
    return foreign.is_seen && foreign.until > now &&
           std::ranges::find(gpus, foreign.process.gpu) != gpus.end();
  });
  if (found == foreign_.end()) return std::nullopt;
  return found->process.gpu;
}

std::vector<std::string> SimMachine::groups_of(std::uint32_t uid) const {
  const auto found = groups_.find(uid);
  return found == groups_.end() ? std::vector<std::string>() : found->second;
}

}  // namespace fairlead
