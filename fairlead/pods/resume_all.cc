#include "fairlead/pods/resume_all.h"

#include "fairlead/kube/failure.h"
#include "fairlead/pods/owner.h"
#include "fairlead/pods/requests.h"
#include "fairlead/pods/watched_kinds.h"
#include "fairlead/pods/workload.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace fairlead {
namespace {

constexpr std::size_t kCallsMax = 10;  // at once

bool is_suspended_by_us(const OwnerKind& kind, const Json& object) {
  return is_suspended(kind, object) &&
         text_at(object, {"metadata", "annotations", kSuspendedBy}) == kSchedulerName;
}

class Resumer {
 public:
  Resumer(KubeDoor& door, const LeaseSettings& lease, GangSource source)
      : door_(door),
        lease_(door, lease),
        lead_limit_{2 * lease.length.ms},
        owners_(door, source == GangSource::kKubernetes ? owner_kinds() : kueue_kinds(),
                [](const OwnerKind&, const ReflectedChange&) {}) {}

  Result<std::vector<std::string>> run(Time until) {
    const Time lead_until = std::min(until, door_.now() + lead_limit_);
    bool has_led = false;
    while (!lease_.is_leader(door_.now()) || !owners_.is_synced() || send() || !calls_.empty()) {
      has_led = has_led || lease_.is_leader(door_.now());
      if (door_.now() >= (has_led ? until : lead_until)) return late();
      if (!step(until)) return run_error("asked to leave");
    }
    lease_.release();
    (void)door_.wait(door_.now() + seconds(1));
    return std::move(names_);
  }

 private:
  // Sends requests for owners that are still suspended. Returns true if some are.
  bool send() {
    bool any = false;
    owners_.each([&](const OwnerKind& kind, const std::shared_ptr<const Json>& object) {
      const std::string& uid = text_at(*object, {"metadata", "uid"});
      if (!is_suspended_by_us(kind, *object) || done_.contains(uid)) return;
      any = true;
      if (calls_.size() >= kCallsMax || asked_.contains(uid)) return;
      Owner owner{.uid = uid,
                  .name_space = text_at(*object, {"metadata", "namespace"}),
                  .name = text_at(*object, {"metadata", "name"}),
                  .kind = &kind,
                  .version = text_at(*object, {"metadata", "resourceVersion"})};
      asked_.insert(uid);
      calls_.emplace(door_.call(suspension(owner, false)), std::move(owner));
    });
    return any;
  }

  // Waits for an event. Returns false if the program is asked to leave.
  bool step(Time until) {
    lease_.wake();
    owners_.wake();
    const KubeEvent event = door_.wait(
        std::min({until, lease_.wake_at(), owners_.wake_at(), door_.now() + seconds(1)}));
    if (event.kind == KubeEvent::Kind::kTerminate) return false;
    const auto call = calls_.find(event.call);
    if (event.kind != KubeEvent::Kind::kAnswer || call == calls_.end()) {
      (void)(lease_.handle(event) || owners_.handle(event));
      return true;
    }
    const Owner owner = std::move(call->second);
    calls_.erase(call);
    asked_.erase(owner.uid);
    const bool is_ok = event.status >= 200 && event.status < 300;
    // The watch shows a changed or deleted object, and send() looks at it again.
    if (!is_ok) trouble_ = failure_text(event);
    if (is_ok && done_.insert(owner.uid).second)
      names_.push_back(fmt::format("{}/{}", owner.name_space, owner.name));
    return true;
  }

  Result<std::vector<std::string>> late() const {
    if (!lease_.is_leader(door_.now())) {
      if (!lease_.trouble().empty()) return run_error("the Lease: {}", lease_.trouble());
      return run_error("{} leads; scale its Deployment to 0 first", lease_.holder());
    }
    if (!owners_.is_synced())
      return run_error("the API server did not report all objects in time: {}", owners_.trouble());
    return run_error("{} jobs were resumed, and not all others in time: {}", names_.size(),
                     trouble_.empty() ? "no answer" : trouble_);
  }

  KubeDoor& door_;
  Lease lease_;
  const Duration lead_limit_;  // by then, the Lease of a scheduler that is gone is free
  WatchedKinds owners_;
  std::map<CallId, Owner> calls_;
  std::set<std::string> asked_;  // uids of owners with a call
  std::set<std::string> done_;   // uids
  std::vector<std::string> names_;
  std::string trouble_;  // the error of the last failed call
};

}  // namespace

Result<std::vector<std::string>> resume_all(KubeDoor& door, const LeaseSettings& lease, Time until,
                                            GangSource source) {
  return Resumer(door, lease, source).run(until);
}

}  // namespace fairlead
