#include "fairlead/local/user_limits.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace fairlead {
namespace {

using nlohmann::json;

constexpr const char* kFile = "limits";

bool is_limit(const json& value) {
  return value.is_object() && value.contains("max_gpus") && value["max_gpus"].is_number_unsigned();
}

}  // namespace

Status UserLimits::load() {
  const auto text = io_.read(kFile);
  if (!text) return {};
  const json users = json::parse(*text, nullptr, false);
  if (!users.is_object() || !std::ranges::all_of(users, is_limit))
    return run_error("the file `{}` in the daemon's folder has no limits of users", kFile);
  for (const auto& [user, limit] : users.items())
    gpus_max_[user] = limit["max_gpus"].get<std::uint32_t>();
  return {};
}

std::uint32_t UserLimits::gpus_max(std::string_view user) const {
  const auto found = gpus_max_.find(user);
  return found == gpus_max_.end() ? 0 : found->second;
}

Status UserLimits::set_gpus_max(std::string_view user, std::uint32_t gpus_max) {
  if (this->gpus_max(user) == gpus_max) return {};
  auto changed = gpus_max_;
  changed[std::string(user)] = gpus_max;
  json users = json::object();
  for (const auto& [name, most] : changed) {
    if (most > 0) users[name] = {{"max_gpus", most}};
  }
  FL_TRY(io_.write(kFile, users.dump(-1, ' ', false, json::error_handler_t::replace)));
  gpus_max_ = std::move(changed);
  return {};
}

}  // namespace fairlead
