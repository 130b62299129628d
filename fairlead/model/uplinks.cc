#include "fairlead/model/uplinks.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace fairlead {
namespace {

void add_once(std::vector<std::uint32_t>& rows, std::uint32_t row) {
  if (std::ranges::find(rows, row) == rows.end()) rows.push_back(row);
}

}  // namespace

Uplinks::Uplinks(const Cluster& cluster, const Fabric& fabric)
    : cluster_(cluster), fabric_(fabric) {
  for (double gbps : fabric.capacities()) links_.push_back({.gbps = gbps, .flows = {}});
}

void Uplinks::clear() {
  for (const Flow& flow : flows_) {
    if (!flow.job.is_none()) slot_[flow.job] = 0;
  }
  for (Link& link : links_) link.flows.clear();
  unused_.clear();
  for (std::size_t i = flows_.size(); i > 0; --i) {
    flows_[i - 1].job = JobId::none();
    unused_.push_back(static_cast<std::uint32_t>(i - 1));
  }
}

// Fills in crossed_.
void Uplinks::cross(Gang gang) { fabric_.cross(cluster_, gang, crossed_); }

void Uplinks::add(JobId job, const Iteration& iteration, Gang gang) {
  FL_DCHECK(!has(job), "job {}", job.row());
  cross(gang);
  if (crossed_.empty() || iteration.traffic_mb == 0) return;
  if (unused_.empty()) {
    unused_.push_back(static_cast<std::uint32_t>(flows_.size()));
    flows_.emplace_back();
  }
  const std::uint32_t row = unused_.back();
  unused_.pop_back();
  Flow& flow = flows_[row];
  flow.job = job;
  flow.iteration = iteration;
  flow.gpus = gpus_of(gang);
  flow.links = crossed_;
  for (LinkId link : crossed_) links_[link].flows.push_back(row);
  slot_.grow_to(job) = row + 1;
}

void Uplinks::remove(JobId job) {
  if (!has(job)) return;
  const std::uint32_t row = std::exchange(slot_[job], 0) - 1;
  for (LinkId link : flows_[row].links) std::erase(links_[link].flows, row);
  flows_[row].job = JobId::none();
  unused_.push_back(row);
}

// Returns the bandwidth of a gang on these links if `more` gangs were added to each, besides the hypothetical ones.
double Uplinks::share(const std::vector<LinkId>& links, std::uint32_t more) const {
  double gbps = std::numeric_limits<double>::infinity();
  for (LinkId i : links) {
    const Link& link = links_[i];
    const auto gangs = static_cast<double>(link.flows.size() + link.more + more);
    gbps = std::min(gbps, link.gbps / gangs);
  }
  return gbps;
}

double Uplinks::kept(const Iteration& iteration, double gbps) {
  return iteration.alone_ms() / iteration.ms(std::min(gbps, iteration.gbps));
}

double Uplinks::speed(JobId job) const {
  if (!has(job)) return 1;
  const Flow& flow = flows_[slot_[job] - 1];
  return kept(flow.iteration, share(flow.links, 0));
}

double Uplinks::speed_at(const Iteration& iteration, Gang gang) {
  cross(gang);
  if (crossed_.empty() || iteration.traffic_mb == 0) return 1;
  return kept(iteration, share(crossed_, 1));
}

double Uplinks::loss_of_others(Gang gang) {
  cross(gang);
  met_.clear();
  for (LinkId link : crossed_) {
    for (std::uint32_t flow : links_[link].flows) add_once(met_, flow);
  }
  for (LinkId link : crossed_) links_[link].more = 1;
  double lost = 0;
  for (std::uint32_t row : met_) {
    const Flow& flow = flows_[row];
    const double then = kept(flow.iteration, share(flow.links, 0));
    lost -= flow.gpus * then;
  }
  for (LinkId link : crossed_) links_[link].more = 0;
  for (std::uint32_t row : met_) lost += flows_[row].gpus * speed(flows_[row].job);
  return lost;
}

}  // namespace fairlead
