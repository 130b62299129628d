#include "fairlead/replay/resources_file.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <utility>
#include <vector>

namespace fairlead {
namespace {

using nlohmann::json;

constexpr std::string_view kName = "resources.json";

// [thousandths of CPUs, thousandths of GB] of each row.
template <class Id>
json rows_of(const IdVector<Id, CpuMemory>& column) {
  json rows = json::array();
  for (const CpuMemory& one : column) rows.push_back({one.cpus.value, one.memory_gb.value});
  return rows;
}

// Returns false if the rows are not such as rows_of() makes.
template <class Id>
bool read_rows(const json& file, const char* key, IdVector<Id, CpuMemory>& column) {
  const auto rows = file.find(key);
  if (rows == file.end() || !rows->is_array()) return false;
  for (const json& row : *rows) {
    if (!row.is_array() || row.size() != 2) return false;
    if (!row[0].is_number_integer() || !row[1].is_number_integer()) return false;
    column.push_back(
        {thousandths_of(row[0].get<std::int64_t>()), thousandths_of(row[1].get<std::int64_t>())});
  }
  return true;
}

}  // namespace

Status write_resources(ResultFolder& folder, const StatedResources& stated,
                       std::string_view journal_hash) {
  if (stated.tasks.empty()) return {};
  const json file = {{"journal_hash", journal_hash},
                     {"nodes", rows_of(stated.nodes)},
                     {"tasks", rows_of(stated.tasks)}};
  FL_TRY_ASSIGN(output, OutputFile::create(folder.file(kName)));
  output.write(file.dump());
  return folder.add(std::move(output), kName);
}

Result<TaskLimits> limits_beside(const std::filesystem::path& journal, const json& summary) {
  const std::filesystem::path path = journal.parent_path() / kName;
  std::ifstream in(path);
  if (!in) return TaskLimits();
  const json file = json::parse(in, nullptr, false);
  const auto hash = file.is_object() ? file.find("journal_hash") : file.end();
  StatedResources stated;
  if (!file.is_object() || hash == file.end() || !read_rows(file, "nodes", stated.nodes) ||
      !read_rows(file, "tasks", stated.tasks)) {
    return run_error("{}: it is damaged", path.string());
  }
  const auto expected = summary.find("journal_hash");
  if (expected == summary.end() || *expected != *hash) return TaskLimits();
  return cpu_limits(stated);
}

}  // namespace fairlead
