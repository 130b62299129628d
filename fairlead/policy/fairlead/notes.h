// The notes of fairlead about its accounts, from which `why` shows users that are behind and turns
// that are near: dues, debts and ranks of jobs. Written on change only, and for debts and ranks
// only by a step, so that a quiet queue writes nothing.
//
// Cost: O(jobs + users x types) for each round.
#pragma once

#include "fairlead/policy/fairlead/debts.h"
#include "fairlead/policy/policy.h"

#include <cstdint>
#include <span>

namespace fairlead {

class FairleadNotes {
 public:
  struct Ranked {
    JobId job;
    double rank = 0;
  };

  void note_users(const View& view, const Debts& debts, Plan& plan);
  // Notes all present jobs.
  void note_jobs(std::span<const Ranked> ranked, Plan& plan);

  void fields(Archive& archive);

 private:
  struct Rank {
    std::int64_t tenths = 0;
    std::uint64_t round = 0;  // in which the job was present last; 0: none
    void fields(Archive& archive) { archive(tenths, round); }
  };

  void note_due(const View& view, UserId user, double due, Plan& plan);

  IdVector<UserId, std::int64_t> due_;         // thousandths of a GPU
  IdVector<UserId, std::int64_t> behind_min_;  // GPU-minutes
  std::uint64_t round_ = 1;
  IdVector<JobId, Rank> ranks_;
};

}  // namespace fairlead
