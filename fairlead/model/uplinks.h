// Uplinks: what the gangs of several hosts leave of the links that they share, as far as the tables
// tell: who holds which GPUs, and what models communicate.
//
// Which links a gang crosses is said in model/fabric.h. Here every gang has an equal share of each link it crosses, and so the least of these:
// capacity / gangs, never more than it would use alone. That is a plain approximation from below of
// what a simulated network gives (max-min fair: sim/network.h): it leaves a link that a gang cannot
// fill, as another one holds it back, to no other. It asks no backend, so it is there under any.
//
// Speeds are fractions of what the gang would have if it shared no link.
//
// Cost: add, remove, speed_at: O(hosts of the gang). loss_of_others: O(gangs on its links x links of
// each). No allocation once warm.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/model/cluster.h"
#include "fairlead/model/communication.h"
#include "fairlead/model/fabric.h"

#include <cstdint>
#include <vector>

namespace fairlead {

class Uplinks {
 public:
  // What is passed must outlive it, and the cluster not change.
  Uplinks(const Cluster& cluster, const Fabric& fabric);

  // No gang is there. O(links).
  void clear();
  // The job holds that gang, which exchanges its gradients so, from now on. One that crosses no link
  // is not kept. REQUIRES: it holds none here.
  void add(JobId job, const Iteration& iteration, Gang gang);
  // It holds none any more, if it did.
  void remove(JobId job);
  bool has(JobId job) const { return slot_.has(job) && slot_[job] != 0; }

  // The speed of a gang that is here; 1 of a job that is not.
  double speed(JobId job) const;
  // The speed that a gang would have if it came. REQUIRES: its job is not here.
  double speed_at(const Iteration& iteration, Gang gang);
  // What those that are here would then lose together: GPUs x the fraction of its speed of each.
  double loss_of_others(Gang gang);

 private:
  struct Flow {
    JobId job;  // none: a row that is free
    Iteration iteration;
    std::uint32_t gpus = 0;
    std::vector<LinkId> links;
  };
  struct Link {
    double gbps = 0;
    std::vector<std::uint32_t> flows;
    std::uint32_t more = 0;  // that are thought to come
  };

  void cross(Gang gang);
  double share(const std::vector<LinkId>& links, std::uint32_t more) const;
  static double kept(const Iteration& iteration, double gbps);

  const Cluster& cluster_;
  const Fabric& fabric_;
  IdVector<LinkId, Link> links_;
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> unused_;
  IdVector<JobId, std::uint32_t> slot_;  // its row of flows_ + 1; 0: none
  std::vector<LinkId> crossed_;          // by the gang that is asked about
  std::vector<std::uint32_t> met_;       // flows
};

}  // namespace fairlead
