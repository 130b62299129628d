#include "gold_csv.h"

#include "fairlead/base/check.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace fairlead {
namespace {

std::vector<std::string> fields_of(std::string line) {
  if (!line.empty() && line.back() == '\r') line.pop_back();
  std::vector<std::string> fields;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
  return fields;
}

}  // namespace

std::vector<std::map<std::string, std::string>> read_csv(const std::filesystem::path& path) {
  std::ifstream file(path);
  FL_CHECK(file.is_open(), "cannot open {}", path.string());
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> header = fields_of(line);
  std::vector<std::map<std::string, std::string>> rows;
  while (std::getline(file, line)) {
    if (line.empty()) continue;
    const std::vector<std::string> fields = fields_of(line);
    FL_CHECK(fields.size() == header.size(), "{}: {}", path.string(), line);
    std::map<std::string, std::string>& row = rows.emplace_back();
    for (std::size_t i = 0; i < header.size(); ++i) row[header[i]] = fields[i];
  }
  return rows;
}

std::vector<GoldJob> read_gold_trace(const std::filesystem::path& path) {
  std::vector<GoldJob> jobs;
  for (auto& row : read_csv(path)) {
    jobs.push_back({.id = row.at("job_id"),
                    .gpus = static_cast<std::uint32_t>(std::stoul(row.at("num_gpu"))),
                    .submit_s = std::stoll(row.at("submit_time")),
                    .duration_s = std::stoll(row.at("duration"))});
  }
  return jobs;
}

std::map<std::string, GoldResult> read_gold_results(const std::filesystem::path& path) {
  std::map<std::string, GoldResult> results;
  for (auto& row : read_csv(path)) {
    const std::string stops = row.contains("preempt") ? row.at("preempt") : row.at("ckpt_times");
    results[row.at("job_id")] = {.start_s = std::stoll(row.at("start_time")),
                                 .end_s = std::stoll(row.at("end_time")),
                                 .preemptions = std::stoll(stops)};
  }
  return results;
}

std::filesystem::path gold_folder() {
  const char* const shared = std::getenv("FAIRLEAD_SHARED");
  return std::filesystem::path(shared == nullptr ? "../shared" : shared) / "gold";
}

}  // namespace fairlead
