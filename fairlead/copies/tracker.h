// The tracker of a job that trains as copies on nodes of unequal speed (HadarE, arXiv 2503.10918; how it
// does it is ours): a process of the job itself, with a trainer for each copy below it.
//
// Round by round it gives each copy its part of the round's steps, by the speeds measured, waits until all
// have made them, consolidates their parameters and keeps a checkpoint. Steps count once they are in the
// checkpoint: those of a copy that is lost are made again, by whichever copies the next round has, so that
// none is lost and none counts twice, whatever is killed when.
//
// At SIGTERM copies are asked for what they have; what they answer is kept, and the tracker ends with 143.
// It goes on from the checkpoint, with as many copies and on whatever nodes it is begun next.
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
  std::vector<std::string> command;  // of a trainer; not empty
  std::vector<CopyPlace> copies;     // at least one
  std::filesystem::path folder;      // of checkpoint and exchanged files
  // Steps of a round, all copies together. 0: 50, or as many as it takes for the exchange between two
  // rounds to be a twentieth of them.
  std::uint64_t round_steps = 0;
  bool is_plain = false;             // the mean as it is, without the momentum of outer steps
  std::function<double()> now_s{};   // a clock that never goes back
  std::filesystem::path progress{};  // as FAIRLEAD_PROGRESS has it; empty: none
};

// Trains until all steps are made; says on standard output what happens to copies. The exit code: 0;
// 143, where SIGTERM came before; that of a trainer, where all copies have ended three times in a row
// without having made a step. The parameters are in parameters.f32 of the folder then. Error: the folder
// cannot be used. REQUIRES: one thread; SIGTERM and SIGPIPE are its own.
Result<int> track(const TrackerOptions& options);

}  // namespace fairlead
