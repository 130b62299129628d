// Sizes: on how many GPUs each elastic job is to bid (ours).
//
// GPUs are handed out where a step of the job's rate is worth most per GPU: its first gang, then what
// makes it larger. Of sizes that gain less per GPU than the next larger one the larger is taken, so that
// gains fall with size; for GPUs of one type, and gangs that fit, the worths then add up to as much as
// they can.
//
// A size that does not run, whose speed is not known, or for which there are too few GPUs, is not one.
//
// choose: O(s log s) for s sizes of all bidders; O(bidders) where none is elastic.
#pragma once

#include "fairlead/policy/hadar/auction.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace fairlead {

class Sizes {
 public:
  // The speed of a job on so many GPUs; 0: it does not run on them, or that is not known.
  using SpeedOf = std::function<double(JobId job, std::uint32_t gpus)>;

  // Sets the sizes for which the jobs bid, of so many GPUs. A job that is given none bids for its
  // first gang.
  void choose(const Jobs& jobs, std::uint32_t gpus, const SpeedOf& speed_of,
              std::span<HadarBidder> bidders);

 private:
  struct Size {
    std::uint32_t gpus = 0;
    double speed = 0;
  };
  // From one size to a larger one.
  struct Step {
    double gain = 0;  // worth per GPU
    std::uint32_t bidder = 0;
    std::uint32_t from = 0;  // GPUs
    std::uint32_t to = 0;
  };

  void find_sizes(const Jobs& jobs, JobId job, std::uint32_t gpus_max, const SpeedOf& speed_of);
  void add_steps(double weight, std::uint32_t bidder);

  std::vector<Size> sizes_;  // of the job at hand, whose gains per GPU fall
  std::vector<Step> steps_;
};

}  // namespace fairlead
