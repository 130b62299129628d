// Contention: gangs that cross the same links slow each other down.
//
// Gangs that cross a link share it max-min fairly (sim/link_sharing.h), from placement to the end of the run, as if
// all of them exchanged gradients all the time: phases of computation leave no bandwidth to others. A gang alone on its
// links runs at the speed given by Speed; at less bandwidth its iterations are longer. With a penalty, each MB takes
// longer for every other gang on the busiest link, as measured for 10 Gbit/s Ethernet (Wang et al., arXiv 2002.10105).
//
// model/fabric.h describes the links that a gang crosses, and their load.
//
// Cost: LinkSharing's cost, and O(slices) per gang.
#pragma once

#include "fairlead/model/communication.h"
#include "fairlead/model/speed.h"
#include "fairlead/sim/link_sharing.h"

#include <cstdint>
#include <span>
#include <vector>

namespace fairlead {

class Network {
 public:
  // The arguments must outlive the network.
  Network(const Cluster& cluster, const Speed& speed, const NetworkOptions& options,
          std::size_t jobs);

  // Adds the gang of a copy of the job; `alone` is its speed if it shares its links with no other gang.
  void begin(JobId job, std::uint32_t copy, Gang gang, Rate alone);
  // Removes the gangs of the job.
  void end(JobId job);
  // Returns the jobs whose speed changed, or differs from their speed alone, because of gangs added and removed since
  // the last call; by id. Valid until the next call.
  std::span<const JobId> update();
  // Nothing began or ended since.
  bool is_settled() const { return links_.is_settled(); }

  // As of the last update: the speed of a copy of a job that crosses links. Null for all others,
  // which run at the speed they have alone.
  struct Share {
    Rate rate;
    Rate locality;  // the fraction of its time that computes
  };
  const Share* share(JobId job, std::uint32_t copy) const;
  // Returns the speed that the job loses to contention, all copies together.
  Rate lost(JobId job) const;

  // Totals so far: gangs that crossed links, and the cost of sharing those (LinkSharing::link_updates).
  std::int64_t gangs() const { return gangs_; }
  std::int64_t link_updates() const { return links_.link_updates(); }

 private:
  struct Row {
    JobId job;
    std::uint32_t copy = 0;
    Iteration iteration;
    Rate alone;
    Share share;
    FlowId next;  // next flow of the same job
  };

  const Cluster& cluster_;
  const Fabric fabric_;
  const Speed& speed_;
  const double penalty_ms_per_mb_;
  LinkSharing links_;
  IdVector<FlowId, Row> rows_;
  IdVector<JobId, FlowId> first_;
  std::vector<LinkId> crossed_;
  std::vector<JobId> changed_;
  std::int64_t gangs_ = 0;
};

}  // namespace fairlead
