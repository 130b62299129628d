#include "fairlead/sim/network.h"

#include <algorithm>

namespace fairlead {

Network::Network(const Cluster& cluster, const Speed& speed, const NetworkOptions& options,
                 std::size_t jobs)
    : cluster_(cluster),
      fabric_(cluster, options.congestion),
      speed_(speed),
      penalty_ms_per_mb_(options.penalty_ms_per_mb),
      links_(fabric_.capacities(), options.penalty_ms_per_mb > 0),
      first_(jobs) {}

void Network::begin(JobId job, std::uint32_t copy, Gang gang, Rate alone) {
  fabric_.cross(cluster_, gang, crossed_);
  if (crossed_.empty()) return;
  const auto iteration = speed_.iteration(job, gang);
  if (!iteration || iteration->traffic_mb == 0) return;
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
