// Sweeps: `--sweep KEY=A..B/N` or `KEY=v1,v2`, and the points that several of them span.
//
// KEY is a key of --set, or POLICY.OPTION for an option of the policies of that name, or "cluster".
#pragma once

#include "fairlead/base/result.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlead {

struct Sweep {
  std::string key;
  std::vector<std::string> values;  // as text, at least one
};

// Errors: not of the form KEY=VALUES, or no key; the same value twice; more than kSweepValuesMax.
Result<Sweep> parse_sweep(std::string_view text);
constexpr std::size_t kSweepValuesMax = 10'000;

// One combination of values.
struct SweepPoint {
  // Keys and values in the order of sweeps.
  std::vector<std::pair<std::string, std::string>> values = {};
  std::string folder = {};                 // "load=0.5/mtbf_h=24"; empty without a sweep
  std::string cluster = {};                // empty: not swept
  std::vector<std::string> settings = {};  // for --set
  std::vector<std::string> policies = {};  // with their options at this point
};
constexpr std::size_t kSweepPointsMax = 100'000;

// Returns all combinations; the last sweep's values change fastest. Without sweeps there is one point. Errors: a key
// twice; a policy that is not compared, or whose option is set already; too many points. Settings and options
// themselves are not checked. O(points x policies).
Result<std::vector<SweepPoint>> points_of(const std::vector<Sweep>& sweeps,
                                          const std::vector<std::string>& policies);

// Returns a folder name for each text: the text without characters that are special in a path or a shell, with "~2",
// "~3", ... if names coincide.
std::vector<std::string> folder_names(const std::vector<std::string>& texts);

}  // namespace fairlead
