#include "fairlead/local/gpu_file.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace fairlead {
namespace {

using nlohmann::json;

bool is_texts(const json& list) {
  return list.is_array() &&
         std::ranges::all_of(list, [](const json& value) { return value.is_string(); });
}

}  // namespace

std::string gpu_file_text(const GpuFile& file) {
  json closed = json::array();
  for (const GpuFile::Closed& gpu : file.closed)
    closed.push_back({{"name", gpu.name}, {"reason", gpu.reason}, {"until_ms", gpu.until.ms}});
  const json object = {{"names", file.names}, {"cordoned", file.cordoned}, {"closed", closed}};
  return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<GpuFile> parse_gpu_file(std::string_view text) {
  const json object = json::parse(text, nullptr, false);
  const auto wrong = [] { return run_error("{}: it is not as the daemon wrote it", kGpuFile); };
  if (!object.is_object() || !object.contains("closed") || !object["closed"].is_array() ||
      !is_texts(object.value("names", json())) || !is_texts(object.value("cordoned", json()))) {
    return wrong();
  }
  GpuFile file{.names = object["names"].get<std::vector<std::string>>(),
               .cordoned = object["cordoned"].get<std::vector<std::string>>(),
               .closed = {}};
  for (const json& gpu : object["closed"]) {
    const bool is_whole = gpu.is_object() && gpu.contains("name") && gpu["name"].is_string() &&
                          gpu.contains("reason") && gpu["reason"].is_string() &&
                          gpu.contains("until_ms") && gpu["until_ms"].is_number_integer();
    if (!is_whole) return wrong();
    file.closed.push_back({.name = gpu["name"].get<std::string>(),
                           .reason = gpu["reason"].get<std::string>(),
                           .until = Time{gpu["until_ms"].get<std::int64_t>()}});
  }
  return file;
}

}  // namespace fairlead
