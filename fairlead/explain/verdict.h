// The cause of a job's wait at one moment, for finished and running runs.
#pragma once

#include "fairlead/explain/moment.h"
#include "fairlead/explain/why_cause.h"
#include "fairlead/model/note.h"

#include <map>
#include <optional>

namespace fairlead {

// The policy's last notes about a user that show whether it has its share.
struct UserNotes {
  std::optional<GpuTime> debt;
  std::map<GpuTypeId, note::Thousandths> due;

  // Keeps the note if it is of such a kind. REQUIRES: it is about this user.
  void add(const Note& note);
  // Returns whether a user with that many GPUs has its share.
  bool has_share(std::int64_t held) const;
};

struct WaitingJob {
  JobId job;
  Time since;    // start of its wait
  Time timer{};  // time until which its policy waits for GPUs nearer together
};

// Returns none if the job fits: then only the choice of the jobs to start explains why it waits. `notes`: about
// its user. REQUIRES: the job waits or is held. O(1), or as Moment::fit, if the answer is not "it fits".
std::optional<WhyCause> verdict(Moment& moment, const UserNotes& notes, const WaitingJob& waiting);

}  // namespace fairlead
