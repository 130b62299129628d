// Objects that ask for Fairlead but cannot run as gangs, with the reasons.
//
// A refusal is explained to its user once, with an event on the object. An object may be refused before Fairlead may
// write, so explanations wait here.
#pragma once

#include "fairlead/kube/json.h"

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <vector>

namespace fairlead {

class Refusals {
 public:
  // Refuses the gang with the key `gang`, which the object `name` ("namespace/name") stands for. Returns true if it was not
  // refused for that reason before.
  bool add(const std::string& gang, const std::string& name, const std::string& why);
  // Does the same; if the reason is new, an explanation waits. `about`: apiVersion, kind and metadata of the object.
  void add(const Json& about, const std::string& gang, const std::string& name,
           const std::string& why);
  void remove(const std::string& name);
  // Returns the reasons, by "namespace/name".
  const std::map<std::string, std::string>& all() const { return why_; }
  // Returns the reasons, by the key of the gang. O(refusals log).
  std::map<std::string, std::string> by_gang() const;

  struct Explanation {
    Json about;
    std::string why;
  };
  // Removes and returns the explanations that wait, without objects that are no longer refused.
  std::vector<Explanation> take_unexplained();

 private:
  std::map<std::string, std::string> why_;    // by "namespace/name"
  std::map<std::string, std::string> gangs_;  // keys, by "namespace/name"
  std::vector<Json> unexplained_;
};

}  // namespace fairlead
