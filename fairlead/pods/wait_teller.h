// Tells users why their gangs wait, where they look: as the condition PodScheduled of pods that have no
// node, and as an event on a Job that waits suspended, without pods.
//
// A gang that gets its GPUs soon is told nothing. After that it is told again where the cause is
// another, not where a number is; and no more than so many writes a second are made, so that thousands
// of gangs that wait do not keep the server busy. A telling that is lost is not made again.
#pragma once

#include "fairlead/kube/listener.h"
#include "fairlead/pods/pods_why.h"
#include "fairlead/pods/pods_world.h"

#include <map>
#include <optional>

namespace fairlead {

class WaitTeller : public KubeListener {
 public:
  // What is passed must outlive it.
  WaitTeller(KubeDoor& door, PodsWorld& world, const Tables& tables)
      : door_(door), world_(world), tables_(tables) {}

  bool handle(const KubeEvent&) override { return false; }
  // O(jobs that wait), once a second.
  void wake() override;

 private:
  struct Told {
    Time since;  // it waits
    std::optional<WaitCause> cause;
    Time next;  // not told before
  };
  // How many writes it took.
  std::size_t tell(JobId job);

  KubeDoor& door_;
  PodsWorld& world_;
  const Tables& tables_;
  std::map<JobId, Told> told_;
  Time next_;
};

}  // namespace fairlead
