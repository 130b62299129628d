#include "fairlead/trace/states.h"

#include "fairlead/model/speed.h"

#include <algorithm>
#include <array>
#include <string>

namespace fairlead {
namespace {

constexpr std::array<std::string_view, 15> kUnfinished = {
    "running",  "pending",  "suspended", "configuring", "completing",
    "requeued", "resizing", "waiting",   "queued",      "standby",
    "r",        "pd",       "cg",        "s",           "cf"};

}  // namespace

std::string_view state_word(std::string_view state) {
  state = state.substr(0, state.find(' '));
  if (state.ends_with('+')) state.remove_suffix(1);
  return state;
}

bool is_unfinished(std::string_view state) {
  return std::ranges::find(kUnfinished, type_key(state_word(state))) != kUnfinished.end();
}

bool is_cancelled(std::string_view state) {
  const std::string key = type_key(state_word(state));
  return key.starts_with("cancel") || key.starts_with("kill");
}

}  // namespace fairlead
