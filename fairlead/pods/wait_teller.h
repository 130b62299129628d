// Reports to users why their gangs wait: in the condition PodScheduled of pods without a node, and in an
// event on a suspended Job without pods.
//
// Pods that no job of the engine stands for have a reason too: their gang is refused, or lacks pods, or runs without them.
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
#include <string>

namespace fairlead {

class WaitTeller : public KubeListener {
 public:
  // The arguments must outlive this object.
  WaitTeller(KubeDoor& door, PodsWorld& world, const Tables& tables, const Outlook& outlook)
      : door_(door), world_(world), tables_(tables), outlook_(outlook) {}

  bool handle(const KubeEvent&) override { return false; }
  // O(waiting jobs + nodes + pods), once a second.
  void wake() override;

 private:
  struct Told {
    Time since;  // start of its wait
    std::optional<WhyCause> cause;
    Time next;  // earliest time of the next report
  };
  struct ToldPod {
    Time since;  // when it was first seen in its state
    std::string why{};
    bool is_told = false;
  };
  // Each returns the number of writes.
  std::size_t tell_jobs(Time now);
  std::size_t tell(JobId job);
  void tell_pods(Time now, std::size_t writes);
  std::string why_alone(const std::string& gang,
                        const std::map<std::string, std::string>& refused) const;

  KubeDoor& door_;
  PodsWorld& world_;
  const Tables& tables_;
  const Outlook& outlook_;
  std::map<JobId, Told> told_;
  std::map<std::string, ToldPod> told_pods_;  // by uid
  Time next_;
};

}  // namespace fairlead
