#include "fairlead/pods/gang_calls.h"

#include "fairlead/kube/backoff.h"
#include "fairlead/pods/requests.h"

#include <algorithm>
#include <utility>

namespace fairlead {
namespace {

// From an attempt to write that may not to the next attempt (chosen).
constexpr Duration kAskAgain = seconds(1);

}  // namespace

bool lets_run(GangAct::Kind kind) {
  return kind == GangAct::Kind::kBind || kind == GangAct::Kind::kThaw;
}

bool GangCalls::send(const PodGang& gang, const std::vector<GangAct>& acts) {
  const std::string& key = gang.owner().key;
  Gang& its = gangs_[key];
  const bool is_paused = its.paused_until != Time::never();
  if (acts.empty() || !its.calls.empty() || is_paused) return false;
  if (!may_write_()) {
    its.paused_until = door_.now() + kAskAgain;
    return false;
  }
  if (calls_.size() >= kCallsMax) {
    if (!std::exchange(its.is_queued, true)) queue_.push_back(key);
    return false;
  }
  for (const GangAct& act : acts) {
    const CallId call = door_.call(request(gang, act));
    its.calls.insert(call);
    calls_[call] = {key, act, act.pod.empty() ? "" : gang.pods().at(act.pod).version};
  }
  return true;
}

KubeRequest GangCalls::request(const PodGang& gang, const GangAct& act) const {
  const Pod* const pod = act.pod.empty() ? nullptr : &gang.pods().at(act.pod);
  switch (act.kind) {
    case GangAct::Kind::kResume:
    case GangAct::Kind::kSuspend:
      return suspension(gang.owner(), act.kind == GangAct::Kind::kSuspend);
    case GangAct::Kind::kVolume:
      return volume_request(act.volume);
    case GangAct::Kind::kDevice:
      return device_request(act.device);
    case GangAct::Kind::kBind:
      return binding(*pod, act.node, act.gpus);
    case GangAct::Kind::kThaw:
    case GangAct::Kind::kFreeze:
      return turn(*pod, act.kind == GangAct::Kind::kThaw);
    case GangAct::Kind::kMark:
      return preemption_mark(*pod, door_.unix_ms());
    case GangAct::Kind::kEvict:
      break;
  }
  return eviction(*pod);
}

std::optional<GangCalls::Answer> GangCalls::take(const KubeEvent& event) {
  const auto found = calls_.find(event.call);
  if (event.kind != KubeEvent::Kind::kAnswer || found == calls_.end()) return std::nullopt;
  const Call call = std::move(found->second);
  calls_.erase(found);
  Answer answer{call.gang, call.act, call.version, event.status, event.text};
  const auto gang = gangs_.find(call.gang);
  if (gang == gangs_.end()) return answer;
  gang->second.calls.erase(event.call);
  if (answer.is_ok()) {
    gang->second.failures = 0;
  } else {
    const Duration wait = backoff(++gang->second.failures, door_.random());
    gang->second.paused_until = door_.now() + std::max(event.retry_after, wait);
  }
  return answer;
}

bool GangCalls::is_calling(const std::string& gang) const {
  const auto found = gangs_.find(gang);
  return found != gangs_.end() && !found->second.calls.empty();
}

Time GangCalls::due() const {
  if (!queue_.empty() && calls_.size() < kCallsMax) return {};
  Time first = Time::never();
  for (const auto& [key, gang] : gangs_) first = std::min(first, gang.paused_until);
  return first;
}

std::vector<std::string> GangCalls::take_due(Time now) {
  std::vector<std::string> due;
  for (auto& [key, gang] : gangs_) {
    if (gang.paused_until > now) continue;
    gang.paused_until = Time::never();
    due.push_back(key);
  }
  return due;
}

std::vector<std::string> GangCalls::take_queued() {
  std::vector<std::string> may_call;
  for (std::size_t calls = calls_.size(); calls < kCallsMax && !queue_.empty(); ++calls) {
    const std::string key = std::move(queue_.front());
    queue_.pop_front();
    const auto gang = gangs_.find(key);
    if (gang == gangs_.end()) continue;
    gang->second.is_queued = false;
    may_call.push_back(key);
  }
  return may_call;
}

}  // namespace fairlead
