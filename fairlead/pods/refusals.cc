#include "fairlead/pods/refusals.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fairlead {

void Refusals::add(const Json& about, const std::string& name, const std::string& why) {
  if (add(name, why)) unexplained_.push_back(about);
}

std::vector<Refusals::Explanation> Refusals::take_unexplained() {
  std::vector<Explanation> explanations;
  for (Json& object : std::exchange(unexplained_, {})) {
    const auto why = why_.find(fmt::format("{}/{}", text_at(object, {"metadata", "namespace"}),
                                           text_at(object, {"metadata", "name"})));
    if (why != why_.end()) explanations.push_back({std::move(object), why->second});
  }
  return explanations;
}

}  // namespace fairlead
