// What is asked of the API server, and what it answers.
#include "fairlead/kube/backoff.h"
#include "fairlead/kube/lease.h"
#include "fairlead/pods/pods_world.h"
#include "fairlead/pods/requests.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace fairlead {
namespace {

// How soon it is looked again whether anything may be asked for.
constexpr Duration kAskAgain = seconds(1);

// Once it takes effect, its pod may use its GPUs.
bool lets_run(GangAct::Kind kind) {
  return kind == GangAct::Kind::kBind || kind == GangAct::Kind::kThaw;
}

// "2 pods on n1, 1 pod on n2".
std::string places_text(const std::vector<GangPlace>& where) {
  std::string text;
  for (const GangPlace& place : where) {
    text += fmt::format("{}{} pod{} on {}", text.empty() ? "" : ", ", place.pods,
                        place.pods == 1 ? "" : "s", place.node);
  }
  return text;
}

}  // namespace

bool PodsWorld::may_ask() const {
  const bool leads = lease_ == nullptr || lease_->is_leader(door_.now());
  return leads &&
         std::ranges::all_of(
             reflectors_, [this](const Reflector* of) { return of->is_fresh(options_.stale); }) &&
         reflected_owners_.is_fresh(options_.stale);
}

void PodsWorld::ask(Gang& gang, const std::vector<GangAct>& acts) {
  const bool waits = gang.retry != Time::never();
  if (acts.empty() || !gang.calls.empty() || waits) return;
  if (!may_ask()) {
    gang.retry = door_.now() + kAskAgain;
    return;
  }
  if (calls_.size() >= kCallsMax) {
    if (!std::exchange(gang.is_queued, true)) queued_.push_back(gang.view.owner().key);
    return;
  }
  for (const GangAct& act : acts) {
    const CallId call = door_.call(request(gang, act));
    gang.calls.insert(call);
    if (act.kind == GangAct::Kind::kBind) asked_[act.pod].node = act.node;
    calls_[call] = {gang.view.owner().key, act, ""};
    if (act.pod.empty()) continue;
    const Pod& pod = gang.view.pods().at(act.pod);
    calls_[call].version = pod.version;
    if (lets_run(act.kind)) residents_.asked(pod.uid, act.node, act.gpus);
  }
  switch (acts.front().kind) {
    case GangAct::Kind::kSuspend:
      return explain(gang, "Suspended", "its turn is over; it goes on from its checkpoint");
    case GangAct::Kind::kEvict:
      return explain(gang, "Evicted", "its turn is over; it goes on from its checkpoint");
    case GangAct::Kind::kBind:
      if (gang.is_started) return;  // riders that came late
      return explain(gang, "Placed", places_text(gang.where));
    case GangAct::Kind::kResume:
    case GangAct::Kind::kThaw:
    case GangAct::Kind::kFreeze:
    case GangAct::Kind::kMark:
      return;
  }
}

// Those that waited until fewer calls are on their way.
void PodsWorld::ask_queued() {
  for (std::size_t calls = calls_.size(); calls < kCallsMax && !queued_.empty(); ++calls) {
    const auto found = gangs_.find(queued_.front());
    queued_.pop_front();
    if (found == gangs_.end()) continue;
    found->second.is_queued = false;
    touch(found->second);
  }
}

KubeRequest PodsWorld::request(const Gang& gang, const GangAct& act) const {
  const Owner& owner = gang.view.owner();
  const Pod* const pod = act.pod.empty() ? nullptr : &gang.view.pods().at(act.pod);
  switch (act.kind) {
    case GangAct::Kind::kResume:
    case GangAct::Kind::kSuspend:
      return suspension(owner, act.kind == GangAct::Kind::kSuspend);
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

void PodsWorld::take(const KubeEvent& event) {
  if (event.kind == KubeEvent::Kind::kTerminate) {
    leaves_ = true;
    return;
  }
  if (lease_ != nullptr && lease_->handle(event)) return;
  if (reflected_owners_.handle(event)) return;
  for (Reflector* reflector : reflectors_) {
    if (reflector->handle(event)) return;
  }
  for (KubeListener* listener : listeners_) {
    if (listener->handle(event)) return;
  }
  const auto found = calls_.find(event.call);
  if (event.kind != KubeEvent::Kind::kAnswer || found == calls_.end()) return;
  const Call call = found->second;
  calls_.erase(found);
  take_answer(call, event);
}

// What was answered is what there is, a little sooner than the watch says so; where it is not, the
// watch says what is.
void PodsWorld::take_answer(const Call& call, const KubeEvent& event) {
  if (lets_run(call.act.kind)) settle_asked(call.act, event.status);
  const auto found = gangs_.find(call.gang);
  if (found == gangs_.end()) return;
  Gang& gang = found->second;
  gang.calls.erase(event.call);
  touch(gang);
  if (event.status < 200 || event.status >= 300) {
    ++gang.failures;
    gang.retry = door_.now() + std::max(event.retry_after, backoff(gang.failures, door_.random()));
    return;
  }
  gang.failures = 0;
  const bool is_bound = call.act.kind == GangAct::Kind::kBind && !gang.is_started;
  if (is_bound && on_bound_) on_bound_(door_.now() - gang.begun);
  const auto object = parsed_json(event.text);
  if (!call.act.pod.empty()) return take_pod_answer(call, object);
  if (!object || gang.view.owner().kind == nullptr) return;
  Result<Owner> owner = parse_owner(*gang.view.owner().kind, *object);
  if (owner) gang.view.set_owner(*std::move(owner));
}

// A binding that was refused will not come, unless an earlier one has not been answered.
void PodsWorld::settle_asked(const GangAct& act, int status) {
  const auto asked = asked_.find(act.pod);
  const bool is_refused = status >= 400 && status < 500;
  if (asked != asked_.end() && !is_refused) {
    asked->second.is_open |= status == 0 || status >= 500;
  }
  if (!is_refused || (asked != asked_.end() && asked->second.is_open)) return;
  asked_.erase(act.pod);
  residents_.refused(act.pod);
}

// The watch may have told of the pod already.
void PodsWorld::take_pod_answer(const Call& call, const std::optional<Json>& object) {
  const auto found = pods_.find(call.act.pod);
  if (found == pods_.end() || !object) return;
  Pod pod = found->second;
  if (call.act.kind == GangAct::Kind::kBind) {  // the answer says no more than that it is
    if (!pod.node.empty()) return;
    pod.node = call.act.node;
    pod.mask = call.act.gpus;
    if (pod.mask != 0) pod.wish = wish_text(true, call.version);
    return set_pod(std::move(pod), false);
  }
  if (pod.version != call.version) return;
  if (call.act.kind != GangAct::Kind::kEvict) return set_pod(parse_pod(*object), false);
  pod.is_leaving = true;
  set_pod(std::move(pod), false);
}

// What `kubectl describe job` shows. One that is lost is not said again.
void PodsWorld::explain(const Json& object, std::string_view reason, std::string_view message) {
  if (!may_ask()) return;
  const Json& about = json_at(object, {"metadata"});
  const std::string& name_space = text_at(about, {"namespace"});
  const std::string& name = text_at(about, {"name"});
  const std::string now = timestamp(door_.unix_ms());
  const bool is_warning = reason == "Refused" || reason == "Rejected" || reason == "NotStopped";
  const Json event = {
      {"apiVersion", "v1"},
      {"kind", "Event"},
      {"metadata",
       {{"name", fmt::format("{}.{:x}", name, door_.random())}, {"namespace", name_space}}},
      {"involvedObject",
       {{"apiVersion", text_at(object, {"apiVersion"})},
        {"kind", text_at(object, {"kind"})},
        {"namespace", name_space},
        {"name", name},
        {"uid", text_at(about, {"uid"})}}},
      {"type", is_warning ? "Warning" : "Normal"},
      {"reason", reason},
      {"message", message},
      {"source", {{"component", kSchedulerName}}},
      {"firstTimestamp", now},
      {"lastTimestamp", now},
      {"count", 1}};
  door_.call({.method = "POST",
              .path = fmt::format("/api/v1/namespaces/{}/events", name_space),
              .body = compact_text(event)});
}

void PodsWorld::explain(JobId job, std::string_view reason, std::string_view message) {
  if (const Gang* const gang = gang_of(job)) explain(*gang, reason, message);
}

void PodsWorld::explain(const Gang& gang, std::string_view reason, std::string_view message) {
  const Owner& owner = gang.view.owner();
  const bool is_of_pods = owner.kind == nullptr;
  explain({{"apiVersion", is_of_pods ? "v1" : owner.kind->api_version},
           {"kind", is_of_pods ? "Pod" : owner.kind->kind},
           {"metadata",
            {{"namespace", owner.name_space},
             {"name", is_of_pods ? owner.about : owner.name},
             {"uid", owner.uid}}}},
          reason, message);
}

}  // namespace fairlead
