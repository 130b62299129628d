#include "fairlead/local/gpu_limits.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace fairlead {
namespace {

using nlohmann::json;

bool is_limit(const json& value) {
  return value.is_object() && value.contains("max_gpus") && value["max_gpus"].is_number_unsigned();
}

}  // namespace

Status GpuLimits::load() {
  const auto text = io_.read(file_);
  if (!text) return {};
  const json limits = json::parse(*text, nullptr, false);
  if (!limits.is_object() || !std::ranges::all_of(limits, is_limit))
    return run_error("the file `{}` in the daemon's folder has no limits", file_);
  for (const auto& [name, limit] : limits.items())
    gpus_max_[name] = limit["max_gpus"].get<std::uint32_t>();
  return {};
}

std::uint32_t GpuLimits::gpus_max(std::string_view name) const {
  const auto found = gpus_max_.find(name);
  return found == gpus_max_.end() ? 0 : found->second;
}

Status GpuLimits::set_gpus_max(std::string_view name, std::uint32_t gpus_max) {
  if (this->gpus_max(name) == gpus_max) return {};
  auto changed = gpus_max_;
  changed[std::string(name)] = gpus_max;
  json limits = json::object();
  for (const auto& [one, most] : changed) {
    if (most > 0) limits[one] = {{"max_gpus", most}};
  }
  FL_TRY(io_.write(file_, limits.dump(-1, ' ', false, json::error_handler_t::replace)));
  gpus_max_ = std::move(changed);
  return {};
}

std::vector<std::string> GpuLimits::names() const {
  std::vector<std::string> names;
  for (const auto& [name, most] : gpus_max_) {
    if (most > 0) names.push_back(name);
  }
  return names;
}

}  // namespace fairlead
