#include "fairlead/sim/network.h"

#include <algorithm>

namespace fairlead {

Network::Network(const Cluster& cluster, const Speed& speed, const NetworkOptions& options,
                 std::size_t jobs)
    : cluster_(cluster),
      speed_(speed),
      penalty_ms_per_mb_(options.penalty_ms_per_mb),
      links_(capacities(cluster, congested(cluster.links, options.congestion)),
             options.penalty_ms_per_mb > 0),
      first_(jobs) {}

// The hosts' uplinks, then the racks'.
IdVector<LinkId, double> Network::capacities(const Cluster& cluster, const Links& links) {
  IdVector<LinkId, double> gbps(cluster.hosts, links.rack_gbps);
  std::vector<HostId> hosts;
  for (NodeRange nodes : cluster.rack_nodes) {
    hosts.clear();
    for (std::uint32_t node = nodes.begin; node < nodes.end; ++node) {
      hosts.push_back(cluster.node_host[NodeId(node)]);
    }
    std::ranges::sort(hosts);
    hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
    const auto count = static_cast<double>(hosts.size());
    gbps.push_back(links.oversubscription ? count * links.rack_gbps / *links.oversubscription
                                          : links.spine_gbps);
  }
  return gbps;
}

void Network::cross(LinkId link) {
  if (std::ranges::find(crossed_, link) == crossed_.end()) crossed_.push_back(link);
}

void Network::begin(JobId job, std::uint32_t copy, Gang gang, Rate alone) {
  const Tier tier = cluster_.tier_of(gang);
  if (tier < Tier::kRack) return;
  const auto iteration = speed_.iteration(job, gang);
  if (!iteration || iteration->traffic_mb == 0) return;
  crossed_.clear();
  for (Slice slice : gang) {
    cross(LinkId(cluster_.node_host[slice.node].row()));
    if (tier == Tier::kSpine) {
      cross(LinkId(std::size_t{cluster_.hosts} + cluster_.node_rack[slice.node].row()));
    }
  }
  FL_DCHECK(job.row() < first_.size() && alone.fixed > 0, "job {}", job.row());
  const FlowId flow = links_.add(crossed_, iteration->gbps);
  ++gangs_;
  if (!rows_.has(flow)) rows_.push_back({});
  rows_[flow] = {.job = job,
                 .copy = copy,
                 .iteration = *iteration,
                 .alone = alone,
                 .share = {.rate = alone, .locality = {}},
                 .next = first_[job]};
  first_[job] = flow;
}

void Network::end(JobId job) {
  for (FlowId flow = first_[job]; !flow.is_none(); flow = rows_[flow].next) links_.remove(flow);
  first_[job] = FlowId::none();
}

std::span<const JobId> Network::update() {
  changed_.clear();
  for (FlowId flow : links_.update()) {
    Row& row = rows_[flow];
    const Iteration& iteration = row.iteration;
    double waits_ms = 0;
    if (penalty_ms_per_mb_ > 0) {
      const auto others = static_cast<double>(links_.contenders(flow) - 1);
      waits_ms = penalty_ms_per_mb_ * iteration.traffic_mb * others;
    }
    const double length_ms = iteration.ms(links_.bandwidth(flow), waits_ms);
    FL_DCHECK(length_ms > 0, "job {}: an iteration of {} ms", row.job.row(), length_ms);
    const double speed = row.alone.value() * (iteration.alone_ms() / length_ms);
    const Rate before = row.share.rate;
    row.share = {.rate = std::max(Rate::of(speed), Rate{1}),
                 .locality = Rate::of(iteration.compute_ms / length_ms)};
    if (row.share.rate != before) changed_.push_back(row.job);
  }
  std::ranges::sort(changed_);
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  return changed_;
}

const Network::Share* Network::share(JobId job, std::uint32_t copy) const {
  for (FlowId flow = first_[job]; !flow.is_none(); flow = rows_[flow].next) {
    if (rows_[flow].copy == copy) return &rows_[flow].share;
  }
  return nullptr;
}

Rate Network::lost(JobId job) const {
  Rate lost;
  for (FlowId flow = first_[job]; !flow.is_none(); flow = rows_[flow].next) {
    lost.fixed += rows_[flow].alone.fixed - rows_[flow].share.rate.fixed;
  }
  return lost;
}

}  // namespace fairlead
