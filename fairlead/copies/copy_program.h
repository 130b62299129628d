// The program of a copy on another machine than its tracker: it starts the trainer, and passes orders, answers and files
// of parameters on over TCP (docs/copies.md).
//
// The trainer outlives its tracker: the program connects again, and a new tracker continues with it. A trainer that ends
// is started again, up to three times without a step between.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/copies/copy_address.h"
#include "fairlead/copies/trainer.h"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace fairlead {

struct CopyProgramOptions {
  std::vector<std::string> command;  // command of the trainer; not empty
  CopyPlace place;
  std::size_t number = 0;  // FAIRLEAD_COPY of the trainer
  CopyAddress tracker;
  std::string token;
  std::filesystem::path folder;     // folder of exchanged files; exists
  double give_up_s = 600;           // without an answer of a tracker
  std::function<double()> now_s{};  // a clock that never goes back
};

// Trains until the tracker has all steps. Returns the exit code: the trainer's after the last order; 143 after SIGTERM, to
// which the trainer may answer with the steps it has made; or the trainer's, if it has ended three times in a row without
// a step. Error: the tracker refuses the copy, or none answers for `give_up_s`. REQUIRES: as track().
Result<int> run_copy(const CopyProgramOptions& options);

}  // namespace fairlead
