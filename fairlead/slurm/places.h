// The places of a Slurm job: the nodes of its partitions with the GPU type and the features that it asked for, as GPU
// types of the cluster (JobRow::runs_on).
#pragma once

#include "fairlead/slurm/nodes.h"

#include <compare>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// A job's requirements on its nodes.
struct SlurmAsked {
  std::string gpu_type;    // empty: any
  std::string partitions;  // separated by commas; empty: unknown
  std::string features;    // "a100&(nvlink|ib)", as of sbatch --constraint; empty: none
  friend auto operator<=>(const SlurmAsked&, const SlurmAsked&) = default;
};

class SlurmPlaces {
 public:
  // If nodes of one GPU type differ by what one of `asked` may use, each kind of them gets a type of its own:
  // "a100/nvlink" and "a100/pcie" are two types of the product a100. If that gives more types than a cluster can have,
  // features, and then partitions, do not count. O(nodes x asked).
  SlurmPlaces(std::vector<SlurmNode> nodes, const std::set<SlurmAsked>& asked);

  // The nodes, with these types.
  std::vector<NodeSpec> specs() const;

  struct Answer {
    std::string types;  // joined by "+"; empty: the request restricts nothing
    std::string
        ignored{};  // a restriction that no node meets, and that is not kept: "partition old"
    bool nowhere = false;  // no node has the GPU type
  };
  // O(nodes).
  Answer runs_on(const SlurmAsked& asked) const;

  // Returns a type of `product`, if possible one of `types`; empty if no node has one.
  std::string type_of(std::string_view product, std::string_view types) const;

  // The dropped distinctions: empty, "features" or "features and partitions".
  std::string_view dropped() const { return dropped_; }

 private:
  bool split(const std::set<SlurmAsked>& asked);

  std::vector<SlurmNode> nodes_;
  std::string_view dropped_;
};

// Returns whether a node with these features meets the expression: words, &, |, and parentheses or brackets, from left
// to right. Counts ("rack*4") are left out.
bool meets_features(std::string_view expression, const std::vector<std::string>& features);

}  // namespace fairlead
