// A trainer of one copy, and the lines that it and its tracker exchange (docs/copies.md):
//
//   to it                                make STEPS DONE FROM TO, and last: end FILE
//   from it                              total STEPS, once at the beginning; made STEPS, for each make
//
// FROM, TO and FILE are files of parameters in the tracker's folder. LocalTrainer is a process below the tracker,
// RemoteTrainer one of another machine.
#pragma once

#include "fairlead/base/result.h"

#include <optional>
#include <poll.h>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// The place at which a copy trains.
struct CopyPlace {
  std::vector<std::string>
      gpus;  // as in the variable visible_devices; empty: as this program's own
  std::string visible_devices = "CUDA_VISIBLE_DEVICES";
  std::string gpu_type;
  double speed = 1;  // relative, as far as it is known before the run
};
// Parses FAIRLEAD_COPIES: [{"gpus": ["0"], "visible_devices": "CUDA_VISIBLE_DEVICES", "gpu_type": "V100",
// "speed": 1}, ...]. Error: it is not such a list.
Result<std::vector<CopyPlace>> parse_copies(std::string_view text);

class Trainer {
 public:
  virtual ~Trainer() = default;

  // Orders do not wait for the trainer. One that has ended takes none.
  virtual void tell(std::string_view line) = 0;
  // Announces that no order follows: the trainer ends.
  virtual void end_input() = 0;
  // Asks it to answer with the steps that it has made, because it has to leave.
  virtual void interrupt() = 0;

  // Adds the file descriptors to wait for, with poll(2)'s events: for the next answer, for the end, and to send orders.
  virtual void add_files(std::vector<pollfd>& files) const = 0;
  // Returns whether the trainer has ended. Some of its lines may be unread.
  virtual bool has_ended() = 0;
  // Returns the trainer's next line, without its newline. Nullopt: there is none yet.
  virtual std::optional<std::string> line() = 0;
  // Waits for the end. Returns the exit code, or 128 and the signal that ended it.
  virtual int reap() = 0;
};

}  // namespace fairlead
