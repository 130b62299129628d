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
  // Takes the lock. REQUIRES: not taken before. Error: the path is not a folder, or another process has the lock. On a
  // file system without locks, it has no effect.
  Status take(const std::filesystem::path& folder);

 private:
  Descriptor folder_;
};

}  // namespace fairlead
