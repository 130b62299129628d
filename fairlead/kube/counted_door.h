// A KubeDoor that counts the writes through it, by the server's answers.
#pragma once

#include "fairlead/kube/door.h"

#include <functional>
#include <map>
#include <string>
#include <utility>

namespace fairlead {

class CountedDoor : public KubeDoor {
 public:
  // `door` must outlive it. `on_forbidden` is called with every answer 403: an RBAC permission is missing.
  explicit CountedDoor(KubeDoor& door, std::function<void(const KubeEvent&)> on_forbidden = {})
      : door_(door), on_forbidden_(std::move(on_forbidden)) {}

  // Returns the counts by method and status (0: no answer).
  const std::map<std::pair<std::string, int>, std::uint64_t>& writes() const { return writes_; }

  Time now() override { return door_.now(); }
  std::int64_t unix_ms() override { return door_.unix_ms(); }
  std::uint64_t random() override { return door_.random(); }
  CallId call(KubeRequest request) override {
    std::string method = request.method;
    const CallId id = door_.call(std::move(request));
    if (method != "GET") on_way_[id] = std::move(method);
    return id;
  }
  CallId stream(KubeRequest request) override { return door_.stream(std::move(request)); }
  void drop(CallId call) override {
    on_way_.erase(call);
    door_.drop(call);
  }
  KubeEvent wait(Time until) override {
    KubeEvent event = door_.wait(until);
    if (event.status == 403 && on_forbidden_) on_forbidden_(event);
    if (event.kind == KubeEvent::Kind::kAnswer) {
      const auto found = on_way_.find(event.call);
      if (found == on_way_.end()) return event;
      ++writes_[{found->second, event.status}];
      on_way_.erase(found);
    }
    return event;
  }

 private:
  KubeDoor& door_;
  const std::function<void(const KubeEvent&)> on_forbidden_;
  std::map<CallId, std::string> on_way_;  // methods of writes
  std::map<std::pair<std::string, int>, std::uint64_t> writes_;
};

}  // namespace fairlead
