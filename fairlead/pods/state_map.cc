#include "fairlead/pods/state_map.h"

#include "fairlead/kube/backoff.h"
#include "fairlead/kube/base64.h"
#include "fairlead/kube/failure.h"
#include "fairlead/kube/json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fairlead {
namespace {

constexpr std::string_view kName = "fairlead-state";
// A few megabytes an hour for thousands of gangs. A new leader decides newer changes again.
constexpr Duration kEvery = seconds(5);
// The API server's limit for a whole ConfigMap, minus the space for its metadata.
constexpr std::size_t kBytesMax = (std::size_t{1} << 20) - 4096;

}  // namespace

std::string StateMap::path() const {
  return fmt::format("/api/v1/namespaces/{}/configmaps", name_space_);
}

void StateMap::read() {
  if (call_ != 0 || door_.now() < retry_) return;
  is_reading_ = true;
  call_ = door_.call({"GET", fmt::format("{}/{}", path(), kName)});
}

bool StateMap::is_due() const { return is_touched_ && call_ == 0 && door_.now() >= next_; }

void StateMap::write(std::string bytes, std::string about) {
  is_touched_ = false;
  next_ = door_.now() + kEvery;
  if (bytes.size() > kBytesMax) {
    trouble_ = fmt::format("{} bytes are more than a ConfigMap has room for", bytes.size());
    return;
  }
  wanted_ = {std::move(bytes), std::move(about)};
  ++number_;
  wake();
}

void StateMap::wake() {
  if (!wanted_ || call_ != 0 || door_.now() < retry_) return;
  if (!version_) return read();
  Json map = {{"apiVersion", "v1"},
              {"kind", "ConfigMap"},
              {"metadata", {{"name", kName}, {"namespace", name_space_}}},
              {"data", {{"about", wanted_->about}}},
              {"binaryData", {{"state", base64_encoded(wanted_->bytes)}}}};
  is_reading_ = false;
  sent_ = number_;
  if (version_->empty()) {
    call_ = door_.call({"POST", path(), compact_text(map)});
    return;
  }
  map["metadata"]["resourceVersion"] = *version_;
  call_ = door_.call({"PUT", fmt::format("{}/{}", path(), kName), compact_text(map)});
}

bool StateMap::handle(const KubeEvent& event) {
  if (call_ == 0 || event.call != call_) return false;
  call_ = 0;
  if (is_reading_) {
    handle_read(event);
  } else {
    handle_write(event);
  }
  return true;
}

void StateMap::handle_read(const KubeEvent& event) {
  const std::optional<Json> map = parsed_json(event.text);
  if (event.status == 404) {
    version_ = "";
  } else if (event.status == 200 && map) {
    version_ = text_at(*map, {"metadata", "resourceVersion"});
    if (!has_answer_) found_ = base64_decoded(text_at(*map, {"binaryData", "state"})).value_or("");
  } else {
    return fail(event, true);
  }
  has_answer_ = true;
  failures_ = 0;
  trouble_.clear();
}

void StateMap::handle_write(const KubeEvent& event) {
  const std::optional<Json> map = parsed_json(event.text);
  if ((event.status == 200 || event.status == 201) && map) {
    version_ = text_at(*map, {"metadata", "resourceVersion"});
    if (sent_ == number_) wanted_.reset();
    failures_ = 0;
    trouble_.clear();
    return;
  }
  // Another client wrote it, or its version is not known. If we lead, our state replaces it.
  version_.reset();
  fail(event, false);
}

void StateMap::fail(const KubeEvent& event, bool is_read) {
  trouble_ = fmt::format("{} the ConfigMap {}: {}", is_read ? "reading" : "writing", kName,
                         failure_text(event));
  ++failures_;
  retry_ = door_.now() + std::max(event.retry_after, backoff(failures_, door_.random()));
  // Without permission to read it, or after enough tries, the scheduler starts without it.
  constexpr int kTries = 3;
  if (event.status == 403 || failures_ >= kTries) has_answer_ = true;
  // A repeated write would be refused again.
  if (!is_read && (event.status == 413 || event.status == 422)) wanted_.reset();
}

}  // namespace fairlead
