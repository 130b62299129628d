// The future of a daemon's queue, and of its users, under each of some policies.
#pragma once

#include "fairlead/cli/forecast.h"
#include "fairlead/report/table.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fairlead {

// One policy on the queue. Times are seconds from now, means are over the jobs that end.
struct WhatIf {
  struct User {
    std::string user;
    std::int64_t jobs = 0;
    std::optional<double> end_mean_s{};
  };
  std::string policy;  // with its options, as requested
  bool runs_now = false;
  std::int64_t jobs = 0;
  std::int64_t ended = 0;  // ended jobs; the others can never run with these GPUs
  std::optional<double> end_mean_s{};
  std::optional<double> end_p90_s{};
  std::optional<double> end_last_s{};
  std::optional<double> wait_max_s{};  // longest time until a job has GPUs
  std::vector<User> users{};           // by name
};

// Errors: no such policy or option; the policy brings the jobs to a standstill. O(a simulation).
Result<WhatIf> what_if(const QueueNow& queue, const std::string& policy);

// Returns tables with a row for each policy and each user. REQUIRES: at least one outcome.
std::string whatif_tables(const std::vector<WhatIf>& outcomes, TextStyle style);
// Returns the same, and the guesses.
std::string whatif_text(const QueueNow& queue, const std::vector<WhatIf>& outcomes,
                        TextStyle style);
std::string whatif_json(const QueueNow& queue, const std::vector<WhatIf>& outcomes);

// Writes the results of a run for each policy to folders of `out`, in the layout of `fairlead compare`.
Status write_whatif(const QueueNow& queue, const std::vector<std::string>& policies,
                    const std::filesystem::path& out);

}  // namespace fairlead
