// A file that grows at its end and reports which bytes survive a loss of power.
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
  // Appends `bytes`, in one write if possible. Error: some bytes may be missing, and bytes appended later are useless.
  virtual Status append(std::span<const std::uint8_t> bytes) = 0;
  // Returns once all appended bytes and the file's name would survive a loss of power. Error: they might not.
  virtual Status sync() = 0;
  // Calls sync() and closes the file. REQUIRES: called once, last.
  virtual Status close() = 0;
};

// Opens the file at `path` and truncates it to `bytes`. Error: the file does not exist, or cannot be written.
Result<std::unique_ptr<AppendFile>> append_to_file(const std::filesystem::path& path,
                                                   std::uint64_t bytes);

}  // namespace fairlead
