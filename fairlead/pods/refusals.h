// Objects that ask for Fairlead but cannot run as gangs, with the reasons.
//
// A refusal is explained to its user once, with an event on the object. An object may be refused before Fairlead may
// write, so explanations wait here.
#pragma once

#include "fairlead/kube/json.h"

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fairlead {

class Refusals {
 public:
  // Refuses the object `name` ("namespace/name"). Returns true if it was not refused for that reason before.
  bool add(const std::string& name, const std::string& why) {
    return std::exchange(why_[name], why) != why;
  }
  // Does the same; if the reason is new, an explanation waits. `about`: apiVersion, kind and metadata of the object.
  void add(const Json& about, const std::string& name, const std::string& why);
  void remove(const std::string& name) { why_.erase(name); }
  // Returns the reasons, by "namespace/name".
  const std::map<std::string, std::string>& all() const { return why_; }

  struct Explanation {
    Json about;
    std::string why;
  };
  // Removes and returns the explanations that wait, without objects that are no longer refused.
  std::vector<Explanation> take_unexplained();

 private:
  std::map<std::string, std::string> why_;  // by "namespace/name"
  std::vector<Json> unexplained_;
};

}  // namespace fairlead
