#include "fairlead/pods/pods_world.h"

#include "fairlead/kube/lease.h"

#include <algorithm>
#include <utility>

namespace fairlead {
namespace {

// Events handled in a row before other work: the Lease must be renewed even if events never cease.
constexpr int kEventsMax = 500;
// Writes to the API stop while the cached state is older than this.
constexpr Duration kStale = seconds(30);

}  // namespace

PodsWorld::PodsWorld(KubeDoor& door, const PodsOptions& options, Lease* lease)
    : door_(door), lease_(lease), controller_(door, options, [this] { return may_ask(); }) {}

PodsWorld::~PodsWorld() = default;

Status PodsWorld::sync(Time until) {
  for (;;) {
    wake();
    const ClusterWatch& watch = observed().watch();
    if (watch.is_synced()) return {};
    if (door_.now() >= until) {
      const std::string trouble = watch.trouble();
      return run_error("the API server did not report all objects in time: {}",
                       trouble.empty() ? "no answer" : trouble);
    }
    take(door_.wait(std::min(until, due())));
  }
}

bool PodsWorld::has_gpus() const {
  return std::ranges::any_of(observed().view().nodes(),
                             [](const auto& entry) { return entry.second.gpus_all > 0; });
}

void PodsWorld::await_gpus() {
  while (!has_gpus() && !leaves_ && leads()) {
    wake();
    take(door_.wait(due()));
  }
}

bool PodsWorld::leads() const { return lease_ == nullptr || lease_->is_leader(door_.now()); }

bool PodsWorld::may_ask() const { return leads() && observed().watch().is_fresh(kStale); }

Time PodsWorld::due() const {
  Time first = std::min(observed().watch().wake_at(), controller_.due());
  if (lease_ != nullptr) first = std::min(first, lease_->wake_at());
  return first;
}

void PodsWorld::wake() {
  if (lease_ != nullptr) lease_->wake();
  controller_.observed().watch().wake();
  for (KubeListener* listener : listeners_) listener->wake();
}

void PodsWorld::take(const KubeEvent& event) {
  if (event.kind == KubeEvent::Kind::kTerminate) {
    leaves_ = true;
    return;
  }
  if (lease_ != nullptr && lease_->handle(event)) return;
  if (controller_.observed().watch().handle(event)) return;
  for (KubeListener* listener : listeners_) {
    if (listener->handle(event)) return;
  }
  controller_.handle(event);
}

Batch PodsWorld::wait(Time until, bool /*awaited*/) {
  controller_.settle_all(now());
  const Time latest = until == Time::never() ? until : until - shift_;
  Time at = controller_.reports().empty() ? std::min(latest, due()) : Time{};
  for (int left = kEventsMax; left > 0 && !leaves_; --left) {
    const KubeEvent event = door_.wait(at);
    if (event.kind == KubeEvent::Kind::kTime) break;
    take(event);
    at = Time{};
  }
  wake();
  controller_.settle_all(now());
  const Time now = this->now();
  const bool has_ended = !leads() || is_outgrown() || (leaves_ && controller_.reports().empty());
  if (has_ended) return {.now = std::min(now, until), .ended = true};
  return controller_.reports().take(std::min(now, until), now);
}

std::span<const SpeedChange> PodsWorld::expect(Time /*now*/, std::span<Step> /*steps*/) {
  return {};
}

void PodsWorld::carry_out(Time /*now*/, std::span<const Step> steps) {
  controller_.carry_out(steps);
  controller_.settle_all(now());
}

}  // namespace fairlead
