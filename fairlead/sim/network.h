// Contention: gangs that cross the same links slow each other down.
//
// Gangs that cross a link share it max-min fairly (sim/link_sharing.h), from placement
// to the end of the hold and as if all of them exchanged gradients all the time: phases of
// computation leave no bandwidth to others. A gang that has its links to itself runs at the speed
// that Speed gives it; at less bandwidth its iterations are longer. With a penalty, each MB takes
// longer for every other gang on the busiest link, as measured for 10 Gbit/s Ethernet (Wang et al.,
// arXiv 2002.10105).
//
// Which links a gang crosses, and what they carry, is said in model/fabric.h.
//
// Cost: that of LinkSharing, and O(slices) per gang.
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
  // What is passed must outlive it.
  Network(const Cluster& cluster, const Speed& speed, const NetworkOptions& options,
          std::size_t jobs);

  // A copy of the job holds a gang from now on; `alone` is its speed if it shares its links with no
  // other gang.
  void begin(JobId job, std::uint32_t copy, Gang gang, Rate alone);
  // The job holds nothing any more.
  void end(JobId job);
  // The jobs whose speed is not what it was, or not what it would be alone, by what began and ended
  // since the last call; by id. Valid until the next.
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
  // What contention takes from the job's speed, all copies together.
  Rate lost(JobId job) const;

  // So far: gangs that crossed links, and what sharing those cost (LinkSharing::link_updates).
  std::int64_t gangs() const { return gangs_; }
  std::int64_t link_updates() const { return links_.link_updates(); }

 private:
  struct Row {
    JobId job;
    std::uint32_t copy = 0;
    Iteration iteration;
    Rate alone;
    Share share;
    FlowId next;  // of the same job
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
