// Balancer: moves jobs between nodes of one GPU type until the dues of the jobs can be served
// (Gandiva_fair).
//
// A node can be fair to its own jobs only. In every round, the balancer therefore visits the nodes
// that cannot serve the dues of their jobs (Tiling), the worst off first. It moves the job whose
// move saves the most GPUs of due time to one of the least loaded nodes. Before all else, spread
// jobs that crowd a node are moved apart (crowds.h).
//
// A round costs O(nodes log nodes + moves x jobs of a node).
#pragma once

#include "fairlead/policy/gandiva_fair/home_choice.h"
#include "fairlead/policy/gandiva_fair/move.h"
#include "fairlead/policy/gandiva_fair/tiling.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace fairlead {

class Balancer {
 public:
  // `gain`: GPUs that a move must gain per GPU that it moves. The others must outlive it.
  Balancer(double gain, Homes& homes, HomeChoice& choice, const CoolDown& cool_down)
      : gain_(gain), homes_(homes), choice_(choice), cool_down_(cool_down) {}

  // One round. REQUIRES: tickets of contended nodes are up to date.
  void balance(const View& view, const CarryOut& carry_out);

 private:
  // A node in an order by `key`.
  struct Ranked {
    double key;
    NodeId node;
  };

  std::int64_t balance_type(const View& view, GpuTypeId type, std::int64_t moves_left,
                            const CarryOut& carry_out);
  void list_sources(const View& view, GpuTypeId type);
  void list_least_loaded(const View& view, GpuTypeId type);
  void look_at(std::size_t candidate);
  bool relieve(const View& view, NodeId node, const CarryOut& carry_out);
  Move best_relief(const View& view, NodeId node);
  NodeId best_of_candidates(const View& view, const StrideClient& client, NodeId from,
                            double relief, double& gain);
  bool is_tried(const StrideClient& client);

  const double gain_;
  Homes& homes_;
  HomeChoice& choice_;
  const CoolDown& cool_down_;

  // State of the present round.
  std::vector<Ranked> sources_;     // in decreasing order of unserved GPUs
  std::vector<Ranked> candidates_;  // by unserved GPUs, in order of load
  std::vector<Tiling> tilings_;     // tilings of the candidates
  std::vector<std::pair<std::uint32_t, double>> tried_;
};

}  // namespace fairlead
