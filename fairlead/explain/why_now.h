// Why present jobs of a running engine wait, by the causes of finished runs.
//
// The jobs to start next are not known yet. If a job fits, the cause follows from the policy's rounds and from
// the waiting and running jobs of now.
#pragma once

#include "fairlead/explain/present_waits.h"

#include <optional>

namespace fairlead {

class WhyNow {
 public:
  // `traits`: Policy::traits(); null: the policy places anywhere, at any time. Valid until the tables change.
  // O(nodes + present jobs x log).
  WhyNow(const Tables& tables, const PresentWaits& waits, const PlacementTraits* traits, Time now);

  struct Answer {
    WhyCause cause = WhyCause::kUnexplained;
    JobId other{};  // the job that went first, or for which GPUs are kept; none: no single job
    friend bool operator==(const Answer&, const Answer&) = default;
  };
  // REQUIRES: the job waits or is held. As verdict(); if the job fits, O(running jobs), and once O(waiting jobs).
  Answer cause(JobId job);

  // Returns the start of the job's present wait or run, or its arrival if that is not known.
  Time since(JobId job) const;
  const Moment& moment() const { return moment_; }
  const PresentWaits& waits() const { return waits_; }

 private:
  JobId first_without_room();
  JobId later_placed(JobId job) const;

  const PresentWaits& waits_;
  Moment moment_;
  std::optional<JobId> first_without_room_;  // none: every waiting job has room
};

}  // namespace fairlead
