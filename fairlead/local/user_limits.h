// Limits of users, which administrators set: the file "limits" in the daemon's folder.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/io/io.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace fairlead {

class UserLimits {
 public:
  // REQUIRES: the argument outlives this.
  explicit UserLimits(Io& io) : io_(io) {}

  // Reads the file, if there is one. Error: the file is not from this class.
  Status load();
  // Returns the number of GPUs that the user's jobs may have at once; 0: any number. O(log users).
  std::uint32_t gpus_max(std::string_view user) const;
  // Sets the limit of a user, who need not have a job; 0: none. Error: the disk takes no more, and nothing was changed.
  Status set_gpus_max(std::string_view user, std::uint32_t gpus_max);

 private:
  Io& io_;
  std::map<std::string, std::uint32_t, std::less<>> gpus_max_;
};

}  // namespace fairlead
