// EarlyFinishes: orders bidders by the work they have left, and values a step of each for early finishes (ours).
//
// A step is a GPU-second on the mean GPU that the job can use. It brings completion times forward in two ways, by these
// seconds in sum:
//
//   behind / GPUs           if all GPUs are busy, the jobs with at least as much work left start or
//                           end that much earlier (the dual of shortest remaining processing time)
//   speed / (best x gang)   the job itself ends earlier, if it goes on where it is fastest
//
// The first is the larger one as long as many jobs wait, the second for the last jobs. The value is the root of the sum
// of their squares, with half of the second (kOwnPart). It is close to the larger one, and jobs with less work left keep
// a higher value. So the longest jobs start before all others are done, and get fast GPUs if they gain most by them.
#pragma once

#include "fairlead/base/key_order.h"
#include "fairlead/policy/hadar/auction.h"
#include "fairlead/policy/kit/job_kinds.h"

#include <cstdint>
#include <span>
#include <vector>

namespace fairlead {

class EarlyFinishes {
 public:
  struct Row {
    HadarBidder* bidder = nullptr;
    std::uint32_t gang = 0;  // GPUs
    double speed = 1;        // on the mean GPU; 1 if the gang runs nowhere
    double left_s = 0;       // work left, in seconds on the mean GPU
    double value = 0;        // fraction of the largest value of all bidders: above 0, at most 1
  };

  // Removes all bidders. O(1).
  void clear();
  // Adds a bidder that asks for a gang of that size, with the speeds of that gang and the seconds of work left at
  // speed 1. REQUIRES: gang > 0, left_s >= 0. O(1).
  void add(HadarBidder& bidder, std::uint32_t gang, const JobKinds::Speeds& speeds, double left_s);
  // Returns the bidders by rising GPU-seconds left, and equal ones in order of their jobs. Valid until the next clear().
  // `gpus`: those of the cluster that are up. O(bidders), or O(bidders log bidders) for few; no allocation once warm.
  std::span<Row> order(std::uint32_t gpus);

 private:
  std::vector<Row> added_;  // value: the seconds by which a step ends the job itself earlier
  std::vector<Row> ordered_;
  KeyOrder by_area_;
};

}  // namespace fairlead
