// Durations: how soon jobs end of which nothing is known but how long they ran, by the jobs of this run
// that ended (the Gittins index, with durations learnt as they are seen; ours in how).
//
// It is worth most to run a job where an end costs least: over the best stretch from here on, the
// running time spent per job that ends in it. That is what left_s() says, the inverse of the Gittins index
// (Gittins, JRSS B 1979). Where few live on, as among jobs that are killed early, it grows with what a job
// ran, and young jobs come first; where all take about as long it falls, and those that began go on.
//
// Running time is cut into parts, each longer than the last by the root of two. Of each part is known
// how many jobs lived to it and how many of those ended in it, among them the jobs that have not ended
// yet (Kaplan and Meier, JASA 1958). A user's jobs are taken to be like those of all users, and those like
// the guess of KnownWork, by which half of the jobs that ran for some time end within as much again;
// each of these counts as kPrior jobs.
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
  // These are all that have not: to be called before left_s(), when jobs ran or ended since.
  void watch(std::span<const Ran> jobs);
  // Seconds of running time per job that ends, above 0. REQUIRES: the user's jobs are watched.
  double left_s(Ran job) const;

  void fields(Archive& archive);

 private:
  static constexpr std::size_t kParts = 40;  // up to a year
  static constexpr double kPrior = 4;        // chosen: from 3 to 30 no user's jobs end much later

  using Counts = std::array<std::uint32_t, kParts>;
  using Hazards =
      std::array<double, kParts>;  // of the jobs that live to a part, how many end in it

  static const std::array<double, kParts + 1>& bounds_s();
  static std::size_t part_of(double s);
  static Hazards hazards(const Counts& ended, const Counts& alive, const Hazards& prior);

  Counts ended_{};
  IdVector<UserId, Counts> ended_of_;
  // As of the last watch().
  IdVector<UserId, Counts> alive_of_;
  IdVector<UserId, Hazards> hazards_of_;
};

}  // namespace fairlead
