#include "fairlead/pods/refusals.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace fairlead {

bool Refusals::add(const std::string& gang, const std::string& name, const std::string& why) {
  gangs_[name] = gang;
  return std::exchange(why_[name], why) != why;
}

void Refusals::add(const Json& about, const std::string& gang, const std::string& name,
                   const std::string& why) {
  if (add(gang, name, why)) unexplained_.push_back(about);
}

void Refusals::remove(const std::string& name) {
  why_.erase(name);
  gangs_.erase(name);
}

std::map<std::string, std::string> Refusals::by_gang() const {
  std::map<std::string, std::string> why;
  for (const auto& [name, gang] : gangs_) why[gang] = why_.at(name);
  return why;
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
