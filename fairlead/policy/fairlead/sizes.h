// Sizes: the number of GPUs for which each elastic job bids (ours).
//
// GPUs are handed out to the step of a job's rate with the largest value per GPU: its first gang,
// then larger sizes. If a size gains less per GPU than the next larger one, the larger is taken, so
// that gains fall with size. For GPUs of one type, and gangs that fit, the sum of the values is
// then the largest possible.
//
// A size is left out if it does not run, if its speed is unknown, or if there are too few GPUs for
// it.
//
// choose: O(s log s) for s sizes of all bidders; O(bidders) if none is elastic.
#pragma once

#include "fairlead/policy/hadar/auction.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace fairlead {

class Sizes {
 public:
  // Returns the speed of a job on that many GPUs; 0: it does not run on them, or the speed is
  // unknown.
  using SpeedOf = std::function<double(JobId job, std::uint32_t gpus)>;

  // Sets the sizes for which the jobs bid, out of `gpus`. A job that is given none bids for its
  // first gang.
  void choose(const Jobs& jobs, std::uint32_t gpus, const SpeedOf& speed_of,
              std::span<HadarBidder> bidders);

 private:
  struct Size {
    std::uint32_t gpus = 0;
    double speed = 0;
  };
  // The step from one size to a larger one.
  struct Step {
    double gain = 0;  // worth per GPU
    std::uint32_t bidder = 0;
    std::uint32_t from = 0;  // GPUs
    std::uint32_t to = 0;
  };

  void find_sizes(const Jobs& jobs, JobId job, std::uint32_t gpus_max, const SpeedOf& speed_of);
  void add_steps(double weight, std::uint32_t bidder);

  std::vector<Size> sizes_;  // sizes of the present job, with falling gains per GPU
  std::vector<Step> steps_;
};

}  // namespace fairlead
