// The tracker of a job that trains as copies on nodes of unequal speed (HadarE, arXiv 2503.10918; the method is ours):
// a process of the job itself, with a trainer for each copy below it or on another machine.
//
// In each round it divides the steps among the copies by their measured speeds, waits until all have made theirs,
// consolidates the parameters and keeps a checkpoint. Steps count once they are in the checkpoint. The copies of the
// next round repeat the steps of a lost copy, so no step is lost or counted twice, whatever is killed when.
//
// At SIGTERM it asks the copies for their results, keeps the answers, and ends with 143. It continues from the
// checkpoint, with any number of copies and on any nodes.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/copies/trainer.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace fairlead {

struct TrackerOptions {
  std::vector<std::string> command;  // command of a trainer; not empty, unless there are no copies
  std::vector<CopyPlace> copies;     // at least one, unless it listens
  std::filesystem::path folder;      // folder of checkpoint and exchanged files
  // Steps of a round, all copies together. 0: 50, or more, so that the exchange between two rounds takes a twentieth of
  // them.
  std::uint64_t round_steps = 0;
  bool is_plain = false;             // the mean as it is, without the momentum of outer steps
  std::function<double()> now_s{};   // a clock that never goes back
  std::filesystem::path progress{};  // for lines of FAIRLEAD_PROGRESS; empty: none
  // A copy is left out of a round, and loses its trainer, if it takes this many times as long as the slowest of the others.
  // 0: never.
  double patience = 4;
  // Copies of other machines (copy_program.h) may come to this address and leave at any time: "0.0.0.0:7070". Empty: none.
  std::string listen{};
  std::string token{};  // that they know; not empty if it listens
};

// Trains until all steps are made; logs events of copies on standard output. Returns the exit code: 0; 143 after
// SIGTERM; or a trainer's code, if all copies have ended three times in a row without a step. The parameters are then
// in parameters.f32 of the folder. Error: the folder cannot be used. REQUIRES: one thread, which owns SIGTERM and
// SIGPIPE.
Result<int> track(const TrackerOptions& options);

}  // namespace fairlead
