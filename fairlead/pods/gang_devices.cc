#include "fairlead/pods/gang_devices.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace fairlead {

std::vector<GangAct> with_devices(const PodGang& gang, const ClusterView& cluster,
                                  std::vector<GangAct> acts) {
  std::vector<GangAct> writes;
  std::set<DeviceId> taken;
  bool waits = false;
  for (const GangAct& act : acts) {
    if (act.kind != GangAct::Kind::kBind) continue;
    const Pod& pod = gang.pods().at(act.pod);
    if (pod.device_claims.empty()) continue;
    const auto needs = cluster.devices().needs(pod, act.node, taken);
    waits = waits || !needs || !needs->empty();
    if (!needs) continue;
    for (const DeviceRequest& request : *needs)
      writes.push_back({.kind = GangAct::Kind::kDevice, .pod = pod.uid, .device = request});
  }
  if (!waits) return acts;
  std::erase_if(acts, [&](const GangAct& act) {
    return act.kind == GangAct::Kind::kBind && gang.pods().at(act.pod).gpus > 0;
  });
  std::ranges::move(writes, std::back_inserter(acts));
  return acts;
}

}  // namespace fairlead
