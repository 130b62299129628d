// Users and jobs as columns: what was asked, and what was served so far.
//
// The engine owns the tables and writes the served columns; policies read them through View. A
// job's row is its position in the input, so ordering by JobId is ordering by input.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"
#include "fairlead/model/cluster.h"
#include "fairlead/model/gang_pool.h"

#include <cstdint>
#include <string>

namespace fairlead {

struct Users {
  IdVector<UserId, std::string> names;
  IdVector<UserId, std::int64_t> tickets;  // at least 1
  std::size_t size() const { return names.size(); }
};

enum class JobState : std::uint8_t {
  kUnsubmitted,
  kWaiting,   // submitted, holds no GPU
  kRunning,   // holds a gang
  kFinished,  // its work is done
  kFailed,    // it ended by itself without finishing
  kCancelled,
  kRejected,  // it can never run here
};

struct Jobs {
  // Asked.
  IdVector<JobId, UserId> user;
  IdVector<JobId, ModelId> model;           // none: the trace names no model
  IdVector<JobId, std::uint32_t> gpus;      // the gang it asks for
  IdVector<JobId, std::uint32_t> gpus_min;  // the smallest gang it can run with
  IdVector<JobId, std::uint32_t> gpus_max;  // the largest
  IdVector<JobId, Time> arrival;
  IdVector<JobId, TypeMask> types;  // GPU types on which its model can run

  // Served; read attained() rather than the first two.
  IdVector<JobId, GpuTime> attained_settled;  // up to held_since
  IdVector<JobId, Time> held_since;           // start of the current hold; only while kRunning
  IdVector<JobId, std::uint32_t> held_gpus;   // 0 unless kRunning
  IdVector<JobId, JobState> state;
  // The gang held now or, while waiting, held last; empty after an eviction, which loses the state
  // kept on the hosts.
  IdVector<JobId, GangRef> last;
  GangPool gangs;

  std::size_t size() const { return user.size(); }
  // GPU time served up to `now`.
  GpuTime attained(JobId job, Time now) const {
    FL_DCHECK(now >= held_since[job] || held_gpus[job] == 0);
    return attained_settled[job] + occupancy(now - held_since[job], held_gpus[job]);
  }
  // Empty before the first start and after an eviction. Valid until the next placement.
  Gang last_gang(JobId job) const { return gangs.gang(last[job]); }

  // Sizes the served columns. REQUIRES: the asked ones are filled; called once.
  void start_serving();
};

}  // namespace fairlead
