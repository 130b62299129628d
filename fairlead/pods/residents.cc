#include "fairlead/pods/residents.h"

#include "fairlead/pods/slots.h"

#include <bit>

namespace fairlead {

void Residents::set(const Pod& pod) {
  if (!pod.has_slots) return;
  const std::string before = pods_.contains(pod.uid) ? pods_.at(pod.uid).node : "";
  if (before != pod.node) on_[before].erase(pod.uid);
  if (!pod.node.empty()) on_[pod.node].insert(pod.uid);
  pods_[pod.uid] = pod;
  if (ask_of(pod) == nullptr) asks_.erase(pod.uid);
}

void Residents::remove(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  on_[found->second.node].erase(uid);
  pods_.erase(found);
  asks_.erase(uid);
}

void Residents::asked(const std::string& uid, const std::string& node, std::uint64_t gpus) {
  if (const auto pod = pods_.find(uid); pod != pods_.end())
    asks_[uid] = {pod->second.version, node, gpus};
}

const Residents::Ask* Residents::ask_of(const Pod& pod) const {
  const auto found = asks_.find(pod.uid);
  const bool is_open = found != asks_.end() && found->second.version == pod.version;
  return is_open ? &found->second : nullptr;
}

bool Residents::is_frozen(const std::string& uid) const {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return false;
  const Pod& pod = found->second;
  // A pod that is being deleted is thawed for its grace period.
  return pod.is_frozen() && !pod.is_leaving && ask_of(pod) == nullptr;
}

void Residents::each_on(const std::string& node,
                        const std::function<void(const Pod&, std::uint64_t)>& tell) const {
  if (const auto here = on_.find(node); here != on_.end()) {
    for (const std::string& uid : here->second) {
      const Pod& pod = pods_.at(uid);
      if (pod.takes_gpus()) tell(pod, pod.mask);
    }
  }
  for (const auto& [uid, ask] : asks_) {
    const Pod& pod = pods_.at(uid);
    if (ask.node == node && pod.node.empty() && ask_of(pod) != nullptr) tell(pod, ask.gpus);
  }
}

std::uint64_t Residents::in_use(const std::string& node, const std::string& but) const {
  std::uint64_t used = 0;
  each_on(node, [&](const Pod& pod, std::uint64_t gpus) {
    if (pod.gang != but && !is_frozen(pod.uid)) used |= gpus;
  });
  return used;
}

std::uint64_t Residents::full(const std::string& node, std::uint64_t gpus, std::uint32_t most,
                              const std::string& but) const {
  std::map<int, std::uint32_t> residents;
  each_on(node, [&](const Pod& pod, std::uint64_t has) {
    if (pod.gang == but) return;
    for (has &= gpus; has != 0; has &= has - 1) ++residents[std::countr_zero(has)];
  });
  std::uint64_t full = 0;
  for (const auto& [gpu, count] : residents) {
    if (count >= most) full |= std::uint64_t{1} << gpu;
  }
  return full;
}

std::vector<const Pod*> Residents::on(const std::string& node, std::uint64_t gpus) const {
  std::vector<const Pod*> found;
  each_on(node, [&](const Pod& pod, std::uint64_t has) {
    if ((has & gpus) != 0) found.push_back(&pod);
  });
  return found;
}

}  // namespace fairlead
