// The runs of jobs by GPU and time, joined into as many pieces as a picture can use.
//
// A gang is one piece per node and run of neighbouring GPUs. A policy that divides time makes millions of pieces, so
// pieces of one job on one place that are less than `resolution` apart are joined. The resolution is 0 (nothing is
// joined), 1 s, 2 s, 4 s, ..., the least at which few enough are left. If there are many places, "few enough" is twice
// as many pieces as places.
//
// Joining at a finer resolution first changes nothing at a coarser one, so pieces are joined while
// they come: memory for some times the limit, O(log pieces) per piece at most.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"
#include "fairlead/model/cluster.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fairlead {

struct RunPiece {
  JobId job;
  std::uint32_t gpu = 0;  // the first; GPUs are numbered through the cluster, node after node
  std::uint16_t gpus = 0;
  Tier tier = Tier::kPair;  // tier of the gang
  Time begin;
  Time end;
  friend bool operator==(const RunPiece&, const RunPiece&) = default;
};

class RunPieces {
 public:
  explicit RunPieces(std::size_t limit = 300'000);

  // Adds pieces in any order of jobs; the pieces of one job on one place do not overlap.
  void add(const RunPiece& piece);
  // REQUIRES: called once, last.
  void finish();
  // After finish(): by job, begin, GPU.
  const std::vector<RunPiece>& pieces() const { return pieces_; }
  Duration resolution() const { return resolution_of(level_); }

 private:
  static constexpr std::size_t kRoom = 4;
  static constexpr int kLevels = 64;  // level 0 joins nothing, level n gaps of less than 2^(n-1) s

  static Duration resolution_of(int level);
  static int level_joining(Duration gap);
  bool continues(std::size_t row, const RunPiece& piece) const;
  void join();

  std::size_t limit_;
  std::size_t room_;  // number of pieces from which join() pays
  int level_ = 0;
  std::vector<RunPiece> pieces_;
  // The row of the latest piece, by a hash of job and GPU, so that most pieces find it without any sorting. It may be
  // wrong.
  std::vector<std::size_t> latest_;
};

}  // namespace fairlead
