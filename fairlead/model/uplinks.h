// Uplinks: an estimate of the speeds of gangs that share links between hosts. The inputs are the placements of jobs and
// the communication figures of models.
//
// model/fabric.h defines the links that a gang crosses. Every gang gets an equal share of each link: capacity / gangs.
// The gang's bandwidth is the smallest share on its links, and at most its bandwidth alone. This approximates the
// max-min fair bandwidth of the simulated network (sim/network.h) from below. If a gang cannot fill its share of a link
// because another link limits it, no other gang gets the rest. The estimate needs no backend, so every backend has it.
//
// Speeds are fractions of the gang's speed without shared links.
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
  // Both arguments must outlive this object, and the cluster must not change.
  Uplinks(const Cluster& cluster, const Fabric& fabric);

  // Removes all gangs. O(links).
  void clear();
  // Adds the job's gang, with the traffic of `iteration`. A gang that crosses no link is not kept. REQUIRES: !has(job).
  void add(JobId job, const Iteration& iteration, Gang gang);
  // Removes the job's gang, if any.
  void remove(JobId job);
  bool has(JobId job) const { return slot_.has(job) && slot_[job] != 0; }

  // Returns the speed of the job's gang; 1 if the job is not here.
  double speed(JobId job) const;
  // Returns the speed that a new gang would have. REQUIRES: the gang's job is not here.
  double speed_at(const Iteration& iteration, Gang gang);
  // Returns the total loss of the gangs here if `gang` was added: the sum of GPUs x lost fraction of speed.
  double loss_of_others(Gang gang);

 private:
  struct Flow {
    JobId job;  // none: a free row
    Iteration iteration;
    std::uint32_t gpus = 0;
    std::vector<LinkId> links;
  };
  struct Link {
    double gbps = 0;
    std::vector<std::uint32_t> flows;
    std::uint32_t more = 0;  // hypothetical gangs
  };

  void cross(Gang gang);
  double share(const std::vector<LinkId>& links, std::uint32_t more) const;
  static double kept(const Iteration& iteration, double gbps);

  const Cluster& cluster_;
  const Fabric& fabric_;
  IdVector<LinkId, Link> links_;
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> unused_;
  IdVector<JobId, std::uint32_t> slot_;  // row of flows_ + 1; 0: none
  std::vector<LinkId> crossed_;          // links of the gang in the current query
  std::vector<std::uint32_t> met_;       // rows of flows in the current query
};

}  // namespace fairlead
