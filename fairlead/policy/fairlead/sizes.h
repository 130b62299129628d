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
// Jobs of one kind have the same sizes, which are found once, and again after speeds changed.
//
// choose: O(s) for s sizes of all bidders; O(bidders) if none is elastic.
#pragma once

#include "fairlead/base/key_order.h"
#include "fairlead/policy/hadar/auction.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace fairlead {

class Sizes {
 public:
  struct Speeds {
    // Returns the speed of a job on that many GPUs; 0: it does not run on them, or the speed is
    // unknown.
    std::function<double(JobId job, std::uint32_t gpus)> speed_of;
    std::uint64_t revision = 0;  // another one if speeds changed
  };

  // Sets the sizes for which the jobs bid, out of `gpus`. A job that is given none bids for its
  // first gang.
  void choose(const Jobs& jobs, std::uint32_t gpus, const Speeds& speeds,
              std::span<HadarBidder> bidders);

 private:
  struct Size {
    std::uint32_t gpus = 0;
    double speed = 0;
  };
  // The sizes of a kind, with falling gains per GPU.
  struct Hull {
    std::uint64_t revision = 0;  // revision of the speeds
    std::uint32_t most = 0;      // number of GPUs for which the sizes were found; 0: none yet
    std::vector<Size> sizes{};
  };
  // The step from one size to a larger one.
  struct Step {
    std::uint32_t bidder = 0;
    std::uint32_t from = 0;  // GPUs
    std::uint32_t to = 0;
  };

  std::span<const Size> sizes_of(const Jobs& jobs, const HadarBidder& bidder,
                                 std::uint32_t gpus_max, const Speeds& speeds);
  static void find_sizes(const Jobs& jobs, JobId job, std::uint32_t most, const Speeds& speeds,
                         std::vector<Size>& sizes);
  void add_steps(std::span<const Size> sizes, double weight, std::uint32_t bidder);

  std::vector<Hull> hulls_;  // by kind
  std::vector<Step> steps_;
  KeyOrder by_gain_;  // order of the steps by worth per GPU
};

}  // namespace fairlead
