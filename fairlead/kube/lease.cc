#include "fairlead/kube/lease.h"

#include "fairlead/base/check.h"
#include "fairlead/kube/failure.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairlead {

Lease::Lease(KubeDoor& door, LeaseSettings settings)
    : door_(door), settings_(std::move(settings)), wake_at_(door.now()) {
  FL_CHECK(settings_.retry < settings_.renew_limit && settings_.renew_limit < settings_.length);
  FL_CHECK(!settings_.identity.empty());
}

std::string Lease::path() const {
  return fmt::format("/apis/coordination.k8s.io/v1/namespaces/{}/leases", settings_.name_space);
}

void Lease::ask(Asked asked, KubeRequest&& request) {
  asked_ = asked;
  asked_at_ = door_.now();
  call_ = door_.call(std::move(request));
  // A later answer counts as none, so that another try is left before the limit.
  wake_at_ = asked_at_ + Duration{settings_.renew_limit.ms / 3};
}

void Lease::plan() {
  const auto jitter = static_cast<std::int64_t>(door_.random() % 200);
  wake_at_ = std::max(door_.now(), asked_at_ + settings_.retry) + milliseconds(jitter);
}

void Lease::wake() {
  if (is_released_ || door_.now() < wake_at_) return;
  if (call_ != 0) {  // it may have taken effect, or may yet take effect
    door_.drop(call_);
    call_ = 0;
    is_read_ = false;
    trouble_ = "no answer in time";
  }
  if (!is_read_ || (!is_ours() && !lease_.is_null())) return read();
  take();
}

void Lease::read() { ask(Asked::kRead, {"GET", path() + "/" + settings_.name}); }

// Returns true if the lease has no holder, or if this process saw no renewal for the length of the lease.
bool Lease::is_free(Time now) const {
  if (lease_.is_null() || holder_.empty()) return true;
  const Duration length =
      seconds(integer_at(lease_, {"spec", "leaseDurationSeconds"}, settings_.length.ms / 1000));
  return now >= changed_at_ + length;
}

Json Lease::wanted(const std::string& holder) const {
  Json lease = lease_;
  const std::string time = micro_timestamp(door_.unix_ms());
  lease["apiVersion"] = "coordination.k8s.io/v1";
  lease["kind"] = "Lease";
  lease["metadata"]["name"] = settings_.name;
  lease["metadata"]["namespace"] = settings_.name_space;
  Json& spec = lease["spec"];
  if (holder != text_at(spec, {"holderIdentity"})) {
    spec["acquireTime"] = time;
    if (!holder.empty() && !lease_.is_null()) {
      spec["leaseTransitions"] = integer_at(spec, {"leaseTransitions"}) + 1;
    }
  }
  spec["holderIdentity"] = holder;
  spec["leaseDurationSeconds"] = holder.empty() ? 1 : settings_.length.ms / 1000;
  spec["renewTime"] = time;
  return lease;
}

// Makes the lease, takes it, or renews it. REQUIRES: it is not another's, or free.
void Lease::take() {
  std::string body = compact_text(wanted(settings_.identity));
  if (lease_.is_null()) return ask(Asked::kCreate, {"POST", path(), std::move(body)});
  ask(Asked::kReplace, {"PUT", path() + "/" + settings_.name, std::move(body)});
}

CallId Lease::release() {
  const bool was_ours = renewed_.has_value() && is_ours();
  is_released_ = true;
  renewed_.reset();
  wake_at_ = Time::never();
  if (call_ != 0) door_.drop(call_);
  call_ = 0;
  // After a lost answer the version may be another; then the lease runs out by itself.
  if (!was_ours || lease_.is_null()) return 0;
  holder_.clear();
  return door_.call({"PUT", path() + "/" + settings_.name, compact_text(wanted(""))});
}

bool Lease::handle(const KubeEvent& event) {
  if (call_ == 0 || event.call != call_) return false;
  call_ = 0;
  if (std::exchange(asked_, Asked::kNothing) == Asked::kRead) {
    handle_read(event);
  } else {
    handle_write(event);
  }
  return true;
}

void Lease::handle_read(const KubeEvent& event) {
  std::optional<Json> lease = parsed_json(event.text);
  if (event.status == 404) {
    saw(Json());
    return take();
  }
  if (event.status != 200 || !lease) {
    trouble_ = "reading the lease: " + failure_text(event);
    return plan();
  }
  saw(std::move(*lease));
  trouble_.clear();
  if (is_ours() || is_free(door_.now())) return take();
  renewed_.reset();
  plan();
}

void Lease::handle_write(const KubeEvent& event) {
  std::optional<Json> lease = parsed_json(event.text);
  if ((event.status == 200 || event.status == 201) && lease) {
    saw(std::move(*lease));
    trouble_.clear();
    if (is_ours()) renewed_ = asked_at_;
    return plan();
  }
  // Another client wrote it, or the outcome is unknown: the lease is read first.
  is_read_ = false;
  trouble_ = "writing the lease: " + failure_text(event);
  plan();
}

void Lease::saw(Json&& lease) {
  const auto version = {std::string_view("metadata"), std::string_view("resourceVersion")};
  const auto uid = {std::string_view("metadata"), std::string_view("uid")};
  if (text_at(lease, version) != text_at(lease_, version) ||
      text_at(lease, uid) != text_at(lease_, uid)) {
    changed_at_ = door_.now();
  }
  lease_ = std::move(lease);
  is_read_ = true;
  holder_ = text_at(lease_, {"spec", "holderIdentity"});
}

}  // namespace fairlead
