// Prevents two runs in one folder of results.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/io/descriptor.h"

#include <filesystem>

namespace fairlead {

// Locked until its destruction or any end of the process. The lock is on the folder itself, so no file is left in it.
class FolderLock {
 public:
  // Takes the lock. REQUIRES: not taken before. Error: the path is not a folder, or another process has the lock. On a
  // file system without locks, it has no effect.
  Status take(const std::filesystem::path& folder);

 private:
  Descriptor folder_;
};

}  // namespace fairlead
