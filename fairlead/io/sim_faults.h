// The faults of a SimIo: their rates, and the draws from its seed by which they happen.
//
// Equal seeds and calls give equal draws. O(1) a call.
#pragma once

#include "fairlead/base/rng.h"
#include "fairlead/io/sim_agenda.h"
#include "fairlead/io/sim_calls.h"
#include "fairlead/io/sim_disk.h"
#include "fairlead/io/sim_machine.h"
#include "fairlead/io/sim_trace.h"

#include <cstdint>

namespace fairlead {

// The probabilities of faults, per call at which they can occur.
struct SimFaults {
  double disk_full =
      0;  // per write or sync: it fails, because the disk is full for a moment or a while
  double slow_sync = 0;     // per sync: it takes up to a minute
  double start_fails = 0;   // per start
  double freeze_fails = 0;  // per freeze or thaw
  double end_early = 0;     // per freeze: the task has ended just before
  double late_notice = 0;   // per end: it is reported up to ten seconds late
  double told_twice = 0;    // per end: it is reported twice
  double stall = 0;         // per wait: the daemon does not run for up to ten minutes
  double foreign = 0;       // per look at GPUs: a foreign process computes on one for a while
  double calendar = 0;      // per wait: the calendar steps by up to a day, forward or back
  bool delays = true;       // the disk, starts and notices take some milliseconds
};

class FaultInjector {
 public:
  // REQUIRES: the arguments outlive this.
  FaultInjector(std::uint64_t seed, const SimFaults& rates, const SimAgenda& agenda,
                const SimCalls& calls, const SimTrace& trace, SimDisk& disk, SimMachine& machine)
      : rates_(rates),
        rng_(seed),
        agenda_(agenda),
        calls_(calls),
        trace_(trace),
        disk_(disk),
        machine_(machine) {}

  // Returns a seed for another part of the machine.
  std::uint64_t seed() { return rng_.next(); }
  // Returns an integer below `limit`.
  std::uint64_t below(std::uint64_t limit) { return rng_.below(limit); }
  // Returns a time of at most `ms`; delay(): zero if the machine takes no time for its work.
  Duration upto(std::int64_t ms);
  Duration delay(std::int64_t ms) { return rates_.delays ? upto(ms) : Duration(); }
  // Returns whether the fault strikes at the last call.
  bool happens(double SimFaults::*fault);

  // Fills the disk for a while with some probability; empties it again when that time is over.
  void fill_disk();
  // Returns whether the disk was full in the life of this daemon, or is now.
  bool was_disk_full() const { return was_full_; }
  // Notes that the next daemon begins at `t`.
  void begin_life(Time t) { was_full_ = full_until_ > t; }

  // Ends all faults, also for later daemons.
  void stop();

 private:
  SimFaults rates_;
  Rng rng_;
  const SimAgenda& agenda_;
  const SimCalls& calls_;
  const SimTrace& trace_;
  SimDisk& disk_;
  SimMachine& machine_;
  Time full_until_;
  bool was_full_ = false;
};

}  // namespace fairlead
