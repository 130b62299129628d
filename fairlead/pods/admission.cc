// Which kinds of nodes gangs may be on, and which gangs no node will do for.
#include "fairlead/pods/pods_world.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace fairlead {

// What a gang needs of nodes, as it is told for the first time or anew.
void PodsWorld::look_at_needs(const Gang& gang, const PodNeeds& needs) {
  if (!inventory_) return;
  if (!inventory_->has_answered(needs)) is_suspect_ = true;
  const PodNeeds& before = gang.view.owner().needs;
  const bool is_told = tables_ != nullptr && !gang.job.is_none() && before != needs;
  // The engine takes no other answer for a job that it has.
  if (is_told && inventory_->kinds_for(before) != inventory_->kinds_for(needs)) outgrow();
}

void PodsWorld::outgrow() {
  if (outgrown_ == Time::never()) outgrown_ = door_.now() + options_.outgrown_limit;
}

std::set<PodNeeds> PodsWorld::asked_of_nodes() const {
  std::set<PodNeeds> asked;
  for (const auto& [key, gang] : gangs_) {
    const Owner& owner = gang.view.owner();
    const bool is_here = gang.is_here && owner.state == Owner::State::kHere;
    if (is_here && owner.is_complete) asked.insert(owner.needs);
  }
  return asked;
}

void PodsWorld::check_inventory() {
  if (outgrown_ == Time::never() && !inventory_->still_holds(asked_of_nodes())) outgrow();
}

// True if no node will do, which its user is told, or which of them will is for a new world to say.
bool PodsWorld::has_no_node(Gang& gang) {
  const Owner& owner = gang.view.owner();
  const std::string name = fmt::format("{}/{}", owner.name_space, owner.name);
  if (outgrown_ != Time::never() && !inventory_->has_answered(owner.needs)) return true;
  if (!inventory_->kinds_for(owner.needs).empty()) {
    refused_.erase(name);
    return false;
  }
  if (!may_ask()) {
    gang.retry = door_.now() + seconds(1);
    return true;
  }
  const std::string why = inventory_->why_none(owner.needs);
  if (std::exchange(refused_[name], why) != why) explain(gang, "Refused", why);
  return true;
}

// Of what cannot be read as gangs. At the beginning nothing can be said yet.
void PodsWorld::explain_refusals() {
  if (unexplained_.empty() || !may_ask()) return;
  for (const Json& object : std::exchange(unexplained_, {})) {
    const auto refused =
        refused_.find(fmt::format("{}/{}", text_at(object, {"metadata", "namespace"}),
                                  text_at(object, {"metadata", "name"})));
    if (refused != refused_.end()) explain(object, "Refused", refused->second);
  }
}

}  // namespace fairlead
