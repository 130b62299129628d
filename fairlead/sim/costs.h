// The costs of starting, suspending and moving jobs in the simulated world.
//
// A run starts with overhead, during which the job has its gang and does no work:
//   start    start_s; also after the loss of a node, when the job starts again
//   resume   suspend_s + resume_s: the job is still in its hosts' memory
//   migrate  checkpoint_s + migrate_s: saved, moved, loaded elsewhere
// Suspending and checkpointing happen when a gang is taken away, but are charged to the same job's
// next run: its GPUs are immediately free for others, and a job that never runs again is not charged.
//
// Complexity: O(1). A model's own costs (ModelCosts) replace the ones here.
#pragma once

#include "fairlead/base/units.h"
#include "fairlead/model/speed.h"
#include "fairlead/model/step.h"

#include <array>
#include <cstdint>

namespace fairlead {

struct Costs {
  // 10 s, the most frequent start-up time of Muri's table (Zhao et al., SIGCOMM 2022, code).
  Duration start = seconds(10);
  // Together 1 s, the pessimistic end of Gandiva's 100 ms to 1 s (Xiao et al., OSDI 2018).
  Duration suspend = milliseconds(500);
  Duration resume = milliseconds(500);
  // Together 7, 30 and 60 s for 1, 2 to 8 and more GPUs (Helios, Hu et al., SC 2021, code), split
  // in halves.
  std::array<Duration, 3> checkpoint = {milliseconds(3500), seconds(15), seconds(30)};
  std::array<Duration, 3> migrate = {milliseconds(3500), seconds(15), seconds(30)};

  // Copies of one job (HadarE) stop to exchange their parameters after every `copies_every` of training, for
  // `copies_exchange`. The fraction `copies_efficiency` of their learning in between counts. Chosen values: 7 s, like a
  // migration of one GPU; six minutes, HadarE's round; all of it.
  Duration copies_exchange = seconds(7);
  Duration copies_every = seconds(360);
  double copies_efficiency = 1;  // above 0, at most 1

  // Free of charge, as most peers simulate.
  static Costs none();

  // The speed that one of several copies contributes, exchanges included.
  Rate rate_of_copy(Rate alone) const;
  // `profile` may be null.
  Duration overhead(PlaceKind place, std::uint32_t gpus, const ModelProfile* profile) const;
};

}  // namespace fairlead
