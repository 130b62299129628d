#include "fairlead/local/local_world.h"

#include <algorithm>

namespace fairlead {

Batch LocalWorld::wait(Time until, bool /*awaited*/) {
  if (!disk_) return {.now = std::min(io_.now(), until), .ended = true};
  // All available events go into one batch, and to the disk with one sync.
  Time due = inbox_.empty()
                 ? std::min({until, backend_->deadline(), client_deadline_(), old_logs_.deadline()})
                 : Time{};
  while (!leaves_) {
    const IoEvent event = io_.wait(due);
    if (event.kind == IoEvent::Kind::kTime) break;
    take(event);
    due = Time{};
  }
  // A daemon that leaves reads no more, so no client is late.
  if (!leaves_) on_client_({.kind = IoEvent::Kind::kTime});
  const Time now = io_.now();
  const Time instant = std::min(now, until);
  backend_->on_time(now, instant);
  old_logs_.on_time(now);
  disk_ = backend_->disk();
  if (!disk_ || (leaves_ && inbox_.empty())) return {.now = instant, .ended = true};
  return inbox_.take(instant, now);
}

void LocalWorld::take(const IoEvent& event) {
  switch (event.kind) {
    case IoEvent::Kind::kTaskEnded:
      return backend_->on_task_ended(io_.now(), event.task, event.end);
    case IoEvent::Kind::kTerminate:
      leaves_ = true;
      return;
    default:
      return on_client_(event);
  }
}

std::span<const SpeedChange> LocalWorld::expect(Time /*now*/, std::span<Step> steps) {
  backend_->monitor().expect(steps);
  return {};
}

// The engine's clock may be some milliseconds ahead: no two of its instants are equal.
void LocalWorld::carry_out(Time /*now*/, std::span<const Step> steps) {
  disk_ = sync_();
  if (disk_) backend_->carry_out(io_.now(), steps);
}

}  // namespace fairlead
