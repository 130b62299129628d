// Reports to users why their gangs wait: in the condition PodScheduled of pods without a node, and in an
// event on a suspended Job without pods.
//
// There is no report for a gang that gets its GPUs soon. A later report is made if the cause changes, not
// if only a number does. Writes per second are limited, so thousands of waiting gangs do not keep the
// server busy. A lost report is not repeated.
#pragma once

#include "fairlead/kube/listener.h"
#include "fairlead/pods/outlook.h"
#include "fairlead/pods/pods_world.h"

#include <map>
#include <optional>

namespace fairlead {

class WaitTeller : public KubeListener {
 public:
  // The arguments must outlive this object.
  WaitTeller(KubeDoor& door, PodsWorld& world, const Tables& tables, const Outlook& outlook)
      : door_(door), world_(world), tables_(tables), outlook_(outlook) {}

  bool handle(const KubeEvent&) override { return false; }
  // O(waiting jobs + nodes), once a second.
  void wake() override;

 private:
  struct Told {
    Time since;  // start of its wait
    std::optional<WhyCause> cause;
    Time next;  // earliest time of the next report
  };
  // Returns the number of writes.
  std::size_t tell(JobId job);

  KubeDoor& door_;
  PodsWorld& world_;
  const Tables& tables_;
  const Outlook& outlook_;
  std::map<JobId, Told> told_;
  Time next_;
};

}  // namespace fairlead
