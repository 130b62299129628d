// The runners of a round of Dally, and the choice of the ones to stop for a seeker (moves.h).
//
// A seeker may stop the runners that come behind it in order. Seekers come in order, so a runner that is
// safe from one seeker is safe from all later ones. A runner that this round has moved or stopped is
// settled: it is left alone.
//
// For each kind of gang that was asked for, the nodes are kept in order of what room there costs. A node
// is looked at again only after a runner of it was settled or became safe, or its free GPUs changed.
//
// begin: O(runners log runners + nodes). choose: O(gangs on a node), or O(nodes + runners) for a wider
// domain; O(runners) for the whole cluster. cheapest_nodes: O(nodes x gangs on a node) for a new kind of gang; else O(changed nodes x
// (gangs on a node + log nodes)). All else O(slices), and O(runners) for all seekers of a round together.
#pragma once

#include "fairlead/base/indexed_heap.h"
#include "fairlead/policy/dally/options.h"
#include "fairlead/policy/dally/places.h"
#include "fairlead/policy/kit/class_queue.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace fairlead {

class DallyVictims {
 public:
  // A job that has a gang at the start of a round.
  struct Runner {
    OrderKey key;
    std::uint32_t gpus = 0;
    double loss = 0;          // GPU-seconds that it would lose in the slowest place for it
    bool is_settled = false;  // this round has moved or stopped it
  };
  struct Seeker {
    OrderKey key;
    GangAsked gang;
    bool is_running = false;
  };
  // GPU-seconds that others lose by their restarts and by being sent elsewhere.
  struct Cost {
    double gpu_s = 0;
    bool by_class = false;  // there are victims, and all are of a later class than the seeker
  };

  // The options must outlive it.
  explicit DallyVictims(const DallyOptions& options) : options_(options) {}

  // Starts a round with these runners, in any order. The plan has the gangs of all.
  void begin(const View& view, const Plan& plan, std::vector<Runner> runners);
  // Starts to look for this seeker. REQUIRES: it does not come before the last one in order.
  void begin_seeker(const Plan& plan, const Seeker& seeker);
  // To be called when the free GPUs of the gang's nodes changed.
  void changed(Gang gang);
  // Settles a runner. REQUIRES: it is the seeker, or still has its gang.
  void settle(const Plan& plan, JobId job);

  bool is_settled(JobId job) const;
  // Returns true if the seeker may stop a runner of a later class than its own.
  bool has_later_class() const;
  // Returns the nodes of the type where room costs the least: where all victims are of a later class,
  // and elsewhere. None if there is no such node; the lowest of equal ones. In the order of nodes.
  std::array<NodeId, 2> cheapest_nodes(const View& view, const Plan& plan, GpuTypeId type);
  // Chooses the last runners in order with enough GPUs together, without those found unnecessary.
  // Returns false if the seeker may not stop enough.
  bool choose(const View& view, const Plan& plan, const DallyPlace& place);
  // Return the chosen jobs and their cost. Valid until the next choice.
  std::span<const JobId> chosen() const { return chosen_; }
  Cost cost() const { return cost_; }

 private:
  // The GPUs of a domain that the seeker's tasks could use once the chosen victims are gone.
  struct Room {
    std::uint32_t gpus = 0;
    IdVector<NodeId, std::uint32_t> gone{};  // GPUs of chosen victims, usable or not
    std::vector<NodeId> touched{};           // may have entries above 0 in `gone`
  };
  // The nodes in order of the cost of room for one kind of gang.
  struct Ranking {
    GpuTypeId type;
    GangAsked gang;
    std::int64_t major = 0;  // class of the seekers
    bool is_running = false;
    std::size_t seen = 0;  // how many of changed_ it has ranked
    IndexedHeap<double, NodeId> by_class{};
    IndexedHeap<double, NodeId> others{};
  };

  void count(const Runner& victim);
  void take_last(const View& view, const Plan& plan, const DallyPlace& place);
  void begin_room(const View& view, const Plan& plan, const DallyPlace& place);
  void change_room(const View& view, const Plan& plan, const DallyPlace& place, std::size_t runner,
                   bool is_gone);
  Ranking& ranking(const View& view, const Plan& plan, GpuTypeId type);
  void rank(const View& view, const Plan& plan, Ranking& ranking, NodeId node);

  const DallyOptions& options_;

  // State of the present round.
  std::vector<Runner> runners_;                         // in order
  IdVector<JobId, std::size_t> runner_of_;              // + 1; 0: it is not a runner
  IdVector<NodeId, std::vector<std::size_t>> holders_;  // runners on the node, in order
  std::size_t first_ = 0;                               // that the seeker may stop
  std::size_t end_ = 0;  // after the last that is not settled, or first_
  Seeker seeker_;
  std::vector<NodeId> changed_;     // nodes, in order of time
  std::vector<Ranking> rankings_;   // those asked for in this round
  std::vector<std::size_t> taken_;  // runners, before unnecessary ones are dropped
  Room room_;
  std::vector<JobId> chosen_;
  Cost cost_;
};

}  // namespace fairlead
