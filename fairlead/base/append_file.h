// A file that grows at its end, and from which it is known what would survive a loss of power.
#pragma once

#include "fairlead/base/result.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace fairlead {

class AppendFile {
 public:
  virtual ~AppendFile() = default;
  virtual const std::string& name() const = 0;
  // Appends `bytes`, all at once if it can. Error: some of them may be missing, and what is appended
  // after them is of no use.
  virtual Status append(std::span<const std::uint8_t> bytes) = 0;
  // Returns once all that was appended, and the file's name, would survive. Error: it might not.
  virtual Status sync() = 0;
  // sync(), and the end. REQUIRES: called once, last.
  virtual Status close() = 0;
};

// The file at `path`, cut where it is longer than `bytes`. Error: there is none, or it cannot be
// written.
Result<std::unique_ptr<AppendFile>> append_to_file(const std::filesystem::path& path,
                                                   std::uint64_t bytes);

}  // namespace fairlead
