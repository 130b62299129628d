#include "fairlead/agent/agent.h"

#include "fairlead/kube/backoff.h"
#include "fairlead/measure/speed_reports.h"
#include "fairlead/pods/owner.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace fairlead {
namespace {

constexpr Duration kLook = seconds(10);
// The pause between looks at a freezing pod: processes in a driver call take a while.
constexpr Duration kSettle = milliseconds(10);
// Chosen: a small cost, and exact enough for speeds over half a minute and more.
constexpr Duration kMeasure = seconds(5);
constexpr std::string_view kUnclaimed = "thawed";

}  // namespace

bool is_to_rest(const Pod& pod, bool is_claimed) {
  // Before all containers run, kubelets need the cgroup to work.
  return is_claimed && pod.is_ours && wishes_rest(pod.wish) && !pod.is_leaving &&
         pod.state == Pod::State::kRunning;
}

std::string report_of(const Pod& pod, bool is_claimed, PodState state) {
  if (is_to_rest(pod, is_claimed)) return state == PodState::kFrozen ? pod.wish : pod.report;
  const bool runs = state == PodState::kNone || state == PodState::kThawed;
  if (pod.report.empty() || pod.is_leaving || !runs) return pod.report;
  // Its report was that it is frozen.
  return wishes_run(pod.wish) ? pod.wish : std::string(kUnclaimed);
}

Agent::Agent(KubeDoor& door, PodFreezer& freezer, AgentOptions options,
             std::function<void(const std::string&)> say)
    : door_(door),
      freezer_(freezer),
      options_(std::move(options)),
      say_(std::move(say)),
      reflected_pods_(door, "/api/v1/pods",
                      fmt::format("fieldSelector=spec.nodeName%3D{}", options_.node),
                      [this](const ReflectedChange& change) { on_pod(change); }),
      reflected_node_(door, "/api/v1/nodes",
                      fmt::format("fieldSelector=metadata.name%3D{}", options_.node),
                      [this](const ReflectedChange& change) { on_node(change); }),
      claimed_(door.now()),
      look_at_(door.now()) {
  if (options_.logs.empty()) return;
  meters_.emplace(options_.logs);
  measure_at_ = door.now();
}

// --- What there is ----------------------------------------------------------------------------

void Agent::on_pod(const ReflectedChange& change) {
  if (change.kind == ReflectedChange::Kind::kSynced) {
    look_at_ = door_.now();
    return;
  }
  Pod pod = parse_pod(*change.object);
  if (change.kind == ReflectedChange::Kind::kDeleted) {
    pods_.erase(pod.uid);
    pending_.erase(pod.uid);
    if (meters_) meters_->remove(pod.uid);
    return;
  }
  const auto [found, is_new] = pods_.try_emplace(pod.uid);
  Seen& seen = found->second;
  // An earlier agent may have reported it just now.
  if (is_new && pod.progress) seen.progress_told = door_.now();
  seen.pod = std::move(pod);
  pending_.insert(seen.pod.uid);
  settle_at_ = door_.now();
}

void Agent::on_node(const ReflectedChange& change) {
  if (change.kind != ReflectedChange::Kind::kSynced) look_at_ = door_.now();
}

// A restarted kubelet may have forgotten the slots. Slots of an earlier agent go if this one has none.
void Agent::offer_slots() {
  if (slots_call_ != 0 || reflected_node_.objects().empty()) return;
  const Node node = parse_node(*reflected_node_.objects().begin()->second);
  const std::uint32_t gpus = options_.gpus != 0 ? options_.gpus : node.devices;
  if (!takes_turns() && node.slots_per_gpu == 0) return;
  if (node.gpus == gpus && node.slots_per_gpu == options_.slots_per_gpu) return;
  const std::string slots = fmt::to_string(gpus * options_.slots_per_gpu);
  say_(fmt::format("offers {} slots, {} on each of {} GPUs", slots, options_.slots_per_gpu, gpus));
  const Json offer = {{std::string(kSlotResource), slots}};
  const Json patch = {
      {"metadata",
       {{"annotations", {{std::string(kSlotsPerGpu), fmt::to_string(options_.slots_per_gpu)}}}}},
      {"status", {{"capacity", offer}, {"allocatable", offer}}}};
  slots_call_ = door_.call({.method = "PATCH",
                            .path = fmt::format("/api/v1/nodes/{}/status", options_.node),
                            .body = compact_text(patch),
                            .content_type = std::string(kMergePatch)});
  calls_[slots_call_];
}

// --- Pods -------------------------------------------------------------------------------------

void Agent::settle(Seen& seen) {
  const Pod& pod = seen.pod;
  if (!pod.is_ours) return;
  const bool rests = takes_turns() && is_to_rest(pod, is_claimed());
  if (meters_ && pod.gpus > 0) {
    const bool runs = pod.state == Pod::State::kRunning;
    runs ? meters_->set(pod, !rests, door_.now()) : meters_->remove(pod.uid);
  }
  if (!takes_turns() || (pod.wish.empty() && pod.report.empty())) return;
  PodState state = freezer_.state(pod.uid);
  const bool is_frozen = state == PodState::kFrozen || state == PodState::kFreezing;
  if (state != PodState::kNone && rests != is_frozen) {
    freeze(seen, rests);
    state = freezer_.state(pod.uid);
  }
  if (rests && state == PodState::kFreezing) {
    pending_.insert(pod.uid);
    settle_at_ = std::min(settle_at_, door_.now() + kSettle);
  }
  report(seen, report_of(pod, is_claimed(), state));
}

void Agent::freeze(const Seen& seen, bool is_frozen) {
  if (const Status done = freezer_.set(seen.pod.uid, is_frozen); !done) {
    say_(fmt::format("{}/{}: {}", seen.pod.name_space, seen.pod.name, done.error().message));
  }
}

void Agent::report(Seen& seen, const std::string& text) {
  if (text == seen.pod.report || seen.call != 0 || door_.now() < seen.retry) return;
  send(seen, kReport, text);
}

void Agent::send(Seen& seen, std::string_view annotation, const std::string& text) {
  const Pod& pod = seen.pod;
  const Json patch = {
      {"metadata", {{"uid", pod.uid}, {"annotations", {{std::string(annotation), text}}}}}};
  seen.call =
      door_.call({.method = "PATCH",
                  .path = fmt::format("/api/v1/namespaces/{}/pods/{}", pod.name_space, pod.name),
                  .body = compact_text(patch),
                  .content_type = std::string(kMergePatch)});
  calls_[seen.call] = pod.uid;
}

void Agent::measure() {
  measure_at_ = door_.now() + kMeasure;
  meters_->look(door_.now());
  for (auto& [uid, seen] : pods_) report_progress(seen);
}

void Agent::report_progress(Seen& seen) {
  const Time now = door_.now();
  const bool may_report =
      seen.call == 0 && now >= seen.retry &&
      (seen.progress_told == Time{} || now >= seen.progress_told + kProgressPause);
  if (!may_report || seen.pod.is_over()) return;
  const auto progress = meters_->progress(seen.pod.uid);
  if (!progress) return;
  const auto& told = seen.pod.progress;
  const bool has_aged = now >= seen.progress_told + kProgressAge && told &&
                        told->progress.done != progress->progress.done;
  if (told && !has_aged && !is_news(progress->unit_per_s, told->unit_per_s)) return;
  seen.progress_told = now;
  send(seen, kProgressOf, progress_text(*progress));
}

void Agent::take_report(Seen& seen, const KubeEvent& event) {
  seen.call = 0;
  if (event.status >= 200 && event.status < 300) {
    seen.failures = 0;
    // The watch may have reported a later version; it reports this one too.
    if (const auto object = parsed_json(event.text)) {
      const Pod told = parse_pod(*object);
      if (told.wish == seen.pod.wish) seen.pod.report = told.report;
      seen.pod.progress = told.progress;
    }
  } else {
    ++seen.failures;
    seen.retry = door_.now() + std::max(event.retry_after, backoff(seen.failures, door_.random()));
  }
  pending_.insert(seen.pod.uid);
  settle_at_ = std::min(settle_at_, std::max(seen.retry, door_.now()));
}

// Looks at all pods that may be frozen, because an earlier agent may have frozen them.
void Agent::look() {
  look_at_ = door_.now() + kLook;
  if (!takes_turns()) return offer_slots();
  if (is_claimed() != std::exchange(was_claimed_, is_claimed())) {
    say_(is_claimed() ? "a scheduler is there again; it decides which pods are frozen"
                      : "no scheduler renews its Lease; all pods run");
  }
  offer_slots();
  for (auto& [uid, seen] : pods_) settle(seen);
  if (reflected_pods_.is_synced() || !is_claimed()) {
    for (const std::string& uid : freezer_.frozen()) {
      const auto known = pods_.find(uid);
      if (known != pods_.end() && is_to_rest(known->second.pod, is_claimed())) continue;
      (void)freezer_.set(uid, false);  // it may be gone by now; else the next look tries again
    }
  }
  if (lease_call_ != 0) return;
  lease_call_ =
      door_.call({.path = fmt::format("/apis/coordination.k8s.io/v1/namespaces/{}/leases/{}",
                                      options_.name_space, kSchedulerName)});
  calls_[lease_call_];
}

void Agent::take_lease(const std::string& text) {
  const auto lease = parsed_json(text);
  if (!lease || text_at(*lease, {"spec", "holderIdentity"}).empty()) return;
  const std::string& version = text_at(*lease, {"metadata", "resourceVersion"});
  if (std::exchange(lease_, version) == version) return;
  const bool was_claimed = is_claimed();
  claimed_ = door_.now();
  if (!was_claimed) look_at_ = door_.now();
}

// --- Events -----------------------------------------------------------------------------------

void Agent::handle(const KubeEvent& event) {
  if (reflected_pods_.handle(event) || reflected_node_.handle(event)) return;
  const auto call = calls_.find(event.call);
  if (event.kind != KubeEvent::Kind::kAnswer || call == calls_.end()) return;
  const std::string uid = call->second;
  calls_.erase(call);
  if (event.call == lease_call_) {
    lease_call_ = 0;
    if (event.status == 200) take_lease(event.text);
  } else if (event.call == slots_call_) {
    slots_call_ = 0;
  } else if (const auto seen = pods_.find(uid); seen != pods_.end()) {
    take_report(seen->second, event);
  }
}

void Agent::wake() {
  reflected_pods_.wake();
  reflected_node_.wake();
  if (has_ended_) return;
  const Time now = door_.now();
  if (settle_at_ <= now) {
    settle_at_ = Time::never();
    for (const std::string& uid : std::exchange(pending_, {})) {
      if (const auto seen = pods_.find(uid); seen != pods_.end()) settle(seen->second);
    }
  }
  if (look_at_ <= now || (takes_turns() && was_claimed_ != is_claimed())) look();
  if (measure_at_ <= now) measure();
}

Time Agent::wake_at() const {
  Time due = std::min(
      {reflected_pods_.wake_at(), reflected_node_.wake_at(), look_at_, settle_at_, measure_at_});
  if (takes_turns() && was_claimed_) due = std::min(due, claimed_ + options_.unclaimed);
  return due;
}

void Agent::end() {
  has_ended_ = true;
  for (const std::string& uid : freezer_.frozen()) (void)freezer_.set(uid, false);
  for (auto& [uid, seen] : pods_) {
    seen.call = 0;
    if (seen.pod.is_frozen()) report(seen, report_of(seen.pod, false, PodState::kThawed));
  }
}

void run_agent(KubeDoor& door, PodFreezer& freezer, AgentOptions options,
               const std::function<void(const std::string&)>& say) {
  Agent agent(door, freezer, std::move(options), say);
  for (;;) {
    agent.wake();
    const KubeEvent event = door.wait(agent.wake_at());
    if (event.kind == KubeEvent::Kind::kTerminate) break;
    agent.handle(event);
  }
  agent.end();
  const Time limit = door.now() + seconds(2);
  while (agent.open_calls() > 0 && door.now() < limit) agent.handle(door.wait(limit));
}

}  // namespace fairlead
