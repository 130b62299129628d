// The file "gpus" of the daemon's folder: the names of its GPUs by number, and the closed ones.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/base/units.h"

#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

constexpr const char* kGpuFile = "gpus";

struct GpuFile {
  // Machine::gpu_names, by the machine's number of the GPU; empty: as the machine has them.
  std::vector<std::string> names;
  std::vector<std::string> cordoned;  // names of GPUs that an administrator closed
  struct Closed {                     // by failures
    std::string name;
    std::string reason;
    Time until;
    friend bool operator==(const Closed&, const Closed&) = default;
  };
  std::vector<Closed> closed;
  friend bool operator==(const GpuFile&, const GpuFile&) = default;
};

// Writes it as one line of JSON, and reads it. Error: the text is not from gpu_file_text().
std::string gpu_file_text(const GpuFile& file);
Result<GpuFile> parse_gpu_file(std::string_view text);

}  // namespace fairlead
