// For tests of Hadar's components: a cluster of free GPUs, and bids with chosen worths.
#pragma once

#include "fairlead/input/cluster_file.h"
#include "fairlead/policy/hadar/dual.h"

#include <initializer_list>
#include <list>
#include <string_view>
#include <vector>

namespace fairlead {

struct HadarStage {
  explicit HadarStage(std::string_view shorthand) : HadarStage(*load_cluster(shorthand)) {}
  explicit HadarStage(Cluster built) : cluster(std::move(built)) {
    free.on = cluster.node_gpus;
    free.sum(cluster);
    set_prices(0, 0);
  }

  // Adds a waiting job. `per_gpu`: its worth of a GPU of each type; it loses the fraction `lost` of
  // that on several nodes.
  HadarBid& bid(std::uint32_t gpus, const std::vector<double>& per_gpu, double lost = 0) {
    std::vector<double>& worth = worths.emplace_back();
    for (double each : per_gpu) {
      for (double kept : {1.0, 1.0, 1 - lost, 1 - lost}) worth.push_back(gpus * each * kept);
    }
    HadarBid made;
    made.job = JobId(bids.size());
    made.gpus = gpus;
    made.worth = worth;
    return bids.emplace_back(made);
  }
  // Sets the same prices for each type.
  void set_prices(double idle, double full) {
    const std::vector<HadarPrices::Range> ranges(cluster.type_names.size(), {idle, full});
    const std::vector<std::uint32_t> capacity(cluster.type_gpus.begin(), cluster.type_gpus.end());
    prices.set(ranges, capacity);
  }
  // Returns the parts of these GPUs, until the next call.
  HadarRest rest(const HadarGangs& gangs, const HadarFree& of) {
    parts.begin(cluster, gangs.order(), of, first);
    for (GpuTypeId type : ids<GpuTypeId>(first.size())) {
      first[type.row()]->price = prices.price(type, first[type.row()]->gpus);
    }
    return first;
  }
  HadarRest rest(const HadarGangs& gangs) { return rest(gangs, free); }
  HadarDual::Round round() {
    clearing.fit(cluster, bids, free);
    return {bids, free, prices, clearing};
  }

  Cluster cluster;
  HadarFree free;
  HadarPrices prices;
  HadarClearing clearing;
  std::list<std::vector<double>> worths;
  std::list<std::vector<Slice>> present;
  std::vector<HadarBid> bids;
  HadarParts parts;
  std::vector<HadarPart*> first;
};

inline std::vector<Slice> slices(Gang gang) { return {gang.begin(), gang.end()}; }

}  // namespace fairlead
