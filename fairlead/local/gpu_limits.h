// Limits of users or of groups, which administrators set: a file in the daemon's folder.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/io/io.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlead {

class GpuLimits {
 public:
  // `file`: its name in the folder. REQUIRES: the first argument outlives this.
  GpuLimits(Io& io, std::string file) : io_(io), file_(std::move(file)) {}

  // Reads the file, if there is one. Error: the file is not from this class.
  Status load();
  // Returns the number of GPUs that the jobs of that name may have at once; 0: any number. O(log names).
  std::uint32_t gpus_max(std::string_view name) const;
  // Sets a limit, also of a name without jobs; 0: none. Error: the disk takes no more, and nothing was changed.
  Status set_gpus_max(std::string_view name, std::uint32_t gpus_max);
  // Returns the names with a limit, sorted.
  std::vector<std::string> names() const;

 private:
  Io& io_;
  const std::string file_;
  std::map<std::string, std::uint32_t, std::less<>> gpus_max_;
};

}  // namespace fairlead
