// KeptGangs: the jobs that each user keeps on each GPU type, by the sizes of their gangs (Gandiva_fair).
//
// add, remove: O(sizes of the user on the type); a size that is known needs no allocation again. largest: O(types x sizes).
// level: O(sizes). All else O(1), except resize: O(users x types). Ours.
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/policy/gandiva_fair/by_user_and_type.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace fairlead {

class KeptGangs {
 public:
  // REQUIRES: no fewer users than before, and as many types.
  void resize(std::size_t users, std::size_t types);

  void add(UserId user, GpuTypeId type, std::uint32_t gpus);
  // REQUIRES: the user keeps such a job there.
  void remove(UserId user, GpuTypeId type, std::uint32_t gpus);

  std::size_t users() const { return gpus_.size(); }
  // Returns the GPUs of the user's jobs, on all types or on one.
  std::int64_t gpus(UserId user) const { return gpus_[user]; }
  std::int64_t gpus(UserId user, GpuTypeId type) const { return pools_(user, type).gpus; }
  std::int64_t jobs(UserId user, GpuTypeId type) const { return pools_(user, type).jobs; }
  // Returns the GPUs of the largest job that the user keeps; 0 if it keeps none.
  std::uint32_t largest(UserId user) const;
  // Returns the GPUs of each of the user's jobs on the type, each job capped at its gang, with which they add up to `share`
  // GPUs. REQUIRES: share <= gpus(user, type); 0 without jobs.
  double level(UserId user, GpuTypeId type, double share) const;

  // Archives a user's GPUs, and its jobs on one type. REQUIRES if it reads: no job was added before.
  void fields_of(Archive& archive, UserId user) { archive(gpus_[user]); }
  void fields_of(Archive& archive, UserId user, GpuTypeId type);

 private:
  struct Pool {
    std::int64_t gpus = 0;
    std::int64_t jobs = 0;
    std::vector<std::pair<std::uint32_t, std::int64_t>> gangs{};  // sizes, increasing: how many
  };

  IdVector<UserId, std::int64_t> gpus_;
  ByUserAndType<Pool> pools_;
};

}  // namespace fairlead
