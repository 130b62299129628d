// The process of one copy, and the lines that it and its tracker exchange (docs/copies.md):
//
//   to it, on its standard input         make STEPS DONE FROM TO, and last: end FILE
//   from it, to FAIRLEAD_ANSWERS (file)   total STEPS, once at the beginning; made STEPS, for each make
//
// FROM and TO are files of parameters below FAIRLEAD_COPIES_FOLDER. The trainer ends when its input does.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/io/descriptor.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace fairlead {

// The place at which a copy trains.
struct CopyPlace {
  std::vector<std::string> gpus;  // as in CUDA_VISIBLE_DEVICES
  std::string gpu_type;
  double speed = 1;  // relative, as far as it is known before the run
};
// Parses FAIRLEAD_COPIES: [{"gpus": ["0"], "gpu_type": "V100", "speed": 1}, ...]. Error: it is not such a list.
Result<std::vector<CopyPlace>> parse_copies(std::string_view text);

class Trainer {
 public:
  // Starts `command` as copy `number` with this program's environment and the copy's own variables. Error: the system
  // refuses.
  static Result<Trainer> start(const std::vector<std::string>& command, const CopyPlace& place,
                               std::size_t number, const std::filesystem::path& folder);
  Trainer(Trainer&& other) noexcept;
  Trainer& operator=(Trainer&& other) noexcept;
  // Kills the process group of a trainer that still runs.
  ~Trainer();

  void tell(std::string_view line);
  void end_input() { orders_ = Descriptor(); }
  void interrupt();

  // File descriptors that become readable with the next answer, and at the end.
  int answers() const { return answers_.get(); }
  int process() const { return process_.get(); }
  // Returns the trainer's next line, without its newline. Nullopt: there is none yet.
  std::optional<std::string> line();
  // Waits for the end. Returns the exit code, or 128 and the signal that ended it.
  int reap();

 private:
  Trainer() = default;
  void read_more();

  pid_t pid_ = 0;  // 0: it was reaped
  Descriptor process_, orders_, answers_;
  std::string said_;
};

}  // namespace fairlead
