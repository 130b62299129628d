#include "fairlead/pods/missing_pods.h"

#include <algorithm>

namespace fairlead {
namespace {

// Returns kMissingLimit, doubled for each failure.
Duration limit(int failures) {
  const Duration grown{kMissingLimit.ms << std::min(failures, 10)};
  return std::min(grown, kMissingLimitMax);
}

}  // namespace

bool MissingPods::look(const std::string& key, const std::string& why, bool has_place, Time now) {
  const auto found = gangs_.find(key);
  if (found == gangs_.end() && why.empty()) return false;
  Gang& gang = gangs_[key];
  gang.looked = now;
  gang.since = why.empty() ? Time::never() : std::min(gang.since, now);
  const bool is_late = !why.empty() && now >= gang.since + limit(gang.failures);
  if (is_late && has_place && gang.why.empty()) gang.until = now + limit(gang.failures++);
  if (is_late) gang.why = why;
  if (!is_late && now >= gang.until) gang.why.clear();
  return !gang.why.empty();
}

bool MissingPods::rest(const std::string& key, Time now) {
  const auto found = gangs_.find(key);
  if (found == gangs_.end()) return false;
  found->second.looked = now;  // else its times would stay due
  if (found->second.why.empty()) found->second.since = Time::never();
  return !found->second.why.empty();
}

const std::string& MissingPods::why(const std::string& key) const {
  static const std::string kNone;
  const auto found = gangs_.find(key);
  return found == gangs_.end() ? kNone : found->second.why;
}

Time MissingPods::Gang::due() const {
  Time first = Time::never();
  const Time late = since == Time::never() ? since : since + limit(failures);
  for (const Time t : {late, until}) {
    if (t > looked) first = std::min(first, t);
  }
  return first;
}

std::vector<std::string> MissingPods::late(Time now) const {
  std::vector<std::string> keys;
  for (const auto& [key, gang] : gangs_) {
    if (gang.due() <= now) keys.push_back(key);
  }
  return keys;
}

Time MissingPods::due() const {
  Time first = Time::never();
  for (const auto& [key, gang] : gangs_) first = std::min(first, gang.due());
  return first;
}

}  // namespace fairlead
