// A daemon in worlds in which whatever can go wrong does: by a seed, so that each is repeated at will.
//
// A world is a machine (io/sim_io.h), clients (clients.h) and a Server that is stepped, crashed at
// any call of its Io and opened again, until all that was submitted has ended. After every step and
// every opening it is judged (invariants.h).
#pragma once

#include "fairlead/torture/coverage.h"
#include "fairlead/torture/world_plan.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fairlead {

struct WorldOutcome {
  std::string problem;         // what was violated; empty: nothing
  std::uint64_t calls = 0;     // calls of the Io
  Time at;                     // when it was over
  std::vector<Crash> crashes;  // that came about
  std::uint64_t openings = 0;  // number of daemon openings
  std::uint64_t jobs = 0;      // that were submitted
  std::uint64_t tasks = 0;     // that were started
  std::uint64_t compared =
      0;  // openings at which the policy's memory was compared with the one before
  Coverage coverage{};
};

using Trace = std::function<void(const std::string& line)>;

// Runs the world of a seed. `trace`, if given, gets each call that matters and each input of the daemon.
WorldOutcome torture(std::uint64_t seed, const WorldLimits& limits, const Trace& trace = {});

using RunWorld = std::function<WorldOutcome(std::uint64_t seed, const WorldLimits& limits)>;

// A smaller world of the same seed that fails as well: fewer actions of clients, faults, crashes and
// users. REQUIRES: the world fails. Runs about a hundred worlds, by `run`.
struct Shrunk {
  WorldLimits limits;
  WorldOutcome outcome;
};
Shrunk shrink(std::uint64_t seed, const WorldLimits& limits, const WorldOutcome& outcome,
              const RunWorld& run);

// The command that repeats a world.
std::string torture_command(std::uint64_t seed, const WorldLimits& limits);

}  // namespace fairlead
