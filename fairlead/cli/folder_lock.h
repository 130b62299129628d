// Keeps two runs out of one folder of results.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/io/descriptor.h"

#include <filesystem>

namespace fairlead {

// Held until its destruction or the end of the process, however it ends. It is on the folder itself,
// so nothing is left in it.
class FolderLock {
 public:
  // REQUIRES: not taken before. Error: the folder is no folder, or another process holds it. Where
  // the file system has no locks, it is taken without effect.
  Status take(const std::filesystem::path& folder);

 private:
  Descriptor folder_;
};

}  // namespace fairlead
