// The flags of one run as texts, as simulate and compare take them: what a child process is started
// with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fairlead {

struct RunFlags {
  std::string cluster;
  std::string trace;
  std::string format;  // empty: recognised by content
  std::string out;
  std::uint64_t seed = 0;
  std::string until;  // empty: to the end
  std::vector<std::string> settings;
  bool audit = false;
  bool json = false;
};

// The arguments of `fairlead` for one run of `flags` with another policy, seed and folder.
std::vector<std::string> simulate_arguments(const RunFlags& flags, const std::string& policy,
                                            std::uint64_t seed, const std::string& out);

}  // namespace fairlead
