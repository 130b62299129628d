// Capacity: what other nodes would change for the jobs of a trace, and how many of them reach a target.
//
// Each change alone, and all together, is a run of the same jobs under the same policy. Durations keep the GPU type on
// which they count as measured in the cluster as it is, so that a new type does not change the work. If all nodes of that
// type are removed, the fastest type that is left takes its place.
//
// A target is sought on the cluster without the removed nodes. Nodes of one kind are added until it is reached: the
// least number by bisection, which is right if more nodes never make waits longer. If no kind alone reaches it and all
// together do, each kind in turn is reduced as far as the target allows, the dearest first. So a mix has no node that
// could be left out, but another mix may have fewer.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/metrics/assumed.h"
#include "fairlead/model/cluster.h"
#include "fairlead/run/settings.h"
#include "fairlead/run/trace.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// Nodes of one kind, offered to be added.
struct NodeOffer {
  std::string text;  // "4xH100:8"
  std::int64_t nodes = 0;
  std::string gpu_type;
  std::uint32_t gpus = 0;  // GPUs of a node
};
// Parses COUNTxTYPE:GPUS. Error: it is another text, or has several kinds.
Result<NodeOffer> parse_node_offer(std::string_view text);

// The waits of a run. A wait is the time without GPUs between submission and finish of a finished job. Percentiles are
// by nearest rank.
struct WaitFigures {
  std::int64_t finished = 0;
  std::int64_t unfinished = 0;  // rejected, failed or pending
  double wait_mean_s = 0;
  double wait_p50_s = 0;
  double wait_p90_s = 0;
  double wait_p99_s = 0;
  double jct_mean_s = 0;
  double jct_p90_s = 0;
};

struct WaitFigure {
  std::string_view name;  // "wait_p90"
  double WaitFigures::*seconds;
};
std::span<const WaitFigure> wait_figures();

struct WaitTarget {
  std::string text;  // "wait_p90 < 30 min"
  double WaitFigures::*figure = &WaitFigures::wait_p90_s;
  double below_s = 0;
};
// Parses "FIGURE < LENGTH". Error: no such figure, or no length of time.
Result<WaitTarget> parse_wait_target(std::string_view text);

// Prices of one GPU for an hour, by type.
using GpuPrices = std::map<std::string, double>;
// Adds "H100=2.5/h", or without "/h". Error: another text, no positive number, or a type twice.
Status add_price(std::string_view text, GpuPrices& prices);

struct CapacityQuestion {
  Cluster cluster;
  Trace trace;
  std::string policy;  // "NAME:opt=value,..."
  Settings settings{};
  std::uint64_t seed = 0;
  Time until = Time::never();
  std::vector<NodeOffer> added{};      // at most that many nodes of each
  std::vector<std::string> removed{};  // "rack=old", "node=n3" or "type=K80"
  std::optional<WaitTarget> target{};
  GpuPrices prices{};
};

// The cluster after a change, and its run.
struct CapacityRun {
  std::string change;  // "+ 4xH100:8", "- rack=old"; empty: as it is
  std::int64_t nodes = 0;
  std::int64_t gpus = 0;
  WaitFigures waits;
};

// Nodes that reach the target.
struct CapacityPlan {
  std::vector<std::int64_t> nodes;         // number for each offer of `added`
  WaitFigures waits;                       // waits with these nodes
  std::optional<double> price_per_hour{};  // none: a type among them has no price
};

struct CapacityAnswer {
  CapacityRun now;
  std::vector<CapacityRun> changes;  // each alone, then all together if there are several
  std::vector<CapacityPlan>
      plans;  // a plan of each kind that reaches the target alone; otherwise the mix
  std::optional<std::size_t> cheapest{};  // in `plans`; none: not all of them have a price
  std::vector<AssumedLine> assumed;       // of all runs, each once
};

// Errors: those of a run; nothing is changed; a removed part does not exist, or is the whole cluster; a price for a
// type that no added node has. Runs in parallel, one on each core. O(log nodes) runs for each kind.
Result<CapacityAnswer> capacity(const CapacityQuestion& question);

}  // namespace fairlead
