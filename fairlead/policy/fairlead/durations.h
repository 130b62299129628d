// Durations: estimates how soon jobs of unknown length end, from their running time and the ended
// jobs of this run (the Gittins index; learning durations as they are observed is ours).
//
// Running the job with the cheapest end is worth most. The cost is the running time spent per job
// that ends, over the best stretch from here on. left_s() returns it: the inverse of the Gittins
// index (Gittins, JRSS B 1979). If few jobs live on, as among jobs that are killed early, it grows
// with a job's running time, and young jobs come first. If all take about equally long it falls,
// and started jobs go on.
//
// Running time is cut into parts, each longer than the last by the root of two. For each part two
// numbers are known: the jobs that lived to it, and the jobs that ended in it. Both include jobs
// that have not ended yet (Kaplan and Meier, JASA 1958). A user's jobs are assumed similar to the
// jobs of all users. These are assumed to follow the guess of KnownWork: half of the jobs that ran
// for some time end within the same time again. Each assumption counts as kPrior jobs.
//
// Cost: watch O(jobs + users), left_s O(1); 320 bytes per user.
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/base/ids.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace fairlead {

class Durations {
 public:
  struct Ran {
    UserId user;
    double s = 0;  // running time on the job's reference gang
  };

  // A job ended.
  void end(Ran job);
  // Sets the jobs that have not ended: to be called before left_s(), when jobs ran or ended since.
  void watch(std::span<const Ran> jobs);
  // Returns the seconds of running time per job that ends, above 0. REQUIRES: the user's jobs are
  // watched.
  double left_s(Ran job) const;

  void fields(Archive& archive);

 private:
  static constexpr std::size_t kParts = 40;  // up to a year
  static constexpr double kPrior = 4;        // chosen: with values from 3 to 30 no user's jobs end
                                             // much later

  using Counts = std::array<std::uint32_t, kParts>;
  using Hazards =
      std::array<double, kParts>;  // the fraction of the jobs that live to a part and end in it

  static const std::array<double, kParts + 1>& bounds_s();
  static std::size_t part_of(double s);
  double index_s(Ran job) const;
  static Hazards hazards(const Counts& ended, const Counts& alive, const Hazards& prior);

  Counts ended_{};
  IdVector<UserId, Counts> ended_of_;
  // As of the last watch().
  IdVector<UserId, Counts> alive_of_;
  IdVector<UserId, Hazards> hazards_of_;
  IdVector<UserId, double> unstarted_left_s_;  // left_s() of jobs that have not run
};

}  // namespace fairlead
