// The files of the gold folder, with the results of public simulators: traces, clusters and one
// row of results per job. Times are whole seconds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace fairlead {

struct GoldJob {
  std::string id;
  std::uint32_t gpus = 0;
  std::int64_t submit_s = 0;
  std::int64_t duration_s = 0;
};

struct GoldResult {
  std::int64_t start_s = 0;
  std::int64_t end_s = 0;
  std::int64_t preemptions = 0;
  friend bool operator==(const GoldResult&, const GoldResult&) = default;
};

// Returns the rows of a CSV file by the names of its header. Aborts if a file is missing or
// damaged: the gold folder is part of the test.
std::vector<std::map<std::string, std::string>> read_csv(const std::filesystem::path& path);

std::vector<GoldJob> read_gold_trace(const std::filesystem::path& path);
// By job id. The two simulators name the columns differently.
std::map<std::string, GoldResult> read_gold_results(const std::filesystem::path& path);

// $FAIRLEAD_SHARED/gold, by default ../shared/gold.
std::filesystem::path gold_folder();

}  // namespace fairlead
